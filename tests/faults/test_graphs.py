"""Chains on graphs on workers that are really killed: the files of an undisturbed run, byte for byte."""

from __future__ import annotations

import pathlib
import random
import signal
from typing import Any

import pytest

from nbm_xp.graphs import GraphMachine, edwards_anderson, random_regular
from nbm_xp.runs import Workers, resume, sample_graph
from nbm_xp.runs.graph_job import GRAPH
from tests.faults.test_killed_workers import Killer, pids_of
from tests.helpers.runs import files_of, program

pytest.importorskip("distributed")
pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count

CASES: dict[str, tuple[GraphMachine, dict[str, Any], int]] = {
    "web": (
        GraphMachine(random_regular(120, 3, random_state=1), fields=0.1),
        {"n_chains": 66, "n_sweeps": 4, "shards": 3, "clamp": {3: 1, 70: -1}},
        50,
    ),
    "glass": (
        GraphMachine(edwards_anderson((24, 20), random_state=1)),
        {"n_chains": 2, "n_sweeps": 24, "chunks": 10, "checkpoint_every": 3},
        80,
    ),
}


def sampled(name: str, place: pathlib.Path, **how: Any) -> pathlib.Path:
    machine, asked, _ = CASES[name]
    return sample_graph(machine, place, beta=0.8, random_state=5, **asked, **how).path / GRAPH


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_workers_killed_in_random_places(name: str, tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sampled(name, tmp_path / "whole"))
    chance, killed = random.Random(6), 0
    with Workers("local", n_workers=2) as workers:
        for number in range(4):
            killer = Killer(lambda: pids_of(workers), chance, events=CASES[name][2])
            found = sampled(name, tmp_path / str(number), scheduler=workers, progress=killer)
            killed += killer.killed
            assert files_of(found) == undisturbed
    assert killed


@pytest.mark.parametrize("name", ["web", pytest.param("glass", marks=pytest.mark.slow)])
def test_a_killed_run_goes_on(name: str, tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sampled(name, tmp_path / "whole"))
    source = (
        "import os, pathlib, signal\n"
        "from tests.faults.test_graphs import sampled\n"
        "def kill(done, total):\n"
        "    if done > 0.6 * total:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sampled({name!r}, pathlib.Path({str(tmp_path / 'run')!r}), progress=kill)\n"
    )
    killed = program(source)
    killed.communicate(timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "run" / GRAPH).exists()
    assert files_of(resume(tmp_path / "run").path / GRAPH) == undisturbed


@pytest.mark.slow
def test_a_billion_spins_take_less_than_four_gigabytes(tmp_path: pathlib.Path) -> None:
    source = (
        "import resource\n"
        "from nbm_xp.graphs import GraphMachine, lattice\n"
        "from nbm_xp.runs import Workers, open_dataset, projected, sample_graph\n"
        "machine = GraphMachine(lattice((32768, 30720)))\n"
        "print(projected(machine, 4096, n_workers=2).memory)\n"
        f"run = sample_graph(machine, {str(tmp_path / 'run')!r}, n_sweeps=2, beta=0.44, chunks=4096,\n"
        "    scheduler=Workers(n_workers=2))\n"
        "energy, second = open_dataset(run.path)['energy'].values[0]\n"
        "print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "print(0 > energy > second > -2)\n"
    )
    said, failed = program(source).communicate(timeout=3600)
    memory, taken, cooled = said.split()
    assert int(taken) < 1.2 * int(memory) < 4e9, failed
    assert cooled == "True"
