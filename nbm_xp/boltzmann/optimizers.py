"""From gradients to steps: gradient descent with momentum, Adam, learning rates that fall, and means along the way.

A machine that learns from minibatches and from states that chains draw never comes to rest: it follows whatever the
last few of them had. Its mean along many steps has seen all rows and far more states, and is nearly as good as any
estimate can be, whatever the learning rate was (Polyak and Juditsky 1992). Later steps count more, in proportion to
their number, for the first ones are not there yet (Lacoste-Julien, Schmidt and Bach 2012).

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
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Updates
from nbm_xp.namespace import array_namespace, library_name, use_backend

from . import storage
from .energy import Parameters, variable
from .state import MachineState

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "SGD",
    "Adam",
    "Averaging",
    "Descent",
    "Schedule",
    "check_schedule",
    "check_flag",
    "check_number",
    "finish",
    "first_averaged",
    "forget",
    "optimizer_of",
    "rate_after",
]

_SECOND, _TINY = 0.999, 1e-8
_PART = 4  # the last quarter of the steps counts in a mean
_STEPS = f"{storage.MEAN}steps"

Schedule = Callable[[int, int], float]

SCHEDULES: dict[str, Schedule] = {
    "constant": lambda done, total: 1.0,
    "linear": lambda done, total: 1.0 - done / total,
    "quadratic": lambda done, total: (1.0 - done / total) ** 2,
    "exponential": lambda done, total: 0.01 ** (done / total),
    "step": lambda done, total: 0.1 ** ((2 * done >= total) + (4 * done >= 3 * total)),
}
"""The factor of the learning rate after so many epochs of a total: the same; down to 0, evenly or ever more slowly;
down to a hundredth, by one factor in each epoch; a tenth after half of the epochs, a hundredth after three quarters."""


@dataclass(frozen=True)
class Descent:
    """How far a step goes, and where.

    Attributes
    ----------
    rate : Tensor
        The learning rate.
    momentum : float
        How much of the last step comes again; of Adam, how slowly its mean gradient forgets.
    weight_decay : float
    velocities : Parameters of Variables, or None
        The decaying sums of past steps; of Adam, the means of gradients. None for plain steps.
    squares : Parameters of Variables, or None
        Of Adam, the means of the squares of gradients.
    count : Variable of shape (1,), or None
        Of Adam, how many steps there were.
    """

    rate: Array
    momentum: float = 0.0
    weight_decay: float = 0.0
    velocities: Parameters | None = None
    squares: Parameters | None = None
    count: Any = None

    def scaled(self, counts: Array) -> Any:
        """What each state counts in the loss: the rate is in it, where steps are in proportion to gradients.

        A product with the gradients would be one of all parameters.
        """
        return self.rate * counts if self.squares is None else counts

    def steps(self, gradients: Sequence[Array], weights: Sequence[Array]) -> tuple[list[Array], Updates]:
        """How far each parameter is to go down, and updates of what the optimizer stores.

        Parameters
        ----------
        gradients : sequence of Tensor
            Of the loss that `scaled` scales; those of the weights first.
        weights : sequence of Tensor
            What `weight_decay` pulls towards 0.
        """
        if self.squares is None or self.velocities is None:
            return self._plain(self._decayed(gradients, weights))
        steps, updates = self._adaptive(gradients, self.velocities, self.squares)
        return self._decayed(steps, weights), updates

    def _decayed(self, steps: Sequence[Array], weights: Sequence[Array]) -> list[Array]:
        if not self.weight_decay:
            return list(steps)
        decay = self.rate * self.weight_decay
        count = len(weights)
        return [*(step + decay * values for step, values in zip(steps, weights, strict=False)), *steps[count:]]

    def _plain(self, steps: list[Array]) -> tuple[list[Array], Updates]:
        if self.velocities is None:
            return steps, []
        steps = [self.momentum * old + step for old, step in zip(self.velocities, steps, strict=True)]
        return steps, list(zip(self.velocities, steps, strict=True))

    def _adaptive(
        self, gradients: Sequence[Array], velocities: Parameters, squares: Parameters
    ) -> tuple[list[Array], Updates]:
        first, done = self.momentum, self.count + 1
        means = [first * old + (1 - first) * new for old, new in zip(velocities, gradients, strict=True)]
        spreads = [_SECOND * old + (1 - _SECOND) * B.square(new) for old, new in zip(squares, gradients, strict=True)]
        # Both means began at 0: in proportion to what they have seen, they are too small.
        seen, seen_squares = 1 - (B.exp(math.log(first) * done) if first else 0.0), 1 - B.exp(math.log(_SECOND) * done)
        scale = self.rate * B.sqrt(seen_squares) / seen
        steps = [scale * mean / (B.sqrt(spread) + _TINY) for mean, spread in zip(means, spreads, strict=True)]
        updates = [*zip(velocities, means, strict=True), *zip(squares, spreads, strict=True), (self.count, done)]
        return steps, updates


class SGD(BaseEstimator):  # type: ignore[misc]
    """Gradient descent with momentum.

    Parameters
    ----------
    momentum : float, optional
        How much of the last step is repeated in the next, from 0 to less than 1; by default 0.75 with ``"ptt"``
        training, else 0.
    weight_decay : float, optional
        How strongly weights are pulled towards 0: twice the factor of their sum of squares in the objective.

    Examples
    --------
    >>> from nbm_xp.boltzmann import RBM, SGD
    >>> RBM(16, optimizer=SGD(momentum=0.5)).get_params()["optimizer__momentum"]
    0.5
    """

    name: ClassVar[str] = "sgd"

    def __init__(self, momentum: float | None = None, weight_decay: float = 0.0) -> None:
        self.momentum = momentum
        self.weight_decay = weight_decay

    def check(self) -> None:
        """Raise `ValueError` for parameters that steps could not be made with."""
        if self.momentum is not None:
            check_number(self.momentum, "momentum", 0, 1)
        check_number(self.weight_decay, "weight_decay", 0, math.inf)

    def descent(self, state: MachineState, rate: Array, momentum: float) -> Descent:
        """Steps for the parameters of a state, with this momentum where the optimizer's own is left open."""
        momentum = momentum if self.momentum is None else float(self.momentum)
        velocities = state.beside("velocity.", make=True) if momentum else None
        return Descent(rate, momentum, self.weight_decay, velocities)


class Adam(SGD):
    """Adam, whose steps are of the size of the learning rate in each parameter: it must be far lower then, as 0.001.

    Parameters
    ----------
    momentum : float, optional
        How slowly the mean gradient forgets, from 0 to less than 1.
    weight_decay : float, optional
        How strongly weights are pulled towards 0, apart from the gradient.

    References
    ----------
    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    name = "adam"

    def __init__(self, momentum: float = 0.9, weight_decay: float = 0.0) -> None:
        super().__init__(momentum, weight_decay)

    def descent(self, state: MachineState, rate: Array, momentum: float) -> Descent:
        """Steps for the parameters of a state."""
        velocities, squares = (state.beside(prefix, make=True) for prefix in ("velocity.", "square."))
        if "adam.steps" not in state.variables:
            state.variables["adam.steps"] = variable(state.constant([0.0]), "adam.steps")
        count = state.variables["adam.steps"]
        momentum = 0.9 if self.momentum is None else float(self.momentum)
        return Descent(rate, momentum, self.weight_decay, velocities, squares, count)


OPTIMIZERS: dict[str, type[SGD]] = {"sgd": SGD, "adam": Adam}
"""The optimizers by the names that `optimizer` may give."""


def optimizer_of(optimizer: str | SGD) -> SGD:
    """The optimizer that `optimizer` names, or is.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(optimizer, SGD):
        return optimizer
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return OPTIMIZERS[optimizer]()
    raise ValueError(f"optimizer must be one of {list(OPTIMIZERS)} or an SGD or Adam object, got {optimizer!r}")


def check_number(value: Any, name: str, low: float, high: float) -> None:
    """Raise `ValueError` for what is no number from `low` to less than `high`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < high:
        above = "above 0" if low else "at least 0"
        raise ValueError(f"{name} must be a number, {above} and below {high}, got {value!r}")


def check_flag(value: Any, name: str, default: Any) -> None:
    """Raise `ValueError` for what is neither true nor false, of any library, nor the default."""
    shape: Any = getattr(value, "shape", ())
    is_default = value is default or (isinstance(value, str) and value == default)
    if not is_default and (shape or isinstance(value, str) or value not in (True, False)):
        allowed = "True or False" if isinstance(default, bool) else f"{default!r}, True or False"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


def check_schedule(schedule: Any) -> None:
    """Raise `ValueError` for what is neither the name of a schedule nor callable."""
    if not callable(schedule) and not (isinstance(schedule, str) and schedule in SCHEDULES):
        raise ValueError(f"schedule must be one of {['auto', *SCHEDULES]} or a callable, got {schedule!r}")


def rate_after(schedule: str | Schedule, rate: float, done: int, total: int) -> float:
    """The learning rate of the epoch that comes after so many of a total.

    Parameters
    ----------
    schedule : str or callable
        A name of `SCHEDULES`, or a function of `done` and `total` that gives the factor of the rate.
    rate : float
        What the factor applies to.
    done, total : int

    Raises
    ------
    ValueError
        If a schedule of the user's gives no finite number of at least 0.

    Examples
    --------
    >>> [rate_after("linear", 0.5, done, 4) for done in range(4)]
    [0.5, 0.375, 0.25, 0.125]
    >>> rate_after(lambda done, total: 1 / (1 + done), 0.5, 1, 4)
    0.25
    """
    factor: Any = (SCHEDULES[schedule] if isinstance(schedule, str) else schedule)(done, total)
    if not hasattr(factor, "__float__") or not math.isfinite(factor) or factor < 0:
        raise ValueError(f"schedule must give a finite factor of at least 0, got {factor!r} after {done} of {total}")
    return rate * float(factor)


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

    def __init__(self, parameters: Parameters, arrays: dict[str, Array]) -> None:
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


def finish(parameters: Parameters, arrays: dict[str, Array]) -> None:
    """Set parameters to their mean, if one was begun, which is then forgotten."""
    if _STEPS in arrays:
        for name, now in _named(parameters):
            now.set_value(arrays[name].value)
        forget(arrays)


def _named(parameters: Parameters) -> list[tuple[str, Any]]:
    """The parameters, and what their means are called."""
    names = storage.names(parameters.topology)
    return [(storage.MEAN + name, now) for name, now in zip(names, parameters, strict=True)]


def forget(arrays: dict[str, Array]) -> None:
    """Drop a mean that was begun."""
    for name in [name for name in arrays if name.startswith(storage.MEAN)]:
        del arrays[name]
