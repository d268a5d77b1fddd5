"""What has to change in an old package's own modules, each once it is executed: the least, and with its reason."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import numpy_then
from .views import View

__all__ = ["amend"]


def amend(module: ModuleType, place: str) -> None:
    """Change what has to change in a module that lies at a place in its package.

    Parameters
    ----------
    module : module
        The module, executed.
    place : str
        Its name without the package's, with the dot before it.
    """
    if place in AMENDMENTS:
        AMENDMENTS[place](module)


def _pickles(module: ModuleType) -> None:
    """Keras's data sets are arrays of lists, which NumPy has not read since 1.16.3 unless told to."""
    module.np = View(module.np, {"load": numpy_then.load})  # type: ignore[attr-defined]


def _estimators(module: ModuleType) -> None:
    """scikit-learn asks estimators for their kind since 1.6, and how to copy those that copy their arguments."""
    module.BaseWrapper.__sklearn_clone__ = _clone
    module.BaseWrapper.__sklearn_tags__ = _tags
    module.KerasClassifier._estimator_type = "classifier"
    module.KerasRegressor._estimator_type = "regressor"


def _clone(self: Any) -> Any:
    return type(self)(self.build_fn, **copy.deepcopy(self.sk_params))


def _tags(self: Any) -> Any:
    utils = sys.modules["sklearn.utils"]  # it is scikit-learn that asks
    kind = self._estimator_type
    tags = utils.Tags(kind, utils.TargetTags(required=True))
    if kind == "classifier":
        tags.classifier_tags = utils.ClassifierTags()
    else:
        tags.regressor_tags = utils.RegressorTags()
    return tags


AMENDMENTS: dict[str, Callable[[ModuleType], None]] = {
    ".datasets.imdb": _pickles,
    ".datasets.reuters": _pickles,
    ".wrappers.scikit_learn": _estimators,
}
"""By the place in the package."""
