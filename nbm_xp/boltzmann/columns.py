"""Names of columns: of tables that rows come in, and of tables that `transform` gives.

Tables are pandas' or polars', neither of which is imported before a table of it is asked for. What is refused, and in
which words, is scikit-learn's convention, so that a pipeline's messages are of one kind.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import host_namespace, to_numpy

__all__ = [
    "check_container",
    "check_input_features",
    "check_names",
    "column_names",
    "configured",
    "framed",
    "numbered",
    "of_one_dtype",
    "texts",
]

CONTAINERS = ("default", "pandas", "polars")
_SHOWN = 5  # names in a message, at most


def column_names(X: Any) -> list[str] | None:
    """The names of a table's columns, if there are any and all are text.

    Raises
    ------
    TypeError
        If only some are text.

    Examples
    --------
    >>> column_names([[0.0, 1.0]]) is None
    True
    """
    if isinstance(X, (list, tuple)) or not hasattr(X, "columns"):
        return None
    names = list(X.columns)
    kinds = {isinstance(name, str) for name in names}
    if kinds == {True, False}:
        raise TypeError(f"X must have names of one kind for its columns, text or numbers, got {names[:_SHOWN]}")
    return names if kinds == {True} else None


def of_one_dtype(X: Any, name: str) -> Any:
    """A table whose columns are of several dtypes, or may lack values, as an array of float64; all else as it is.

    Raises
    ------
    ValueError
        If a column holds anything else than numbers, or lacks some.
    """
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "to_numpy") or X.to_numpy().dtype.kind != "O":
        return X
    host, arrays = host_namespace(), list[Any]()
    for column in X.columns:
        values = X[column].to_numpy()
        try:
            if values.dtype.kind == "O" and any(isinstance(value, str) for value in values):
                raise TypeError("texts")
            arrays.append(host.asarray(values, dtype=host.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers in all columns, got others in {column!r}: {error}") from error
    return host.stack(arrays, axis=1)


def check_names(known: Sequence[str] | None, X: Any) -> None:
    """Hold the names of the columns of new rows to those learnt from, where both have names.

    Raises
    ------
    ValueError
        If the names, or their order, are others.
    """
    names = None if known is None else column_names(X)
    if known is None or names is None or list(known) == names:
        return
    told = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
    if unseen:
        told += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        told += f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
    if not unseen and not missing:
        told += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(told)


def _listed(names: Sequence[str]) -> str:
    lines = [f"- {name}\n" for name in names[:_SHOWN]]
    return "".join(lines) + ("- ...\n" if len(names) > _SHOWN else "")


def check_input_features(given: Sequence[str], known: Sequence[str] | None, count: int) -> None:
    """Refuse names that are not those of the features learnt from, or as many.

    Raises
    ------
    ValueError
        If they are not.
    """
    if known is not None and list(known) != list(given):
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(given) != count:
        raise ValueError(f"input_features should have length equal to number of features ({count}), got {len(given)}")


def numbered(prefix: str, count: int) -> Any:
    """So many names, as an array of objects."""
    return texts([f"{prefix}{number}" for number in range(count)])


def texts(names: Sequence[str]) -> Any:
    """Names as an array of objects, in host memory."""
    return host_namespace().asarray(list(names), dtype=object)


def check_container(kind: Any) -> None:
    """Refuse what is no kind of container.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if kind not in CONTAINERS:
        raise ValueError(f"transform must be one of {list(CONTAINERS)}, got {kind!r}")


def configured() -> str:
    """What scikit-learn is configured to have transformers give, where anybody has imported it."""
    sklearn = sys.modules.get("sklearn")
    kind: str = "default" if sklearn is None else sklearn.get_config().get("transform_output", "default")
    return kind


def framed(kind: str, values: Any, names: Any, X: Any) -> Any:
    """A table of values computed for rows, with their index, where the rows are in a table that has one.

    Raises
    ------
    ImportError
        If the package is not installed.
    """
    try:
        package = importlib.import_module(kind)
    except ImportError as error:
        raise ImportError(f'set_output(transform="{kind}") needs {kind}: pip install {kind}') from error
    if kind == "polars":
        return package.DataFrame(to_numpy(values), schema=list(names), orient="row")
    index = X.index if isinstance(X, package.DataFrame) else None
    return package.DataFrame(to_numpy(values), index=index, columns=names, copy=False)
