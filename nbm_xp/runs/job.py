"""Jobs, what a run computes in tasks: blocks, each a sequence of segments, with a task for each segment.

A `Job` is any of them, a `MachineJob` one with a model of `nbm_xp.boltzmann`, a `SweepsJob` one of chains of it.

Contract: how a job is divided depends on the run's configuration alone, never on the machine or the number of workers,
for blocks and segments are also the files of the result. A task may run once, or again after a fault, or on two
workers at a time, and the files are the same.

After each segment, once its results are on disk, a checkpoint holds what the next one begins with, wherever that is
computed. A checkpoint's name has the number of segments that are done, so that one that is written late, by a worker
that was taken for lost, is not read any more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from nbm_xp.boltzmann.chains import Chains, Draw, Machine
from nbm_xp.boltzmann.model import Model
from nbm_xp.machines import Array
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import asarray, host_namespace, to_numpy
from nbm_xp.package import need
from nbm_xp.storage.arrays import load_tensors, save_tensors

from . import store
from .directory import RunDirectory
from .store import Stored

__all__ = [
    "Arrays", "Block", "Checkpoint", "Job", "MachineJob", "Stopping", "Sweeps", "SweepsJob", "block_length",
    "blocks_of", "chains_of", "one_thread", "read_checkpoint", "run_segment", "write_checkpoint",
]  # fmt: skip

Arrays: TypeAlias = tuple[Array, ...]
"""What a segment begins with, in host memory."""

Stopping: TypeAlias = Callable[[], bool]
"""Whether a task is to stop; asked now and then."""

CHAINS_IN_A_BLOCK = 128
"""By default: enough for matrix products to be fast, few enough to stay in a core's cache."""


@dataclass(frozen=True)
class Block:
    """Some rows of many: chains, or rows of data."""

    number: int
    offset: int
    rows: int


def blocks_of(rows: int, length: int) -> list[Block]:
    """All rows in blocks of one length, of which the last may be shorter.

    Examples
    --------
    >>> [(block.offset, block.rows) for block in blocks_of(5, 2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    return [Block(i, first, min(length, rows - first)) for i, first in enumerate(range(0, rows, length))]


def block_length(chunks: int | None, rows: int) -> int:
    """How many rows there are in a block."""
    return min(rows, CHAINS_IN_A_BLOCK if chunks is None else positive_int(chunks, "chunks"))


@dataclass(frozen=True)
class Job:
    """A part of a run's work; it can be sent to workers and is a key.

    A kind of run derives its own, whose further fields are named as in the run's configuration.

    Attributes
    ----------
    directory : str
        The run's.
    seed : int
    run : str
        The run's identity.
    part : str
        The folder of the job's checkpoints.
    """

    directory: str
    seed: int
    run: str

    part: ClassVar[str]

    @classmethod
    def of(cls, run: RunDirectory, **more: Any) -> Self:
        """The job of a run: fields come from its configuration, but for those that are given."""
        asked = {field.name: run.configuration.get(field.name) for field in dataclasses.fields(cls)}
        known = {"directory": os.fspath(run.path.resolve()), "seed": run.seed, "run": run.identity}
        return cls(**{name: _hashable(value) for name, value in asked.items()} | known | more)

    @property
    def stored(self) -> Sequence[Stored]:
        """The arrays that tasks write."""
        return ()

    @property
    def blocks(self) -> list[Block]:
        """The blocks."""
        raise NotImplementedError

    @property
    def n_segments(self) -> int:
        """How many segments a block has."""
        raise NotImplementedError

    def steps(self, block: Block, segment: int) -> int:
        """How much work a segment is."""
        raise NotImplementedError

    def needs(self, block: Block) -> Sequence[int]:
        """The numbers of the blocks that must have come as far before a segment of this one begins: none."""
        return []

    def begin(self, block: Block) -> Arrays:
        """What a block's first segment begins with."""
        return ()

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Compute a segment, write its results, and return what the next one begins with."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """How much work all of it is."""
        return sum(self.steps(block, segment) for block in self.blocks for segment in range(self.n_segments))

    def folder(self, part: str | None = None) -> pathlib.Path:
        """The folder of the job's checkpoints, or of those of another part."""
        return pathlib.Path(self.directory) / "checkpoints" / (part or self.part)

    def result(self, block: Block) -> Checkpoint:
        """The checkpoint after the last segment of a block.

        Raises
        ------
        ValueError
            If it is not there.
        """
        found = read_checkpoint(self.folder(), self.run, block.number, done=self.n_segments)
        if found is None:
            raise ValueError(f"{self.folder()} is damaged: it lacks block {block.number}")
        return found


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


class Checkpoint(NamedTuple):
    """How far a block has come: how many segments are done, and what the next one begins with."""

    done: int
    arrays: Arrays


def _path(folder: pathlib.Path, block: int, done: int) -> pathlib.Path:
    return folder / f"block-{block:06d}.{done:09d}.safetensors"


def write_checkpoint(folder: pathlib.Path, run: str, block: int, checkpoint: Checkpoint, keeps: int = 1) -> None:
    """Write a checkpoint of a block of a run, of which so many are kept: when this returns, it is on disk."""
    arrays = {str(place): array for place, array in enumerate(checkpoint.arrays)}
    place = _path(folder, block, checkpoint.done)
    save_tensors(place, arrays, {"owner": _owner(folder, run, block), "done": str(checkpoint.done)})
    _path(folder, block, checkpoint.done - keeps).unlink(missing_ok=True)


def _owner(folder: pathlib.Path, run: str, block: int) -> str:
    return f"{run} {folder.name} {block}"


def read_checkpoint(folder: pathlib.Path, run: str, block: int, done: int | None = None) -> Checkpoint | None:
    """The last checkpoint of a block, or that after so many segments; None where there is none.

    Raises
    ------
    ValueError
        If the file is damaged, or of another run or block.
    """
    path = _path(folder, block, done or 0)
    if done is None:
        path = max(folder.glob(f"block-{block:06d}.*.safetensors"), default=path)
    try:
        arrays, about = load_tensors(path, sealed=True)
    except FileNotFoundError:
        return None
    found = int(about.get("done", -1))
    if about.get("owner") != _owner(folder, run, block) or path != _path(folder, block, found):
        raise ValueError(f"{path} is a checkpoint of another run or block")
    return Checkpoint(found, tuple(arrays[str(place)] for place in range(len(arrays))))


class StoppedError(Exception):
    """Raised in a task that is to stop; what it did since its last checkpoint is dropped."""


def run_segment(job: Job, block: Block, segment: int, stopping: Stopping = lambda: False) -> None:
    """Compute a segment of a block, unless it is done, from the checkpoint before it."""
    now = read_checkpoint(job.folder(), job.run, block.number) or Checkpoint(0, ())
    with one_thread():
        # Usually one turn; more where a checkpoint was lost with the disk of a worker.
        for number in range(now.done, segment + 1):
            arrays = job.advance(block, number, now.arrays if number else job.begin(block), stopping)
            now = Checkpoint(number + 1, arrays)
            write_checkpoint(job.folder(), job.run, block.number, now)


_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run with one thread of linear algebra, in which tasks of several threads may be at once.

    That is as fast as several threads in each task, and gives the same bits whatever the number of cores: how a product
    is divided among threads may change how it rounds.
    """
    global _inside, _limits
    with _lock:
        if not _inside:
            _limits = need("threadpoolctl").threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limits.restore_original_limits()


# Chains of machines of layers


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
