"""Tables: the names of their columns, as scikit-learn compares them, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nbm_xp.namespace import host_namespace

__all__ = ["check_names", "column_names", "of_one_dtype"]


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
    holder = BaseEstimator()
    validate_data(holder, X, skip_check_array=True)
    names = getattr(holder, "feature_names_in_", None)
    return None if names is None else list(names)


def check_names(known: Sequence[str] | None, X: Any) -> None:
    """Compare the names of the columns of new rows with those learnt from, where both have names.

    Raises
    ------
    ValueError
        If the names, or their order, are others.
    """
    if known is None or column_names(X) is None:
        return
    holder = BaseEstimator()
    holder.feature_names_in_ = host_namespace().asarray(list(known), dtype=object)
    validate_data(holder, X, reset=False, skip_check_array=True)


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
