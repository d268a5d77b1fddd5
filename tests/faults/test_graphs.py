"""Any graph's chains on workers that are really killed: the files of an undisturbed run, byte for byte."""

from __future__ import annotations

import pathlib
import random
import signal
from typing import Any

import pytest

from nbm_xp.graphs import GraphMachine, random_regular
from nbm_xp.runs import Workers, resume, sample_graph
from nbm_xp.runs.graph_job import GRAPH
from tests.faults.test_killed_workers import Killer, pids_of
from tests.helpers.runs import files_of, program

pytest.importorskip("distributed")
pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count

WEB = GraphMachine(random_regular(120, 3, random_state=1), fields=0.1)
ASKED: dict[str, Any] = {
    "n_chains": 66,
    "n_sweeps": 4,
    "beta": 0.8,
    "shards": 3,
    "clamp": {3: 1, 70: -1},
    "random_state": 5,
}


@pytest.mark.slow
def test_workers_killed_in_random_places(tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sample_graph(WEB, tmp_path / "whole", **ASKED).path / GRAPH)
    chance = random.Random(6)
    with Workers("local", n_workers=2) as workers:
        for number in range(4):
            killer = Killer(lambda: pids_of(workers), chance, events=50)
            run = sample_graph(WEB, tmp_path / str(number), scheduler=workers, progress=killer, **ASKED)
            assert killer.killed == 1
            assert files_of(run.path / GRAPH) == undisturbed


def test_a_killed_run_goes_on(tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sample_graph(WEB, tmp_path / "whole", **ASKED).path / GRAPH)
    source = (
        "import os, signal\n"
        "from nbm_xp.runs import sample_graph\n"
        "from tests.faults.test_graphs import ASKED, WEB\n"
        "def kill(done, total):\n"
        "    if done > 0.6 * total:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sample_graph(WEB, {str(tmp_path / 'run')!r}, progress=kill, **ASKED)\n"
    )
    killed = program(source)
    killed.communicate(timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "run" / GRAPH).exists()
    assert files_of(resume(tmp_path / "run").path / GRAPH) == undisturbed
