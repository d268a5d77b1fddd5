"""The memory of a lattice's block with its halo, where the units of a colour lie in it, and its couplings.

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
from dataclasses import dataclass, replace
from typing import NamedTuple

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace

from .energy_model import Clamp, EnergyModel
from .graph import Lattice, odd_rings, row_starts, uniform_value
from .layout import multiples_of, rounded

__all__ = ["Couplings", "LatticeBlock", "SlotRuns", "couplings_of"]

Place = tuple[slice, ...]
"""Some places of a block with its halo, by their order on the lattice."""


class SlotRuns(NamedTuple):
    """Units of one colour that follow one another: `counts` of them from each of `places` on, with slots from `slots`.

    Attributes
    ----------
    places, counts, slots, odd : arrays
        int64, of shape (runs,), by rising slots; `odd` says in which half of a row a run is.
    """

    places: Array
    counts: Array
    slots: Array
    odd: Array

    def each(self) -> tuple[Array, Array]:
        """The place of each unit, and in which half of a row it is."""
        host = host_namespace()
        total = int(host.sum(self.counts))
        within = host.arange(total) - host.repeat(host.cumulative_sum(self.counts) - self.counts, self.counts)
        return host.repeat(self.places, self.counts) + within, host.repeat(self.odd, self.counts)

    def parts(self, most: int) -> Iterator[SlotRuns]:
        """The same in parts of so many units at most, or of one run."""
        some = max(1, most // int(host_namespace().max(self.counts))) if self.counts.shape[0] else 1
        for k in range(0, self.counts.shape[0], some):
            yield SlotRuns(*(x[k : k + some] for x in self))


@dataclass(frozen=True)
class LatticeBlock:
    """A block of a lattice; its states are arrays of shape (chains, units), which is called flat.

    Parameters
    ----------
    graph : Lattice
    offset, size : tuples of ints
        Where the block begins, and how many units it has along each axis.
    depth : int
        How many layers around it are there.
    """

    graph: Lattice
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

    @property
    def middle(self) -> Place:
        """The places of its own units."""
        return tuple(slice(self.depth, self.depth + n) for n in self.size)

    def along(self, axis: int) -> tuple[Array, Array]:
        """The places on the lattice of what is there along an axis, and which of these exist."""
        host, n = host_namespace(), self.graph.shape[axis]
        places = self.offset[axis] - self.depth + host.arange(self.padded[axis])
        there = host.ones(places.shape, dtype=host.bool) if self.graph.periodic[axis] else (places >= 0) & (places < n)
        return places % n, there

    def split(self, array: Array) -> Array:
        """An array whose last axes are those of the padded block as it lies here, of shape (…, units)."""
        host, last = host_namespace(), self.padded[-1]
        halves = host.reshape(array, (*array.shape[:-1], last // 2, 2))
        return host.reshape(host.moveaxis(halves, -1, -2), (*array.shape[: -len(self.size)], -1))

    def halves(self, flat: Array) -> Array:
        """The same memory with its axes: after the chains, the last two are the halves of a row, and what they hold."""
        return host_namespace().reshape(flat, (flat.shape[0], *self.padded[:-1], 2, self.padded[-1] // 2))

    def own(self, flat: Array) -> Array:
        """The memory of the block's own units, by halves, of an even `depth`.

        Where rows are of odd length, the last one of the second half is none of them.
        """
        at = self.depth // 2
        own_rows = self.halves(flat)[(slice(None), *self.middle[:-1])]
        return own_rows[..., at : at + (self.size[-1] + 1) // 2]

    def take(self, flat: Array, place: Place) -> Array:
        """What is in some places, by their order on the lattice, of shape (chains, …)."""
        host, halves = host_namespace(), self.halves(flat)[(slice(None), *place[:-1])]
        out = host.empty((*halves.shape[:-2], place[-1].stop - place[-1].start), dtype=flat.dtype)
        for odd, there, here in _by_halves(place[-1]):
            out[..., here] = halves[..., odd, there]
        return out

    def put(self, flat: Array, place: Place, states: Array) -> None:
        """Write states to some places, by their order on the lattice."""
        halves = self.halves(flat)[(slice(None), *place[:-1])]
        for odd, there, here in _by_halves(place[-1]):
            halves[..., odd, there] = states[..., here]

    @property
    def steps(self) -> Array:
        """How far it is to the neighbours, of shape (2, axes, 2): for either half, along each axis, on and back."""
        half, found = self.padded[-1] // 2, []
        for odd in (0, 1):
            last = [1 - half, -half] if odd else [half, half - 1]
            strides = [math.prod(self.padded[axis + 1 :]) for axis in range(len(self.size) - 1)]
            found.append([*([stride, -stride] for stride in strides), last])
        return host_namespace().asarray(found, dtype=host_namespace().int64)

    def runs(self, margin: int, colour: int) -> SlotRuns:
        """The units of a colour in the block and so many layers around it."""
        host, last, shape = host_namespace(), self.padded[-1], self.graph.shape
        here, rows = (host.zeros((1,), dtype=host.int64) for _ in range(2))  # by place here, and on the lattice
        for axis, n in enumerate(shape[:-1]):
            kept = slice(self.depth - margin, self.depth + self.size[axis] + margin)
            places, there = (x[kept] for x in self.along(axis))
            local = host.arange(self.padded[axis])[kept][there]
            here = host.reshape(here[:, None] * self.padded[axis] + local, (-1,))
            rows = host.reshape(rows[:, None] * n + places[there], (-1,))
        rings = odd_rings(shape, self.graph.periodic)
        starts, along = row_starts(shape, rings, rows, colour)
        found = []
        for begin, end in self._pieces(margin):
            place = (self.offset[-1] - self.depth + begin) % shape[-1]
            turn = bool(rings[-1]) and place == shape[-1] - 1
            first = begin + ((along + place) & 1)
            counts = (end - first + 1) >> 1
            if any(rings):
                counts = host.where(along == 2 if turn else along < 2, counts, 0)
            slots = starts if turn else starts + ((first - begin + place) >> 1)
            found.append((here * last + (first & 1) * (last // 2) + (first >> 1), counts, slots, first & 1))
        made = SlotRuns(*(host.concat(parts) for parts in zip(*found, strict=True)))
        order = host.argsort(made.slots, stable=True)
        order = order[made.counts[order] > 0]
        return SlotRuns(*(x[order] for x in made))

    def _pieces(self, margin: int) -> list[tuple[int, int]]:
        """The runs of places along the last axis that follow one another on the lattice too, with like colours."""
        n, first = self.graph.shape[-1], self.offset[-1] - self.depth
        begin, end = self.depth - margin, self.depth + self.size[-1] + margin
        if not self.graph.periodic[-1]:
            return [(max(begin, -first), min(end, n - first))]
        seams = range(-first % n - n, end + 1, n)
        cuts = [cut for seam in seams for cut in ((seam - 1, seam) if n % 2 else (seam,)) if begin < cut < end]
        return list(itertools.pairwise([begin, *cuts, end]))

    def places_of(self, units: Array, values: Array) -> Clamp:
        """Where some of the lattice's units are here, as often as they are, and with each what belongs to it."""
        host, last = host_namespace(), self.padded[-1]
        here = host.zeros(units.shape, dtype=host.int64)
        for axis, n in enumerate(self.graph.shape):
            size = math.prod(self.graph.shape[axis + 1 :])
            place, units = units // size - self.offset[axis] + self.depth, units % size
            if self.graph.periodic[axis]:  # at every n-th place from the first one on
                rounds = -(-self.padded[axis] // n)
                here, units, values = (host.repeat(x, rounds) for x in (here, units, values))
                place = host.reshape((place % n)[:, None] + n * host.arange(rounds), (-1,))
            there = (place >= 0) & (place < self.padded[axis])
            here, units, values = (here * self.padded[axis] + place)[there], units[there], values[there]
        rows, along = here // last, here % last
        return rows * last + along % 2 * (last // 2) + along // 2, values

    def of_edges(self, numbers: Array) -> Array:
        """What belongs to edges, of shape (axes, units), by their first units; 0 where there is none."""
        host, found, begin = host_namespace(), [], 0
        for shape in self.graph.edge_shapes:
            end = begin + math.prod(shape)
            found.append(self.split(self._taken(host.reshape(numbers[begin:end], shape))))
            begin = end
        return host.stack(found)

    def of_units(self, numbers: Array) -> Array:
        """What belongs to units, with the lattice's axes first; 0 where there is none."""
        axes = tuple(range(len(self.size)))
        return self.split(host_namespace().moveaxis(self._taken(numbers), axes, tuple(k - len(axes) for k in axes)))

    def _taken(self, numbers: Array) -> Array:
        """The elements of an array of the lattice's shape, or with one less along an open axis, that lie here."""
        host = host_namespace()
        for axis in range(len(self.size)):
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


@dataclass(frozen=True)
class Couplings:
    """The couplings and fields of a lattice or a block: couplings are whole multiples of one number where they can be.

    Parameters
    ----------
    unit : float
        What multiples are of; 1 where couplings are no multiples.
    multiples : array or None
        int8 or float64; None where each is 1. Of shape (edges,), or of a block (axes, units).
    fields : float or array
        Of all units, or of each: of the lattice's shape, or of a block (units,); of Potts units with one more axis, a
        lattice's last one and a block's first one.
    largest : int
        The size of the largest multiple; 0 where couplings are no multiples.
    odd : bool
        Whether all multiples are odd.
    clamp : Clamp or None
        The clamped units and their values; of a block their places, and what is in each.
    """

    unit: float
    multiples: Array | None
    fields: float | Array
    largest: int
    odd: bool
    clamp: Clamp | None = None

    def of(self, block: LatticeBlock) -> Couplings:
        """Those of a block."""
        return replace(
            self,
            multiples=None if self.multiples is None else block.of_edges(self.multiples),
            fields=self.fields if isinstance(self.fields, float) else block.of_units(self.fields),
            clamp=None if self.clamp is None else block.places_of(*self.clamp),
        )


def couplings_of(machine: EnergyModel, clamp: Clamp | None = None) -> Couplings:
    """A lattice machine's couplings and fields, rounded as its layout's are, and its clamped units."""
    host, resolution = host_namespace(), machine.resolution
    weights, own = machine.by_edge_and_unit
    one, field = uniform_value(weights), uniform_value(own)
    if field is not None and not machine.kind.is_categorical:
        fields: float | Array = float(rounded(host.asarray(field), resolution))
    else:
        fields = host.reshape(rounded(own, resolution), (*machine.state_shape, *own.shape[1:]))
    if one is not None:
        return Couplings(float(rounded(host.asarray(one), resolution)), None, fields, 1, True, clamp)
    weights = rounded(weights, resolution)
    unit, multiples, largest = multiples_of(weights)
    if multiples is None:
        return Couplings(1.0, weights, fields, 0, False, clamp)
    return Couplings(unit, multiples, fields, largest, bool(host.all(multiples & 1)), clamp)
