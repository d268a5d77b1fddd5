"""Threads of this process, which compute the tasks of a run, and the errors of lost tasks.

Contract of all pools: a task that failed because its worker died is distinguished from a task that raised an error.
When a run is interrupted or cannot continue, everything started for it is stopped.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import pathlib
import queue
import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

from nbm_xp.files import Place

from .job import Block, Job, run_segment

Task: TypeAlias = Any  # a future of a segment, of `concurrent.futures` or of Dask


class WorkerLostError(Exception):
    """Raised for a task whose worker died; the task can be tried again."""


class TaskLostError(WorkerLostError):
    """Raised for a task that was lost but not by its doing: its worker left with notice, or its scheduler is gone."""


class ThreadPool:
    """Threads of this process."""

    dashboard: str | None = None

    def __init__(self, count: int, memory_limit: int | None = None) -> None:
        self._count, self._memory_limit, self._stopping = count, memory_limit, threading.Event()
        self._done: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._threads = concurrent.futures.ThreadPoolExecutor(count, thread_name_prefix="nbm_xp run")

    def check(self, folder: Place) -> None:
        """Check that all workers can access a folder: always true for threads."""

    @property
    def processes(self) -> list[tuple[str, int, int | None]]:
        """The name of each process, the number of tasks that it computes at once, and its memory in bytes, if known."""
        return [("this process", self._count, self._memory_limit or free_memory())]

    def submit(self, job: Job, block: Block, segment: int) -> Task:
        """Submit the task of a segment."""
        self._stopping.clear()
        future = self._threads.submit(run_segment, job, block, segment, self._stopping.is_set)
        future.add_done_callback(self._done.put)
        return future

    def wait(self, pending: Collection[Task], timeout: float) -> list[Task]:
        """Return the finished tasks, waiting at most `timeout` seconds for the first."""
        return taken(self._done, pending, timeout)

    def check_result(self, future: Task) -> None:
        """Raise the error of a failed task, or `WorkerLostError` if its worker was lost."""
        future.result()

    def map(self, function: Callable[[Any, int], Any], shared: Any, count: int, name: str) -> Iterable[Any]:
        """Yield ``function(shared, number)`` of each number; raise `WorkerLostError` if a worker was lost."""
        return self._threads.map(functools.partial(function, shared), range(count))

    def stop(self, pending: Collection[Task]) -> None:
        """Cancel the pending tasks, and wait until none is running."""
        self._stopping.set()
        for future in pending:
            future.cancel()
        concurrent.futures.wait(pending)

    def close(self) -> None:
        """Stop the threads."""
        self._stopping.set()
        self._threads.shutdown(wait=True, cancel_futures=True)


def taken(done: queue.SimpleQueue[Task], pending: Collection[Task], timeout: float) -> list[Task]:
    """Take the finished tasks of this run from a queue, waiting at most `timeout` seconds for the first."""
    found = []
    with contextlib.suppress(queue.Empty):
        found.append(done.get(timeout=timeout))
        while True:
            found.append(done.get_nowait())
    return [future for future in found if future in pending]


def free_memory() -> int | None:
    """Return the memory that this process may still use, in bytes, or None if the system does not report it."""
    found = []
    with contextlib.suppress(OSError, AttributeError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        found.append(1024 * int(pathlib.Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]))
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, IndexError, ValueError):  # "max" is no limit
            most, now = (int(pathlib.Path(folder, name).read_text()) for name in (limit, used))
            said = pathlib.Path(folder, "memory.stat").read_text()
            found.append(most - now + int(said.split("inactive_file ")[1].split()[0]))  # cached files can be dropped
    return min(found, default=None)
