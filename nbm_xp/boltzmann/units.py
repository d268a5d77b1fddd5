"""Kinds of units: all that a Boltzmann machine knows about what a unit can be.

A unit that receives r has the states x with weights exp(x·r - e(x)), where e is its own energy. What follows from that
stands here, once for each kind; a topology holds the kind of each layer, and no other chapter asks which it is.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from nbm_xp import natural_bm as B

__all__ = ["BINARY", "GAUSSIAN", "KINDS", "SPIN", "Binary", "Gaussian", "Spin", "Units", "softplus"]

_TINY = 1e-30  # a probability below it adds nothing to an entropy
_RAREST = 2.0**-23  # what float32 can tell from 0, and 1 less it from 1


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, which the tape records in its stable form."""
    return B.log(1 + B.exp(x))


class Units:
    """A kind of units. What is given element by element is for Tensors, rates and biases for arrays too.

    Attributes
    ----------
    name : str
    within : tuple of float, or None
        The least and the largest value that data may have, what is between being means; None for all real numbers.
    states : tuple of float, or None
        What a unit can be, in the order in which states are enumerated; None where that cannot be listed.
    stored : str or None
        The dtype that holds a state on disk; None for the model's.
    has_own_energy : bool
    prior_count : int
        How many rows, half of them of each state, count with the data where a base rate is estimated.
    undecided : float
        The mean that a chain starts with where nothing is known of it.
    log_volume : float
        The logarithm of the sum of weights of a unit that receives nothing.
    constant : float
        The part of each unit's `log_normaliser` that does not depend on what it receives, and is left out there.
    """

    name: ClassVar[str]
    within: ClassVar[tuple[float, float] | None]
    states: ClassVar[tuple[float, ...] | None]
    stored: ClassVar[str | None]
    has_own_energy: ClassVar[bool] = False
    prior_count: ClassVar[int] = 0
    undecided: ClassVar[float] = 0.5
    log_volume: ClassVar[float]
    constant: ClassVar[float] = 0.0

    def mean(self, inputs: Any) -> Any:
        """The mean of units that receive these inputs."""
        raise NotImplementedError

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any) -> Any:
        """States with these means."""
        raise NotImplementedError

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any) -> Any:
        """The states that chains start with, told where: means to draw with, or states themselves."""
        return self.draw(mean, shape, B.dtype(mean), rng)

    def log_normaliser(self, inputs: Any) -> Any:
        """The logarithm of the sum over a unit's states of their weights, less `constant`."""
        raise NotImplementedError

    def own_energy(self, state: Any) -> Any:
        """The energy that units have by themselves, of kinds that have one."""
        raise NotImplementedError

    def entropy(self, mean: Any) -> Any:
        """The entropy of units with these means, but for a constant."""
        raise NotImplementedError

    def listed(self, numbers: Any) -> Any:
        """States, from their places in `states`."""
        return numbers

    def turned(self, state: Any, where: Any) -> Any:
        """The other state of units of two, where `where` is 1; as they were, where it is 0."""
        raise NotImplementedError

    def base_rate(self, mean: Any, count: int) -> Any:
        """The base rate that so many rows with a mean tell."""
        return mean

    def bias(self, rate: Any) -> Any:
        """The bias of units without neighbours that have a base rate for their mean."""
        raise NotImplementedError

    def possible(self, rate: Any) -> Any:
        """A base rate at which every state has some chance."""
        return rate

    @property
    def neutral(self) -> float:
        """The mean of a unit that receives nothing."""
        raise NotImplementedError


class Binary(Units):
    """0 or 1."""

    name = "binary"
    within = (0.0, 1.0)
    states = (0.0, 1.0)
    stored = "uint8"
    prior_count = 2
    log_volume = math.log(2)
    neutral = 0.5

    def mean(self, inputs: Any) -> Any:
        """The probability of 1."""
        return B.sigmoid(inputs)

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any) -> Any:
        """A uniform for each unit."""
        return B.random_binomial(shape, p=mean, dtype=B.dtype(mean), rng=rng)

    def log_normaliser(self, inputs: Any) -> Any:
        """Of 0 and of 1."""
        return softplus(inputs)

    def entropy(self, mean: Any) -> Any:
        """Of independent units."""
        off = 1 - mean
        return -(mean * B.log(B.maximum(mean, _TINY)) + off * B.log(B.maximum(off, _TINY)))

    def turned(self, state: Any, where: Any) -> Any:
        """1 in place of 0, 0 in place of 1."""
        return state + where * (1 - 2 * state)

    def base_rate(self, mean: Any, count: int) -> Any:
        """With a 0 and a 1 more than there are: no unit is always the same."""
        return (count * mean + 1.0) / (count + 2.0)

    def bias(self, rate: Any) -> Any:
        """The log-odds."""
        return B.log(rate) - B.log(1.0 - rate)

    def possible(self, rate: Any) -> Any:
        """Neither 0 nor 1."""
        return B.minimum(B.maximum(rate, _RAREST), 1 - _RAREST)


class Gaussian(Units):
    """Real numbers, normally distributed around what they receive with variance 1; e(x) = ½ x²."""

    name = "gaussian"
    within = None
    states = None
    stored = None
    has_own_energy = True
    log_volume = 0.5 * math.log(2 * math.pi)
    constant = log_volume
    neutral = 0.0

    def mean(self, inputs: Any) -> Any:
        """What they receive."""
        return inputs

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any) -> Any:
        """A normal number for each unit."""
        return mean + B.random_normal(shape, 0.0, 1.0, dtype=dtype, rng=rng)

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any) -> Any:
        """Where they are told to."""
        return mean

    def log_normaliser(self, inputs: Any) -> Any:
        """The integral."""
        return 0.5 * B.square(inputs)

    def own_energy(self, state: Any) -> Any:
        """½ x²."""
        return 0.5 * B.square(state)

    def bias(self, rate: Any) -> Any:
        """The mean itself."""
        return rate


class Spin(Units):
    """-1 or 1."""

    name = "spin"
    within = (-1.0, 1.0)
    states = (-1.0, 1.0)
    stored = "int8"
    prior_count = 2
    undecided = 0.0
    log_volume = math.log(2)
    neutral = 0.0

    def mean(self, inputs: Any) -> Any:
        """The probability of 1 less that of -1: the hyperbolic tangent."""
        return 2 * B.sigmoid(2 * inputs) - 1

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any) -> Any:
        """A uniform for each unit."""
        return 2 * B.random_binomial(shape, p=0.5 * (mean + 1), dtype=B.dtype(mean), rng=rng) - 1

    def log_normaliser(self, inputs: Any) -> Any:
        """Of -1 and of 1."""
        return softplus(2 * inputs) - inputs

    def entropy(self, mean: Any) -> Any:
        """Of independent units."""
        on, off = 0.5 * (1 + mean), 0.5 * (1 - mean)
        return -(on * B.log(B.maximum(on, _TINY)) + off * B.log(B.maximum(off, _TINY)))

    def listed(self, numbers: Any) -> Any:
        """From 0 and 1."""
        return 2 * numbers - 1

    def turned(self, state: Any, where: Any) -> Any:
        """1 in place of -1, -1 in place of 1."""
        return state * (1 - 2 * where)

    def base_rate(self, mean: Any, count: int) -> Any:
        """With a -1 and a 1 more than there are: no unit is always the same."""
        return count * mean / (count + 2.0)

    def bias(self, rate: Any) -> Any:
        """Half of the log-odds."""
        return 0.5 * (B.log(1.0 + rate) - B.log(1.0 - rate))

    def possible(self, rate: Any) -> Any:
        """Neither -1 nor 1."""
        return B.minimum(B.maximum(rate, 2 * _RAREST - 1), 1 - 2 * _RAREST)


BINARY, GAUSSIAN, SPIN = Binary(), Gaussian(), Spin()
KINDS: dict[str, Units] = {kind.name: kind for kind in (BINARY, GAUSSIAN, SPIN)}
"""The kinds of units by name."""
