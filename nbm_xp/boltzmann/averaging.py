"""The mean of a machine's parameters along the last steps of learning, with which `fit` ends.

A machine that learns from minibatches and from states that chains draw never comes to rest: it follows whatever the
last few of them had. Its mean along a pass has seen each row once and many more states, and is nearly as good as any
estimate can be, whatever the learning rate was (Polyak and Juditsky 1992).

References
----------
B. T. Polyak and A. B. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM Journal on Control and
Optimization 30 (1992).
K. Swersky, B. Chen, B. Marlin and N. de Freitas, "A tutorial on stochastic approximation algorithms for training
restricted Boltzmann machines and deep belief nets", ITA 2010.
"""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import array_namespace, library_name, use_backend

from .energy import Parameters
from .model import variable

__all__ = ["Averaging", "averaged_steps"]


def averaged_steps(passes: int, steps: int) -> int:
    """How many steps, the last ones of the last pass, are averaged: those of that pass, but no more than a quarter of all.

    Examples
    --------
    >>> [averaged_steps(passes, 100) for passes in (1, 2, 4, 10)]
    [25, 50, 100, 100]
    """
    return min(steps, passes * steps // 4)


class Averaging:
    """A mean of parameters, to which each step adds.

    Parameters
    ----------
    parameters : Parameters of Variables

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm = RBM.from_parameters(np.zeros((1, 2)), np.zeros(1), np.zeros(2))
    >>> averaging = Averaging(rbm._parameters)
    >>> for bias in (1.0, 2.0, 6.0):
    ...     rbm.intercept_hidden_ = np.array([bias])
    ...     averaging.add()
    >>> averaging.finish()
    >>> rbm.intercept_hidden_
    array([3.])
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = list(parameters)
        with use_backend(library_name(self._parameters[0].value)):
            self._means = [variable(array_namespace(now.value).zeros_like(now.value)) for now in self._parameters]
            part = B.placeholder(shape=(), dtype=parameters.dtype, name="part")
            pairs = list(zip(self._means, self._parameters, strict=True))
            moved = [(mean, mean + part * (now - mean)) for mean, now in pairs]
            self._step = B.function([part], [], updates=moved, name="averaging")
        self._count = 0

    def add(self) -> None:
        """Let the parameters as they are count."""
        self._count += 1
        self._step(1.0 / self._count)

    def finish(self) -> None:
        """Set the parameters to the mean, if anything counted."""
        if self._count:
            for now, mean in zip(self._parameters, self._means, strict=True):
                now.set_value(mean.value)
