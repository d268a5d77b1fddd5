"""Carrying out a run: all segments of all blocks, whatever happens to those who compute them.

Contract: what is reported is on disk; a failure that another worker may not meet is tried again,
a few times; every other one ends the run with an error that says what to do, and leaves what was done.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .checkpoints import segments_done
from .directory import RunDirectory
from .failing import RunError, needing_room
from .pools import Pool, WorkerLostError

__all__ = ["Progress", "carry_out", "check_progress", "interruptible"]

Progress = Callable[[int, int], object]

TRIES = 5
"""How often in a row a segment may lose its worker, before it is taken for the cause."""


def check_progress(progress: Any) -> None:
    """Refuse what cannot be called, before anything is begun.

    Raises
    ------
    TypeError
        If it is neither callable nor None.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable, got {progress!r}")


def carry_out(run: RunDirectory, job: Any, blocks: Sequence[Any], pool: Pool, progress: Progress | None) -> None:
    """Do all that is not done yet.

    Parameters
    ----------
    run : RunDirectory
    job : Job
    blocks : sequence of Block
    pool : Pool
    progress : callable, optional
        Called with how much is on disk, and of how much, whenever that changes.

    Raises
    ------
    RunError
        If the disk is full, the cluster is gone, or workers die again and again.
    """
    pool.check(run.path)
    folder = run.checkpoints / job.part
    folder.mkdir(exist_ok=True)
    at = {block.number: segments_done(folder, job.run, block.number) for block in blocks}
    total = sum(job.steps(block, segment) for block in blocks for segment in range(job.n_segments))
    done = sum(job.steps(block, segment) for block in blocks for segment in range(at[block.number]))
    if done:
        run.log(f"{done} of {total} steps are done")
    if progress is not None:
        progress(done, total)
    tries = dict.fromkeys(at, 0)
    pending: dict[Any, Any] = {}
    waiting = {block.number: (block, None) for block in blocks if at[block.number] < job.n_segments}
    needs = {number: job.needs(block) for number, (block, _) in waiting.items()}

    def submit() -> None:
        """Have segments done whose block and neighbours have come to them."""
        for number, (block, previous) in list(waiting.items()):
            if all(at[other] >= at[number] for other in needs[number]):
                del waiting[number]
                pending[pool.submit(job, block, at[number], previous)] = block

    try:
        submit()
        while pending:
            for future in pool.wait(pending.keys(), timeout=1.0):
                block = pending.pop(future)
                number = block.number
                try:
                    previous = pool.result(future)
                except WorkerLostError as lost:
                    tries[number] += 1
                    run.log(f"block {number}, segment {at[number]}: a worker was lost ({lost})")
                    if tries[number] == TRIES:
                        raise RunError(
                            f"block {number} lost its worker {TRIES} times in a row: perhaps it needs more memory than "
                            "there is. Give workers more, or make the blocks smaller by chunks"
                        ) from lost
                    waiting[number] = (block, None)
                    continue
                tries[number] = 0
                done += job.steps(block, at[number])
                at[number] += 1
                if progress is not None:
                    progress(done, total)
                if at[number] < job.n_segments:
                    waiting[number] = (block, previous if job.hands_on else None)
            submit()
    except BaseException as error:
        pool.stop(list(pending))
        run.log(f"ended with {done} of {total} steps done: {type(error).__name__}: {error}")
        with needing_room(run.path):
            raise


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end a run as an interruption from the keyboard does: what it started is ended too."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
