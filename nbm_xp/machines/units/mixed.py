"""Layers of several kinds of units: so many sites of one kind, then so many of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Shape, Streams

from .base import Units, Values

__all__ = ["Mixed"]


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
    >>> units.encoded(np.asarray([[0.0, 1.0, 2.0]]))
    array([[0., 1., 0., 0., 1.]])
    """

    states = None
    encoded = _by_part("encoded", sites=True)
    of_indices = _by_part("of_indices", sites=True)
    decoded, mean, uninformed = map(_by_part, ("decoded", "mean", "uninformed"))
    gauged, unweighted = map(_by_part, ("gauged", "unweighted"))

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
        """Of all parts."""
        if sites != self.fewest:
            raise ValueError(f"visible must be of as many features as there are, {sites}, got {self.name!r}")
        return self._units

    def sites(self, size: int) -> int:
        """Of all parts."""
        if size != self._units:
            raise ValueError(f"layers of {self.name} units must have {self._units} units, got {size}")
        return self.fewest

    def radices(self, size: int) -> tuple[int, ...] | None:
        """Of all parts."""
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

    def shifted(self, state: Array, where: Array, places: int = 1) -> Array:
        """Each part for itself."""
        pairs = zip(self.parts, self._cut(state, -1), self._cut(where, -1, sites=True), strict=True)
        return B.concatenate([kind.shifted(part, there, places) for (kind, _), part, there in pairs], axis=-1)

    def stepped(self, biases: Array, step: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, *parts: kind.stepped(*parts), 0, biases, step)

    def observed(self, rows: Array) -> Array:
        """Each part for itself."""
        return B.concatenate([kind.observed(part) for kind, part in self._pairs(rows, 1, sites=True)], axis=0)

    def updated_rate(self, rate: Array, seen: int, mean: Array, count: int) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, old, new: kind.updated_rate(old, seen, new, count), 0, rate, mean)

    def base_rate(self, mean: Array, count: int) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.base_rate(part, count), 0, mean)

    def bias(self, rate: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.bias(part), 0, rate)

    def bounded_rate(self, rate: Array) -> Array:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.bounded_rate(part), 0, rate)

    def check_bias(self, bias: Array, name: str) -> None:
        """Each part for itself."""
        for kind, part in self._pairs(bias, 0):
            kind.check_bias(part, name)

    def scaling_advice(self, rate: Array, first: int = 0) -> str:
        """What the first part says that has something to say."""
        for (kind, count), part in zip(self.parts, self._cut(rate, 0), strict=True):
            advice = kind.scaling_advice(part, first)
            if advice:
                return advice
            first += count
        return ""

    def neutral_rates(self, size: int) -> list[float]:
        """Of all parts."""
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
