"""Jobs: the work of a run, divided into blocks, each a sequence of segments; a task computes one segment.

Contract: the division of a job depends on the run's configuration only, never on the computer or the number of
workers, because blocks and segments are also the files of the result. A task may run once, again after a fault, or on
two workers at a time; the files are the same.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, ParamSpec, Self, TypeAlias, TypeVar

from nbm_xp.files import Place, place_of
from nbm_xp.machines import Array
from nbm_xp.namespace.errors import device_failure, positive_int
from nbm_xp.package import need

from . import store
from .checkpoints import Arrays, Checkpoint, last_checkpoint, read_checkpoint, write_checkpoint
from .directory import RunDirectory, RunError
from .store import Stored

_P = ParamSpec("_P")
_T = TypeVar("_T")

Stopping: TypeAlias = Callable[[], bool]  # returns whether a task should stop; called between sweeps

CHAINS_IN_A_BLOCK = 128  # by default: enough for fast matrix products, few enough to stay in a core's cache


@dataclass(frozen=True)
class Block:
    """A block of consecutive rows: chains, or rows of data."""

    number: int
    offset: int
    rows: int


def blocks_of(rows: int, length: int) -> list[Block]:
    """Divide rows into blocks of equal length; the last may be shorter.

    Examples
    --------
    >>> [(block.offset, block.rows) for block in blocks_of(5, 2)]
    [(0, 2), (2, 2), (4, 1)]
    """
    return [Block(i, first, min(length, rows - first)) for i, first in enumerate(range(0, rows, length))]


def block_length(chunks: int | None, rows: int) -> int:
    """Return the number of rows in a block."""
    return min(rows, CHAINS_IN_A_BLOCK if chunks is None else positive_int(chunks, "chunks"))


class Demand(NamedTuple):
    """What the tasks of a job, or the end of a run, need besides chunks of arrays and a checkpoint for each task.

    Attributes
    ----------
    shared, task : int
        Memory that all tasks of a process share, and memory of each task, in bytes.
    checkpoints : int
        Size of the last checkpoints of all blocks, or of files of results, in bytes.
    reads, writes : int
        Requests of all tasks together.
    """

    shared: int = 0
    task: int = 0
    checkpoints: int = 0
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True)
class Job:
    """A part of a run's work; picklable and hashable.

    Kinds of run define subclasses, whose additional fields have the names of entries of the run's configuration.

    Attributes
    ----------
    directory : str
        Directory of the run, or its address.
    seed : int
        Seed of the run.
    run : str
        Identity of the run.
    arrays : str
        Name of the Zarr group that tasks write.
    known : object
        Of a run that is projected and has no directory: what the job would read from it.
    part : str
        Name of the folder of the job's checkpoints.
    other_parts : tuple of str
        Names of further folders of checkpoints.
    asked_by : str
        Name of the entry of the configuration that asks for the job; "" if every run has it.
    task, unit : str
        What its tasks do, in letters and hyphens, by which dashboards group them; and what their steps are.
    in_files : bool
        Whether each task writes a checkpoint, in place of the one before.
    """

    directory: str
    seed: int
    run: str
    arrays: str = dataclasses.field(default="", kw_only=True)
    known: Any = dataclasses.field(default=None, kw_only=True)

    part: ClassVar[str]
    other_parts: ClassVar[tuple[str, ...]] = ()
    asked_by: ClassVar[str] = ""
    task: ClassVar[str] = "run"
    unit: ClassVar[str] = "sweeps"
    in_files: ClassVar[bool] = True

    @classmethod
    def of(cls, run: RunDirectory, arrays: str) -> Self:
        """Return the job of a run, with fields from its configuration, that writes a Zarr group."""
        asked = {field.name: run.configuration.get(field.name) for field in dataclasses.fields(cls)}
        directory = os.fspath(run.path.resolve())
        known = {"directory": directory, "arrays": arrays, "seed": run.seed, "run": run.identity}
        return cls(**{name: _hashable(value) for name, value in asked.items()} | known)

    @property
    def stored(self) -> Sequence[Stored]:
        """The arrays that tasks write."""
        return ()

    @property
    def coordinates(self) -> Mapping[str, Sequence[int]]:
        """The coordinates of these arrays."""
        return {}

    @property
    def blocks(self) -> list[Block]:
        """The blocks."""
        raise NotImplementedError

    @property
    def n_segments(self) -> int:
        """Number of segments of a block."""
        raise NotImplementedError

    def n_steps(self, segment: int) -> int:
        """Return the number of steps in a segment: sweeps, where there are sweeps."""
        return 1

    def work(self, block: Block) -> int:
        """Return the amount of work in a step of a block: its rows."""
        return block.rows

    def steps(self, block: Block, segment: int) -> int:
        """Return the amount of work in a segment of a block."""
        return self.n_steps(segment) * self.work(block)

    def span(self, segment: int) -> str:
        """Return which steps are in a segment, by the numbers of steps before and after it."""
        first, end = _steps_before(self)[segment : segment + 2]
        return f"{self.unit} {first}–{end}"

    def describe(self, block: Block, segment: int) -> str:
        """Return the name of a segment's task: what it does, a hyphen, which block, and which of its steps."""
        return f"{self.task}-block {block.number} · {self.span(segment)}"

    def needs(self, block: Block) -> Sequence[int]:
        """Return the numbers of the blocks that must have completed as many segments first: none.

        If a block needs another, the other one needs it.
        """
        return []

    def begin(self, block: Block) -> Arrays:
        """Return the input of a block's first segment."""
        return ()

    def advance(self, block: Block, segment: int, arrays: Arrays, stopping: Stopping) -> Arrays:
        """Compute a segment, write its results, and return the input of the next segment."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """Total amount of work."""
        return sum(map(self.n_steps, range(self.n_segments))) * sum(map(self.work, self.blocks))

    def done(self, segments: Mapping[int, int]) -> int:
        """Return the amount of work in the first segments of blocks, whose number is given for each block."""
        steps = _steps_before(self)
        return sum(steps[segments[block.number]] * self.work(block) for block in self.blocks)

    @property
    def demand(self) -> Demand:
        """What the tasks need."""
        raise NotImplementedError

    @property
    def trial_steps(self) -> int:
        """The most steps of a trial."""
        return self.checkpoint_every  # type: ignore[attr-defined,no-any-return]

    def with_steps(self, count: int) -> Self:
        """Return the job with another number of steps in a segment, for a trial."""
        return dataclasses.replace(self, checkpoint_every=count)  # type: ignore[call-arg]

    def prepare(self, block: Block) -> int:
        """Write what a trial of a block needs into the directory, and return the number of its segment."""
        return 0

    def folder(self, part: str | None = None) -> Place:
        """Return the folder of the job's checkpoints, or of another part's."""
        return place_of(self.directory) / "checkpoints" / (part or self.part)

    def write(self, array: Stored, index: Sequence[int], values: Array) -> None:
        """Write a chunk of an array."""
        store.write_chunk(place_of(self.directory) / self.arrays, array, index, values)

    def arrays_after(self, block: int, segments: int, part: str | None = None) -> Arrays:
        """Read the checkpoint of a block, by its number, after some segments, of this or another part of the job.

        Raises
        ------
        ValueError
            If it does not exist.
        """
        found = read_checkpoint(self.folder(part), self.run, block, segments)
        if found is None:
            raise ValueError(f"{self.folder(part)} is damaged: it lacks block {block} after {segments} segments")
        return found.arrays


@functools.lru_cache(maxsize=8)
def _steps_before(job: Job) -> list[int]:
    """Return the number of steps of a block before each segment and, last, of all."""
    return list(itertools.accumulate(map(job.n_steps, range(job.n_segments)), initial=0))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def cached_once(maxsize: int) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Return a decorator as `functools.lru_cache`, of a function that is called by one thread at a time."""

    def decorated(function: Callable[_P, _T]) -> Callable[_P, _T]:
        cached, lock = functools.lru_cache(maxsize)(function), threading.Lock()

        @functools.wraps(function)
        def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            with lock:
                return cached(*args, **kwargs)  # type: ignore[arg-type]

        return called

    return decorated


class DeviceGoneError(RunError):
    """Raised for a task whose device is gone."""


@contextlib.contextmanager
def device_errors() -> Iterator[None]:
    """Raise `RunError` if a device is out of memory, and `DeviceGoneError` if it is gone."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        failure, said = device_failure(error), f"{type(error).__name__}: {error}"
        if failure == "memory":
            raise RunError(f"a device is out of memory ({said}): make the blocks smaller by chunks") from error
        if failure == "gone":
            raise DeviceGoneError(f"a device is gone ({said}): resume the run where there is one") from error
        raise


@contextlib.contextmanager
def reached(directory: str) -> Iterator[None]:
    """Raise `RunError` if a worker, such as one that joined later, does not have the directory of its run."""
    try:
        yield
    except FileNotFoundError as error:
        if place_of(directory).exists():
            raise
        who = f"the worker with process {os.getpid()} on {platform.node()}"
        raise RunError(f"{who} cannot reach {directory}, which must be a folder that all workers share") from error


class StoppedError(Exception):
    """Raised in a task that should stop; its work since the last checkpoint is discarded."""


def run_segment(job: Job, block: Block, segment: int, stopping: Stopping = lambda: False) -> None:
    """Compute a segment of a block from the checkpoint before it, unless it is done."""
    place = job.folder(), job.run, block.number
    # The last one, which takes a list of all, is another if the segment is done already or a checkpoint was lost.
    now = Checkpoint(0, ())
    if segment:
        now = read_checkpoint(*place, segment) or last_checkpoint(*place) or now
    with one_thread(), device_errors():
        # Usually one iteration; more if a checkpoint was lost with a worker's disk.
        for number in range(now.done, segment + 1):
            arrays = job.advance(block, number, now.arrays if number else job.begin(block), stopping)
            now = Checkpoint(number + 1, arrays)
            write_checkpoint(*place, now)


_lock = threading.Lock()
_inside = 0
_limits: Any = None


@functools.lru_cache(maxsize=1)
def _loaded_blas(n_modules: int) -> Any:
    """The libraries of linear algebra, looked up again if a module was imported since: it takes milliseconds."""
    return need("threadpoolctl").ThreadpoolController()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, while tasks may run in several threads at once.

    This is as fast as several threads in each task, and gives the same bits for any number of cores: the division of a
    product among threads may change its rounding.
    """
    global _inside, _limits
    with _lock:
        if not _inside:
            _limits = _loaded_blas(len(sys.modules)).limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limits.restore_original_limits()
