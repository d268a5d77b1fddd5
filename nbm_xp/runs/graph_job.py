"""The job of chains on graphs: a task advances a block by a step, given the boundary states of its neighbours.

Contract: a block is never more than one segment ahead of its neighbours. Its boundary states stay on disk as long as a
neighbour may need them, in one file per segment, so that a delayed task cannot change what others read. A task reads
its whole input from disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from nbm_xp.files import Place, place_of
from nbm_xp.graphs.chain_groups import ChainGroup, Schedule, series_variables
from nbm_xp.graphs.chains import Block as GraphBlock
from nbm_xp.graphs.chains import Division, Index
from nbm_xp.graphs.lattice_blocks import Couplings, LatticeDivision, divided
from nbm_xp.graphs.lattice_sweeps import LatticeBlock
from nbm_xp.graphs.measures import labels_of
from nbm_xp.graphs.shards import Shard, ShardDivision
from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import Report, report
from nbm_xp.machines.units import Units
from nbm_xp.objects import ObjectPath, together
from nbm_xp.rng import hashed_seed
from nbm_xp.storage.arrays import load_arrays, save_arrays

from . import store
from .checkpoints import Arrays, Checkpoint, write_checkpoint
from .job import Block, Demand, Job, Stopping, run_segment
from .store import Stored

GRAPH = "graph.zarr"
AT_HAND = 8  # number of shards that a process caches in memory
UNITS_IN_A_CHUNK = 2**24


@dataclass(frozen=True, eq=False)
class GraphInput:
    """The input of a run on a graph: the machine, the division of its graph, and the block at an index."""

    machine: Any
    division: Division
    block: Callable[[Index], GraphBlock]

    @cached_property
    def sizes(self) -> list[int]:
        """Sizes of the files of blocks, in bytes; for a lattice, all are like the first."""
        places = self.division.blocks
        measured = places if isinstance(self.division, ShardDivision) else places[:1]
        found = [sum(np.asarray(x).nbytes + 250 for x in self.block(place).arrays().values()) for place in measured]
        return found * (len(places) // len(found))

    @property
    def memory(self) -> int:
        """Memory of the machine and of the blocks of a graph that is not a lattice, in bytes."""
        if isinstance(self.division, LatticeDivision):
            return 5 * sum(int(x.nbytes) for x in self._weights)  # and the same, divided and in other dtypes
        arrays = [x for x in vars(self.machine.layout).values() if hasattr(x, "nbytes")]
        return 2 * sum(int(x.nbytes) for x in arrays) + sum(self.sizes)

    @property
    def _weights(self) -> list[Array]:
        """The couplings and the fields, if they differ from unit to unit."""
        return [x for x in (self.machine.edge_couplings, self.machine.unit_fields) if any(x.strides)]

    def save(self, folder: Place) -> None:
        """Write the division of a graph into shards, and all blocks in the order of their indices."""
        if isinstance(self.division, ShardDivision):
            _save(folder / "division.npz", self.division.arrays())
        together(
            lambda one: _save(folder / f"block-{one[0]:06d}.npz", self.block(one[1]).arrays()),
            enumerate(self.division.blocks), folder,
        )  # fmt: skip


@dataclass(frozen=True)
class GraphJob(Job):
    """Chains on a graph; a task is a step of a block.

    Attributes
    ----------
    units, rule
        See `GraphMachine`.
    betas : tuple of float
        Inverse temperature of each chain.
    n_units : int
        Number of units of the graph.
    burn_in, n_sweeps, thin : int
        Chains are measured after ``burn_in + (i + 1) * thin`` sweeps.
    observe : tuple of str
        Names of the observables.
    shape, periodic, chunks, checkpoint_every : tuple, int or None
        For a lattice in chunks: its shape, whether each axis is periodic, the length of blocks along each axis (the
        last may be shorter), and the number of sweeps per task.
    """

    units: Any
    rule: str
    betas: tuple[float, ...]
    n_units: int
    burn_in: int
    n_sweeps: int
    thin: int
    observe: tuple[str, ...]
    shape: tuple[int, ...] | None
    periodic: tuple[bool, ...] | None
    chunks: tuple[int, ...] | None
    checkpoint_every: int | None

    part, shown, task = "blocks", "shown", "graph"
    other_parts = (shown,)

    @property
    def division(self) -> Division:
        """The blocks of the graph."""
        return _division(self) if self.known is None or self.shape else self.known.division

    @property
    def schedule(self) -> Schedule:
        """The sweeps to make, and to measure."""
        return Schedule(0, self.burn_in, self.n_sweeps, self.thin)

    @property
    def groups(self) -> list[ChainGroup]:
        """The chains, in groups that run together."""
        return _groups(self)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all groups of chains, one group after the other."""
        return [Block(number, number, 1) for number in range(len(self.groups) * len(_places(self)))]

    @property
    def n_segments(self) -> int:
        """Number of tasks of a block: one for its first states, and one for each step."""
        return 1 + self.division.n_steps(self.schedule)

    def needs(self, block: Block) -> list[int]:
        """Return the numbers of the neighbours, which must have completed as many segments."""
        return list(self._near(block).values())

    def _at(self, block: Block) -> tuple[ChainGroup, Index]:
        """Return a block's chains, and its index in the graph."""
        group, number = divmod(block.number, len(_places(self)))
        index = np.unravel_index(number, tuple(map(len, self.division.chunks)))
        return self.groups[group], tuple(map(int, index))

    def _near(self, block: Block) -> dict[Index, int]:
        """Return the numbers of a block's neighbours, by their indices."""
        (_, place), numbers = self._at(block), _places(self)
        return {other: block.number - numbers[place] + numbers[other] for other in self.division.neighbours(place)}

    # Results

    @property
    def names(self) -> tuple[str, ...]:
        """The observables in the result: none if no sweep is measured."""
        return self.observe if self.schedule.seen else ()

    @property
    def state(self) -> Stored:
        """The array of the last states."""
        shape = len(self.betas), *map(sum, self.division.chunks)
        chunks = 1, *(self.chunks or (min(self.n_units, UNITS_IN_A_CHUNK),))
        return Stored("state", ("chain", *self.division.axes), shape, chunks, "int8", {"long_name": "last states"})

    @property
    def stored(self) -> list[Stored]:
        """The arrays of the last states and of the observables."""
        found = [self.state]
        for name in self.names:
            along, chains = ("pair", len(self.betas) // 2) if name == "overlap" else ("chain", len(self.betas))
            shape, long_name = (chains, len(self.schedule.seen)), self.groups[0].long_name(name)
            attributes = {"long_name": long_name, "coordinates": "sweep"}
            found.append(Stored(name, (along, "draw"), shape, shape, "float64", attributes))
        return found

    @property
    def coordinates(self) -> dict[str, range]:
        """The chain indices and, if there are draws, their indices and the number of sweeps before each."""
        of_draws = {"draw": range(len(self.schedule.seen)), "sweep": self.schedule.seen} if self.names else {}
        return {"chain": range(len(self.betas))} | of_draws

    def finish(self, unfinished: Place) -> Report:
        """Write the observables, the states of shards and the mixing diagnostics after all blocks are done."""
        count, (state, *stored) = len(_places(self)), self.stored
        columns = []
        for number, group in enumerate(self.groups):
            blocks = range(number * count, (number + 1) * count)
            kept = together(lambda block: self.arrays_after(block, self.n_segments), blocks, unfinished)
            columns.append(sum(arrays[-1] for arrays in kept))  # integer multiples: sums are exact
            if self.chunks is None:
                rows = self.division.by_unit(np.concatenate([arrays[0] for arrays in kept], axis=1))
                for chain, own in enumerate(rows, group.first_chain):
                    for chunk, first in enumerate(range(0, self.n_units, state.chunks[1])):
                        part = own[None, first : first + state.chunks[1]]
                        store.write_chunk(unfinished, state, (chain, chunk), part)
        series: dict[str, tuple[Array, Any]] = {}
        variables = series_variables(self.groups, columns) if stored else {}
        for array in stored:
            values = variables[array.name][1]
            store.write_chunk(unfinished, array, (0, 0), values)
            series[array.name] = values, labels_of(self.betas, array.dimensions[0])
        found = report(series)
        store.annotate(unfinished, found.attributes)
        return found

    # Tasks

    @property
    def demand(self) -> Demand:
        """See `Job`. A task also reads its block and what its neighbours have shown, and writes what it shows."""
        given, division, kind, count = self.known, self.division, self.groups[0].kind, len(_places(self))
        states, bits = len(self.betas) * self.n_units, 1.0 if kind.count > 2 else 1 / 8
        if isinstance(division, LatticeDivision):
            block = math.prod(lengths[0] + 2 * division.depth for lengths in division.chunks)
            each = sum(x.itemsize * (x.size // self.n_units) for x in given._weights)
            shared, task = 0, block * ((150 if kind.is_categorical else 8) + each)
            shown = 2 * len(self.betas) * (count * block - self.n_units)
        else:
            graph = sum(given.sizes)
            shared, shown = 2 * graph * min(count, AT_HAND) // count, int(3 * states * bits)
            task = (2 * graph + 5 * self.n_units * self.groups[0].n_chains) // count
        later = len(self.groups) * (self.n_segments - 1)  # segments in which neighbours are read
        cached = isinstance(division, ShardDivision) and count <= AT_HAND
        near = sum(len(division.neighbours(place)) for place in _places(self))
        reads = near * later + (count if cached else len(self.blocks) * self.n_segments)
        return Demand(shared, task, int(states * bits) + shown, reads, count * later)

    @property
    def trial_steps(self) -> int:
        """See `Job`."""
        return 1

    def with_steps(self, count: int) -> Self:
        """See `Job`: a task always does the same number of sweeps."""
        return self

    def prepare(self, block: Block) -> int:
        """See `Job`: the block and its neighbours begin."""
        for number in (block.number, *self.needs(block)):
            run_segment(self, self.blocks[number], 0)
        return 1

    def n_steps(self, segment: int) -> int:
        """Return the number of sweeps that end in a segment."""
        ends = segment and not segment % self.division.colours
        return self.division.step(self.schedule, segment - 1).n_sweeps if ends else 0

    def work(self, block: Block) -> int:
        """Return the work in a sweep of a block: units times chains."""
        group, place = self._at(block)
        return math.prod(sizes[i] for sizes, i in zip(self.division.chunks, place, strict=True)) * group.n_chains

    def span(self, segment: int) -> str:
        """Return the sweeps that end in a segment; if it ends none, the number of colours drawn of the next one."""
        colour = segment % self.division.colours
        return super().span(segment) + (f" · {colour} of {self.division.colours} colours" if colour else "")

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Advance a block by a step, write the boundary states for its neighbours, and append the measurements."""
        group, place = self._at(block)
        given = _block(self, place)
        if segment:
            *saved, totals = arrays
            near = self._near(block)
            read = together(lambda other: self._shown(near[other], segment, other)[place], near, self.folder())
            shown = dict(zip(near, read, strict=True))
            step = self.division.step(self.schedule, segment - 1)
            states, shows, measured = given.step(group, unpacked(group.kind, *saved), shown, step)
            totals = np.concatenate([totals, measured])
        else:
            states, shows = given.begin(group)
            totals = np.zeros((0, group.columns))
        if segment + 1 < self.n_segments:
            checkpoint = Checkpoint(segment + 1, tuple(shows.values()))
            write_checkpoint(self.folder(self.shown), self.run, block.number, checkpoint, keeps=2)
            return (*packed(group.kind, states), totals)
        if self.chunks is None:
            return given.array(states), totals
        for chain, own in enumerate(given.array(states), group.first_chain):
            self.write(self.state, (chain, *place), own[None])
        return (totals,)

    def _shown(self, block: int, done: int, place: Index) -> Mapping[Index, Array]:
        """Read the boundary states of a block after `done` segments, by neighbour."""
        return dict(zip(self.division.neighbours(place), self.arrays_after(block, done, self.shown), strict=True))


@lru_cache(maxsize=AT_HAND)
def _groups(job: GraphJob) -> list[ChainGroup]:
    seed = hashed_seed(job.seed)
    whole = ChainGroup(job.n_units, job.units, job.rule, seed, 0, job.betas, job.observe)
    return whole.divided(job.division.together)


@lru_cache(maxsize=AT_HAND)
def _places(job: GraphJob) -> dict[Index, int]:
    """Return the number of each block of a group, by its index."""
    return {place: number for number, place in enumerate(job.division.blocks)}


def packed(kind: Units, states: Array) -> tuple[Array, Array]:
    """Pack states into fewer bytes, eight to a byte for units with two values; also return their shape.

    Examples
    --------
    >>> from nbm_xp.graphs.energy_model import units_of
    >>> bits, shape = packed(units_of("spin"), np.asarray([[1, -1, 1], [-1, 1, 1]], dtype=np.int8))
    >>> bits.tolist(), unpacked(units_of("spin"), bits, shape).tolist()
    ([172], [[1, -1, 1], [-1, 1, 1]])
    """
    flat, shape = states.reshape(-1), np.asarray(states.shape)
    return (flat if kind.count > 2 else np.packbits(flat > kind.least)), shape


def unpacked(kind: Units, bits: Array, shape: Array) -> Array:
    """Restore the states from the result of `packed`."""
    if kind.count == 2:
        bits = np.unpackbits(bits, count=int(np.prod(shape))).view(np.int8) * np.int8(kind.step) + np.int8(kind.least)
    return bits.reshape(shape)


# A graph in blocks on disk


def _save(place: Place, arrays: Mapping[str, Array]) -> None:
    if isinstance(place, ObjectPath):
        save_arrays(place, arrays)
    else:  # the whole folder is flushed to disk, once
        np.savez(place, **arrays)


@lru_cache(maxsize=2)
def _division(job: GraphJob) -> Division:
    if job.shape is None or job.periodic is None:
        return ShardDivision.of(load_arrays(place_of(job.directory) / "division.npz"))
    return divided(job.shape, job.periodic, job.chunks, job.checkpoint_every)


def _block(job: GraphJob, place: Index) -> GraphBlock:
    """Read a block from disk; shards are cached."""
    if job.known is not None:
        return job.known.block(place)  # type: ignore[no-any-return]
    division, path = job.division, place_of(job.directory) / f"block-{_places(job)[place]:06d}.npz"
    if isinstance(division, LatticeDivision):
        return LatticeBlock(division, place, Couplings(**load_arrays(path)))
    return _shard(path, job.run)


@lru_cache(maxsize=AT_HAND)
def _shard(path: Place, run: str) -> Shard:
    return Shard(**load_arrays(path))
