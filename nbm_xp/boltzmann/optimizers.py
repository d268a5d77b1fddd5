"""Optimizers: gradient descent with momentum, Adam, learning rate schedules, and averages of parameters.

Training with minibatches and chains at a constant learning rate does not converge: the parameters fluctuate with the
last minibatches and states. The mean of the parameters over many steps is asymptotically efficient for a wide range of
learning rates (Polyak and Juditsky 1992). The weight of a step is proportional to its number, because the first steps
are still far from the optimum (Lacoste-Julien, Schmidt and Bach 2012).

References
----------
D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
B. T. Polyak and A. B. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM Journal on Control and
Optimization 30 (1992).
S. Lacoste-Julien, M. Schmidt and F. Bach, "A simpler approach to obtaining an O(1/t) convergence rate for the projected
stochastic subgradient method", arXiv:1212.2002 (2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from sklearn.base import BaseEstimator

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Updates
from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.errors import checked_number
from nbm_xp.tape import Function

from .state import MachineState
from .storage import MEAN

_SECOND, _TINY = 0.999, 1e-8
_PART = 4  # the mean is over the last quarter of the steps
_STEPS = f"{MEAN}steps"

Schedule: TypeAlias = Callable[[int, int], float]

# Factors of the learning rate as functions of the numbers of epochs done and in total: constant; linear or quadratic
# to 0; exponential to a hundredth; or a tenth after half and a hundredth after three quarters of the epochs
SCHEDULES: dict[str, Schedule] = {
    "constant": lambda done, total: 1.0,
    "linear": lambda done, total: 1.0 - done / total,
    "quadratic": lambda done, total: (1.0 - done / total) ** 2,
    "exponential": lambda done, total: 0.01 ** (done / total),
    "step": lambda done, total: 0.1 ** ((2 * done >= total) + (4 * done >= 3 * total)),
}


@dataclass(eq=False, repr=False)
class SGD(BaseEstimator):  # type: ignore[misc]
    """Gradient descent with momentum.

    Parameters
    ----------
    momentum : float, optional
        Momentum, from 0 to less than 1; by default 0.75 with ``"ptt"`` training, else 0.
    weight_decay : float, optional
        L2 penalty: ``weight_decay / 2`` times the sum of squared weights is subtracted from the mean log-likelihood.
    l1_weights : float, optional
        L1 penalty: `l1_weights` times the sum of the absolute values of weights is subtracted.
    l2l1_weights : float, optional
        Group penalty: for each hidden unit, ``l2l1_weights / 2`` times the sum of the absolute values of its weights,
        squared and divided by their number, is subtracted.

    Notes
    -----
    A step with an L1 or group penalty is one of gradient descent without it, followed by soft thresholding (a proximal
    step), so that weights become exactly 0; in the zero-sum gauge of categorical units, up to rounding.

    References
    ----------
    N. Parikh and S. Boyd, "Proximal algorithms", Foundations and Trends in Optimization 1 (2014).
    J. Tubiana, S. Cocco and R. Monasson, "Learning protein constitutive motifs from sequence data", eLife 8 (2019).

    Examples
    --------
    >>> from nbm_xp.boltzmann import RBM, SGD
    >>> RBM(16, optimizer=SGD(momentum=0.5)).get_params()["optimizer__momentum"]
    0.5
    """

    momentum: float | None = None
    weight_decay: float = 0.0
    l1_weights: float = 0.0
    l2l1_weights: float = 0.0
    name: ClassVar[str] = "sgd"

    def check(self) -> None:
        """Raise `ValueError` for invalid parameters."""
        if self.momentum is not None:
            checked_number(self.momentum, "momentum", 1)
        for name in ("weight_decay", "l1_weights", "l2l1_weights"):
            checked_number(getattr(self, name), name)

    # Whether steps are proportional to gradients, so that the learning rate can be a factor of the loss.
    #
    # This saves the product of the rate with the gradients of all parameters.
    in_proportion: ClassVar[bool] = True

    def steps(
        self, state: MachineState, rate: Array, gradients: Sequence[Array], momentum: float
    ) -> tuple[list[Array], Updates]:
        """Return the step to subtract from each parameter, and updates of the optimizer's Variables.

        Parameters
        ----------
        state : MachineState
        rate : Tensor
            The learning rate.
        gradients : sequence of Tensor
            Gradients of the loss, times `rate` if `in_proportion`; first those of the weights.
        momentum : float
            The momentum if the optimizer's own is None.
        """
        momentum = self._momentum(momentum)
        steps = self._decayed(state, rate, gradients)
        if not momentum:
            return steps, []
        velocities = state.beside("velocity.")
        steps = [momentum * old + step for old, step in zip(velocities, steps, strict=True)]
        return steps, list(zip(velocities, steps, strict=True))

    def _decayed(self, state: MachineState, rate: Array, steps: Sequence[Array]) -> list[Array]:
        """Return steps with the weight decay added."""
        weights = state.parameters.weights if self.weight_decay else ()
        decay = rate * self.weight_decay
        return [*(step + decay * old for step, old in zip(steps, weights, strict=False)), *steps[len(weights) :]]

    def _momentum(self, default: float) -> float:
        return default if self.momentum is None else float(self.momentum)

    def shrunk(self, state: MachineState, rate: Array, steps: Sequence[Array], momentum: float) -> list[Array]:
        """Return steps followed by the soft thresholding of the L1 and group penalties: see `steps`."""
        found = list(steps)
        rate = rate / (1 - self._momentum(momentum)) if self.in_proportion else rate
        for place, old in enumerate(state.parameters.weights if self.l1_weights or self.l2l1_weights else ()):
            most = rate * (self.l1_weights + self.l2l1_weights * B.mean(B.abs(old), axis=0))
            moved, xp = old - steps[place], array_namespace(old)
            found[place] = xp.where(B.abs(moved) <= most, old, steps[place] + most * B.sign(moved))  # exactly to 0
        return found


@dataclass(eq=False, repr=False)
class Adam(SGD):
    """Adam, whose steps have the size of the learning rate in each parameter: use a low rate, such as 0.001.

    Parameters
    ----------
    momentum : float, optional
        Decay of the mean gradient, from 0 to less than 1.
    weight_decay : float, optional
        Decoupled weight decay.
    l1_weights, l2l1_weights : float, optional
        Decoupled L1 and group penalties: see `SGD`.

    References
    ----------
    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    momentum: float | None = 0.9
    name = "adam"

    in_proportion = False

    def steps(
        self, state: MachineState, rate: Array, gradients: Sequence[Array], momentum: float
    ) -> tuple[list[Array], Updates]:
        """See `SGD`."""
        first = 0.9 if self.momentum is None else float(self.momentum)
        velocities, squares = state.beside("velocity."), state.beside("square.")
        count = state.stored("adam.steps", state.constant([0.0]))
        done = count + 1
        means = [first * old + (1 - first) * new for old, new in zip(velocities, gradients, strict=True)]
        spreads = [_SECOND * old + (1 - _SECOND) * B.square(new) for old, new in zip(squares, gradients, strict=True)]
        # Both means start at 0; divide by the sums of their weights to remove this bias.
        seen, seen_squares = 1 - (B.exp(math.log(first) * done) if first else 0.0), 1 - B.exp(math.log(_SECOND) * done)
        scale = rate * B.sqrt(seen_squares) / seen
        steps = [scale * mean / (B.sqrt(spread) + _TINY) for mean, spread in zip(means, spreads, strict=True)]
        updates = [*zip(velocities, means, strict=True), *zip(squares, spreads, strict=True), (count, done)]
        return self._decayed(state, rate, steps), updates


OPTIMIZERS: dict[str, type[SGD]] = {"sgd": SGD, "adam": Adam}  # the optimizers by their names in `optimizer`


def optimizer_of(optimizer: str | SGD) -> SGD:
    """Return the optimizer of a name, or the object itself.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(optimizer, SGD):
        return optimizer
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return OPTIMIZERS[optimizer]()
    raise ValueError(f"optimizer must be one of {list(OPTIMIZERS)} or an SGD or Adam object, got {optimizer!r}")


def check_flag(value: object, name: str, default: object) -> None:
    """Raise `ValueError` unless `value` is a boolean of any library, or the default."""
    shape = getattr(value, "shape", ())
    is_default = value is default or (isinstance(value, str) and value == default)
    if not is_default and (shape or isinstance(value, str) or value not in (True, False)):
        allowed = "True or False" if isinstance(default, bool) else f"{default!r}, True or False"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_schedule(schedule: object) -> None:
    """Raise `ValueError` unless `schedule` is the name of a schedule or callable."""
    names = ["auto", *SCHEDULES]
    if not callable(schedule) and not (isinstance(schedule, str) and schedule in names):
        raise ValueError(f"schedule must be one of {names} or a callable, got {schedule!r}")


def rate_after(schedule: str | Schedule, rate: float, done: int, total: int) -> float:
    """Return the learning rate of the epoch after `done` of `total` epochs.

    Parameters
    ----------
    schedule : str or callable
        A name of `SCHEDULES`, or a function of `done` and `total` that returns the factor of the rate.
    rate : float
        The learning rate to multiply.
    done, total : int

    Raises
    ------
    ValueError
        If a callable does not return a finite number of at least 0.

    Examples
    --------
    >>> [rate_after("linear", 0.5, done, 4) for done in range(4)]
    [0.5, 0.375, 0.25, 0.125]
    >>> rate_after(lambda done, total: 1 / (1 + done), 0.5, 1, 4)
    0.25
    """
    factor = (SCHEDULES[schedule] if isinstance(schedule, str) else schedule)(done, total)
    if not hasattr(factor, "__float__") or not math.isfinite(factor) or factor < 0:
        raise ValueError(f"schedule must give a finite factor of at least 0, got {factor!r} after {done} of {total}")
    return rate * float(factor)


def first_averaged(done: int, passes: int, steps: int) -> int:
    """Return the first averaged step of the epoch after `done` epochs; the number of its steps if there is none.

    Examples
    --------
    >>> [first_averaged(done, 10, 100) for done in range(5, 10)]
    [100, 100, 50, 0, 0]
    """
    total = passes * steps
    return min(max(total - total // _PART - done * steps, 0), steps)


def averaging_step(state: MachineState) -> Function:
    """Return the compiled step that adds the current parameters to their weighted mean.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> rbm = RBM.from_parameters(np.zeros((1, 2)), np.zeros(1), np.zeros(2))
    >>> for bias in (1.0, 2.0, 6.0):
    ...     rbm.intercept_hidden_ = np.array([bias])
    ...     _ = averaging_step(rbm.state_)()
    >>> end_averaging(rbm.state_, adopt=True)
    >>> rbm.intercept_hidden_.round(6), rbm.state_.variables  # (1 + 2 * 2 + 3 * 6) / (1 + 2 + 3)
    (array([3.833333]), {})
    """

    def build() -> Function:
        means, steps = state.beside(MEAN), state.stored(_STEPS, state.constant([0.0]))
        part = B.reshape(2.0 / (steps + 2.0), ())
        moved = [(mean, mean + part * (now - mean)) for mean, now in zip(means, state.parameters, strict=True)]
        return B.function([], [], updates=[*moved, (steps, steps + 1.0)], name="averaging")

    return state.function(("averaging",), build)


def end_averaging(state: MachineState, *, adopt: bool) -> None:
    """Drop the mean of parameters, if there is one; with `adopt`, first set the parameters to it."""
    if _STEPS not in state.variables:
        return
    if adopt:
        for mean, now in zip(state.beside(MEAN), state.parameters, strict=True):
            now.set_value(mean.value)
    for name in [name for name in state.variables if name.startswith(MEAN)]:
        del state.variables[name]
    state.forget("averaging")
