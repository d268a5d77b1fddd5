"""Training methods, values of the hyperparameter `training`: `PCD`, `CD` and `PTT`, by name or as objects.

A method defines the negative phase, whether gradients are centred, whether training ends with a mean of parameters, and
the positive phase of deep machines.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from .negative_phase import ContrastiveDivergence, PersistentChains, TrainingMethod
from .optimizers import OPTIMIZERS
from .trajectory_tempering import TemperedChains


class PCD(TrainingMethod):
    """Persistent contrastive divergence: chains continue from step to step (Tieleman 2008).

    See `TrainingMethod` for the parameters.

    References
    ----------
    T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
    """

    name = "pcd"
    phase = PersistentChains


class CD(TrainingMethod):
    """Contrastive divergence: chains start at the minibatch in each step (Hinton 2002).

    See `TrainingMethod` for the parameters.

    References
    ----------
    G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
    """

    name = "cd"
    phase = ContrastiveDivergence


class PTT(TrainingMethod):
    """Parallel trajectory tempering: chains exchange states along a ladder of earlier machines (Béreux et al. 2025).

    Each machine has at least 100 chains. They cross between modes, and estimate log Z.

    See `TrainingMethod` for the parameters.

    References
    ----------
    N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
    machines", ICLR 2025.
    """

    name = "ptt"
    phase = TemperedChains
    schedule = "quadratic"
    momentum = 0.75  # effective steps are four times as long
    is_centred = is_averaged = True


# The methods by their names in `training`
METHODS: dict[str, type[TrainingMethod]] = {method.name: method for method in (PCD, CD, PTT)}


def training_method(training: str | TrainingMethod) -> TrainingMethod:
    """Return the method of a name, or the object itself.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(training, TrainingMethod):
        return training
    if isinstance(training, str) and training in METHODS:
        return METHODS[training]()
    raise ValueError(f"training must be one of {list(METHODS)} or a PCD, CD or PTT object, got {training!r}")


_OBJECTS: dict[str, Any] = {kind.__name__: kind for kind in (*METHODS.values(), *OPTIMIZERS.values())}


def _written(value: Any) -> Any:
    if type(value) in _OBJECTS.values():
        return {type(value).__name__: value.get_params()}
    return value.tolist()


def plain_params(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the hyperparameters as JSON values; those that are not plain values as their defaults.

    Numbers of array libraries become Python's, and objects a mapping of their class to their parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, SGD
    >>> found = plain_params(RBM(np.int64(3), optimizer=SGD(momentum=0.5), shuffle=np.bool_(True)))
    >>> found["n_components"], found["shuffle"], found["optimizer"]
    (3, True, {'SGD': {'l1_weights': 0.0, 'l2l1_weights': 0.0, 'momentum': 0.5, 'weight_decay': 0.0}})
    """
    found, known = {}, inspect.signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        try:
            found[name] = json.loads(json.dumps(value, default=_written))
        except (AttributeError, TypeError):
            found[name] = known[name].default
    return found


def from_plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyperparameters from the result of `plain_params`."""
    found = dict(params)
    for name, value in params.items():
        if isinstance(value, Mapping):
            ((kind, own),) = value.items()
            found[name] = _OBJECTS[kind](**own)
    return found
