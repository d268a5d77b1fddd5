"""The names of the columns of tables, and tags of estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nbm_xp.namespace import host_namespace

from .units import kind_of


def column_names(X: Any) -> list[str] | None:
    """Return the names of a table's columns if all are strings, else None.

    Raises
    ------
    TypeError
        If only some are strings.

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
    """Compare the column names of new rows with those of the training data, if both have names.

    Raises
    ------
    ValueError
        If the names or their order differ.
    """
    if known is None or column_names(X) is None:
        return
    holder = BaseEstimator()
    holder.feature_names_in_ = host_namespace().asarray(list(known), dtype=object)
    validate_data(holder, X, reset=False, skip_check_array=True)


def describe_rows(tags: Any, visible: Any) -> Any:
    """Return scikit-learn's tags with the input properties of these visible units."""
    try:
        within = kind_of(visible, "visible", hidden=False).within
    except ValueError:  # which `fit` raises
        within = None
    tags.input_tags.sparse = True
    tags.input_tags.categorical = tags.input_tags.positive_only = within is not None and within.whole
    return tags
