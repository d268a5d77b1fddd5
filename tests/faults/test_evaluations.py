"""Evaluations of a deep machine, in reverse and of rows too, disturbed: their files are those of an undisturbed one."""

from __future__ import annotations

import os
import pathlib
import random
import signal
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM
from nbm_xp.runs import Workers, evaluate, read_evaluation, resume
from tests.helpers.runs import deep, files_of, program

pytest.importorskip("zarr")

ASKED: dict[str, Any] = {
    "n_chains": 24,
    "n_temperatures": 30,
    "reverse": True,
    "n_sweeps": 20,
    "chunks": 8,
    "checkpoint_every": 6,
    "random_state": 5,
}
TOTAL = 24 * (29 + 20 + 29) + 40
"""Steps of chains, and rows."""

CLIENT = """
import sys
from nbm_xp.runs import evaluate
from tests.faults.test_evaluations import ASKED, large, rows

def tell(done, total):
    print(done, flush=True)
    if done > {after}:
        sys.stdin.readline()  # wait for what comes

if __name__ == "__main__":
    evaluate(large(), {place!r}, rows(), progress=tell, **ASKED)
"""


def large() -> DBM:
    """A machine whose chains in reverse begin with sweeps."""
    return deep((21, 25, 22), connections=[(0, 1), (0, 2), (1, 2)], scale=0.2)


def rows() -> Any:
    return (np.random.default_rng(1).random((40, 21)) < 0.4).astype("float32")


def found_in(place: pathlib.Path) -> dict[str, str]:
    return {name: digest for name, digest in files_of(place).items() if name.startswith("evaluation.")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return found_in(evaluate(large(), tmp_path_factory.mktemp("runs") / "whole", rows(), **ASKED).path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8], ids=["annealing", "sweeps", "reverse"])
def test_a_killed_client_s_evaluation_goes_on(
    tmp_path: pathlib.Path, undisturbed: dict[str, str], share: float
) -> None:
    after = int(share * TOTAL)
    client = program(CLIENT.format(place=os.fspath(tmp_path / "run"), after=after), stdin=-1)
    assert client.stdout is not None
    reported = 0
    while reported <= after:
        line = client.stdout.readline()
        assert line, client.communicate()[1]
        reported = int(line)
    os.kill(client.pid, signal.SIGKILL)
    client.communicate(timeout=300)
    assert client.returncode == -signal.SIGKILL
    told: list[tuple[int, int]] = []
    run = resume(tmp_path / "run", progress=lambda *done: told.append(done))
    assert reported <= max(done for done, _ in told[:3])  # each part says where it goes on
    assert told[-1] == (TOTAL, TOTAL)
    assert found_in(run.path) == undisturbed
    assert sorted(path.name for path in run.path.iterdir()) == FILES
    assert read_evaluation(run.path).lower_bound


FILES = ["evaluation.json", "evaluation.zarr", "model.safetensors", "rows.npy", "run.json", "run.lock", "run.log"]


@pytest.mark.slow
def test_workers_killed_in_random_places_of_evaluations(tmp_path: pathlib.Path, undisturbed: dict[str, str]) -> None:
    pytest.importorskip("distributed")
    chance = random.Random(7)
    with Workers("local", n_workers=2) as workers:
        cluster: Any = workers.pool._cluster  # type: ignore[attr-defined]
        for number in range(8):
            at, killed = chance.randrange(TOTAL * 9 // 10), []

            def kill(done: int, total: int, at: int = at, killed: list[int] = killed) -> None:
                pids = [nanny.process.pid for nanny in cluster.workers.values() if nanny.process is not None]
                if done >= at and not killed and any(pids):
                    killed.append(chance.choice([pid for pid in pids if pid]))
                    os.kill(killed[0], signal.SIGKILL)

            run = evaluate(large(), tmp_path / str(number), rows(), scheduler=workers, progress=kill, **ASKED)
            assert killed
            assert found_in(run.path) == undisturbed
            assert sorted(path.name for path in run.path.iterdir()) == FILES
