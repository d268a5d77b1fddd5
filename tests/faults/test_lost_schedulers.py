"""A cluster of other processes: one that goes away, one that comes back, one that sees another folder."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from nbm_xp.runs import RunError, Workers, resume, sample
from tests.helpers.runs import SAMPLE, ordinary, results_of, whole

pytest.importorskip("distributed")
pytest.importorskip("zarr")

pytestmark = pytest.mark.slow


class Cluster:
    """A scheduler and workers as a user starts them, each a process of its own."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place, self.processes = place, []  # type: tuple[pathlib.Path, list[subprocess.Popen[bytes]]]
        self.file = place / "scheduler.json"
        self.scheduler = self.start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)
        )
        end = time.monotonic() + 120
        while not (self.file.exists() and self.file.stat().st_size) and time.monotonic() < end:
            time.sleep(0.1)
        import json

        self.address = json.loads(self.file.read_text())["address"]

    def start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        root = os.fspath(pathlib.Path(__file__).parents[2])
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + kind, *arguments],
            env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
            cwd=self.place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: pathlib.Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.worker()
    made.worker()
    try:
        yield made
    finally:
        made.close()


def wait_for_workers(workers: Workers, count: int) -> None:
    client: Any = workers.pool._client  # type: ignore[attr-defined]
    client.wait_for_workers(count, timeout=300)


def test_a_worker_of_a_cluster_is_killed(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    def kill(done: int, total: int) -> None:
        if done > total // 3 and cluster.processes[1].poll() is None:
            cluster.processes[1].kill()

    with Workers(cluster.address) as workers:
        wait_for_workers(workers, 2)
        run = sample(ordinary(), tmp_path / "run", scheduler=workers, progress=kill, **SAMPLE)
    assert results_of(run.path) == whole("sample")


def test_a_scheduler_that_goes_away_and_another_one(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    told: list[int] = []

    def kill(done: int, total: int) -> None:
        told.append(done)
        if done > total // 3:
            cluster.scheduler.send_signal(signal.SIGKILL)
            cluster.scheduler.wait()

    with Workers(cluster.address) as workers:
        wait_for_workers(workers, 2)
        with pytest.raises(RunError, match=r"the scheduler at tcp://.* is gone: resume the run"):
            sample(ordinary(), tmp_path / "run", scheduler=workers, progress=kill, **SAMPLE)
    (tmp_path / "other").mkdir()
    other = Cluster(tmp_path / "other")
    try:
        other.worker()
        with Workers(other.address) as workers:
            wait_for_workers(workers, 1)
            again: list[int] = []
            run = resume(tmp_path / "run", scheduler=workers, progress=lambda done, total: again.append(done))
    finally:
        other.close()
    assert again[0] >= told[-1]
    assert results_of(run.path) == whole("sample")


def test_a_cluster_without_workers_is_waited_for_so_long(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    """Both workers die: the run ends when the time is over, and goes on where it was with another worker."""
    told: list[int] = []

    def kill(done: int, total: int) -> None:
        told.append(done)
        if done > total // 3:
            for worker in cluster.processes[1:]:
                worker.kill()

    with Workers(cluster.address, worker_timeout=2) as workers:
        wait_for_workers(workers, 2)
        with pytest.raises(RunError, match=r"cluster at tcp://.* has had no workers for 2 seconds: start some"):
            sample(ordinary(), tmp_path / "run", scheduler=workers, progress=kill, **SAMPLE)
    cluster.worker()
    with Workers(cluster.address) as workers:
        wait_for_workers(workers, 1)
        run = resume(tmp_path / "run", scheduler=workers)
    assert results_of(run.path) == whole("sample")


def test_a_scheduler_that_is_gone_before_anything_is_asked(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    with Workers(cluster.address) as workers:
        wait_for_workers(workers, 2)
        pool: Any = workers.pool
        cluster.scheduler.kill()
        cluster.scheduler.wait()
        with pytest.raises(RunError, match=r"the scheduler at tcp://.* is gone"):
            sample(ordinary(), tmp_path / "run", scheduler=workers, **SAMPLE)
        with pytest.raises(RunError, match=r"the scheduler at tcp://.* is gone"):
            pool.check(tmp_path)
    assert not list(tmp_path.rglob("*unfinished.answer"))


def test_a_folder_that_workers_do_not_see(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    with Workers(cluster.address) as workers:
        wait_for_workers(workers, 2)
        pool: Any = workers.pool
        with pytest.raises(RunError, match=r"cannot take part: it cannot write into .* a folder that all share"):
            pool._accepted(tmp_path, "w", next(iter(pool._client.run(_ask, "/nowhere", on_error="return").values())))


def _ask(folder: str) -> str:
    from nbm_xp.runs.workers import _answer

    return _answer(folder)


def test_no_cluster_at_the_address(tmp_path: pathlib.Path) -> None:
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(RunError, match=r"there is no Dask cluster at tcp://127.0.0.1:1"),
    ):
        sample(ordinary(), tmp_path / "run", scheduler="tcp://127.0.0.1:1", **SAMPLE)
