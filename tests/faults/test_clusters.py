"""Clusters of other processes: what share nothing, what come and go, one that is not there."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Callable
from typing import Any

import dask
import pytest

import nbm_xp
from nbm_xp.runs import RunDirectory, RunError, Workers, cluster_pool, resume
from nbm_xp.runs.execution import carry_out
from nbm_xp.runs.job import Block, Job, StoppedError, blocks_of
from tests.helpers.clusters import ALONE, Processes
from tests.helpers.runs import RUNS, results_of, whole

distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")

QUICK = {"distributed.scheduler.allowed-failures": 0, "distributed.deploy.lost-worker-timeout": "100ms"}
HERE = {"processes": False, "protocol": "tcp", "threads_per_worker": 1, **ALONE}
TIMES = 6  # more than a task may lose its worker


def test_a_scheduler_that_comes_back(tmp_path: pathlib.Path) -> None:
    clusters = [distributed.LocalCluster(n_workers=1, **HERE)]
    address = clusters[0].scheduler_address

    def restart(done: int, total: int) -> None:
        if len(clusters) < 4:
            clusters[-1].close()
            port = int(address.rpartition(":")[2])
            clusters.append(distributed.LocalCluster(n_workers=1, scheduler_port=port, **HERE))

    with Workers(address, worker_timeout=60) as workers:
        run = RUNS["sample"](tmp_path / "run", scheduler=workers, progress=restart)
    clusters[-1].close()
    assert results_of(run.path) == whole("sample")
    assert any("submitted again: the scheduler was lost" in line for line in run.events)


class Leaving(Job):
    """A job whose task has its worker leave with notice, so many times."""

    part, task, n_segments = "chains", "leave", 1
    times = 0

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(2, 2)

    def advance(self, *arguments: Any) -> tuple[Any, ...]:
        if Leaving.times < TIMES:
            Leaving.times += 1
            worker = distributed.get_worker()
            worker.loop.add_callback(worker.close, executor_wait=False)
            while worker.status.name != "closed":
                time.sleep(0.01)
            raise StoppedError  # which nobody hears
        return ()


def test_workers_that_leave_with_notice_are_no_lost_tries(tmp_path: pathlib.Path) -> None:
    """Nor does an adaptive cluster have workers before there is a task."""
    with (
        dask.config.set(QUICK),
        distributed.LocalCluster(n_workers=0, **HERE) as cluster,
        RunDirectory.create(tmp_path / "run", "sample", {}) as run,
        Workers(cluster, worker_timeout=60) as workers,
    ):
        cluster.adapt(minimum=0, maximum=1, interval="50ms", wait_count=1000)
        assert workers.scheduler == cluster.scheduler_address
        carry_out(run, [Leaving(str(run.path), 1, "a run")], workers.pool, lambda done, total: None)
    assert Leaving.times == TIMES
    assert any("submitted again: their workers left" in line for line in run.events)
    assert not any("a worker was lost" in line for line in run.events)


@pytest.mark.slow
def test_workers_that_share_a_folder_come_and_go() -> None:
    with Processes() as cluster, Workers(cluster.address) as workers:
        come_and_go(cluster.shared / "run", cluster, workers)


def come_and_go(place: Any, cluster: Processes, workers: Workers) -> None:
    """Have workers leave with notice and without, and the scheduler too, while a run goes on."""
    client: Any = workers.pool._connection.client  # type: ignore[union-attr]
    client.wait_for_workers(2, timeout=300)
    seen = client.run(eval, "[x.__file__ for x in map(__import__, ['nbm_xp'])], __import__('os').getuid()")
    seen |= {"here": ([nbm_xp.__file__], os.getuid())}
    assert len({file for (file,), _ in seen.values()}) == 3
    assert len({user for _, user in seen.values()}) in (1, 3)
    missing = client.run(eval, "__import__('tests')", on_error="return").values()
    assert all(isinstance(error, ModuleNotFoundError) for error in missing)

    def leave() -> None:
        cluster.workers.pop(0).terminate()

    def retire() -> None:
        cluster.worker()
        client.retire_workers(list(client.nthreads())[:1])

    def lose() -> None:
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    def restart() -> None:
        cluster.scheduler.kill()
        cluster.begin(1)

    events = [leave, retire, lose, restart]

    def happen(done: int, total: int) -> None:
        if events and done > (5 - len(events)) / 6 * total:
            events.pop(0)()

    run = RUNS["sample"](place, scheduler=workers, progress=happen)
    assert not events
    assert results_of(run.path) == whole("sample")


@pytest.mark.slow
def test_what_is_not_there_is_waited_for_so_long(tmp_path: pathlib.Path) -> None:
    """First workers, then the scheduler; the run goes on where it was when there is one again."""

    def lose(share: float, *lost: Any) -> Callable[[int, int], None]:
        return lambda done, total: [at.kill() for at in lost if done > share * total and at.poll() is None] and None

    with Processes() as cluster, Workers(cluster.address, worker_timeout=2) as workers:
        pool: Any = workers.pool
        client = pool._connection.client
        client.wait_for_workers(2, timeout=300)
        answers = client.run(cluster_pool._answer, "/nowhere", on_error="return")
        with pytest.raises(RunError, match=r"cannot take part: it cannot write into .* a folder that all share"):
            pool._accepted(tmp_path, "w", next(iter(answers.values())))
        with pytest.raises(RunError, match=r"cluster at tcp://.* has had no workers for 2 seconds: start some"):
            RUNS["sample"](cluster.shared / "run", scheduler=workers, progress=lose(0.3, *cluster.workers))
        cluster.worker()
        client.wait_for_workers(1, timeout=300)
        with pytest.raises(RunError, match=r"the scheduler at tcp://.* is gone, and none came back in 2 seconds"):
            resume(cluster.shared / "run", scheduler=workers, progress=lose(0.5, cluster.scheduler))
        cluster.begin(1)
        told = list[int]()
        run = resume(cluster.shared / "run", scheduler=cluster.address, progress=lambda done, total: told.append(done))
        assert told[0] > 0.5 * told[-1]
        assert results_of(run.path) == whole("sample")
