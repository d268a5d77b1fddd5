"""What every kind of units promises.

What is given element by element is for Tensors; rates and biases are for arrays too. Units lie along an axis of what is
given, the last one or the first: kinds of which several units make up a site need to know it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from nbm_xp import natural_bm as B

from ..rows import Values

__all__ = ["RAREST", "TINY", "Units", "Values", "softplus"]

TINY = 1e-30
"""A probability below it adds nothing to an entropy."""

RAREST = 2.0**-23
"""What float32 can tell from 0, and 1 less it from 1."""


def softplus(x: Any) -> Any:
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
    prior_count : int
        How many rows, the same number of each state, count with the data where a base rate is estimated.
    undecided : float
        The mean that a chain starts with where nothing is known of it.
    fewest : int
        How many sites a layer of such units can have at least.
    log_volume : float
        The logarithm of the sum of weights of a site that receives nothing.
    constant : float
        The part of each unit's `log_normaliser` that does not depend on what it receives, and is left out there.
    """

    name: str
    within: Values | None
    states: ClassVar[tuple[float, ...] | None]
    stored: str | None
    has_own_energy: ClassVar[bool] = False
    is_bounded: ClassVar[bool] = True
    knows_means: ClassVar[bool] = True
    prior_count: int = 0
    undecided: float = 0.5
    fewest: int = 1
    log_volume: float
    constant: ClassVar[float] = 0.0

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

    def opened(self, told: Any, axis: int = -1) -> Any:
        """The units of states as data tell them, a number for each site."""
        return told

    def told(self, state: Any, axis: int = -1) -> Any:
        """States as data tell them."""
        return state

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """The mean of units that receive these inputs."""
        raise NotImplementedError

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """States with these means, which follow from `inputs`, where those are known."""
        raise NotImplementedError

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any, axis: int = -1) -> Any:
        """The states that chains start with, told where: means to draw with, or states themselves."""
        return self.draw(mean, shape, B.dtype(mean), rng, axis)

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """The logarithm of the sum over a site's states of their weights, less `constant`."""
        raise NotImplementedError

    def own_energy(self, state: Any, axis: int = -1) -> Any:
        """The energy that units have by themselves, of kinds that have one."""
        raise NotImplementedError

    def entropy(self, mean: Any) -> Any:
        """What units with these means add to the bound of mean field.

        That is their entropy, less the mean of their own energy, but for that of the mean.
        """
        raise NotImplementedError

    def listed(self, numbers: Any, axis: int = -1) -> Any:
        """The units of states, from the numbers that enumerate those of each site."""
        return numbers

    def turned(self, state: Any, where: Any, places: int = 1) -> Any:
        """The states so many places further in their list of sites where `where` is 1; as they were, where it is 0."""
        raise NotImplementedError

    def unknown(self, zeros: Any, axis: int = -1) -> Any:
        """The mean that chains start with where nothing is known, in the shape of zeros."""
        return zeros + self.undecided

    def gauged(self, values: Any, axis: int = -1) -> Any:
        """Weights or biases of the units along an axis, less what changes no distribution."""
        return values

    def unweighted(self, weights: Any, axis: int = -1) -> Any:
        """Weights of the units along an axis, without those of units that have none."""
        return weights

    def moved(self, biases: Any, step: Any) -> Any:
        """Biases after a step down the gradient, which make a distribution."""
        return biases - step

    def observed(self, rows: Any) -> Any:
        """The mean of each unit in rows of data."""
        return B.mean(rows, axis=0)

    def base_rate(self, mean: Any, count: int) -> Any:
        """The base rate that so many rows with a mean tell."""
        return mean

    def bias(self, rate: Any) -> Any:
        """The bias of units without neighbours that have a base rate for their mean."""
        raise NotImplementedError

    def possible(self, rate: Any) -> Any:
        """A base rate at which every state has some chance."""
        return rate

    def check_bias(self, bias: Any, name: str) -> None:
        """Refuse a bias that such units cannot have."""

    def unsuited(self, rate: Any, first: int = 0) -> str:
        """What of data with a base rate learns badly, in words; of units whose sites begin at a number."""
        return ""

    def followed(self, rate: Any, seen: int, mean: Any, count: int) -> Any:
        """A base rate that so many rows have told, after so many more with a mean."""
        seen = seen + self.prior_count
        return (rate * seen + mean * count) / (seen + count)

    @property
    def neutral(self) -> float:
        """The mean of a unit that receives nothing."""
        raise NotImplementedError

    def neutral_rates(self, size: int) -> list[float]:
        """The base rate of so many units of which nothing is known."""
        return [self.neutral] * size
