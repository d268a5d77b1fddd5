"""Jobs of chains of a model of `nbm_xp.boltzmann`: a segment is some sweeps of a block of chains."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nbm_xp.boltzmann.chains import Chains, Draw, Machine
from nbm_xp.boltzmann.ladder import LadderChains
from nbm_xp.boltzmann.model import Model
from nbm_xp.machines import Array
from nbm_xp.namespace import asarray, host_namespace, to_numpy

from .checkpoints import Arrays, Checkpoint, write_checkpoint
from .directory import RunDirectory
from .job import Block, Demand, Job, StoppedError, Stopping, blocks_of, cached_once
from .store import Stored


class Sweeps(NamedTuple):
    """A stage of sweeps: the number of the first sweep, the number of sweeps, and of sweeps per segment."""

    first: int
    n_sweeps: int
    each: int


class Segment(NamedTuple):
    """Sweeps of a segment: the indices of its stage, of the segment in it and of the first sweep; their number."""

    stage: int
    number: int
    first: int
    n_sweeps: int


@dataclass(frozen=True)
class MachineJob(Job):
    """A job with the model that the run started with: `model` is its digest."""

    model: str
    library: str

    @property
    def loaded(self) -> Model:
        """The model, read once in each process and cached by its digest."""
        if self.known is not None:
            return self.known  # type: ignore[no-any-return]
        return _loaded(self.directory, self.library, self.model)

    @property
    def machine(self) -> Machine:
        """The arrays of the model."""
        return Machine.of(self.loaded.state_)


@cached_once(maxsize=2)
def _loaded(directory: str, library: str, digest: str) -> Model:
    return RunDirectory.read(directory).load_model(library)


@dataclass(frozen=True)
class SweepsJob(MachineJob):
    """Chains in blocks; see `sample` and `evaluate` for the fields."""

    n_chains: int
    chunks: int
    checkpoint_every: int

    @property
    def stages(self) -> Sequence[Sweeps]:
        """The stages that chains pass through in turn; results are stored of the last one."""
        raise NotImplementedError

    def chains(self, stage: int) -> Chains:
        """Return the chains of a stage."""
        raise NotImplementedError

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """Return the results of a sweep of the last stage, one for each array of `stored`, or none."""
        raise NotImplementedError

    def write_shown(self, array: Stored, block: Block, segment: int, shown: Sequence[Array]) -> None:
        """Write the results of a segment of the last stage, whose index in that stage is `segment`, for an array."""
        raise NotImplementedError

    @property
    def demand(self) -> Demand:
        """See `Job`. A sweep has about three arrays of all units, and chunks are copied when they are written."""
        chains = chains_of(self, len(self.stages) - 1)
        topology, itemsize = chains.topology, np.dtype(chains.machine.dtype).itemsize
        replicas = chains.machine.n_pairs + 1 if isinstance(chains, LadderChains) else 1
        states = self.chunks * replicas * sum(topology.sizes) * itemsize
        chunks = sum(array.bytes_in_a_chunk for array in self.stored)
        kept = sum(topology.sites[k] * (1 if topology.units[k].stored else itemsize) for k in chains.carried)
        return Demand(task=3 * states + 5 * chunks // 2, checkpoints=self.n_chains * (replicas * kept + 8))

    def prepare(self, block: Block) -> int:
        """See `Job`; the segment is the first of the last stage."""
        before = self.n_segments - -(-self.stages[-1].n_sweeps // self.stages[-1].each)
        write_checkpoint(self.folder(), self.run, block.number, Checkpoint(before, self.begin(block)))
        return before

    @property
    def blocks(self) -> list[Block]:
        """See `Job`."""
        return blocks_of(self.n_chains, self.chunks)

    @property
    def n_segments(self) -> int:
        """See `Job`."""
        return sum(-(-stage.n_sweeps // stage.each) for stage in self.stages)

    def segment(self, number: int) -> Segment:
        """Return the segment of this index."""
        for place, (first, n_sweeps, each) in enumerate(self.stages):
            done, segments = number * each, -(-n_sweeps // each)
            if number < segments:
                return Segment(place, number, first + done, min(each, n_sweeps - done))
            number -= segments
        raise IndexError(number)

    def n_steps(self, segment: int) -> int:
        """Return the number of sweeps in a segment."""
        return self.segment(segment).n_sweeps

    def begin(self, block: Block) -> Arrays:
        """Return the first states of a block of chains."""
        chains = chains_of(self, self.segment(0).stage)
        return _packed(chains, chains.start(block.offset, block.rows))

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Make the sweeps of a segment."""
        stage, number, first, n_sweeps = self.segment(segment)
        chains, states, shown, last = chains_of(self, stage), arrays, list[list[Array]](), stage == len(self.stages) - 1
        stored = self.stored if last else ()
        for sweep, now in enumerate(chains.walk(arrays, block.offset, first, n_sweeps), first + 1):
            if stopping():
                raise StoppedError
            states = now.states
            if last and (kept := self.shown(now, sweep)):
                shown.append([to_numpy(x).astype(array.dtype) for x, array in zip(kept, stored, strict=True)])
        if shown:
            for array, of_sweeps in zip(stored, zip(*shown, strict=True), strict=True):
                self.write_shown(array, block, number, of_sweeps)
        return _packed(chains, states)


def _packed(chains: Chains, states: Iterable[Array]) -> Arrays:
    """Convert states to their dtypes on disk, in host memory; weights of chains keep their dtype."""
    host = host_namespace()
    kinds = [chains.topology.units[layer].stored for layer in chains.carried]
    return tuple(asarray(to_numpy(x), host, kind) for x, kind in itertools.zip_longest(states, kinds))


@cached_once(maxsize=4)
def chains_of(job: SweepsJob, stage: int) -> Chains:
    """Return the chains of a stage of a job, cached in each process."""
    return job.chains(stage)
