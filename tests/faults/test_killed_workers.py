"""Workers really killed, in random places: the draws are those of an undisturbed run, byte for byte."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import RunDirectory, RunError, Workers, evaluate, sample
from nbm_xp.runs.execution import carry_out
from nbm_xp.runs.job import Block, Job, blocks_of
from tests.helpers.runs import SAMPLE, files_of, ordinary

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


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return files_of(sample(ordinary(), tmp_path_factory.mktemp("runs") / "whole", **SAMPLE).path / "samples.zarr")


def pids_of(workers: Workers) -> list[int]:
    """The processes of a cluster's workers."""
    cluster: Any = workers.pool._cluster  # type: ignore[attr-defined]
    nannies = [nanny.process for nanny in cluster.workers.values()]
    return [process.pid for process in nannies if process is not None and process.pid]


def in_random_places(place: pathlib.Path, count: int, undisturbed: dict[str, str], seed: int) -> None:
    """So many runs on one cluster, a worker killed in each."""
    chance = random.Random(seed)
    with Workers("local", n_workers=2) as workers:
        for number in range(count):
            killer = Killer(lambda: pids_of(workers), chance, events=15)
            run = sample(ordinary(), place / str(number), scheduler=workers, progress=killer, **SAMPLE)
            assert files_of(run.path / "samples.zarr") == undisturbed
            assert sorted(path.name for path in run.path.iterdir()) == FILES


FILES = ["model.safetensors", "run.json", "run.lock", "run.log", "samples.zarr"]


@pytest.mark.slow
def test_workers_killed_in_twenty_random_places(tmp_path: pathlib.Path, undisturbed: dict[str, str]) -> None:
    in_random_places(tmp_path, 20, undisturbed, seed=20)


@pytest.mark.slow
def test_workers_killed_while_chains_are_on_a_ladder(tmp_path: pathlib.Path) -> None:
    rows = (np.random.default_rng(0).random((60, 20)) < 0.4).astype("float32")
    model = RBM(21, n_iter=3, training="ptt", learning_rate=0.2, random_state=0).fit(rows)
    weigh = {
        "n_chains": 24,
        "n_temperatures": 30,
        "ladder_steps": 80,
        "chunks": 8,
        "checkpoint_every": 6,
        "random_state": 5,
    }
    sampled = files_of(sample(model, tmp_path / "sampled", **SAMPLE).path / "samples.zarr")
    weighed = files_of(evaluate(model, tmp_path / "weighed", **weigh).path / "evaluation.zarr")
    chance = random.Random(4)
    with Workers("local", n_workers=2) as workers:
        for number in range(4):
            killer = Killer(lambda: pids_of(workers), chance, events=15)
            run = sample(model, tmp_path / f"s{number}", scheduler=workers, progress=killer, **SAMPLE)
            assert files_of(run.path / "samples.zarr") == sampled
            killer = Killer(lambda: pids_of(workers), chance, events=40)
            run = evaluate(model, tmp_path / f"e{number}", scheduler=workers, progress=killer, **weigh)
            assert files_of(run.path / "evaluation.zarr") == weighed


class Deadly(Job):
    """A job whose every task kills its worker."""

    part = "chains"
    n_segments = 1

    @property
    def blocks(self) -> list[Block]:
        return blocks_of(2, 2)

    def steps(self, block: Any, segment: int) -> int:
        return 1

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
