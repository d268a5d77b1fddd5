"""What scikit-learn expects of an estimator, without needing scikit-learn.

An estimator's hyperparameters are the arguments of its constructor, kept unchanged under the same names; learning puts
its results into attributes whose names end in an underscore. That is enough for `clone`, `Pipeline` and the searches
over hyperparameters. What only scikit-learn calls, it is asked for when it calls: importing it would take longer than
importing this package.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from typing import Any, Self

from . import columns

__all__ = ["Estimator", "NotFittedError"]

_KEPT = ("_metadata_request", "_sklearn_output_config")  # what scikit-learn's `clone` copies, too
_ROUTED = ("fit", "partial_fit", "score")
_UNASKED = ("self", "X", "y")  # no metadata


class NotFittedError(ValueError, AttributeError):
    """Raised where a model is used before it has learnt anything."""


def _unfitted() -> type[NotFittedError]:
    """The class of the error, which is scikit-learn's too where that is at work."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return NotFittedError if theirs is None else _both(theirs)


@functools.cache
def _both(theirs: type) -> type[NotFittedError]:
    return type("NotFittedError", (NotFittedError, theirs), {"__doc__": NotFittedError.__doc__})


class Estimator:
    """Hyperparameters by name, as scikit-learn's tools read and set them, and what else those tools ask for."""

    n_features_in_: int
    feature_names_in_: Any
    _sklearn_output_config: dict[str, str]
    _metadata_request: Any

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyperparameters by name.

        Parameters
        ----------
        deep : bool, optional
            Accepted as scikit-learn passes it; there are no estimators inside this one.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set hyperparameters by name.

        Raises
        ------
        ValueError
            If there is none of a name.
        """
        unknown = sorted(params.keys() - self._defaults())
        if unknown:
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r}: it has {list(self._defaults())}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _fitted(self) -> Self:
        if not hasattr(self, "n_features_in_"):
            raise _unfitted()(f"this {type(self).__name__} has learnt nothing yet: call fit first")
        return self

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names for the columns that `transform` gives: the class's in small letters, and a number.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the features in; checked, as scikit-learn does it, and not used.

        Returns
        -------
        numpy.ndarray of str objects

        Raises
        ------
        ValueError
            If `input_features` are not those of the rows that were learnt from.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).get_feature_names_out()
        array(['rbm0', 'rbm1'], dtype=object)
        """
        self._fitted()
        if input_features is not None:
            columns.check_input_features(list(input_features), self._features_in, self.n_features_in_)
        return columns.numbered(type(self).__name__.lower(), self._n_features_out)

    @property
    def _features_in(self) -> list[str] | None:
        """The names of the columns that were learnt from, where they had names."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _name_features(self, names: list[str] | None) -> None:
        """Keep the names of the columns that are learnt from, or forget those of earlier ones."""
        if names is not None:
            self.feature_names_in_ = columns.texts(names)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` gives.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array of the library of the rows; or a table with the columns of `get_feature_names_out`, for which
            arrays come to host memory. Until it is chosen, scikit-learn's ``set_config(transform_output=…)`` decides.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If it is something else.
        """
        if transform is not None:
            columns.check_container(transform)
            self._sklearn_output_config = {"transform": transform}
        return self

    def _framed(self, values: Any, X: Any) -> Any:
        """What `transform` is to give, of values computed for these rows."""
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or columns.configured()
        return values if chosen == "default" else columns.framed(chosen, values, self.get_feature_names_out(), X)

    def set_fit_request(self, **requests: Any) -> Self:
        """Say which arguments of `fit` a pipeline or search is to hand on, where scikit-learn routes metadata.

        Parameters
        ----------
        **requests : bool, str or None
            By argument: whether it is handed on; the name that it goes by there; None, to refuse it where it is given.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If `fit` has no such argument.
        """
        return self._request("fit", requests)

    def set_partial_fit_request(self, **requests: Any) -> Self:
        """As `set_fit_request`, for `partial_fit`."""
        return self._request("partial_fit", requests)

    def set_score_request(self, **requests: Any) -> Self:
        """As `set_fit_request`, for `score`."""
        return self._request("score", requests)

    def _request(self, method: str, requests: dict[str, bool | str | None]) -> Self:
        allowed = _metadata(type(self), method)
        unknown = sorted(requests.keys() - set(allowed))
        if unknown:
            raise TypeError(f"{method} of {type(self).__name__} has no argument {unknown[0]!r}: it has {allowed}")
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            getattr(routing, method).add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self

    def get_metadata_routing(self) -> Any:
        """What `set_fit_request` and the like asked for, for scikit-learn.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        if hasattr(self, "_metadata_request"):
            return copy.deepcopy(self._metadata_request)
        routing = MetadataRequest(owner=self)
        for method in _ROUTED:
            for name in _metadata(type(self), method):
                getattr(routing, method).add_request(param=name, alias=None)
        return routing

    def _kept(self) -> dict[str, Any]:
        """What was asked for besides hyperparameters."""
        return {name: getattr(self, name) for name in _KEPT if hasattr(self, name)}

    def __repr__(self) -> str:
        default = self._defaults()
        changed = {
            name: value
            for name, value in self.get_params().items()
            if value is not default[name] and not (type(value) is type(default[name]) and value == default[name])
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64", "float32"]),
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


def _metadata(cls: type, method: str) -> list[str]:
    """The arguments of a method, besides rows and targets."""
    found = getattr(cls, method, None)
    return [] if found is None else [name for name in inspect.signature(found).parameters if name not in _UNASKED]
