"""The mean of a machine's parameters along the last steps of learning, with which `fit` ends.

A machine that learns from minibatches and from states that chains draw never comes to rest: it follows whatever the
last few of them had. Its mean along many steps has seen all rows and far more states, and is nearly as good as any
estimate can be, whatever the learning rate was (Polyak and Juditsky 1992). Later steps count more, in proportion to
their number, for the first ones are not there yet (Lacoste-Julien, Schmidt and Bach 2012).

The mean is kept among the arrays that the machine goes on with, ``mean.weights.I-J``, ``mean.biases.I`` and
``mean.steps``, while there is one: from the last quarter of the steps on to the end.

References
----------
B. T. Polyak and A. B. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM Journal on Control and
Optimization 30 (1992).
S. Lacoste-Julien, M. Schmidt and F. Bach, "A simpler approach to obtaining an O(1/t) convergence rate for the projected
stochastic subgradient method", arXiv:1212.2002 (2012).
K. Swersky, B. Chen, B. Marlin and N. de Freitas, "A tutorial on stochastic approximation algorithms for training
restricted Boltzmann machines and deep belief nets", ITA 2010.
"""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, library_name, use_backend

from . import storage
from .energy import Parameters, variable

__all__ = ["Averaging", "finish", "first_averaged", "forget"]

_PART = 4  # the last quarter of the steps


def first_averaged(done: int, passes: int, steps: int) -> int:
    """The first step of the pass after so many whose parameters count; as many as it has, if none of them does.

    Examples
    --------
    >>> [first_averaged(done, 10, 100) for done in range(5, 10)]
    [100, 100, 50, 0, 0]
    """
    total = passes * steps
    return min(max(total - total // _PART - done * steps, 0), steps)


class Averaging:
    """A mean of parameters, to which steps add.

    Parameters
    ----------
    parameters : Parameters of Variables
    arrays : dict of str to Variable
        Where the mean is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm, kept = RBM.from_parameters(np.zeros((1, 2)), np.zeros(1), np.zeros(2)), {}
    >>> averaging = Averaging(rbm.state_.parameters, kept)
    >>> for bias in (1.0, 2.0, 6.0):
    ...     rbm.intercept_hidden_ = np.array([bias])
    ...     averaging.add()
    >>> finish(rbm.state_.parameters, kept)
    >>> rbm.intercept_hidden_.round(6), kept  # (1 + 2 * 2 + 3 * 6) / (1 + 2 + 3)
    (array([3.833333]), {})
    """

    def __init__(self, parameters: Parameters, arrays: dict[str, Any]) -> None:
        like, named = parameters.biases[0].value, _named(parameters)
        xp = array_namespace(like)
        for name, now in named:
            if name not in arrays:
                arrays[name] = variable(xp.zeros_like(now.value), name)
        if _STEPS not in arrays:
            arrays[_STEPS] = variable(xp.zeros((1,), dtype=like.dtype), _STEPS)
        with use_backend(library_name(like)):
            steps = arrays[_STEPS]
            part = B.reshape(2.0 / (steps + 2.0), ())
            moved = [(arrays[name], arrays[name] + part * (now - arrays[name])) for name, now in named]
            self._step = B.function([], [], updates=[*moved, (steps, steps + 1.0)], name="averaging")

    def add(self) -> None:
        """Let the parameters as they are count."""
        self._step()


def finish(parameters: Parameters, arrays: dict[str, Any]) -> None:
    """Set parameters to their mean, if one was begun, which is then forgotten."""
    if _STEPS in arrays:
        for name, now in _named(parameters):
            now.set_value(arrays[name].value)
        forget(arrays)


def _named(parameters: Parameters) -> list[tuple[str, Any]]:
    """The parameters, and what their means are called."""
    names = storage.names(parameters.topology)
    return [(storage.MEAN + name, now) for name, now in zip(names, parameters, strict=True)]


def forget(arrays: dict[str, Any]) -> None:
    """Drop a mean that was begun."""
    for name in [name for name in arrays if name.startswith(storage.MEAN)]:
        del arrays[name]


_STEPS = f"{storage.MEAN}steps"
