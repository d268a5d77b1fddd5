"""Lattices on workers that are really killed: the files of an undisturbed run, byte for byte."""

from __future__ import annotations

import pathlib
import random
import signal
from typing import Any

import pytest

from nbm_xp.graphs import GraphMachine, edwards_anderson
from nbm_xp.runs import Workers, resume, sample_lattice
from nbm_xp.runs.graph_job import LATTICE
from tests.faults.test_killed_workers import Killer, pids_of
from tests.helpers.runs import files_of, program

pytest.importorskip("distributed")
pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count

GLASS = GraphMachine(edwards_anderson((24, 20), random_state=1))
ASKED: dict[str, Any] = {
    "n_chains": 2,
    "n_sweeps": 24,
    "beta": 0.8,
    "chunks": 10,
    "checkpoint_every": 3,
    "random_state": 5,
}


@pytest.mark.slow
def test_workers_killed_in_random_places(tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sample_lattice(GLASS, tmp_path / "whole", **ASKED).path / LATTICE)
    chance = random.Random(6)
    with Workers("local", n_workers=2) as workers:
        for number in range(4):
            killer = Killer(lambda: pids_of(workers), chance, events=80)
            run = sample_lattice(GLASS, tmp_path / str(number), scheduler=workers, progress=killer, **ASKED)
            assert files_of(run.path / LATTICE) == undisturbed


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: pathlib.Path) -> None:
    undisturbed = files_of(sample_lattice(GLASS, tmp_path / "whole", **ASKED).path / LATTICE)
    source = (
        "import os, signal\n"
        "from nbm_xp.runs import sample_lattice\n"
        "from tests.faults.test_lattices import ASKED, GLASS\n"
        "def kill(done, total):\n"
        "    if done > total / 2:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sample_lattice(GLASS, {str(tmp_path / 'run')!r}, progress=kill, **ASKED)\n"
    )
    killed = program(source)
    killed.communicate(timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert files_of(resume(tmp_path / "run").path / LATTICE) == undisturbed


@pytest.mark.slow
def test_a_billion_spins_take_less_than_four_gigabytes(tmp_path: pathlib.Path) -> None:
    source = (
        "import resource\n"
        "from nbm_xp.graphs import GraphMachine, lattice\n"
        "from nbm_xp.runs import Workers, open_dataset, projected, sample_lattice\n"
        "machine = GraphMachine(lattice((32768, 30720)))\n"
        "print(projected(machine, 4096, n_workers=2).memory)\n"
        f"run = sample_lattice(machine, {str(tmp_path / 'run')!r}, n_sweeps=2, beta=0.44, chunks=4096,\n"
        "    scheduler=Workers(n_workers=2))\n"
        "energy, second = open_dataset(run.path)['energy'].values[0]\n"
        "print(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        "print(0 > energy > second > -2)\n"
    )
    said, failed = program(source).communicate(timeout=3600)
    memory, taken, cooled = said.split()
    assert int(taken) < 1.2 * int(memory) < 4e9, failed
    assert cooled == "True"
