"""Workers really killed, in random places: the results are those of an undisturbed run, byte for byte."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import dask
import pytest

from nbm_xp.runs import RunDirectory, RunError, Workers
from nbm_xp.runs.execution import carry_out
from nbm_xp.runs.job import Block, Job, blocks_of
from tests.helpers.runs import RUNS, results_of, whole

pytest.importorskip("distributed")
pytest.importorskip("zarr")


class Killer:
    """Kills a process when a run has come to a random place, or a moment later."""

    def __init__(self, pids: Callable[[], list[int]], chance: random.Random, events: int) -> None:
        self.pids, self.chance = pids, chance
        self.at, self.later = chance.randrange(events), chance.choice([0.0, chance.random() * 0.2])
        self.seen, self.killed = 0, 0

    def __call__(self, done: int, total: int) -> None:
        if self.seen == self.at:
            if self.later:
                threading.Timer(self.later, self.kill).start()
            else:
                self.kill()
        self.seen += 1

    def kill(self) -> None:
        pids = self.pids()
        if not pids:  # none has started yet
            self.at = self.seen + 1
            return
        os.kill(self.chance.choice(pids), signal.SIGKILL)
        self.killed += 1


def pids_of(workers: Workers) -> list[int]:
    """The processes of a cluster's workers."""
    cluster: Any = workers.pool._cluster  # type: ignore[attr-defined]
    nannies = [nanny.process for nanny in cluster.workers.values()]
    return [process.pid for process in nannies if process is not None and process.pid]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count
@pytest.mark.parametrize(
    ("name", "n_runs", "events"),
    [
        ("sample", 20, 15), ("ladder", 4, 15), ("weighed on the ladder", 4, 40), ("skipping", 8, 40), ("web", 4, 50),
        ("train in blocks", 4, 12), ("glass", 4, 80),
    ],
)  # fmt: skip
def test_workers_killed_in_random_places(name: str, n_runs: int, events: int, tmp_path: pathlib.Path) -> None:
    """So many runs on one cluster, a worker killed in each."""
    chance, killed = random.Random(20), 0
    with Workers("local", n_workers=2) as workers:
        for number in range(n_runs):
            killer = Killer(lambda: pids_of(workers), chance, events)
            run = RUNS[name](tmp_path / str(number), scheduler=workers, progress=killer)
            killed += killer.killed
            assert results_of(run.path) == whole(name)
            assert not list(run.path.rglob(".*")) + list(run.path.glob("checkpoints"))
    assert killed


class Deadly(Job):
    """A job whose every task kills its worker."""

    part = "chains"
    n_segments = 1

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(2, 2)

    def begin(self, block: Any) -> tuple[Any, ...]:
        os.kill(os.getpid(), signal.SIGKILL)
        return ()


@pytest.mark.slow
def test_a_task_that_kills_its_workers_ends_the_run(tmp_path: pathlib.Path) -> None:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        RunDirectory.create(tmp_path / "run", "sample", {}) as run,
        Workers("local", n_workers=1) as workers,
        pytest.raises(RunError, match=r"block 0 lost its worker 5 times in a row: perhaps it needs more memory"),
    ):
        carry_out(run, [Deadly(str(run.path), 1, "a run")], workers.pool, lambda done, total: None)
    assert "a worker was lost" in (run.path / "run.log").read_text()
