"""Changes of Keras's own modules, each made after the module was executed: only what is necessary, with the reason."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from . import views
from .views import View


def amend(module: ModuleType, place: str) -> None:
    """Apply the changes to a module of Keras.

    Parameters
    ----------
    module : module
        Module, after its execution.
    place : str
        Name of the module relative to the package, with a leading dot.
    """
    if place in AMENDMENTS:
        AMENDMENTS[place](module)


def _pickles(module: ModuleType) -> None:
    """Allow pickled arrays: Keras's data sets are arrays of lists, which NumPy does not load since 1.16.3."""
    module.np = View(module.np, {"load": views.numpy_load})  # type: ignore[attr-defined]


def _as_on_tensorflow(module: ModuleType) -> None:
    """Report "tensorflow" as the backend's name, by which Keras decides on flipping of kernels and inference of shapes.

    With another name, kernels of convolutions would be flipped when they are loaded from a file.
    """
    if hasattr(module.K, "image_data_format"):  # Keras 1.0 does not use it, and runs on Theano
        module.K = View(module.K, {"backend": lambda: "tensorflow"})  # type: ignore[attr-defined]


def _kernels(module: ModuleType) -> None:
    """Replace an index by a list of slices, which NumPy does not accept since 1.23."""
    module.convert_kernel = _turned  # type: ignore[attr-defined]


def _turned(kernel: Any) -> Any:
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError(f"kernel must have 3 to 5 axes, got shape {kernel.shape}")
    return np.flip(kernel, tuple(range(kernel.ndim - 2))).copy()


def _models(module: ModuleType) -> None:
    """Pickle a model in Keras's saved form: Theano's graphs could be pickled, recorded graphs cannot."""
    _as_on_tensorflow(module)
    module.Container.__reduce__ = _saved


def _saved(model: Any) -> Any:
    own = {type(layer).__name__: type(layer) for layer in model.layers}
    compiled: tuple[Any, ...] | None = None
    if hasattr(model, "loss_weights"):  # Keras 1.0 neither stores nor saves the arguments of compile
        names = ("loss", "metrics", "loss_weights", "sample_weight_mode")
        optimizer = model.optimizer
        options = {name: getattr(model, name) for name in names}
        compiled = (type(optimizer), optimizer.get_config(), optimizer.get_weights(), options)
    return _restored, (type(model), model.get_config(), model.get_weights(), own, compiled)


def _restored(kind: Any, config: Any, weights: Any, own: dict[str, type], compiled: Any) -> Any:
    takes_own = "custom_objects" in inspect.signature(kind.from_config).parameters
    model = kind.from_config(config, **({"custom_objects": own} if takes_own else {}))
    model.set_weights(weights)
    if compiled is not None:
        made_by, settings, state, options = compiled
        model.compile(made_by.from_config(settings), **options)
        if state:
            getattr(model, "model", model)._make_train_function()  # creates the optimizer's state
            model.optimizer.set_weights(state)
    return model


def _estimators(module: ModuleType) -> None:
    """Add the tags, and the method for cloning, that scikit-learn requires of estimators since 1.6."""
    module.BaseWrapper.__sklearn_clone__ = _clone
    module.BaseWrapper.__sklearn_tags__ = _tags
    module.KerasClassifier._estimator_type = "classifier"
    module.KerasRegressor._estimator_type = "regressor"


def _clone(self: Any) -> Any:
    return type(self)(self.build_fn, **copy.deepcopy(self.sk_params))


def _tags(self: Any) -> Any:
    utils = sys.modules["sklearn.utils"]  # the caller is scikit-learn
    kind = self._estimator_type
    tags = utils.Tags(kind, utils.TargetTags(required=True))
    if kind == "classifier":
        tags.classifier_tags = utils.ClassifierTags()
    else:
        tags.regressor_tags = utils.RegressorTags()
    return tags


# Changes by the module's name relative to the package.
AMENDMENTS: dict[str, Callable[[ModuleType], None]] = {
    ".applications.mobilenet": _as_on_tensorflow,
    ".applications.xception": _as_on_tensorflow,
    ".datasets.imdb": _pickles,
    ".datasets.reuters": _pickles,
    ".engine.topology": _models,
    ".layers.core": _as_on_tensorflow,
    ".models": _as_on_tensorflow,
    ".utils.conv_utils": _kernels,
    ".wrappers.scikit_learn": _estimators,
}
