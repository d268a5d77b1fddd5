"""A lattice divided into blocks: what they show one another, their sweeps, and their states between tasks.

Contract: what a block shows of itself is what any other may need of it, and no more: two layers along each axis that is
divided, which are few beside the block. Between tasks, states of two values are bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbm_xp.namespace import host_namespace

from .blocks import ChainGroup, Division, Index, Schedule, Work, packed, unpack
from .energy_model import Clamp, EnergyModel
from .graph import Lattice
from .lattice_blocks import LatticeBlock
from .lattice_sweeps import Couplings, LatticeChain, couplings_of

__all__ = ["LatticeDivision", "check_lattice", "divided", "lattice_blocks"]

Layers = tuple[Any, ...]
"""What a block shows of a chain: along each axis that is divided, its first layers and its last ones."""
Slices = tuple[slice, ...]

MOST_AT_ONCE = 16
SHORTEST = 128
"""A task makes so many times fewer sweeps than its block is long: then a few hundredths are drawn in the halo."""


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

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the axes of states."""
        return tuple(f"axis_{k}" for k in range(len(self.chunks)))

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the lattice."""
        return tuple(map(sum, self.chunks))

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return math.prod(self.shape)

    @property
    def blocks(self) -> list[Index]:
        """All blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def size(self, block: Index) -> tuple[int, ...]:
        """How long a block is along each axis."""
        return tuple(sizes[i] for sizes, i in zip(self.chunks, block, strict=True))

    def offset(self, block: Index) -> tuple[int, ...]:
        """Where a block begins."""
        return tuple(sum(sizes[:i]) for sizes, i in zip(self.chunks, block, strict=True))

    @property
    def sweeps_at_once(self) -> int:
        """How many sweeps a task makes.

        Examples
        --------
        >>> LatticeDivision(((512, 512), (1024,)), (True, True)).sweeps_at_once
        4
        """
        shortest = min(min(sizes) for sizes in self.chunks)
        return self.at_once or max(1, min(MOST_AT_ONCE, shortest // SHORTEST))

    @property
    def depth(self) -> int:
        """How many layers of others a block needs for a step."""
        return Lattice(self.shape, self.periodic).reach * self.sweeps_at_once

    def neighbours(self, block: Index) -> list[Index]:
        """See `Division`."""
        near = [sorted({i for i, *_ in self._reach(axis, block[axis], self.depth)}) for axis in range(len(block))]
        return [other for other in itertools.product(*near) if other != block]

    def work(self, group: ChainGroup) -> LatticeWork:
        """See `Division`."""
        return LatticeWork(group, self)

    def n_steps(self, schedule: Schedule) -> int:
        """See `Division`."""
        return -(-schedule.total // self.sweeps_at_once)

    def step(self, schedule: Schedule, number: int) -> tuple[int, int, tuple[int, ...]]:
        """How many sweeps were made before, how many are made, and after which of all sweeps is measured."""
        return schedule.several(number, self.sweeps_at_once)

    def measured(self, step: tuple[Any, ...]) -> int:
        """See `Division`."""
        return len(step[2])

    def block(self, index: Index, depth: int) -> LatticeBlock:
        """The memory of a block with its halo."""
        return LatticeBlock(self.shape, self.periodic, self.offset(index), self.size(index), depth)

    def given(self, couplings: Couplings, index: Index) -> Couplings:
        """The couplings that a block's task is handed."""
        uniform = couplings.multiples is None and isinstance(couplings.fields, float) and couplings.clamp is None
        graph = Lattice(self.shape, self.periodic)
        return couplings if uniform else couplings.of(self.block(index, self.depth), graph)

    def layers(self, size: tuple[int, ...]) -> list[Slices]:
        """Which layers of a block others may need: along each axis that is divided, its first and its last ones."""
        found: list[Slices] = []
        for axis, sizes in enumerate(self.chunks):
            d, whole = min(self.depth, size[axis]), [slice(0, n) for n in size]
            for some in (slice(0, d), slice(size[axis] - d, size[axis])) if len(sizes) > 1 else ():
                found.append((*whole[:axis], some, *whole[axis + 1 :]))
        return found

    def pieces(self, block: Index) -> Iterator[tuple[Index, Slices, Slices]]:
        """What makes up a block with its halo: of which block, what of it, and where it comes."""
        for pieces in itertools.product(*(self._reach(axis, block[axis], self.depth) for axis in range(len(block)))):
            yield (
                tuple(piece[0] for piece in pieces),
                tuple(slice(begin, end) for _, begin, end, _ in pieces),
                tuple(slice(at, at + end - begin) for _, begin, end, at in pieces),
            )

    def shown(self, block: Index, layers: Layers, taken: Slices) -> Any:
        """A part of what a block shows: along one axis it reaches no farther than the layers that are shown."""
        size = self.size(block)
        for some, array in zip(self.layers(size), layers, strict=True):
            if all(one.start <= part.start and part.stop <= one.stop for one, part in zip(some, taken, strict=True)):
                return array[
                    tuple(
                        slice(part.start - one.start, part.stop - one.start)
                        for one, part in zip(some, taken, strict=True)
                    )
                ]
        raise AssertionError("a neighbour shows what is needed")

    def _reach(self, axis: int, i: int, depth: int) -> Iterator[tuple[int, int, int, int]]:
        """The pieces of a padded block along an axis: of which block, from where to where in it, and their places."""
        sizes, ends = self.chunks[axis], list(itertools.accumulate(self.chunks[axis], initial=0))
        n, first = ends[-1], ends[i] - depth
        place, last = first, ends[i] + sizes[i] + depth
        if not self.periodic[axis]:
            place, last = max(place, 0), min(last, n)
        while place < last:
            here = place % n
            j = next(k for k in range(len(sizes)) if here < ends[k + 1])
            count = min(ends[j + 1] - here, last - place)
            yield j, here - ends[j], here - ends[j] + count, place - first
            place += count


@dataclass(frozen=True)
class LatticeWork(Work):
    """Some sweeps of a block, in a chain or two; its state is that of each chain, packed.

    Parameters
    ----------
    group : ChainGroup
    division : LatticeDivision
    """

    group: ChainGroup
    division: LatticeDivision

    @property
    def chains(self) -> list[LatticeChain]:
        """The chains of the group."""
        graph = Lattice(self.division.shape, self.division.periodic)
        return [LatticeChain(self.group, place, graph) for place in range(self.group.n_chains)]

    def begin(self, block: Index) -> tuple[Any, Layers]:
        """See `Work`."""
        memory = self.division.block(block[1:], 2)
        return self._together([self._state(memory, chain.fresh(memory)) for chain in self.chains])

    def resume(self, block: Index, states: Any) -> tuple[Any, Layers]:
        """See `Work`."""
        memory, found = self.division.block(block[1:], 0), []
        for own in states:
            flat = self._nothing(memory)
            memory.put(flat, tuple(slice(0, n) for n in memory.size), own)
            found.append(self._state(memory, flat))
        return self._together(found)

    def step(
        self,
        block: Index,
        state: Any,
        shown: Mapping[Index, Layers],
        step: tuple[int, int, tuple[int, ...]],
        given: Couplings,
    ) -> tuple[Any, Layers, Any]:
        """Make some sweeps."""
        host, place, count = host_namespace(), block[1:], len(self.division.layers(self.division.size(block[1:])))
        found, totals = [], []
        before: list[Any] = []
        products: list[list[float]] = []

        def keep(states: Any) -> None:
            before.append(packed(self.group.kind, states))

        def multiply(states: Any) -> None:
            other = host.empty_like(states)
            unpack(self.group.kind, before[len(products)], other)
            products.append([float(host.sum(states * other, dtype=host.int64))])

        for k, chain in enumerate(self.chains):
            mine = slice(k * count, (k + 1) * count)
            memory, flat = self._filled(place, state[k], {other[1:]: layers[mine] for other, layers in shown.items()})
            watch: Callable[[Any], None] | None = (keep, multiply)[k] if self.group.pairs else None
            totals.append(chain.sweep(flat, memory, given, *step, watch))
            found.append(self._state(memory, flat))
        rows = host.reshape(host.stack(totals, axis=-1), (len(step[2]), self.group.sums * self.group.n_chains))
        if self.group.pairs:
            rows = host.concat([rows, host.reshape(host.asarray(products, dtype=host.float64), (-1, 1))], axis=1)
        return *self._together(found), rows

    def array(self, block: Index, state: Any) -> Any:
        """See `Work`."""
        memory = self.division.block(block[1:], 0)
        return host_namespace().stack([memory.inner(self._unpacked(memory, own)) for own in state])

    def _filled(self, place: Index, state: Any, shown: Mapping[Index, Layers]) -> tuple[LatticeBlock, Any]:
        """A block in memory, with its halo."""
        division = self.division
        memory = division.block(place, division.depth)
        flat = self._unpacked(memory, state)
        middle = tuple(slice(memory.depth, memory.depth + n) for n in memory.size)
        for other, taken, at in division.pieces(place):
            if at == middle:
                continue
            there = tuple(slice(one.start + memory.depth, one.stop + memory.depth) for one in taken)
            own = other == place
            memory.put(flat, at, memory.take(flat, there) if own else division.shown(other, shown[other], taken))
        return memory, flat

    def _nothing(self, memory: LatticeBlock) -> Any:
        host = host_namespace()
        return host.full((memory.units,), self.chains[0].nothing, dtype=host.int8)

    def _state(self, memory: LatticeBlock, flat: Any) -> tuple[Any, Layers]:
        """The states of a block, packed, and what it shows of them."""
        shown = [
            memory.take(flat, tuple(slice(one.start + memory.depth, one.stop + memory.depth) for one in some))
            for some in self.division.layers(memory.size)
        ]
        return packed(self.group.kind, memory.own(flat)), tuple(shown)

    def _unpacked(self, memory: LatticeBlock, state: Any) -> Any:
        """The states of a block, with nothing in its halo."""
        flat = self._nothing(memory)
        own = memory.own(flat)
        unpack(self.group.kind, state, own)
        if memory.size[-1] % 2:
            own[..., 1, -1] = self.chains[0].nothing
        return flat

    @staticmethod
    def _together(found: Sequence[tuple[Any, Layers]]) -> tuple[Any, Layers]:
        """The states of all chains, and what they show, one after the other."""
        return tuple(state for state, _ in found), tuple(itertools.chain.from_iterable(shown for _, shown in found))


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
