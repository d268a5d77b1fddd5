"""Workers of a Dask cluster, which compute the tasks of a run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import math
import os
import pathlib
import pickle
import queue
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from typing import Any

import dask

from nbm_xp.files import Place, leftover_name, place_of, write_whole
from nbm_xp.package import need

from .connections import ATTEMPT, PAUSE, Connection
from .directory import RunError
from .job import Block, DeviceGoneError, Job, reached, run_segment
from .pools import Task, TaskLostError, WorkerLostError, taken

ASKED = 3  # number of times that a cluster is asked for workers that respond

# Dask returns memory to the system at once, and mapping it for each array again takes a third of a worker's time.
_LOCAL: dict[str, Any] = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size << 20
    for name, size in (("TRIM", 64), ("MMAP", 32))
}
# A worker that dies is restarted; on a busy machine that takes longer than Dask waits by default.
_LOCAL["distributed.deploy.lost-worker-timeout"] = "10 minutes"
# What each process measures of itself 100 and 50 times a second takes a twentieth of the time of workers.
_LOCAL |= {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}


class ClusterPool:
    """A Dask cluster."""

    def __init__(self, connection: Connection, cluster: Any = None, workers: int = 0) -> None:
        self._connection = connection
        self._cluster = cluster
        self._opened = contextlib.ExitStack()
        self._workers = workers
        self._distributed = need("distributed")
        self._run = uuid.uuid4().hex[:6]
        self._count = 0
        self._threads, self._counted = 0, -math.inf
        self._mapped: list[Task] = []
        self._callers: dict[str, Any] = {}
        self._done: queue.SimpleQueue[Task] = queue.SimpleQueue()

    @classmethod
    def local(cls, count: int, memory_limit: int | str | None, dashboard_address: str, patience: float) -> ClusterPool:
        """Start a cluster on this machine, with one thread per worker."""
        distributed = need("distributed")
        with contextlib.ExitStack() as opened:
            opened.enter_context(dask.config.set(_LOCAL))  # Dask reads it when a worker dies
            # All services listen on the loopback address, the dashboard at any free port unless one is given.
            cluster = distributed.LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                memory_limit="auto" if memory_limit is None else memory_limit,
                host="127.0.0.1",
                dashboard_address=dashboard_address,
            )
            opened.callback(cluster.close)
            client = distributed.Client(cluster, set_as_default=False, direct_to_workers=True)
            pool = cls(Connection(client, None, patience), cluster, count)
            pool._opened = opened.pop_all()
        return pool

    @property
    def dashboard(self) -> str | None:
        """Address of the cluster's dashboard."""
        return self._connection.client.dashboard_link or None

    def check(self, folder: Place) -> None:
        """Check that all workers share a folder with this process and have this package.

        Raises
        ------
        RunError
            If a worker does not, or no worker responds.
        """
        if self._cluster is not None and isinstance(folder, pathlib.Path):  # its workers are of this machine
            return
        answered = 0
        for _ in range(ASKED):
            self._connection.wait_for_workers()
            answers = self._connection.ask(lambda client: client.run(_answer, os.fspath(folder), on_error="return"))
            for worker, answer in answers.items():
                answered += self._accepted(folder, worker, answer)
            if answered:
                return
        raise RunError(f"the cluster {self._connection} has no workers that answer: start some")

    def _accepted(self, folder: Place, worker: str, answer: object) -> bool:
        """Return True if a worker shares the folder, False if it died before responding; else raise `RunError`."""
        if isinstance(answer, (OSError, TimeoutError)):
            return False
        if isinstance(answer, Exception):
            raise RunError(f"worker {worker} cannot take part: {answer}") from answer
        place = folder / str(answer)
        if not place.exists():
            raise RunError(f"worker {worker} writes into another folder than this process under {folder}")
        place.unlink()
        return True

    @property
    def processes(self) -> list[tuple[str, int, int | None]]:
        """See `ThreadPool`."""
        found = self._connection.ask(lambda client: client.scheduler_info(n_workers=-1))["workers"]
        return [(f"worker {name}", at["nthreads"], at["memory_limit"] or None) for name, at in found.items()]

    def submit(self, job: Job, block: Block, segment: int) -> Task:
        """See `ThreadPool`."""
        self._count += 1
        key = f"{job.describe(block, segment)} · {self._run}.{self._count}"  # unique
        future: Task = concurrent.futures.Future()
        future.cancel()  # of a task that is lost already
        if self._connection.is_open:
            try:
                future = self._connection.client.submit(_run_segment, job, block, segment, key=key, pure=False)
            except OSError:
                self._connection.has_failed = True
        future.add_done_callback(self._done.put)
        return future

    def wait(self, pending: Collection[Task], timeout: float) -> list[Task]:
        """See `ThreadPool`."""
        client = self._connection.client
        if not self._connection.restore():
            if done := taken(self._done, pending, timeout):
                self._connection.alone_since = None
                return done
            self._connection.look_for_workers()
            self._restart()
        # A scheduler that came back has none of the tasks.
        return [] if self._connection.client is client else list(pending)

    def _restart(self) -> None:
        """Replace workers of a local cluster that Dask does not restart: those killed while starting."""
        if self._cluster is not None and len(self._cluster.workers) < self._workers:
            self._cluster.scale(self._workers)

    def check_result(self, future: Task) -> None:
        """See `ThreadPool`."""
        if isinstance(future, concurrent.futures.Future) or future.status not in ("finished", "error"):
            raise TaskLostError("the scheduler was lost")
        if future.status == "error":
            error = future.exception()
            if isinstance(error, DeviceGoneError):
                raise TaskLostError(str(error)) from error
            if not isinstance(error, self._distributed.KilledWorker):
                raise error
            if self._connection.left_with_notice(error.last_worker.address):
                raise TaskLostError("their workers left") from error
            raise WorkerLostError(str(error)) from error

    def map(self, function: Callable[[Any, int], Any], shared: Any, count: int, name: str) -> list[Any]:
        """See `ThreadPool`."""
        self._connection.restore()
        if self._cluster is not None:
            return self._called(function, shared, count, name)
        self._count += 1
        keys = [f"{name}-block {number} · {self._run}.{self._count}" for number in range(count)]
        client, futures = self._connection.client, list[Task]()
        try:
            with self._reached():
                self._connection.wait_for_workers()
                held = client.scatter([shared], broadcast=True, hash=False)[0]  # a scheduler keeps messages to workers
                futures = client.map(function, [held] * count, range(count), key=keys, pure=False)
            # Dask sends messages 10 ms apart: all tasks are one, and the release of the last ones is another after it.
            self._mapped, pending = futures, set(futures)
            for future in futures:
                future.add_done_callback(self._done.put)
            while pending:
                for future in self.wait(pending, timeout=1.0):
                    self.check_result(future)
                    pending.remove(future)
            with self._reached():
                return list(client.gather(futures))
        except BaseException:
            self.stop(futures)
            raise

    def _called(self, function: Callable[[Any, int], Any], shared: Any, count: int, name: str) -> list[Any]:
        """Do what `map` does by actors of a local cluster, which answer sooner than tasks.

        On an existing cluster, workers with actors could not leave with notice.
        """
        client, content = self._connection.client, pickle.dumps((function, shared), protocol=5)
        with client.as_current():
            if len(self._callers) != self.count:
                self._callers = self._started(name)
            try:
                callers = itertools.islice(itertools.cycle(self._callers.values()), count)
                calls = [caller.call(content, number) for number, caller in enumerate(callers)]
                found = [self._answered(call) for call in calls]
            except (OSError, RuntimeError) as error:
                self._callers, self._counted = {}, -math.inf
                raise WorkerLostError(str(error)) from error
        for _, raised in found:
            if raised is not None:
                raise raised
        return [result for result, _ in found]

    def _started(self, name: str) -> dict[str, Any]:
        """Start an actor in each worker of a local cluster, by its address."""
        client = self._connection.client
        while not (self._connection.look_for_workers() and (workers := client.nthreads())):
            self._restart()
            time.sleep(PAUSE)
        self._count += 1
        keys = {worker: f"{name} · {worker} · {self._count}" for worker in workers}
        made = {at: client.submit(_Caller, actor=True, workers=[at], key=key) for at, key in keys.items()}
        try:
            return {at: future.result(timeout=ATTEMPT) for at, future in made.items()}
        except (OSError, self._distributed.KilledWorker) as error:
            raise TaskLostError("workers were lost before they began") from error

    def _answered(self, call: Any) -> Any:
        """Return the result of the call of an actor; raise `OSError` if a worker was lost: it may never come then."""
        while True:
            try:
                return call.result(timeout=1.0)
            except TimeoutError as error:
                if gone := self._callers.keys() - self._connection.client.nthreads().keys():
                    raise OSError(f"the scheduler has lost {', '.join(sorted(gone))}") from error

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        """Raise `TaskLostError` if data cannot be sent or received."""
        try:
            yield
        except (asyncio.CancelledError, concurrent.futures.CancelledError, self._distributed.KilledWorker) as error:
            raise TaskLostError(f"data were lost ({error!r})") from error
        except TimeoutError as error:  # no worker took the data
            raise TaskLostError(f"data were not sent ({error})") from error
        except OSError as error:
            self._connection.has_failed = True
            raise TaskLostError("the scheduler was lost") from error

    @property
    def count(self) -> int:
        """Number of tasks that can run at once, asked for every ten seconds."""
        if time.monotonic() - self._counted > 10:
            there = self._connection.ask(lambda client: client.nthreads())
            self._threads, self._counted = sum(there.values()), time.monotonic()
        return max(self._threads, 1)

    def stop(self, pending: Collection[Task]) -> None:
        """See `ThreadPool`."""
        with contextlib.suppress(OSError):  # then no task is running
            if self._connection.is_open:
                self._connection.client.cancel(list(pending), force=True)

    def close(self) -> None:
        """See `ThreadPool`."""
        self._connection.client.close()
        self._opened.close()


class _Caller:
    """An actor, which calls functions in a worker."""

    def call(self, content: bytes, number: int) -> tuple[Any, Exception | None]:
        """Call a pickled function with what was pickled with it and a number; return its result, or an error."""
        function, shared = pickle.loads(content)
        try:
            return function(shared, number), None
        except (OSError, RuntimeError) as error:  # raised, they could not be told from those of a lost worker
            return None, error


def _answer(folder: str) -> str:
    """Create a file in a folder, to show that a worker can write into it, and return its name."""
    name = leftover_name("answer")
    try:
        write_whole(place_of(folder) / name, b"")
    except OSError as error:
        raise RunError(f"it cannot write into {folder}, which must be a folder that all share ({error})") from error
    return name


def _run_segment(job: Job, block: Block, segment: int) -> None:
    """Compute a segment on a worker of a cluster, which leaves if its device is gone."""
    try:
        with reached(job.directory):
            run_segment(job, block, segment)
    except DeviceGoneError as error:
        worker = need("distributed").get_worker()
        worker.loop.add_callback(worker.close, nanny=True, executor_wait=False, reason=str(error))
        raise
