"""What scikit-learn expects of an estimator, without needing scikit-learn.

An estimator's hyperparameters are the arguments of its constructor, kept unchanged under the same names; learning puts
its results into attributes whose names end in an underscore. That is enough for `clone`, `Pipeline` and the searches
over hyperparameters.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

__all__ = ["Estimator", "NotFittedError"]


class NotFittedError(ValueError, AttributeError):
    """Raised where a model is used before it has learnt anything."""


class Estimator:
    """Hyperparameters by name, as scikit-learn's tools read and set them."""

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
            input_tags=InputTags(),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")
