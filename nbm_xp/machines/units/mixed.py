"""Layers with several kinds of units: consecutive groups of sites, each of one kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Shape, Streams

from ..rows import Values
from .base import Units


def _by_part(name: str, sites: bool = False) -> Array:
    """Return a method that applies the method `name` of each part to the part's own units, or sites."""

    def method(self: Mixed, values: Array, axis: int = -1) -> Array:
        found = [getattr(kind, name)(part, axis) for kind, part in self.divided(values, axis, sites=sites)]
        return B.concatenate(found, axis=axis % len(values.shape))

    return method


def _of_rates(name: str) -> Array:
    """Return a method that applies the method `name` of each part to its own rates or biases; numbers are shared."""

    def method(self: Mixed, *values: Array) -> Array:
        cut = [self._cut(value, 0) if hasattr(value, "shape") else [value] * len(self.parts) for value in values]
        found = [getattr(kind, name)(*own) for (kind, _), *own in zip(self.parts, *cut, strict=True)]
        return B.concatenate(found, axis=0)

    return method


class Mixed(Units):
    """Units of several kinds: consecutive groups of sites, each of one kind.

    Parameters
    ----------
    parts : sequence of pairs of Units and int
        The kinds, and their numbers of sites.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.machines.units import BINARY, Categorical
    >>> units = Mixed([(BINARY, 2), (Categorical(3), 1)])
    >>> units.name, units.size(3)
    ('2*binary+1*categorical:3', 5)
    >>> units.encoded(np.asarray([[0.0, 1.0, 2.0]]))
    array([[0., 1., 0., 0., 1.]])
    """

    encoded = _by_part("encoded", sites=True)
    of_indices = _by_part("of_indices", sites=True)
    per_unit = _by_part("per_unit", sites=True)
    decoded, mean, uninformed = map(_by_part, ("decoded", "mean", "uninformed"))
    gauged, unweighted, own_energy = map(_by_part, ("gauged", "unweighted", "own_energy"))
    bias, bounded_rate, stepped = map(_of_rates, ("bias", "bounded_rate", "stepped"))
    base_rate, updated_rate = map(_of_rates, ("base_rate", "updated_rate"))

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
        """Allowed base rates of the units."""
        return _together([(kind.rates_within, kind.size(count)) for kind, count in self.parts])

    def size(self, sites: int) -> int:
        """Return the number of units of all parts."""
        if sites != self.fewest:
            raise ValueError(f"visible must be of as many features as there are, {sites}, got {self.name!r}")
        return self._units

    def sites(self, size: int) -> int:
        """Return the number of sites of all parts."""
        if size != self._units:
            raise ValueError(f"layers of {self.name} units must have {self._units} units, got {size}")
        return self.fewest

    def radices(self, size: int) -> tuple[int, ...] | None:
        """Return the number of states of each site of all parts; None if a part has none."""
        found = [kind.radices(kind.size(count)) for kind, count in self.parts]
        return None if None in found else tuple(radix for each in found for radix in each or ())

    def draw(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1, inputs: Array = None) -> Array:
        """Draw the states of one part after the other."""
        return self._drawn("draw", shape, rng, axis, mean, *(() if inputs is None else (inputs,)))

    def start(self, mean: Array, shape: Shape, rng: Streams, axis: int = -1) -> Array:
        """Return the initial states of one part after the other."""
        return self._drawn("start", shape, rng, axis, mean)

    def _drawn(self, name: str, shape: Shape, rng: Streams, axis: int, *values: Array) -> Array:
        axis, found = axis % len(shape), []
        cut = (self._cut(value, axis) for value in values)
        for (kind, count), mean, *inputs in zip(self.parts, *cut, strict=True):
            own = (*shape[:axis], kind.size(count), *shape[axis + 1 :])
            found.append(getattr(kind, name)(mean, own, rng, axis, *inputs))
        return B.concatenate(found, axis)

    def log_normaliser(self, inputs: Array, axis: int = -1) -> Array:
        """Return the logarithms for all sites, including each part's `constant`."""
        found = [kind.log_normaliser(part, axis) + kind.constant for kind, part in self.divided(inputs, axis)]
        return B.concatenate(found, axis=axis % len(inputs.shape))

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """Return the shifted states of all parts."""
        pairs = zip(self.divided(state, -1), self._cut(where, -1, sites=True), strict=True)
        return B.concatenate([kind.shifted(part, there, places) for (kind, part), there in pairs], axis=-1)

    def observed(self, rows: Array) -> Array:
        """Return the means of the units of all parts."""
        return B.concatenate([kind.observed(part) for kind, part in self.divided(rows, 1, sites=True)], axis=0)

    def check_bias(self, bias: Array, name: str) -> None:
        """Check the biases of each part."""
        for kind, part in self.divided(bias, 0):
            kind.check_bias(part, name)

    def scaling_advice(self, rate: Array, first: int = 0) -> str:
        """Return the first message of a part that is not empty."""
        firsts = itertools.accumulate((count for _, count in self.parts), initial=first)
        advice = (kind.scaling_advice(part, k) for (kind, part), k in zip(self.divided(rate, 0), firsts, strict=False))
        return next(filter(None, advice), "")

    def neutral_rates(self, size: int) -> list[float]:
        """Return the base rates of all parts."""
        return [rate for kind, count in self.parts for rate in kind.neutral_rates(kind.size(count))]

    def divided(self, values: Array, axis: int, *, sites: bool = False) -> Iterator[tuple[Units, Array]]:
        """Yield each kind and its part of an array along an axis of units, or of sites."""
        return zip((kind for kind, _ in self.parts), self._cut(values, axis, sites=sites), strict=True)

    def _cut(self, values: Array, axis: int, *, sites: bool = False) -> list[Array]:
        before: tuple[slice, ...] = (slice(None),) * (axis % len(values.shape))
        found, first = [], 0
        for kind, count in self.parts:
            last = first + (count if sites else kind.size(count))
            found.append(values[(*before, slice(first, last))])
            first = last
        return found


def _together(parts: Sequence[tuple[Values | None, int]]) -> Values:
    """Return the allowed values of consecutive groups of columns."""
    bounds = [values for values, _ in parts if values is not None]
    free = len(bounds) < len(parts)
    least = -float("inf") if free else min(values.least for values in bounds)
    most = float("inf") if free else max(values.most for values in bounds)
    return Values(least, most, parts=tuple(parts))
