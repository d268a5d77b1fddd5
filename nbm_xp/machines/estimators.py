"""What estimators add to scikit-learn's base classes, and the names of the columns of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from nbm_xp.namespace import host_namespace

from .units import kind_of

__all__ = [
    "Estimator", "NotFittedError", "check_names", "column_names", "describe_rows",
]  # fmt: skip


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
    """Compare the names of the columns of new rows with those learned from, where both have names.

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


_REQUESTED = ("_metadata_request", "_sklearn_output_config")  # what scikit-learn's `clone` copies, too


class Estimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of scikit-learn's whose fitted state is no mere dictionary of attributes."""

    n_features_in_: int
    feature_names_in_: Any

    def _fitted(self) -> Self:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet: call fit first")
        return self

    @property
    def _features_in(self) -> list[str] | None:
        """The names of the columns that were learned from, where they had names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _name_features(self, names: Sequence[str] | None) -> None:
        """Keep the names of the columns that are learned from, or forget those of earlier ones."""
        if names is not None:
            self.feature_names_in_ = host_namespace().asarray(list(names), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _requested(self) -> dict[str, Any]:
        """What `set_output` and the requests of metadata have set."""
        return {name: value for name, value in vars(self).items() if name in _REQUESTED}


def describe_rows(tags: Any, visible: Any) -> Any:
    """The tags of an estimator with these visible units, which say what its rows may be."""
    try:
        within = kind_of(visible, "visible", hidden=False).within
    except ValueError:  # which `fit` raises
        within = None
    tags.input_tags.sparse = True
    tags.input_tags.categorical = tags.input_tags.positive_only = within is not None and within.whole
    return tags
