"""What runs tasks side by side, in one form: submit, wait, and whether a failure may be tried again.

Contract: a task that failed because its worker died can be told from one that failed itself.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import threading
import uuid
from collections.abc import Collection
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

import dask

from .directory import RunError
from .needs import need
from .tasks import run_segment

__all__ = ["ClusterPool", "Pool", "ProcessPool", "ThreadPool", "WorkerLostError"]


ASKED = 3
"""How often a cluster is asked for workers that answer."""


class WorkerLostError(Exception):
    """Raised for a task whose worker is gone; it can be tried again."""


class Pool(Protocol):
    """What runs segments of blocks."""

    dashboard: str | None

    def check(self, folder: pathlib.Path) -> None:
        """Make sure that all workers see a folder."""

    def submit(self, job: Any, block: Any, segment: int, previous: Any) -> Any:
        """Have a segment done, after the one that `previous`, if it is not None, stands for."""

    def wait(self, pending: Collection[Any], timeout: float) -> Collection[Any]:
        """Those that are done, at once when there are any."""

    def result(self, future: Any) -> Any:
        """What `previous` is to be for the next segment, or the error that the task ended with.

        Raises
        ------
        WorkerLostError
            If the task did not fail itself.
        """

    def stop(self, pending: Collection[Any]) -> None:
        """Have nothing more done, and wait until nothing is."""

    def close(self) -> None:
        """End what was started."""


class ThreadPool:
    """Threads of this process; what a segment hands on stays in memory."""

    dashboard: str | None = None

    def __init__(self, count: int) -> None:
        self._stopping = threading.Event()
        self._threads = concurrent.futures.ThreadPoolExecutor(count, thread_name_prefix="nbm_xp run")

    def check(self, folder: pathlib.Path) -> None:
        """Threads see what this process sees."""

    def submit(self, job: Any, block: Any, segment: int, previous: Any) -> Any:
        """See `Pool`."""
        self._stopping.clear()
        return self._threads.submit(run_segment, job, block, segment, previous, self._stopping.is_set)

    def wait(self, pending: Collection[Any], timeout: float) -> Collection[Any]:
        """See `Pool`."""
        return concurrent.futures.wait(pending, timeout, concurrent.futures.FIRST_COMPLETED).done

    def result(self, future: Any) -> Any:
        """See `Pool`."""
        return future.result()

    def stop(self, pending: Collection[Any]) -> None:
        """See `Pool`."""
        self._stopping.set()
        for future in pending:
            future.cancel()
        concurrent.futures.wait(pending)

    def close(self) -> None:
        """See `Pool`."""
        self._stopping.set()
        self._threads.shutdown(wait=True, cancel_futures=True)


class ProcessPool:
    """Processes of this machine; what a segment hands on is read from its checkpoint."""

    dashboard: str | None = None

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: Any = None

    def check(self, folder: pathlib.Path) -> None:
        """Processes of this machine see what this one sees."""

    def submit(self, job: Any, block: Any, segment: int, previous: Any) -> Any:
        """See `Pool`."""
        if self._processes is None:
            context = multiprocessing.get_context("spawn")
            self._processes = concurrent.futures.ProcessPoolExecutor(self._count, context, initializer=_leave_signals)
        try:
            return self._processes.submit(_segment_alone, job, block, segment)
        except BrokenProcessPool:
            self._renew()
            return self.submit(job, block, segment, previous)

    def _renew(self) -> None:
        processes, self._processes = self._processes, None
        processes.shutdown(wait=True, cancel_futures=True)

    def wait(self, pending: Collection[Any], timeout: float) -> Collection[Any]:
        """See `Pool`."""
        return concurrent.futures.wait(pending, timeout, concurrent.futures.FIRST_COMPLETED).done

    def result(self, future: Any) -> Any:
        """See `Pool`."""
        try:
            future.result()
        except (BrokenProcessPool, concurrent.futures.CancelledError) as error:
            raise WorkerLostError("a process of the pool died") from error

    def stop(self, pending: Collection[Any]) -> None:
        """See `Pool`: processes are ended, for files are whole whenever that happens."""
        self.close()

    def close(self) -> None:
        """See `Pool`."""
        if self._processes is None:
            return
        working = list((self._processes._processes or {}).values())
        for process in working:
            process.terminate()
        self._renew()


def _leave_signals() -> None:
    """Let the process that started this one answer an interruption from the keyboard: it ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _segment_alone(job: Any, block: Any, segment: int) -> None:
    run_segment(job, block, segment)


class ClusterPool:
    """A Dask cluster; what a segment hands on stays on its worker."""

    def __init__(self, client: Any, cluster: Any, address: str, workers: int = 0) -> None:
        self._client = client
        self._cluster = cluster
        self._address = address
        self._workers = workers
        self._distributed = need("distributed")
        self._run = uuid.uuid4().hex[:12]
        self._count = 0
        self._changed = threading.Event()
        self.dashboard: str | None = client.dashboard_link or None

    @classmethod
    def local(cls, count: int, memory_limit: int | str | None, dashboard_address: str) -> ClusterPool:
        """Start a cluster on this machine, of workers with one thread each."""
        distributed = need("distributed")
        # A worker that dies is started anew; on a busy machine that takes longer than Dask waits by default.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
        # The page and everything else listens on this machine's own address, at any free port, unless one is asked for.
        cluster = distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit="auto" if memory_limit is None else memory_limit,
            host="127.0.0.1",
            dashboard_address=dashboard_address,
        )
        return cls(distributed.Client(cluster, set_as_default=False), cluster, "on this machine", count)

    @classmethod
    def existing(cls, address: str) -> ClusterPool:
        """Connect to a cluster that runs already."""
        distributed = need("distributed")
        try:
            client = distributed.Client(address, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunError(f"there is no Dask cluster at {address}: {error}") from error
        return cls(client, None, f"at {address}")

    def check(self, folder: pathlib.Path) -> None:
        """Make sure that all workers see a folder, both ways, and have this package.

        Raises
        ------
        RunError
            If one does not.
        """
        if self._cluster is not None:  # its workers are processes of this machine
            return
        token = uuid.uuid4().hex
        question = folder / f".question-{token}"
        question.write_text(token)
        try:
            answered = 0
            for _ in range(ASKED):
                for worker, answer in self._client.run(_answer, os.fspath(folder), token, on_error="return").items():
                    answered += self._accepted(folder, worker, answer)
                if answered:
                    return
            raise RunError(f"the cluster {self._address} has no workers that answer: start some")
        finally:
            question.unlink()

    def _accepted(self, folder: pathlib.Path, worker: str, answer: Any) -> bool:
        """Whether a worker sees the folder; one that died while it was asked has not answered."""
        if isinstance(answer, (OSError, TimeoutError)):
            return False
        if isinstance(answer, Exception):
            raise RunError(f"worker {worker} cannot take part: {answer}") from answer
        if not (folder / answer).exists():
            raise RunError(f"worker {worker} writes into another folder than this process under {folder}")
        (folder / answer).unlink()
        return True

    def submit(self, job: Any, block: Any, segment: int, previous: Any) -> Any:
        """See `Pool`."""
        self._count += 1
        key = f"nbm_xp-{self._run}-block-{block.number}-segment-{segment}-{self._count}"
        future = self._client.submit(run_segment, job, block, segment, previous, key=key, pure=False)
        future.add_done_callback(lambda _: self._changed.set())
        return future

    def wait(self, pending: Collection[Any], timeout: float) -> Collection[Any]:
        """See `Pool`."""
        self._changed.clear()
        done = [future for future in pending if future.status != "pending"]
        if not done and self._changed.wait(timeout):
            done = [future for future in pending if future.status != "pending"]
        if not done:
            self._lost()
            self._restore()
        return done

    def _restore(self) -> None:
        """Start workers of a cluster of this machine that are gone for good: those killed while they started."""
        if self._cluster is not None and len(self._cluster.workers) < self._workers:
            self._cluster.scale(self._workers)

    def result(self, future: Any) -> Any:
        """See `Pool`."""
        if future.status == "finished":
            return future
        self._lost()
        if future.status != "error":
            raise WorkerLostError(f"a task was {future.status}")
        error = future.exception()
        if isinstance(error, self._distributed.KilledWorker):
            raise WorkerLostError(str(error)) from error
        raise error

    def _lost(self) -> None:
        """Raise if the scheduler is gone."""
        if self._client.status != "running":
            raise RunError(f"the scheduler {self._address} is gone: go on with resume=True when there is one again")

    def stop(self, pending: Collection[Any]) -> None:
        """See `Pool`."""
        if self._client.status == "running":
            self._client.cancel(list(pending), force=True)

    def close(self) -> None:
        """See `Pool`."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _answer(folder: str, token: str) -> str:
    """Show that a worker sees a folder: what is written there, and that it can write."""
    place = pathlib.Path(folder)
    try:
        seen = (place / f".question-{token}").read_text()
    except OSError as error:
        raise RunError(f"it does not see {folder}, which must be a folder that all share ({error})") from error
    if seen != token:
        raise RunError(f"it sees another folder under {folder}")
    name = f".answer-{uuid.uuid4().hex}"
    try:
        (place / name).write_text(token)
    except OSError as error:
        raise RunError(f"it cannot write into {folder}: {error}") from error
    return name
