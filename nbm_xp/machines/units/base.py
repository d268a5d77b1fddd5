"""What every kind of units promises.

A unit that receives r has the states x with weights exp(x·r - e(x)), where e is its own energy. What is given element
by element is for Tensors; rates and biases are for arrays too. Units lie along an axis of what is given, the last one
or the first: kinds of which several units make up a site need to know it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Namespace, Shape, Streams
from nbm_xp.namespace import dtype_of, wide_dtypes

from ..rows import Values

__all__ = ["RAREST", "TINY", "Units", "Values", "softplus"]

TINY = 1e-30
"""A probability below it adds nothing to an entropy."""

RAREST = 2.0**-23
"""What float32 can tell from 0, and 1 less it from 1."""


def softplus(x: Any) -> Array:
    """``log(1 + exp(x))``, which the tape records in its stable form."""
    return B.log(1 + B.exp(x))


class Units:
    """A kind of units.

    Attributes
    ----------
    name : str
    within : Values, or None
        What data may be, what is between states being means; None for all real numbers.
    rates_within : Values, or None
        What base rates may be.
    states : tuple of float, or None
        What a unit can be, in the order in which states are enumerated; None where a unit has no such list.
    stored : str or None
        The dtype that holds a state on disk; None for the model's.
    has_own_energy : bool
    is_bounded : bool
        Whether states have bounds. Units without them can receive so much from one another that Z is infinite.
    knows_means : bool
        Whether a state can be drawn from its mean alone, and the entropy is known of it.
    can_be_visible, can_be_hidden : bool
    prior_count : int
        How many rows, the same number of each state, count with the data where a base rate is estimated.
    undecided : float
        The mean that a chain starts with where nothing is known of it.
    fewest : int
        How many sites a layer of such units can have at least.
    neutral : float
        The mean of a unit that receives nothing.
    constant : float
        The part of each unit's `log_normaliser` that does not depend on what it receives, and is left out there.
    """

    name: str
    within: Values | None = None
    states: tuple[float, ...] | None = None
    stored: str | None = None
    has_own_energy: bool = False
    is_bounded: bool = True
    knows_means: ClassVar[bool] = True
    can_be_visible: ClassVar[bool] = True
    can_be_hidden: ClassVar[bool] = True
    prior_count: int = 0
    undecided: float = 0.5
    fewest: int = 1
    neutral: float
    constant: ClassVar[float] = 0.0
    is_categorical: ClassVar[bool] = False

    @property
    def rates_within(self) -> Values | None:
        """What base rates may be."""
        return self.within

    def size(self, sites: int) -> int:
        """How many units make up so many sites: a site is what data have a number for."""
        return sites

    def sites(self, size: int) -> int:
        """How many sites so many units make up.

        Raises
        ------
        ValueError
            If they make no whole ones.
        """
        return size

    def radices(self, size: int) -> tuple[int, ...] | None:
        """How many states each site has; None where they cannot be listed."""
        return None if self.states is None else (len(self.states),) * size

    def encoded(self, states: Array, axis: int = -1) -> Array:
        """The units of states as data give them, a number for each site."""
        return states

    def decoded(self, state: Array, axis: int = -1) -> Array:
        """States as data give them."""
        return state

    def mean(self, inputs: Array, axis: int = -1) -> Array:
        """The mean of units that receive these inputs."""
        raise NotImplementedError

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """States with these means, which follow from `inputs`, where those are known."""
        raise NotImplementedError

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """The states that chains start with, told where: means to draw with, or states themselves."""
        return self.draw(mean, shape, rng, axis)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """The logarithm of the sum over a site's states of their weights, less `constant`."""
        raise NotImplementedError

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """The energy that units have by themselves."""
        return B.zeros_like(state)

    def entropy(self, mean: Array) -> Array:
        """What units with these means add to the bound of mean field.

        That is their entropy, less the mean of their own energy, but for that of the mean.
        """
        raise NotImplementedError

    def of_indices(self, numbers: Array, axis: int = -1) -> Array:
        """The units of states, from the numbers that enumerate those of each site."""
        return numbers

    def of_bool(self, xp: Namespace, upper: Array) -> Array:
        """The upper one of two states where it is true, else the lower one, as int8: of units with two states."""
        low, high = map(int, self.states or ())
        return xp.astype(upper, dtype_of(xp, "int8")) * (high - low) + low

    def uniform_states(self, xp: Namespace, uniforms: Array) -> Array:
        """States of equal probability as data tell them, as int8, by uniform numbers: of units with few states."""
        first, *_ = values = self.values
        with wide_dtypes(xp):
            found = xp.astype(xp.floor(uniforms * float(len(values))), dtype_of(xp, "int8"))
        return found * (values[1] - first) + first

    @property
    def values(self) -> list[int]:
        """The states of a site as data tell them; of real numbers there is no list."""
        return [int(state) for state in self.states or ()]

    @property
    def count(self) -> int:
        """How many values a site has."""
        return len(self.values)

    @property
    def least(self) -> int:
        """The least value of a site."""
        return self.values[0]

    @property
    def step(self) -> float:
        """The distance of two values of a site."""
        return float(self.values[1] - self.values[0])

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """The states so many places further in their list of sites where `where` is 1; as they were, where it is 0."""
        raise NotImplementedError

    def uninformed(self, zeros: Array, axis: int = -1) -> Array:
        """The mean that chains start with where nothing is known, in the shape of zeros."""
        return zeros + self.undecided

    def gauged(self, values: Array, axis: int = -1) -> Array:
        """Weights or biases of the units along an axis, less what changes no distribution."""
        return values

    def unweighted(self, weights: Array, axis: int = -1) -> Array:
        """Weights of the units along an axis, without those of units that have none."""
        return weights

    def stepped(self, biases: Array, step: Array) -> Array:
        """Biases after a step down the gradient, which make a distribution."""
        return biases - step

    def observed(self, rows: Array) -> Array:
        """The mean of each unit in rows of data."""
        return B.mean(rows, axis=0)

    def base_rate(self, mean: Array, count: int) -> Array:
        """The base rate that so many rows with a mean tell."""
        return mean

    def bias(self, rate: Array) -> Array:
        """The bias of units without neighbours that have a base rate for their mean."""
        raise NotImplementedError

    def bounded_rate(self, rate: Array) -> Array:
        """A base rate at which every state has some chance."""
        return rate

    def check_bias(self, bias: Array, name: str) -> None:
        """Refuse a bias that such units cannot have."""

    def scaling_advice(self, rate: Array, first: int = 0) -> str:
        """What of data with a base rate learns badly, in words; of units whose sites begin at a number."""
        return ""

    def updated_rate(self, rate: Array, seen: int, mean: Array, count: int) -> Array:
        """A base rate that so many rows have told, after so many more with a mean."""
        seen = seen + self.prior_count
        return (rate * seen + mean * count) / (seen + count)

    def neutral_rates(self, size: int) -> list[float]:
        """The base rate of so many units of which nothing is known."""
        return [self.neutral] * size
