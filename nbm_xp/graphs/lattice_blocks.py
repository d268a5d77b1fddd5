"""The memory of a lattice's block with its halo, and where the units of a colour lie in it.

Contract: a block whose halo is as deep as there are colours holds all that its own units depend on for a sweep: with
every colour that is drawn, the outermost layer that is right moves in by one. Units of the halo are drawn with the
numbers that they have everywhere, so that what two blocks both draw is the same.

Along the last axis, the units of even places come first, then those of odd ones: so the units of one colour lie one
after the other, and so do their neighbours; the last place of a ring of odd length, whose colour is another one, lies
alone. Beyond open ends there is nothing, which adds nothing to any sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import Lattice, odd_rings, row_starts

__all__ = ["LatticeBlock", "SlotRuns"]


@dataclass(frozen=True)
class SlotRuns:
    """Units of one colour that follow one another: `counts` of them from each of `places` on, with slots from `slots`.

    Attributes
    ----------
    places, counts, slots, odd : arrays
        int64, of shape (runs,), by rising slots; `odd` says in which half of a row a stretch is.
    """

    places: Any
    counts: Any
    slots: Any
    odd: Any

    def parts(self, most: int) -> Iterator[SlotRuns]:
        """The same in parts of about so many units."""
        host = host_namespace()
        ends = host.cumulative_sum(self.counts)
        edges = [0]
        while edges[-1] < ends.shape[0]:
            before = ends[edges[-1]] - self.counts[edges[-1]]
            edges.append(max(edges[-1] + 1, int(host.searchsorted(ends, before + most))))
        for a, b in itertools.pairwise(edges):
            yield SlotRuns(self.places[a:b], self.counts[a:b], self.slots[a:b], self.odd[a:b])

    @property
    def none(self) -> SlotRuns:
        """No units."""
        return SlotRuns(self.places[:0], self.counts[:0], self.slots[:0], self.odd[:0])

    def each(self) -> tuple[Any, Any]:
        """The place of each unit, and in which half of a row it is."""
        host = host_namespace()
        total = int(host.sum(self.counts))
        within = host.arange(total) - host.repeat(host.cumulative_sum(self.counts) - self.counts, self.counts)
        return host.repeat(self.places, self.counts) + within, host.repeat(self.odd, self.counts)


@dataclass(frozen=True)
class LatticeBlock:
    """A part of a lattice.

    Parameters
    ----------
    shape : tuple of ints
        The lattice's.
    periodic : tuple of bool
    offset, size : tuples of ints
        Where the part begins, and how many units it has along each axis.
    depth : int
        How many layers around it are there.
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    offset: tuple[int, ...]
    size: tuple[int, ...]
    depth: int

    @property
    def padded(self) -> tuple[int, ...]:
        """The lengths with what lies around; the last one even."""
        lengths = [n + 2 * self.depth for n in self.size]
        return (*lengths[:-1], lengths[-1] + lengths[-1] % 2)

    @property
    def units(self) -> int:
        """How many places there are, with what lies around."""
        return math.prod(self.padded)

    def along(self, axis: int) -> tuple[Any, Any]:
        """The places on the lattice of what is there along an axis, and which of these exist."""
        host, n = host_namespace(), self.shape[axis]
        places = self.offset[axis] - self.depth + host.arange(self.padded[axis])
        there = host.ones(places.shape, dtype=host.bool) if self.periodic[axis] else (places >= 0) & (places < n)
        return places % n, there

    def split(self, array: Any) -> Any:
        """An array whose last axes are those of the padded block as it lies here, of shape (…, units)."""
        host, last = host_namespace(), self.padded[-1]
        halves = host.reshape(array, (*array.shape[:-1], last // 2, 2))
        return host.reshape(host.moveaxis(halves, -1, -2), (*array.shape[: -len(self.shape)], -1))

    def inner(self, flat: Any) -> Any:
        """The block's own units, in their shape."""
        return self.take(flat, tuple(slice(self.depth, self.depth + n) for n in self.size))

    def halves(self, flat: Any) -> Any:
        """The same memory with its axes: the last two are the halves of a row, and what is in these."""
        return host_namespace().reshape(flat, (*self.padded[:-1], 2, self.padded[-1] // 2))

    def own(self, flat: Any) -> Any:
        """The memory of the block's own units, by halves, of an even `depth`.

        Where rows are of odd length, the last one of the second half is none of them.
        """
        rows, at = tuple(slice(self.depth, self.depth + n) for n in self.size[:-1]), self.depth // 2
        return self.halves(flat)[(*rows, slice(None), slice(at, at + (self.size[-1] + 1) // 2))]

    def take(self, flat: Any, place: tuple[slice, ...]) -> Any:
        """What is in some places, by their order on the lattice."""
        host, halves = host_namespace(), self.halves(flat)[place[:-1]]
        out = host.empty((*halves.shape[:-2], place[-1].stop - place[-1].start), dtype=flat.dtype)
        for odd, there, here in _by_halves(place[-1]):
            out[..., here] = halves[..., odd, there]
        return out

    def put(self, flat: Any, place: tuple[slice, ...], states: Any) -> None:
        """Write states to some places, by their order on the lattice."""
        halves = self.halves(flat)[place[:-1]]
        for odd, there, here in _by_halves(place[-1]):
            halves[..., odd, there] = states[..., here]

    @property
    def steps(self) -> Any:
        """How far it is to the neighbours, of shape (2, axes, 2): for either half, along each axis, on and back."""
        half, found = self.padded[-1] // 2, []
        for odd in (0, 1):
            last = [1 - half, -half] if odd else [half, half - 1]
            strides = [math.prod(self.padded[axis + 1 :]) for axis in range(len(self.shape) - 1)]
            found.append([*([stride, -stride] for stride in strides), last])
        return host_namespace().asarray(found, dtype=host_namespace().int64)

    def runs(self, margin: int, colour: int) -> SlotRuns:
        """The units of a colour in the block and so many layers around it."""
        host, last = host_namespace(), self.padded[-1]
        here, rows = (host.zeros((1,), dtype=host.int64) for _ in range(2))  # by place here, and on the lattice
        for axis, n in enumerate(self.shape[:-1]):
            kept = slice(self.depth - margin, self.depth + self.size[axis] + margin)
            places, there = (x[kept] for x in self.along(axis))
            local = host.arange(self.padded[axis])[kept][there]
            here = host.reshape(here[:, None] * self.padded[axis] + local, (-1,))
            rows = host.reshape(rows[:, None] * n + places[there], (-1,))
        rings = odd_rings(self.shape, self.periodic)
        starts, along = row_starts(self.shape, rings, rows, colour)
        found = []
        for begin, end in self._pieces(margin):
            place = (self.offset[-1] - self.depth + begin) % self.shape[-1]
            turn = bool(rings[-1]) and place == self.shape[-1] - 1
            first = begin + ((along + place) & 1)
            counts = (end - first + 1) >> 1
            if any(rings):
                counts = host.where(along == 2 if turn else along < 2, counts, 0)
            slots = starts if turn else starts + ((first - begin + place) >> 1)
            found.append((here * last + (first & 1) * (last // 2) + (first >> 1), counts, slots, first & 1))
        places, counts, slots, odd = (host.concat(parts) for parts in zip(*found, strict=True))
        order = host.argsort(slots, stable=True)
        order = order[counts[order] > 0]
        return SlotRuns(places[order], counts[order], slots[order], odd[order])

    def _pieces(self, margin: int) -> list[tuple[int, int]]:
        """The runs of places along the last axis that follow one another on the lattice too, with like colours."""
        n, first = self.shape[-1], self.offset[-1] - self.depth
        begin, end = self.depth - margin, self.depth + self.size[-1] + margin
        if not self.periodic[-1]:
            return [(max(begin, -first), min(end, n - first))]
        seams = range(-first % n - n, end + 1, n)
        cuts = [cut for seam in seams for cut in ((seam - 1, seam) if n % 2 else (seam,)) if begin < cut < end]
        return list(itertools.pairwise([begin, *cuts, end]))

    def places_of(self, units: Any, values: Any) -> tuple[Any, Any]:
        """Where some of the lattice's units are here, as often as they are, and with each what belongs to it."""
        host, last = host_namespace(), self.padded[-1]
        here = host.zeros(units.shape, dtype=host.int64)
        for axis, n in enumerate(self.shape):
            size = math.prod(self.shape[axis + 1 :])
            place, units = units // size - self.offset[axis] + self.depth, units % size
            if self.periodic[axis]:  # at every n-th place from the first one on
                rounds = -(-self.padded[axis] // n)
                here, units, values = (host.repeat(x, rounds) for x in (here, units, values))
                place = host.reshape((place % n)[:, None] + n * host.arange(rounds), (-1,))
            there = (place >= 0) & (place < self.padded[axis])
            here, units, values = (here * self.padded[axis] + place)[there], units[there], values[there]
        rows, along = here // last, here % last
        return rows * last + along % 2 * (last // 2) + along // 2, values

    def of_edges(self, graph: Lattice, numbers: Any) -> Any:
        """What belongs to edges, of shape (axes, units), by their first units; 0 where there is none."""
        host, found, begin = host_namespace(), [], 0
        for shape in graph.edge_shapes:
            end = begin + math.prod(shape)
            taken = self._taken(host.reshape(numbers[begin:end], shape))
            found.append(self.split(taken))
            begin = end
        return host.stack(found)

    def of_units(self, numbers: Any) -> Any:
        """What belongs to units, with the lattice's axes first; 0 where there is none."""
        host = host_namespace()
        taken = self._taken(numbers)
        last = host.moveaxis(taken, tuple(range(len(self.shape))), tuple(range(-len(self.shape), 0)))
        return self.split(last)

    def _taken(self, numbers: Any) -> Any:
        """The elements of an array of the lattice's shape, or with one less along an open axis, that lie here."""
        host = host_namespace()
        for axis in range(len(self.shape)):
            places, there = self.along(axis)
            there = there & (places < numbers.shape[axis])
            taken = host.take(numbers, host.where(there, places, 0), axis=axis)
            numbers = taken * host.reshape(there, (-1, *(1,) * (taken.ndim - axis - 1)))
        return numbers


def _by_halves(place: slice) -> Iterator[tuple[int, slice, slice]]:
    """For each half of a row: which of it are some places of the row, and which of these are in it."""
    for odd in (0, 1):
        first = place.start + (place.start + odd) % 2
        count = max(0, place.stop - first + 1) // 2
        yield odd, slice(first // 2, first // 2 + count), slice(first - place.start, None, 2)
