"""What the tasks of chains on graphs do: a step of a block, beside what its neighbours have shown.

Contract: a block may be a segment ahead of its neighbours, never more; what it shows them stays on disk for as long as
one of them may need it, in files of its own for each segment, so that nobody who is late can change what others read.
All that a task goes on with can be read from disk; a process keeps some states in memory, so that it need not.
"""

from __future__ import annotations

import pathlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.graphs.blocks import ChainGroup, Division, Index, Schedule
from nbm_xp.graphs.lattice_blocks import Couplings
from nbm_xp.graphs.lattice_sweeps import LatticeDivision, divided
from nbm_xp.graphs.measures import labels_of
from nbm_xp.graphs.observables import SERIES, series_variable
from nbm_xp.graphs.shard_sweeps import ShardDivision
from nbm_xp.graphs.shards import Shard
from nbm_xp.machines.diagnostics import Report, report
from nbm_xp.rng import hashed_seed
from nbm_xp.storage.arrays import load_arrays, map_array

from . import store
from .job import Block, Checkpoint, Job, read_checkpoint, write_checkpoint
from .store import Stored

__all__ = ["AT_HAND", "GRAPH", "LATTICE", "ChainsJob", "GraphJob", "LatticeJob", "save_couplings", "save_shards"]

GRAPH, LATTICE = "graph.zarr", "lattice.zarr"
AT_HAND = 8
"""So many shards, and states of blocks, a process keeps in memory."""
UNITS_IN_A_CHUNK = 2**24


class _Cache:
    """States that the last tasks of this process have left."""

    def __init__(self) -> None:
        self._states: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Any) -> Any:
        with self._lock:
            return self._states.pop(key, None)

    def leave(self, key: Any, states: Any) -> None:
        with self._lock:
            self._states[key] = states
            while len(self._states) > AT_HAND:
                self._states.popitem(last=False)


_cache = _Cache()


@dataclass(frozen=True)
class ChainsJob(Job):
    """Chains that are to be sampled, in blocks.

    Attributes
    ----------
    units, rule
        See `GraphMachine`.
    betas : tuple of float
        Of each chain.
    burn_in, n_sweeps, thin : int
        Chains are measured after ``burn_in + (i + 1) * thin`` sweeps.
    observe : tuple of str
        What is measured.
    """

    units: Any
    rule: str
    betas: tuple[float, ...]
    burn_in: int
    n_sweeps: int
    thin: int
    observe: tuple[str, ...]

    part, shown = "blocks", "shown"

    @property
    def division(self) -> Division:
        """The blocks of the graph."""
        raise NotImplementedError

    def given(self, place: Index) -> Any:
        """What the task of a block is handed."""
        raise NotImplementedError

    @property
    def schedule(self) -> Schedule:
        """Which sweeps are made and measured."""
        return Schedule(0, self.burn_in, self.n_sweeps, self.thin)

    @property
    def groups(self) -> list[ChainGroup]:
        """The chains, in groups that run together."""
        return _groups(self)

    @property
    def blocks(self) -> list[Block]:
        """Those of all groups, one group after the other."""
        return [Block(number, number, 1) for number in range(len(self.groups) * len(_places(self)))]

    @property
    def n_segments(self) -> int:
        """How many tasks a block takes: one that begins it, and one for each step."""
        return 1 + self.division.n_steps(self.schedule)

    def needs(self, block: Block) -> list[int]:
        """The blocks that must have come as far."""
        first, place = self._at(block.number)
        return [first + _places(self)[other] for other in self.division.neighbours(place)]

    def _at(self, number: int) -> tuple[int, Index]:
        """The first block of a block's group, and its place."""
        places = list(_places(self))
        return number - number % len(places), places[number % len(places)]

    # What the result is

    @property
    def names(self) -> tuple[str, ...]:
        """What there is in the result besides states: nothing where no sweep is measured."""
        return self.observe if self.schedule.seen else ()

    def state(self) -> Stored:
        """The last states."""
        shape, chunks = (len(self.betas), *map(sum, self.division.chunks)), (1, *self.state_chunks)
        return Stored("state", ("chain", *self.division.axes), shape, chunks, "int8", {"long_name": "last states"})

    @property
    def state_chunks(self) -> tuple[int, ...]:
        """The lengths of the chunks of a state."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Stored]:
        """The last states, and what was measured."""
        found = {"state": self.state()}
        for name in self.names:
            along, chains = ("pair", len(self.betas) // 2) if name == "overlap" else ("chain", len(self.betas))
            shape, attributes = (chains, len(self.schedule.seen)), {"long_name": SERIES[name], "coordinates": "sweep"}
            found[name] = Stored(name, (along, "draw"), shape, shape, "float64", attributes)
        return found

    def coordinates(self) -> dict[str, range]:
        """The numbers of chains and, if there are any, of draws, and how many sweeps went before each draw."""
        of_draws = {"draw": range(len(self.schedule.seen)), "sweep": self.schedule.seen} if self.names else {}
        return {"chain": range(len(self.betas))} | of_draws

    def finish(self, unfinished: pathlib.Path) -> Report:
        """Write what was measured, and how well it has mixed, when all blocks are done."""
        totals: dict[str, list[Any]] = {}
        arrays, blocks = self.arrays(), iter(self.blocks)
        for group in self.groups if self.names else ():
            columns = sum(self.result(next(blocks)).arrays[-1] for _ in _places(self))  # whole multiples: not rounded
            for name, sums in group.series(self.names, columns):
                totals.setdefault(name, []).append(sums)
        series: dict[str, tuple[Any, Any]] = {}
        for name, of_groups in totals.items():
            values = series_variable(self.groups[0].kind, self.division.n_units, name, np.concatenate(of_groups))[1]
            store.write_chunk(unfinished, arrays[name], (0, 0), values)
            series[name] = values, labels_of(self.betas, arrays[name].dimensions[0])
        found = report(series)
        store.annotate(unfinished, found.attributes)
        return found

    def write_states(self, place: Index, group: ChainGroup, states: Any) -> tuple[Any, ...]:
        """Write the last states of a block, of shape (chains, block's shape), or give them to be kept for `finish`."""
        raise NotImplementedError

    # What a task does

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps, or colours, times units and chains."""
        group, (_, place) = self.groups[block.number // len(_places(self))], self._at(block.number)
        units = int(np.prod([sizes[i] for sizes, i in zip(self.division.chunks, place, strict=True)]))
        return self.work_of(segment) * units * group.n_chains

    def work_of(self, segment: int) -> int:
        """How often the units of a block are visited in a segment."""
        return int(segment > 0)

    def advance(
        self, block: Block, segment: int, arrays: tuple[Any, ...], stopping: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """Take a block a step on, show what neighbours need, and keep what was measured."""
        first, place = self._at(block.number)
        group = self.groups[block.number // len(_places(self))]
        work, index, key = self.division.work(group), (0, *place), (self.directory, self.run, block.number)
        if segment:
            *saved, totals = arrays
            given, state = self.given(place), _cache.take((*key, segment))
            state = work.loaded(tuple(saved), given) if state is None else state
            near = {other: first + _places(self)[other] for other in self.division.neighbours(place)}
            shown = {(0, *other): self._shown(number, segment) for other, number in near.items()}
            step = self.division.step(self.schedule, segment - 1)
            state, shows, measured = work.step(index, state, shown, step, given)
            totals = np.concatenate([totals, measured])
        else:
            state, shows = work.begin(index)
            totals = np.zeros((0, group.columns))
        if segment + 1 == self.n_segments:
            return (*self.write_states(place, group, work.array(index, state)), totals)
        write_checkpoint(self.folder(self.shown), self.run, block.number, Checkpoint(segment + 1, shows), keeps=2)
        _cache.leave((*key, segment + 1), state)
        return (*work.saved(state), totals)

    def _shown(self, block: int, done: int) -> tuple[Any, ...]:
        """What a block has shown after so many segments."""
        found = read_checkpoint(self.folder(self.shown), self.run, block, done=done)
        if found is None:
            raise ValueError(f"{self.folder(self.shown)} is damaged: block {block} shows nothing of segment {done}")
        return found.arrays


@lru_cache(maxsize=AT_HAND)
def _groups(job: ChainsJob) -> list[ChainGroup]:
    pairs = "overlap" in job.observe
    return job.division.groups(job.units, job.rule, hashed_seed(job.seed), 0, job.betas, pairs)


@lru_cache(maxsize=AT_HAND)
def _places(job: ChainsJob) -> dict[Index, int]:
    """The number of each block of a group, by its place."""
    return {place: number for number, place in enumerate(job.division.blocks)}


@dataclass(frozen=True)
class LatticeJob(ChainsJob):
    """A lattice's chains, some sweeps of a block at a time.

    Attributes
    ----------
    shape, periodic, chunks
        See `LatticeDivision`; all blocks but the last have one length along an axis.
    checkpoint_every : int
        How many sweeps there are in a segment.
    unit, largest, odd, field
        See `Couplings`; `field` is None where each unit has its own.
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    chunks: tuple[int, ...]
    checkpoint_every: int
    unit: float
    largest: int
    odd: bool
    field: float | None

    @property
    def division(self) -> LatticeDivision:
        """The blocks of the lattice."""
        return _lattice_division(self.shape, self.periodic, self.chunks, self.checkpoint_every)

    @property
    def state_chunks(self) -> tuple[int, ...]:
        """See `ChainsJob`."""
        return self.chunks

    def work_of(self, segment: int) -> int:
        """See `ChainsJob`."""
        return self.division.step(self.schedule, segment - 1).n_sweeps if segment else 0

    def given(self, place: Index) -> Couplings:
        """The couplings of a block, read from disk."""
        folder, found = pathlib.Path(self.directory), {}
        for name in ("multiples", "fields"):
            file = folder / f"{name}.npy"
            found[name] = map_array(file) if file.exists() else None
        clamp = load_arrays(folder / "clamp.npz") if (folder / "clamp.npz").exists() else None
        fields = self.field if self.field is not None else found["fields"]
        clamped = None if clamp is None else (clamp["units"], clamp["values"])
        return self.division.given(
            Couplings(self.unit, found["multiples"], fields, self.largest, self.odd, clamped), place
        )

    def write_states(self, place: Index, group: ChainGroup, states: Any) -> tuple[Any, ...]:
        """Write the last states of a block."""
        for chain, own in enumerate(states, group.first_chain):
            store.write_chunk(
                pathlib.Path(self.directory) / store.UNFINISHED, self.state(), (chain, *place), own[None]
            )  # fmt: skip
        return ()


@lru_cache(maxsize=8)
def _lattice_division(
    shape: tuple[int, ...], periodic: tuple[bool, ...], chunks: tuple[int, ...], at_once: int
) -> LatticeDivision:
    return divided(shape, periodic, chunks, at_once)


def save_couplings(couplings: Couplings, folder: pathlib.Path) -> None:
    """Write what each unit or edge of a lattice has of its own."""
    for name in ("multiples", "fields"):
        if hasattr(array := getattr(couplings, name), "shape"):
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
    if couplings.clamp is not None:
        np.savez(folder / "clamp.npz", allow_pickle=False, units=couplings.clamp[0], values=couplings.clamp[1])


@dataclass(frozen=True)
class GraphJob(ChainsJob):
    """A graph's chains, a colour of a shard at a time."""

    @property
    def division(self) -> ShardDivision:
        """The shards of the graph."""
        return _shard_division(pathlib.Path(self.directory), self.run)

    @property
    def state_chunks(self) -> tuple[int, ...]:
        """See `ChainsJob`."""
        return (min(self.division.n_units, UNITS_IN_A_CHUNK),)

    def given(self, place: Index) -> Shard:
        """A shard, read from disk."""
        return _shard(pathlib.Path(self.directory), self.run, place[0])

    def write_states(self, place: Index, group: ChainGroup, states: Any) -> tuple[Any, ...]:
        """Keep the last states of a block."""
        return (states,)

    def finish(self, unfinished: pathlib.Path) -> Report:
        """Write the states, too, whose units lie in any shards."""
        state, blocks, length = self.state(), iter(self.blocks), self.state_chunks[0]
        for group in self.groups:
            rows = np.concatenate([self.result(next(blocks)).arrays[0] for _ in _places(self)], axis=1)
            for chain, own in enumerate(self.division.by_unit(rows), group.first_chain):
                for number, first in enumerate(range(0, own.size, length)):
                    store.write_chunk(unfinished, state, (chain, number), own[None, first : first + length])
        return super().finish(unfinished)


def save_shards(division: ShardDivision, shards: Sequence[Shard], folder: pathlib.Path) -> None:
    """Write the shards of a graph, and how they lie to one another."""
    near = np.zeros((len(shards), len(shards)), bool)
    for number, shard in enumerate(shards):
        near[number, shard.near] = True
        np.savez(folder / f"shard-{number:06d}.npz", allow_pickle=False, **shard.arrays())
    np.savez(
        folder / "division.npz", allow_pickle=False, near=near, sizes=np.asarray(division.sizes), order=division.order,
        colours=np.asarray(division.colours),
    )  # fmt: skip


@lru_cache(maxsize=AT_HAND)
def _shard(folder: pathlib.Path, run: str, number: int) -> Shard:
    return Shard.of(load_arrays(folder / f"shard-{number:06d}.npz"))


@lru_cache(maxsize=2)
def _shard_division(folder: pathlib.Path, run: str) -> ShardDivision:
    arrays = load_arrays(folder / "division.npz")
    near = [np.flatnonzero(row).tolist() for row in arrays["near"]]
    return ShardDivision(near, arrays["sizes"].tolist(), arrays["order"], int(arrays["colours"]))
