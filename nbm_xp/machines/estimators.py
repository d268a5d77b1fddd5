"""The base class of estimators, and the names of the columns of tables."""

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


_REQUESTED = ("_metadata_request", "_sklearn_output_config")  # also copied by scikit-learn's `clone`


class Estimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator whose fitted state is more than a dictionary of attributes."""

    n_features_in_: int
    feature_names_in_: Any

    @property
    def _features_in(self) -> list[str] | None:
        """The names of the columns of the training data; None if there are none."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _name_features(self, names: Sequence[str] | None) -> None:
        """Set or delete `feature_names_in_`."""
        if names is not None:
            self.feature_names_in_ = host_namespace().asarray(list(names), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _requested(self) -> dict[str, Any]:
        """Return the settings of `set_output` and of metadata requests."""
        return {name: value for name, value in vars(self).items() if name in _REQUESTED}


def describe_rows(tags: Any, visible: Any) -> Any:
    """Return scikit-learn's tags with the input properties of these visible units."""
    try:
        within = kind_of(visible, "visible", hidden=False).within
    except ValueError:  # which `fit` raises
        within = None
    tags.input_tags.sparse = True
    tags.input_tags.categorical = tags.input_tags.positive_only = within is not None and within.whole
    return tags
