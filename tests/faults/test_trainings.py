"""Trainings whose process is ended, at whatever it is doing: they go on to the bytes of an undisturbed one."""

from __future__ import annotations

import os
import pathlib
import random
import signal
import time

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import resume, train
from nbm_xp.runs.training import MODEL
from tests.helpers.runs import program

ROWS = (np.random.default_rng(0).random((200, 16)) < 0.4).astype("float32")
CLIENT = """
from nbm_xp.runs import resume, train
from tests.faults.test_trainings import ROWS, learner
import os

if __name__ == "__main__":
    print("begun", flush=True)
    if os.path.exists({place!r}):
        resume({place!r})
    else:
        train(learner({way!r}), {place!r}, ROWS, checkpoint_every=1)
"""


def learner(way: str) -> RBM:
    return RBM(8, n_iter=40, training=way, random_state=2)


@pytest.mark.parametrize(
    ("way", "number"),
    [
        ("pcd", signal.SIGKILL),
        pytest.param("ptt", signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param("pcd", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("ptt", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_a_training_that_is_ended_again_and_again(tmp_path: pathlib.Path, way: str, number: int) -> None:
    chance, ended = random.Random(3), 0
    for _ in range(2):
        client = program(CLIENT.format(place=os.fspath(tmp_path / "run"), way=way))
        assert client.stdout is not None
        assert client.stdout.readline() == "begun\n"
        deadline = time.monotonic() + 300
        while not (tmp_path / "run" / "checkpoints" / MODEL).exists() and time.monotonic() < deadline:
            if client.poll() is not None:
                break
            time.sleep(0.01)
        time.sleep(chance.random() * 0.3)
        os.kill(client.pid, number)
        client.communicate(timeout=300)
        ended += client.returncode != 0
    assert ended
    run = resume(tmp_path / "run")
    whole = train(learner(way), tmp_path / "whole", ROWS)
    assert (run.path / MODEL).read_bytes() == (whole.path / MODEL).read_bytes()
    assert not list(run.path.rglob("*.unfinished*"))
