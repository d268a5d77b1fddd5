"""Lattices in blocks: what blocks show one another, their sweeps, and their states between tasks.

Contract: the bits of `chains.Chains`, for every division into blocks, by arrays and by compiled loops. What a block
shows of itself is what others need of it for the sweeps of a task: some layers, which are few beside the block. Between
tasks, states of two values are bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace, kernel

from .blocks import ChainGroup, Division, Index, Schedule, Shown, Step, Work, packed, unpack
from .energy_model import Clamp, EnergyModel
from .graph import Lattice
from .lattice_blocks import Couplings, LatticeBlock, Place, SlotRuns, couplings_of
from .layout import Colour
from .moves import MOVES
from .observables import totals

__all__ = ["LatticeDivision", "LatticeWork", "check_lattice", "divided", "lattice_blocks"]

MOST_AT_ONCE: Final = 16
SHORTEST: Final = 128
"""A task makes so many times fewer sweeps than its block is long: then a few hundredths are drawn in the halo."""
AT_ONCE: Final = 2**20
"""So many states are made at once, of whose numbers there are several arrays."""


@dataclass(frozen=True)
class LatticeDivision(Division):
    """A lattice's blocks, each of which a task takes some sweeps on.

    Parameters
    ----------
    chunks : tuple of tuples of ints
        Along each axis, the lengths of blocks.
    periodic : tuple of bool
    at_once : int, optional
        How many sweeps a task makes; 0 for so many that little is drawn around a block.
    """

    chunks: tuple[tuple[int, ...], ...]
    periodic: tuple[bool, ...]
    at_once: int = 0

    name, together = "lattice", 1

    @cached_property
    def graph(self) -> Lattice:
        """The lattice, without weights."""
        return Lattice(tuple(map(sum, self.chunks)), self.periodic)

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the axes of states."""
        return tuple(f"axis_{k}" for k in range(len(self.chunks)))

    @property
    def sweeps_at_once(self) -> int:  # type: ignore[override]
        """How many sweeps a task makes.

        Examples
        --------
        >>> divided((1024, 1024), (True, True), 512).sweeps_at_once
        4
        """
        shortest = min(min(sizes) for sizes in self.chunks)
        return self.at_once or max(1, min(MOST_AT_ONCE, shortest // SHORTEST))

    @property
    def depth(self) -> int:
        """How many layers of others a block needs for a step."""
        return self.graph.reach * self.sweeps_at_once

    def neighbours(self, block: Index) -> list[Index]:
        """See `Division`."""
        near = [sorted({i for i, *_ in self._reach(axis, block[axis])}) for axis in range(len(block))]
        return [other for other in itertools.product(*near) if other != block]

    def work(self, group: ChainGroup) -> LatticeWork:
        """See `Division`."""
        return LatticeWork(group, self)

    def block(self, index: Index, depth: int) -> LatticeBlock:
        """The memory of a block with its halo."""
        offset = tuple(sum(sizes[:i]) for sizes, i in zip(self.chunks, index, strict=True))
        return LatticeBlock(self.graph, offset, tuple(n[i] for n, i in zip(self.chunks, index, strict=True)), depth)

    def given(self, couplings: Couplings, index: Index) -> Couplings:
        """The couplings that a block's task is handed."""
        uniform = couplings.multiples is None and isinstance(couplings.fields, float) and couplings.clamp is None
        return couplings if uniform else couplings.of(self.block(index, self.depth))

    def pieces(self, block: Index) -> Iterator[tuple[Index, Place, Place]]:
        """What makes up a block with its halo: of which block, what of it, and where it comes."""
        for pieces in itertools.product(*(self._reach(axis, i) for axis, i in enumerate(block))):
            yield (
                tuple(piece[0] for piece in pieces),
                tuple(slice(begin, end) for _, begin, end, _ in pieces),
                tuple(slice(at, at + end - begin) for _, begin, end, at in pieces),
            )

    def shown(self, block: Index) -> list[Place]:
        """What others need of a block, in the order in which it shows that."""
        found: list[Place] = []
        for other in self.neighbours(block):
            found += [some for owner, some, _ in self.pieces(other) if owner == block and some not in found]
        return found

    def seen(self, block: Index, shown: Array, some: Place) -> Array:
        """A part of what a block shows, which is all of its parts one after the other."""
        places = self.shown(block)
        shapes = [tuple(one.stop - one.start for one in place) for place in places]
        ends, which = list(itertools.accumulate(map(math.prod, shapes), initial=0)), places.index(some)
        return host_namespace().reshape(shown[:, ends[which] : ends[which + 1]], (-1, *shapes[which]))

    def _reach(self, axis: int, i: int) -> Iterator[tuple[int, int, int, int]]:
        """The pieces of a padded block along an axis: of which block, from where to where in it, and their places."""
        ends = list(itertools.accumulate(self.chunks[axis], initial=0))
        first = place = ends[i] - self.depth
        last, n = ends[i + 1] + self.depth, ends[-1]
        if not self.graph.periodic[axis]:
            place, last = max(place, 0), min(last, n)
        while place < last:
            here = place % n
            j = next(k for k, end in enumerate(ends[1:]) if here < end)
            count = min(ends[j + 1] - here, last - place)
            yield j, here - ends[j], here - ends[j] + count, place - first
            place += count


@dataclass(frozen=True)
class LatticeWork(Work):
    """Some sweeps of a block, in a chain or two; its state is that of all chains, packed.

    Parameters
    ----------
    group : ChainGroup
    division : LatticeDivision
    """

    group: ChainGroup
    division: LatticeDivision

    @property
    def nothing(self) -> int:
        """What stands where no unit is, which adds nothing to a sum."""
        return -1 if self.group.kind.is_categorical else 0

    def begin(self, block: Index) -> tuple[Any, Shown]:
        """See `Work`."""
        memory, kind = self.division.block(block[1:], 2), self.group.kind
        flat = self._empty(memory)
        hot = replace(self.group, rule="heat_bath", betas=(0.0,) * self.group.n_chains)
        sweeps = _sweeps(hot, memory, Couplings(1.0, None, 0.0, 1, True))
        for colour in range(self.division.graph.colour_count):
            for runs in memory.runs(0, colour).parts(AT_ONCE):
                if kind.is_categorical:
                    uniforms = self.group.uniforms(runs.slots, 0, runs.counts)
                    flat[:, runs.each()[0]] = kind.uniform_states(host_namespace(), uniforms).T
                else:
                    sweeps.draw(flat, runs, 0)
        if not kind.is_categorical:  # at β = 0 lesser numbers draw the upper value, and `at_random` takes greater ones
            own = memory.own(flat)
            own[...] = 2 * kind.least + int(kind.step) - own
        return self._kept(memory, flat, block)

    def resume(self, block: Index, states: Array) -> tuple[Any, Shown]:
        """See `Work`."""
        memory = self.division.block(block[1:], 0)
        flat = self._empty(memory)
        memory.put(flat, memory.middle, states)
        return self._kept(memory, flat, block)

    def step(
        self, block: Index, state: Any, shown: Mapping[Index, Shown], step: Step, given: Couplings
    ) -> tuple[Any, Shown, Array]:
        """Make some sweeps."""
        host, graph = host_namespace(), self.division.graph
        memory, flat = self.with_halo(block, state, shown)
        sweeps = _sweeps(self.group, memory, given)
        places, values = given.clamp or (slice(0, 0), 0)
        flat[:, places] = values
        rows, last = [host.zeros((0, self.group.columns))], step.sweep + step.n_sweeps
        for sweep in range(step.sweep + 1, last + 1):
            for colour in range(graph.colour_count):
                margin = graph.reach * (last - sweep) + graph.colour_count - 1 - colour
                sweeps.draw(flat, memory.runs(margin, colour), sweep)
                flat[:, places] = values  # units of a colour do not see one another
            if sweep in step.seen:
                rows.append(self._measured(sweeps, memory, flat))
        return *self._kept(memory, flat, block), host.concat(rows)

    def array(self, block: Index, state: Any) -> Array:
        """See `Work`."""
        memory = self.division.block(block[1:], 0)
        return memory.take(self._unpacked(memory, state), memory.middle)

    def with_halo(self, block: Index, state: Any, shown: Mapping[Index, Shown]) -> tuple[LatticeBlock, Array]:
        """A block in memory, with its halo."""
        division, place = self.division, block[1:]
        memory = division.block(place, division.depth)
        flat = self._unpacked(memory, state)
        for other, some, at in division.pieces(place):
            if other != place:
                memory.put(flat, at, division.seen(other, shown[0, *other][0], some))
            elif at != memory.middle:
                memory.put(flat, at, memory.take(flat, _moved(some, memory.depth)))
        return memory, flat

    def _measured(self, sweeps: Any, memory: LatticeBlock, flat: Array) -> Array:
        """What is measured of the units of a block.

        An edge belongs to its unit of the greater colour: what of the other one is known here is of this sweep.
        """
        host, graph = host_namespace(), self.division.graph
        inner = memory.take(flat, memory.middle) if self.group.pairs else None
        found: Any = 0.0
        flat = host.asarray(flat, copy=True) if graph.colour_count > 2 else flat
        for colour in reversed(range(graph.colour_count)):
            pairs, alone, *sums = sweeps.sums(flat, memory.runs(0, colour))
            found = found + host.stack([-(alone + pairs * (colour > 0)), *sums])
            if colour > 1:
                flat[:, memory.runs(1, colour).each()[0]] = self.nothing
        states = inner if inner is None else host.reshape(inner, (inner.shape[0], -1)).T
        return self.group.measured(found[0], states, found[1:])

    def _empty(self, memory: LatticeBlock) -> Array:
        host = host_namespace()
        return host.full((self.group.n_chains, memory.units), self.nothing, dtype=host.int8)

    def _kept(self, memory: LatticeBlock, flat: Array, block: Index) -> tuple[Any, Shown]:
        """The states of a block, packed, and what it shows of them."""
        host, chains = host_namespace(), flat.shape[0]
        parts = [memory.take(flat, _moved(some, memory.depth)) for some in self.division.shown(block[1:])]
        shown = host.concat([flat[:, :0], *(host.reshape(part, (chains, -1)) for part in parts)], axis=1)
        return (packed(self.group.kind, memory.own(flat)),), (shown,)

    def _unpacked(self, memory: LatticeBlock, state: Any) -> Array:
        """The states of a block, with nothing in its halo."""
        flat = self._empty(memory)
        own = memory.own(flat)
        unpack(self.group.kind, state[0], own)
        if memory.size[-1] % 2:
            own[..., 1, -1] = self.nothing
        return flat


def _moved(place: Place, depth: int) -> Place:
    return tuple(slice(one.start + depth, one.stop + depth) for one in place)


def _sweeps(group: ChainGroup, memory: LatticeBlock, couplings: Couplings) -> Any:
    """What draws and measures a block's units."""
    own = kernel("graphs.brick", host_namespace()) if MOVES[group.rule].kernel else None
    return (None if own is None else own(group, memory, couplings)) or PortableSweeps(group, memory, couplings)


class PortableSweeps:
    """Draws and sums of a block's units by the functions of `moves`."""

    def __init__(self, group: ChainGroup, block: LatticeBlock, couplings: Couplings) -> None:
        self.group, self.block, self.couplings = group, block, couplings

    @cached_property
    def fields(self) -> Array:
        """Those of all places, of shape (units, values)."""
        host, fields = host_namespace(), self.couplings.fields
        own = host.full((self.block.units,), fields) if isinstance(fields, float) else fields
        return host.reshape(own, (-1, self.block.units)).T

    def _colour(self, runs: SlotRuns) -> tuple[Array, Colour]:
        """The places of runs, and what is around them."""
        host, axes, couplings = host_namespace(), len(self.block.size), self.couplings
        places, odd = runs.each()
        neighbours = places[:, None, None] + self.block.steps[odd]
        if couplings.multiples is None:
            weights = host.full(neighbours.shape, couplings.unit)
        else:  # an edge lies at its first unit
            owner = host.where(host.asarray([True, False]), places[:, None, None], neighbours)
            weights = couplings.unit * host.astype(couplings.multiples[host.arange(axes)[:, None], owner], host.float64)
        return places, Colour(
            0, places.shape[0], host.reshape(neighbours, (-1,)), host.reshape(weights, (-1, 1)), 2 * axes, None,
            self.fields[places, :],
        )  # fmt: skip

    def draw(self, flat: Array, runs: SlotRuns, sweep: int) -> None:
        """Draw units anew."""
        if runs.places.shape[0]:
            self.group.draw(flat.T, *self._colour(runs), self.group.uniforms(runs.slots, sweep, runs.counts))

    def sums(self, flat: Array, runs: SlotRuns) -> Array:
        """Of each chain the products of joined units times couplings, fields, and values, or how many have each."""
        host, kind = host_namespace(), self.group.kind
        places, colour = self._colour(runs)
        own, around = flat.T[places], flat.T[colour.neighbours]
        beside = host.repeat(own, 2 * len(self.block.size), axis=0)
        if kind.is_categorical:
            near = around == beside
            alone = host.take_along_axis(colour.fields, host.astype(own, host.int64), axis=1)
        else:
            near, alone = around * beside, colour.fields * own
        pairs = host.sum(host.astype(near, host.float64) * colour.couplings, axis=0)
        found = host.stack([pairs, host.sum(alone, axis=0)])
        return host.concat([found, host.astype(totals(host, kind, own), host.float64)])


def lattice_blocks(
    machine: EnergyModel, chunks: Any, clamp: Clamp | None, schedule: Schedule | None = None
) -> tuple[LatticeDivision, dict[Index, Couplings]]:
    """A lattice divided into blocks, and the couplings of each; see `GraphMachine.sample`.

    Parameters
    ----------
    schedule : Schedule, optional
        Where states are observed: what is measured then ends a step.

    Raises
    ------
    ValueError
        If the machine is on no lattice, or chunks are none of it.
    """
    graph = check_lattice(machine)
    division = divided(graph.shape, graph.periodic, chunks)
    if schedule is not None:
        most, whole = division.sweeps_at_once, math.gcd(schedule.burn_in, schedule.thin)
        division = replace(division, at_once=max(k for k in range(1, most + 1) if whole % k == 0))
    couplings = couplings_of(machine, clamp)
    return division, {block: division.given(couplings, block) for block in division.blocks}


def check_lattice(machine: EnergyModel) -> Lattice:
    """The lattice of a machine that can be in chunks."""
    if not isinstance(machine.graph, Lattice):
        raise ValueError(f"chunks: the machine must be on a lattice, got {machine.graph!r}")
    return machine.graph


def divided(shape: Sequence[int], periodic: Sequence[bool], chunks: Any, at_once: int = 0) -> LatticeDivision:
    """A lattice divided into blocks of lengths: one int, or for each axis an int or ints, as Dask takes them.

    Raises
    ------
    ValueError
        If they are none.

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
    return LatticeDivision(tuple(found), tuple(periodic), at_once)
