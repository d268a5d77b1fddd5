"""Lattices divided into blocks: exchange of halos, and the memory of a block with its halo.

Contract: a halo with one layer per colour suffices for a sweep, since each colour that is drawn makes one more layer of
the halo invalid. Units of the halo are drawn with the same random numbers as in their own block, so two blocks that
draw the same unit agree.

States are in flat memory of shape (chains, units). Along the last axis the units at even positions come first, then
those at odd positions, so the units of one colour and their neighbours are contiguous; the last position of a ring of
odd length has a colour of its own and is separate. Positions beyond open ends have a value that adds 0 to all sums.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.errors import positive_int

from .adjacency import in_runs
from .chains import Division, Index, Shown
from .energy_model import Clamp, EnergyModel
from .graph import Lattice, odd_rings, row_starts, uniform_value
from .layout import multiples_of

MOST_AT_ONCE: Final = 32
SHORTEST: Final = 64  # length of a block per sweep of a task: a tenth of the drawn units at most are then in the halo

Place: TypeAlias = tuple[slice, ...]  # part of a block: a slice along each axis of the lattice


@dataclass(frozen=True)
class LatticeDivision(Division):
    """A division of a lattice into blocks; a task makes some sweeps of a block.

    Parameters
    ----------
    chunks : tuple of tuples of ints
        Lengths of the blocks along each axis.
    periodic : tuple of bool
        Whether each axis is periodic.
    at_once : int, optional
        Number of sweeps per task; by default as many as keep the halo small, at most 32.
    """

    chunks: tuple[tuple[int, ...], ...]
    periodic: tuple[bool, ...]
    at_once: int | None = None

    name, together = "lattice", 1

    @cached_property
    def graph(self) -> Lattice:
        """Lattice without weights."""
        return Lattice(tuple(map(sum, self.chunks)), self.periodic)

    @cached_property
    def _ends(self) -> list[list[int]]:
        return [list(itertools.accumulate(sizes, initial=0)) for sizes in self.chunks]

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the axes of states."""
        return tuple(f"axis_{k}" for k in range(len(self.chunks)))

    @property
    def sweeps_at_once(self) -> int:  # type: ignore[override]
        """Number of sweeps per task.

        Examples
        --------
        >>> divided((1024, 1024), (True, True), 512).sweeps_at_once
        8
        """
        shortest = min(min(sizes) for sizes in self.chunks)
        return self.at_once or max(1, min(MOST_AT_ONCE, shortest // SHORTEST))

    @property
    def depth(self) -> int:
        """Number of layers of the halo."""
        return self.graph.reach * self.sweeps_at_once

    def memory(self, block: Index) -> LatticeMemory:
        """Return the memory of a block with its halo."""
        offset = tuple(ends[i] for ends, i in zip(self._ends, block, strict=True))
        size = tuple(lengths[i] for lengths, i in zip(self.chunks, block, strict=True))
        return LatticeMemory(self.graph, offset, size, self.depth)

    def neighbours(self, block: Index) -> list[Index]:
        """See `Division`."""
        near = [sorted({i for i, *_ in self._reach(axis, block[axis])}) for axis in range(len(block))]
        return [other for other in itertools.product(*near) if other != block]

    def pieces(self, block: Index) -> Iterator[tuple[Index, Place, Place]]:
        """Yield the parts of a block with its halo: the owner's index, the part of the owner, and the destination."""
        for pieces in itertools.product(*(self._reach(axis, i) for axis, i in enumerate(block))):
            yield (
                tuple(piece[0] for piece in pieces),
                tuple(slice(begin, end) for _, begin, end, _ in pieces),
                tuple(slice(at, at + end - begin) for _, begin, end, at in pieces),
            )

    def shown(self, block: Index, states: Array) -> Shown:
        """Return the states that each neighbour needs of a block's own states, its parts concatenated."""
        host = host_namespace()
        return {
            other: host.concat([
                host.reshape(states[:, *some], (states.shape[0], -1))
                for owner, some, _ in self.pieces(other)
                if owner == block
            ], axis=1)
            for other in self.neighbours(block)
        }  # fmt: skip

    def with_halo(self, block: Index, states: Array, shown: Shown, padded: Array) -> Array:
        """Write a block's own states and those shown by its neighbours to an array with a halo; return this array."""
        taken = dict.fromkeys(shown, 0)
        for other, some, at in self.pieces(block):
            if other == block:
                padded[:, *at] = states[:, *some]
            else:
                shape, begin = [one.stop - one.start for one in some], taken[other]
                taken[other] += math.prod(shape)
                padded[:, *at] = host_namespace().reshape(shown[other][:, begin : taken[other]], (-1, *shape))
        return padded

    def _reach(self, axis: int, i: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the parts of a padded block along an axis: owner, begin and end in the owner, destination."""
        ends = self._ends[axis]
        first = place = ends[i] - self.depth
        last, n = ends[i + 1] + self.depth, ends[-1]
        if not self.graph.periodic[axis]:
            place, last = max(place, 0), min(last, n)
        while place < last:
            here = place % n
            j = bisect.bisect_right(ends, here) - 1
            count = min(ends[j + 1] - here, last - place)
            yield j, here - ends[j], here - ends[j] + count, place - first
            place += count


def check_lattice(machine: EnergyModel) -> Lattice:
    """Return the lattice of a machine; raise `ValueError` if it has none, or factors, or matrices of couplings."""
    if not isinstance(machine.graph, Lattice):
        raise ValueError(f"chunks: the machine must be on a lattice, got {machine.graph!r}")
    if machine.has_factors:
        raise ValueError("chunks: the machine must not have factors")
    if machine.edge_couplings.ndim > 1:
        raise ValueError("chunks: couplings must be one number for each edge; shards are for matrices of them")
    return machine.graph


def divided(
    shape: Sequence[int], periodic: Sequence[bool], chunks: Any, checkpoint_every: int | None = None
) -> LatticeDivision:
    """Return a division of a lattice by chunks: an int, or for each axis an int or ints, as Dask's chunks.

    Raises
    ------
    ValueError
        If the chunks are invalid.

    Examples
    --------
    >>> divided((8, 6), (True, True), (4, (2, 4))).chunks
    ((4, 4), (2, 4))
    >>> divided((8, 6), (True, True), 5).chunks
    ((5, 3), (5, 1))
    """
    wanted = f"chunks must be an int, or for each of {len(shape)} axes an int or ints whose sum is its length"
    asked = chunks if isinstance(chunks, (list, tuple)) else [chunks] * len(shape)
    if len(asked) != len(shape):
        raise ValueError(f"{wanted}, got {chunks!r}")
    found = []
    for n, one in zip(shape, asked, strict=True):
        try:
            if isinstance(one, (list, tuple)):
                sizes = [int(length.__index__()) for length in one]
            else:
                length = n if one == -1 else int(one.__index__())
                sizes = [min(length, n - begin) for begin in range(0, n, max(length, 1))]
        except AttributeError as error:
            raise ValueError(f"{wanted}, got {chunks!r}") from error
        if any(length < 1 for length in sizes) or sum(sizes) != n:
            raise ValueError(f"{wanted}, got {chunks!r}")
        found.append(tuple(sizes))
    every = None if checkpoint_every is None else positive_int(checkpoint_every, "checkpoint_every")
    return LatticeDivision(tuple(found), tuple(periodic), every)


class SlotRuns(NamedTuple):
    """Runs of contiguous units of one colour.

    Attributes
    ----------
    places, counts, slots, odd : arrays
        First position in memory, length, first slot, and half of the row (0 for even, 1 for odd) of each run: int64, of
        shape (runs,), by increasing slots.
    """

    places: Array
    counts: Array
    slots: Array
    odd: Array

    def each(self) -> tuple[Array, Array]:
        """Return the position of each unit, and the half of the row that it is in."""
        return in_runs(self.places, self.counts), host_namespace().repeat(self.odd, self.counts)


@dataclass(frozen=True)
class LatticeMemory:
    """The flat memory of a block of a lattice with its halo.

    Parameters
    ----------
    graph : Lattice
    offset, size : tuples of ints
        First coordinates and lengths of the block along each axis.
    depth : int
        Number of layers of the halo; even.
    """

    graph: Lattice
    offset: tuple[int, ...]
    size: tuple[int, ...]
    depth: int

    @property
    def padded(self) -> tuple[int, ...]:
        """Lengths with the halo; the last one is rounded up to even."""
        lengths = [n + 2 * self.depth for n in self.size]
        return (*lengths[:-1], lengths[-1] + lengths[-1] % 2)

    @property
    def units(self) -> int:
        """Number of positions, with the halo."""
        return math.prod(self.padded)

    def along(self, axis: int) -> tuple[Array, Array]:
        """Return the lattice coordinates of positions along an axis, and whether they are on the lattice."""
        host, n = host_namespace(), self.graph.shape[axis]
        places = self.offset[axis] - self.depth + host.arange(self.padded[axis])
        there = host.ones(places.shape, dtype=host.bool) if self.graph.periodic[axis] else (places >= 0) & (places < n)
        return places % n, there

    def flat(self, array: Array) -> Array:
        """Convert an array whose last axes are those of the padded block to flat memory, of shape (…, units)."""
        halves = host_namespace().concat([array[..., ::2], array[..., 1::2]], axis=-1)
        return host_namespace().reshape(halves, (*array.shape[: -len(self.size)], -1))

    def own(self, flat: Array) -> Array:
        """Return the block's own units, of shape (chains, block's shape), from flat memory of shape (chains, units)."""
        host, (*rows, columns) = host_namespace(), (slice(self.depth, self.depth + n) for n in self.size)
        halves = host.reshape(flat, (flat.shape[0], *self.padded[:-1], 2, -1))[:, *rows, :, :]
        whole = host.empty((*halves.shape[:-2], self.padded[-1]), dtype=flat.dtype)
        whole[..., ::2], whole[..., 1::2] = halves[..., 0, :], halves[..., 1, :]
        return whole[..., columns]

    @property
    def steps(self) -> Array:
        """Offsets of the neighbours in flat memory, of shape (2, axes, 2): by half of the row, axis and direction."""
        half, found = self.padded[-1] // 2, []
        for odd in (0, 1):
            last = [1 - half, -half] if odd else [half, half - 1]
            strides = [math.prod(self.padded[axis + 1 :]) for axis in range(len(self.size) - 1)]
            found.append([*([stride, -stride] for stride in strides), last])
        return host_namespace().asarray(found, dtype=host_namespace().int64)

    def runs(self, margin: int, colour: int) -> SlotRuns:
        """Return the runs of a colour in the block and `margin` layers around it."""
        host, last, shape = host_namespace(), self.padded[-1], self.graph.shape
        here, rows = (host.zeros((1,), dtype=host.int64) for _ in range(2))  # row numbers in memory, and on the lattice
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
        """Return the ranges along the last axis that do not cross the lattice's end or an odd ring's last position."""
        n, first = self.graph.shape[-1], self.offset[-1] - self.depth
        begin, end = self.depth - margin, self.depth + self.size[-1] + margin
        if not self.graph.periodic[-1]:
            return [(max(begin, -first), min(end, n - first))]
        seams = range(-first % n - n, end + 1, n)
        cuts = [cut for seam in seams for cut in ((seam - 1, seam) if n % 2 else (seam,)) if begin < cut < end]
        return list(itertools.pairwise([begin, *cuts, end]))

    def numbers(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return each position's index in an array of a shape (at most the lattice's), and whether it exists."""
        host = host_namespace()
        found, exists = host.zeros((), dtype=host.int64), host.ones((), dtype=host.bool)
        for axis, n in enumerate(shape):
            places, there = self.along(axis)
            there = there & (places < n)
            found, exists = found[..., None] * n + host.where(there, places, 0), exists[..., None] & there
        return self.flat(found), self.flat(exists)

    def of_edges(self, values: Array) -> Array:
        """Return values of edges at their first units, of shape (axes, units); 0 where there is no edge."""
        found, begin = [], 0
        for shape in self.graph.edge_shapes:
            numbers, exists = self.numbers(shape)
            found.append(values[begin + numbers] * exists)
            begin += math.prod(shape)
        return host_namespace().stack(found)

    def of_units(self, values: Array) -> Array:
        """Return values of units, of shape (1 or values, units); 0 where there is no unit."""
        numbers, exists = self.numbers(self.graph.shape)
        return host_namespace().reshape(values, (self.graph.units, -1))[numbers].T * exists

    def places_of(self, units: Array, values: Array) -> Clamp:
        """Return all positions of the given units in this memory, and the value of the unit at each position."""
        host, (numbers, exists) = host_namespace(), self.numbers(self.graph.shape)
        which = host.searchsorted(units, numbers) % units.shape[0]
        places = host.nonzero(exists & (units[which] == numbers))[0]
        return places, values[which[places]]


@dataclass(frozen=True)
class Couplings:
    """Couplings, fields and clamped units of a lattice or a block.

    Couplings are stored as small multiples of one number if possible.

    Parameters
    ----------
    unit : float
        Number of which couplings are multiples; 1 if they are not.
    fields : array
        Field of all units, of shape (); or of each unit, of shape (units,), or (units, values) for Potts units. In a
        block of shape (1 or values, units).
    multiples : array, optional
        int8, or the couplings in float64 if they are not multiples; None if all are 1. Of shape (edges,), in a block
        (axes, units).
    clamped, values : array, optional
        Clamped units (in a block their positions) and their values.
    """

    unit: float
    fields: Array
    multiples: Array = None
    clamped: Array = None
    values: Array = None

    def of(self, memory: LatticeMemory) -> Couplings:
        """Return the couplings of a block."""
        none = None, None
        return Couplings(
            self.unit,
            memory.of_units(self.fields) if self.fields.ndim else self.fields,
            None if self.multiples is None else memory.of_edges(self.multiples),
            *(none if self.clamped is None else memory.places_of(self.clamped, self.values)),
        )


def couplings_of(machine: EnergyModel, clamp: Clamp | None = None) -> Couplings:
    """Return the couplings, fields and clamped units of a machine on a lattice."""
    host, weights, own = host_namespace(), machine.edge_couplings, machine.unit_fields
    one, field = uniform_value(weights), uniform_value(own)
    fields = own if field is None or machine.kind.is_categorical else host.asarray(field)
    if one is not None:
        return Couplings(one, fields, None, *(clamp or ()))
    unit, multiples = multiples_of(weights)
    return Couplings(unit, fields, weights if multiples is None else multiples, *(clamp or ()))
