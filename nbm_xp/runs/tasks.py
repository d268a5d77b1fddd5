"""What a task of a run is, whatever is computed: a segment of a block, begun where the block's checkpoint is.

Contract: a task may run once, or again after a fault, or on two workers at a time, and the files
are the same; one whose work is done already says so, and does not do it again.

A segment gets what the one before it handed on. Where that was lost with its worker, or is of another time, the
checkpoint says where the block is: so a task goes on from the last whole segment, never from the beginning.
"""

from __future__ import annotations

import functools
import pathlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .checkpoints import Held, read_checkpoint, write_checkpoint
from .directory import RunDirectory
from .threads import one_thread

__all__ = ["Job", "StoppedError", "load_model", "run_segment"]

Stopping = Callable[[], bool]


class Job(Protocol):
    """What a kind of run tells about itself; it can be hashed, and sent to workers."""

    part: str
    """Where its checkpoints are, among those of the run."""

    hands_on: bool
    """Whether a segment hands the next one what that goes on with; else it is read from the checkpoint."""

    keeps: int
    """How many checkpoints of a block stay."""

    @property
    def directory(self) -> str:
        """The run's."""

    @property
    def run(self) -> str:
        """What tells the run from all others."""

    @property
    def n_segments(self) -> int:
        """How many segments a block has."""

    def steps(self, block: Any, segment: int) -> int:
        """How much work a segment is."""

    def needs(self, block: Any) -> Sequence[int]:
        """The numbers of the blocks that must have come as far before a segment of this one is begun."""

    def begin(self, block: Any) -> tuple[Any, ...]:
        """What a block's first segment goes on with, in host memory."""

    def advance(self, block: Any, segment: int, arrays: tuple[Any, ...], stopping: Stopping) -> tuple[Any, ...]:
        """Do a segment, write its results, and give what the next one goes on with, in host memory."""


class StoppedError(Exception):
    """Raised in a task that was told to stop; what it did since its last checkpoint is dropped."""


def never() -> bool:
    """Do not stop."""
    return False


def run_segment(job: Any, block: Any, segment: int, held: Held | None = None, stopping: Stopping = never) -> Held:
    """Do one segment of a block, unless it is done.

    Parameters
    ----------
    job : Job
    block : Block
    segment : int
        Which one, counted from 0.
    held : Held, optional
        What the segment before it gave.
    stopping : callable, optional
        Asked now and then whether to stop.

    Returns
    -------
    Held
        Of at least this segment.
    """
    folder = pathlib.Path(job.directory) / "checkpoints" / job.part
    if held is None or held.done != segment:
        held = read_checkpoint(folder, job.run, block.number) or Held(0, ())
        if held.done > segment:
            return handed_on(job, held)
    with one_thread():
        arrays = held.arrays if held.done else job.begin(block)
        # Usually one turn; more where a checkpoint was lost with the disk of a worker.
        for number in range(held.done, segment + 1):
            arrays = job.advance(block, number, arrays, stopping)
            held = Held(number + 1, arrays)
            write_checkpoint(folder, job.run, block.number, held, job.keeps)
    return handed_on(job, held)


def handed_on(job: Any, held: Held) -> Held:
    """What a segment hands on."""
    return held if job.hands_on else Held(held.done, ())


_loading = threading.Lock()


def load_model(directory: str, library: str, digest: str) -> Any:
    """A run's model, read once in each process; its hash tells it from one that was there before."""
    with _loading:
        return _read_model(directory, library, digest)


@functools.lru_cache(maxsize=2)
def _read_model(directory: str, library: str, digest: str) -> Any:
    return RunDirectory.read(directory).load_model(library)
