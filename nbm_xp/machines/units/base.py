"""What every kind of units promises, kinds by name, and layers of several kinds.

A unit that receives r has the states x with weights exp(x·r - e(x)), where e is its own energy. What is given element
by element is for Tensors; rates and biases are for arrays too. Units lie along an axis of what is given, the last one
or the first: kinds of which several units make up a site need to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Namespace, Shape, Streams
from nbm_xp.namespace import dtype_of, wide_dtypes

from ..rows import Values

__all__ = ["RAREST", "TINY", "Mixed", "Units", "Values", "softplus"]

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
    log_volume : float
        The logarithm of the sum of weights of a site that receives nothing.
    constant : float
        The part of each unit's `log_normaliser` that does not depend on what it receives, and is left out there.
    """

    name: str
    within: Values | None
    states: ClassVar[tuple[float, ...] | None]
    stored: str | None
    has_own_energy: bool = False
    is_bounded: bool = True
    knows_means: ClassVar[bool] = True
    can_be_visible: ClassVar[bool] = True
    can_be_hidden: ClassVar[bool] = True
    prior_count: int = 0
    undecided: float = 0.5
    fewest: int = 1
    log_volume: float
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

    def opened(self, told: Array, axis: int = -1) -> Array:
        """The units of states as data tell them, a number for each site."""
        return told

    def told(self, state: Array, axis: int = -1) -> Array:
        """States as data tell them."""
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
        """The energy that units have by themselves, of kinds that have one."""
        raise NotImplementedError

    def entropy(self, mean: Array) -> Array:
        """What units with these means add to the bound of mean field.

        That is their entropy, less the mean of their own energy, but for that of the mean.
        """
        raise NotImplementedError

    def listed(self, numbers: Array, axis: int = -1) -> Array:
        """The units of states, from the numbers that enumerate those of each site."""
        return numbers

    def of_bool(self, xp: Namespace, upper: Array) -> Array:
        """The upper one of two states where it is true, else the lower one, as int8: of units with two states."""
        low, high = map(int, self.states or ())
        return xp.astype(upper, dtype_of(xp, "int8")) * (high - low) + low

    def at_random(self, xp: Namespace, uniforms: Array) -> Array:
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

    def turned(self, state: Array, where: Array, places: int = 1) -> Array:
        """The states so many places further in their list of sites where `where` is 1; as they were, where it is 0."""
        raise NotImplementedError

    def unknown(self, zeros: Array, axis: int = -1) -> Array:
        """The mean that chains start with where nothing is known, in the shape of zeros."""
        return zeros + self.undecided

    def gauged(self, values: Array, axis: int = -1) -> Array:
        """Weights or biases of the units along an axis, less what changes no distribution."""
        return values

    def unweighted(self, weights: Array, axis: int = -1) -> Array:
        """Weights of the units along an axis, without those of units that have none."""
        return weights

    def moved(self, biases: Array, step: Array) -> Array:
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

    def possible(self, rate: Array) -> Array:
        """A base rate at which every state has some chance."""
        return rate

    def check_bias(self, bias: Array, name: str) -> None:
        """Refuse a bias that such units cannot have."""

    def unsuited(self, rate: Array, first: int = 0) -> str:
        """What of data with a base rate learns badly, in words; of units whose sites begin at a number."""
        return ""

    def followed(self, rate: Array, seen: int, mean: Array, count: int) -> Array:
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


def _by_part(name: str, sites: bool = False) -> Array:
    """A method that each part has for its own units, or sites."""

    def method(self: Mixed, values: Array, axis: int = -1) -> Array:
        return self._each(lambda kind, part: getattr(kind, name)(part, axis), axis, values, sites=sites)

    return method


class Mixed(Units):
    """So many sites of one kind, then so many of the next.

    Parameters
    ----------
    parts : sequence of pairs of Units and int
        The kinds, and the numbers of their sites.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.machines.units import BINARY, Categorical
    >>> units = Mixed([(BINARY, 2), (Categorical(3), 1)])
    >>> units.name, units.size(3)
    ('2*binary+1*categorical:3', 5)
    >>> units.opened(np.asarray([[0.0, 1.0, 2.0]]))
    array([[0., 1., 0., 0., 1.]])
    """

    states = None
    opened = _by_part("opened", sites=True)
    listed = _by_part("listed", sites=True)
    told, mean, unknown, gauged, unweighted = map(_by_part, ("told", "mean", "unknown", "gauged", "unweighted"))

    def __init__(self, parts: Sequence[tuple[Units, int]]) -> None:
        self.parts = tuple(parts)
        kinds = [kind for kind, _ in self.parts]
        self.name = "+".join(f"{count}*{kind.name}" for kind, count in self.parts)
        self.fewest = sum(count for _, count in self.parts)
        self._units = sum(kind.size(count) for kind, count in self.parts)
        self.has_own_energy = any(kind.has_own_energy for kind in kinds)
        self.is_bounded = all(kind.is_bounded for kind in kinds)
        stored = {kind.stored for kind in kinds}
        self.stored = None if None in stored else stored.pop() if len(stored) == 1 else "int32"
        self.within = _together([(kind.within, count) for kind, count in self.parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def rates_within(self) -> Values | None:
        """What base rates of the units may be."""
        return _together([(kind.rates_within, kind.size(count)) for kind, count in self.parts])

    def size(self, sites: int) -> int:
        """Those of all parts."""
        if sites != self.fewest:
            raise ValueError(f"visible must be of as many features as there are, {sites}, got {self.name!r}")
        return self._units

    def sites(self, size: int) -> int:
        """Those of all parts."""
        if size != self._units:
            raise ValueError(f"layers of {self.name} units must have {self._units} units, got {size}")
        return self.fewest

    def radices(self, size: int) -> tuple[int, ...] | None:
        """Those of all parts."""
        found = [kind.radices(kind.size(count)) for kind, count in self.parts]
        return None if None in found else tuple(radix for each in found for radix in each or ())

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Each part draws in turn."""
        axis = axis % len(shape)
        fields = [None] * len(self.parts) if inputs is None else self._cut(inputs, axis)
        parts = zip(self.parts, self._cut(mean, axis), self._shapes(shape, axis), fields, strict=True)
        return B.concatenate([kind.draw(part, own, rng, axis, field) for (kind, _), part, own, field in parts], axis)

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Each part in turn."""
        axis = axis % len(shape)
        parts = zip(self.parts, self._cut(mean, axis), self._shapes(shape, axis), strict=True)
        return B.concatenate([kind.start(part, own, rng, axis) for (kind, _), part, own in parts], axis)

    def _shapes(self, shape: Shape, axis: int) -> list[Shape]:
        """The shapes of the parts of an array of units."""
        return [(*shape[:axis], kind.size(count), *shape[axis + 1 :]) for kind, count in self.parts]

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Those of all sites, nothing being left out."""
        return self._each(lambda kind, part: kind.log_normaliser(part, axis) + kind.constant, axis, inputs)

    def own_energy(self, state: Array, axis: int = -1) -> Array:
        """0 for those that have none."""
        return self._each(
            lambda kind, part: kind.own_energy(part, axis) if kind.has_own_energy else B.zeros_like(part), axis, state
        )

    def turned(self, state: Array, where: Array, places: int = 1) -> Array:
        """Each part for itself."""
        pairs = zip(self.parts, self._cut(state, -1), self._cut(where, -1, sites=True), strict=True)
        return B.concatenate([kind.turned(part, there, places) for (kind, _), part, there in pairs], axis=-1)

    def moved(self, biases: Array, step: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, *parts: kind.moved(*parts), 0, biases, step)

    def observed(self, rows: Array) -> Array:
        """Each part for itself."""
        return B.concatenate([kind.observed(part) for kind, part in self._pairs(rows, 1, sites=True)], axis=0)

    def followed(self, rate: Array, seen: int, mean: Array, count: int) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, old, new: kind.followed(old, seen, new, count), 0, rate, mean)

    def base_rate(self, mean: Array, count: int) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.base_rate(part, count), 0, mean)

    def bias(self, rate: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.bias(part), 0, rate)

    def possible(self, rate: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.possible(part), 0, rate)

    def check_bias(self, bias: Array, name: str) -> None:
        """Each part for itself."""
        for kind, part in self._pairs(bias, 0):
            kind.check_bias(part, name)

    def unsuited(self, rate: Array, first: int = 0) -> str:
        """What the first part says that has something to say."""
        for (kind, count), part in zip(self.parts, self._cut(rate, 0), strict=True):
            told = kind.unsuited(part, first)
            if told:
                return told
            first += count
        return ""

    def neutral_rates(self, size: int) -> list[float]:
        """Those of all parts."""
        return [rate for kind, count in self.parts for rate in kind.neutral_rates(kind.size(count))]

    def _each(self, change: Callable[..., Array], axis: int, *arrays: Array, sites: bool = False) -> Array:
        """A function of each kind and its parts of some arrays, side by side."""
        axis = axis % len(arrays[0].shape)
        cut = zip(*(self._cut(values, axis, sites=sites) for values in arrays), strict=True)
        return B.concatenate([change(kind, *own) for (kind, _), own in zip(self.parts, cut, strict=True)], axis=axis)

    def _pairs(self, values: Array, axis: int, *, sites: bool = False) -> Iterator[tuple[Units, Any]]:
        return zip((kind for kind, _ in self.parts), self._cut(values, axis, sites=sites), strict=True)

    def _cut(self, values: Array, axis: int, *, sites: bool = False) -> list[Array]:
        """The parts of an array along an axis of units, or of sites."""
        before: tuple[Any, ...] = (slice(None),) * (axis % len(values.shape))
        found, first = [], 0
        for kind, count in self.parts:
            last = first + (count if sites else kind.size(count))
            found.append(values[(*before, slice(first, last))])
            first = last
        return found


def _together(parts: Sequence[tuple[Values | None, int]]) -> Values:
    """The values of several columns, each with its own."""
    bounds = [values for values, _ in parts if values is not None]
    free = len(bounds) < len(parts)
    least = -float("inf") if free else min(values.least for values in bounds)
    most = float("inf") if free else max(values.most for values in bounds)
    return Values(least, most, parts=tuple(parts))
