"""How the tasks of a run are done: submitted when what they need is there, and again where a worker was lost.

Contract: what is reported is on disk; a failure that another worker may not meet is tried again, a few times; every
other one ends the run, and leaves what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .directory import RunDirectory, RunError
from .job import Job, segments_done
from .workers import Pool, WorkerLostError

__all__ = ["Progress", "carry_out"]

Progress: TypeAlias = Callable[[int, int], object]

TRIES = 5
"""How often in a row a segment may lose its worker, before it is taken for the cause."""


def carry_out(run: RunDirectory, jobs: Sequence[Job], pool: Pool, progress: Progress | None) -> None:
    """Do all tasks of jobs that are not done yet, one job after the other.

    Raises
    ------
    RunError
        If the disk is full, the cluster is gone, or workers die again and again.
    """
    pool.check(run.path)
    totals = [job.total for job in jobs]
    for place, job in enumerate(jobs):
        before = sum(totals[:place])

        def tell(done: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, sum(totals))

        _carry_out(run, job, pool, tell, totals[place])


def _carry_out(run: RunDirectory, job: Job, pool: Pool, progress: Callable[[int], object], total: int) -> None:
    """Do all tasks of a job that are not done yet."""
    folder, blocks = run.checkpoints / job.part, {block.number: block for block in job.blocks}
    folder.mkdir(exist_ok=True)
    at = {number: segments_done(folder, job.run, number) for number in blocks}
    done = sum(job.steps(block, segment) for block in blocks.values() for segment in range(at[block.number]))
    if done:
        run.log(f"{job.part}: {done} of {total} steps are done")
    progress(done)
    waiting = {number: job.needs(blocks[number]) for number in blocks if at[number] < job.n_segments}
    tries, needs, pending = dict.fromkeys(blocks, 0), dict(waiting), dict[Any, int]()

    def submit() -> None:
        """Submit the segments of blocks whose neighbours have come to them."""
        for number in [number for number, others in waiting.items() if all(at[x] >= at[number] for x in others)]:
            del waiting[number]
            pending[pool.submit(job, blocks[number], at[number])] = number

    try:
        submit()
        while pending:
            for future in pool.wait(pending.keys(), timeout=1.0):
                number = pending.pop(future)
                try:
                    pool.check_result(future)
                except WorkerLostError as lost:
                    tries[number] += 1
                    run.log(f"block {number}, segment {at[number]}: a worker was lost ({lost})")
                    if tries[number] == TRIES:
                        raise RunError(
                            f"block {number} lost its worker {TRIES} times in a row: perhaps it needs more memory than "
                            "there is. Give workers more, or make the blocks smaller by chunks"
                        ) from lost
                    waiting[number] = needs[number]
                    continue
                tries[number] = 0
                done += job.steps(blocks[number], at[number])
                at[number] += 1
                progress(done)
                if at[number] < job.n_segments:
                    waiting[number] = needs[number]
            submit()
    except BaseException as error:
        pool.stop(list(pending))
        run.log(f"ended with {done} of {total} steps done: {type(error).__name__}: {error}")
        raise
