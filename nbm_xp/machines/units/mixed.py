"""Layers of units of several kinds, those of one beside those of the next: columns of a table, features and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nbm_xp import natural_bm as B

from .kind import Units, Values

__all__ = ["Mixed"]


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

    def __init__(self, parts: Sequence[tuple[Units, int]]) -> None:
        self.parts = tuple(parts)
        kinds = [kind for kind, _ in self.parts]
        self.name = "+".join(f"{count}*{kind.name}" for kind, count in self.parts)
        self.fewest = sum(count for _, count in self.parts)
        self._units = sum(kind.size(count) for kind, count in self.parts)
        self._any_own = any(kind.has_own_energy for kind in kinds)
        self._all_bounded = all(kind.is_bounded for kind in kinds)
        stored = {kind.stored for kind in kinds}
        self.stored = None if None in stored else stored.pop() if len(stored) == 1 else "int32"
        self.within = _together([(kind.within, count) for kind, count in self.parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def has_own_energy(self) -> bool:  # type: ignore[override]
        """Whether some have one."""
        return self._any_own

    @property
    def is_bounded(self) -> bool:  # type: ignore[override]
        """Whether all are."""
        return self._all_bounded

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

    def opened(self, told: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.opened(part, axis), told, axis, sites=True)

    def told(self, state: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.told(part, axis), state, axis)

    def mean(self, inputs: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.mean(part, axis), inputs, axis)

    def draw(self, mean: Any, shape: tuple[int, ...], dtype: Any, rng: Any, axis: int = -1, inputs: Any = None) -> Any:
        """Each part draws in turn."""
        axis = axis % len(shape)
        fields = [None] * len(self.parts) if inputs is None else self._cut(inputs, axis)
        drawn = []
        for (kind, count), part, own in zip(self.parts, self._cut(mean, axis), fields, strict=True):
            of_part = (*shape[:axis], kind.size(count), *shape[axis + 1 :])
            drawn.append(kind.draw(part, of_part, dtype, rng, axis, own))
        return B.concatenate(drawn, axis=axis)

    def start(self, mean: Any, shape: tuple[int, ...], rng: Any, axis: int = -1) -> Any:
        """Each part in turn."""
        axis = axis % len(shape)
        begun = []
        for (kind, count), part in zip(self.parts, self._cut(mean, axis), strict=True):
            of_part = (*shape[:axis], kind.size(count), *shape[axis + 1 :])
            begun.append(kind.start(part, of_part, rng, axis))
        return B.concatenate(begun, axis=axis)

    def log_normaliser(self, inputs: Any, axis: int = -1) -> Any:
        """Those of all sites, nothing being left out."""
        return self._each(lambda kind, part: kind.log_normaliser(part, axis) + kind.constant, inputs, axis)

    def own_energy(self, state: Any, axis: int = -1) -> Any:
        """0 for those that have none."""
        return self._each(
            lambda kind, part: kind.own_energy(part, axis) if kind.has_own_energy else B.zeros_like(part), state, axis
        )

    def listed(self, numbers: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.listed(part, axis), numbers, axis, sites=True)

    def turned(self, state: Any, where: Any, places: int = 1) -> Any:
        """Each part for itself."""
        pairs = zip(self.parts, self._cut(state, -1), self._cut(where, -1, sites=True), strict=True)
        return B.concatenate([kind.turned(part, there, places) for (kind, _), part, there in pairs], axis=-1)

    def unknown(self, zeros: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.unknown(part, axis), zeros, axis)

    def gauged(self, values: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.gauged(part, axis), values, axis)

    def unweighted(self, weights: Any, axis: int = -1) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.unweighted(part, axis), weights, axis)

    def moved(self, biases: Any, step: Any) -> Any:
        """Each part for itself."""
        pairs = zip(self.parts, self._cut(biases, 0), self._cut(step, 0), strict=True)
        return B.concatenate([kind.moved(old, down) for (kind, _), old, down in pairs], axis=0)

    def observed(self, rows: Any) -> Any:
        """Each part for itself."""
        return B.concatenate([kind.observed(part) for kind, part in self._pairs(rows, 1, sites=True)], axis=0)

    def followed(self, rate: Any, seen: int, mean: Any, count: int) -> Any:
        """Each part for itself."""
        pairs = zip(self.parts, self._cut(rate, 0), self._cut(mean, 0), strict=True)
        return B.concatenate([kind.followed(old, seen, new, count) for (kind, _), old, new in pairs], axis=0)

    def base_rate(self, mean: Any, count: int) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.base_rate(part, count), mean, 0)

    def bias(self, rate: Any) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.bias(part), rate, 0)

    def possible(self, rate: Any) -> Any:
        """Each part for itself."""
        return self._each(lambda kind, part: kind.possible(part), rate, 0)

    def check_bias(self, bias: Any, name: str) -> None:
        """Each part for itself."""
        for kind, part in self._pairs(bias, 0):
            kind.check_bias(part, name)

    def unsuited(self, rate: Any, first: int = 0) -> str:
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

    def _each(self, change: Callable[[Units, Any], Any], values: Any, axis: int, *, sites: bool = False) -> Any:
        """A function of each part, side by side."""
        axis = axis % len(values.shape)
        return B.concatenate([change(kind, part) for kind, part in self._pairs(values, axis, sites=sites)], axis=axis)

    def _pairs(self, values: Any, axis: int, *, sites: bool = False) -> Iterator[tuple[Units, Any]]:
        return zip((kind for kind, _ in self.parts), self._cut(values, axis, sites=sites), strict=True)

    def _cut(self, values: Any, axis: int, *, sites: bool = False) -> list[Any]:
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
