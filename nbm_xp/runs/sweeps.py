"""Jobs with a machine of layers: sweeps of the chains of `nbm_xp.boltzmann.chains`, whatever a sweep is."""

from __future__ import annotations

import functools
import itertools
import pathlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nbm_xp.boltzmann.chains import Chains, Draw
from nbm_xp.boltzmann.model import Model
from nbm_xp.boltzmann.state import Machine
from nbm_xp.machines import Array
from nbm_xp.namespace import asarray, host_namespace, to_numpy

from . import store
from .directory import RunDirectory
from .job import Arrays, Block, Job, StoppedError, Stopping, blocks_of
from .store import Stored

__all__ = ["MachineJob", "Sweeps", "SweepsJob", "chains_of"]


class Sweeps(NamedTuple):
    """Sweeps that one task after the other does: the number of the first, how many, and how many in a segment."""

    first: int
    n_sweeps: int
    each: int


class Segment(NamedTuple):
    """Some sweeps of a stage of a job: the number of the stage, of the segment in it, and of the first sweep."""

    stage: int
    number: int
    first: int
    n_sweeps: int


@dataclass(frozen=True)
class MachineJob(Job):
    """A job with the model that the run began with."""

    model: str
    library: str

    @property
    def loaded(self) -> Model:
        """The model, read once in each process; its digest tells it from one that was there before."""
        with _loading:
            return _loaded(self.directory, self.library, self.model)

    @property
    def machine(self) -> Machine:
        """The arrays of the model."""
        return Machine.of(self.loaded)

    def write(self, array: Stored, index: Sequence[int], values: Array) -> None:
        """Write a chunk of an array."""
        store.write_chunk(pathlib.Path(self.directory) / store.UNFINISHED, array, index, values)


_loading = threading.Lock()


@functools.lru_cache(maxsize=2)
def _loaded(directory: str, library: str, digest: str) -> Model:
    return RunDirectory.read(directory).load_model(library)


@dataclass(frozen=True)
class SweepsJob(MachineJob):
    """Chains in blocks; for the fields see `sample` and `evaluate`."""

    n_chains: int
    chunks: int
    checkpoint_every: int

    @property
    def stages(self) -> Sequence[Sweeps]:
        """What chains go through, one stage after the other; the last one is shown."""
        raise NotImplementedError

    def chains(self, stage: int) -> Chains:
        """The chains of a stage."""
        raise NotImplementedError

    def shown(self, now: Draw, sweep: int) -> Sequence[Array]:
        """What is kept of the last stage after a sweep of this number, an array of `stored` each."""
        return ()

    def write_shown(self, block: Block, segment: int, shown: list[list[Array]], states: Arrays) -> None:
        """Write what a segment of the last stage has shown; its number is among those of that stage."""
        raise NotImplementedError

    @property
    def blocks(self) -> list[Block]:
        """See `Job`."""
        return blocks_of(self.n_chains, self.chunks)

    @property
    def n_segments(self) -> int:
        """See `Job`."""
        return sum(-(-stage.n_sweeps // stage.each) for stage in self.stages)

    def segment(self, number: int) -> Segment:
        """One of the segments."""
        for place, (first, n_sweeps, each) in enumerate(self.stages):
            done, segments = number * each, -(-n_sweeps // each)
            if number < segments:
                return Segment(place, number, first + done, min(each, n_sweeps - done))
            number -= segments
        raise IndexError(number)

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is: sweeps times chains."""
        return self.segment(segment).n_sweeps * block.rows

    def begin(self, block: Block) -> Arrays:
        """The first states of a block of chains."""
        chains = chains_of(self, self.segment(0).stage)
        return _packed(chains, chains.start(block.offset, block.rows))

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Do the sweeps of a segment."""
        stage, number, first, n_sweeps = self.segment(segment)
        chains, states, shown, last = chains_of(self, stage), arrays, list[list[Array]](), stage == len(self.stages) - 1
        stored = self.stored if last else ()
        for sweep, now in enumerate(chains.walk(arrays, block.offset, first, n_sweeps), first + 1):
            if stopping():
                raise StoppedError
            states = now.states
            if last and (kept := self.shown(now, sweep)):
                shown.append([to_numpy(x).astype(array.dtype) for x, array in zip(kept, stored, strict=True)])
        packed = _packed(chains, states)
        if last:
            self.write_shown(block, number, shown, packed)
        return packed


def _packed(chains: Chains, states: Iterable[Array]) -> Arrays:
    """States in host memory, in the dtype that they lie in on disk; weights beside them as they are."""
    host = host_namespace()
    kinds = [chains.topology.units[layer].stored for layer in chains.carried]
    return tuple(asarray(to_numpy(x), host, kind) for x, kind in itertools.zip_longest(states, kinds))


_making = threading.Lock()


def chains_of(job: SweepsJob, stage: int) -> Chains:
    """The chains of a stage of a job, made once in each process."""
    with _making:
        return _made_chains(job, stage)


@functools.lru_cache(maxsize=4)
def _made_chains(job: SweepsJob, stage: int) -> Chains:
    return job.chains(stage)
