"""Lattices as runs: the states of the undivided chains, the same files whoever computes them, through interruptions."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, edwards_anderson, lattice
from nbm_xp.runs import RunError, Workers, graph_runs, open_dataset, projected, resume, sample_lattice
from nbm_xp.runs.graph_job import LATTICE
from tests.helpers.runs import files_of

pytest.importorskip("zarr")
pytest.importorskip("xarray")

MACHINES = {
    "alike": GraphMachine(lattice((12, 14))),
    "glass": GraphMachine(edwards_anderson((8, 6, 4), random_state=1), fields=0.3),
    "fields of each": GraphMachine(
        edwards_anderson((11, 9), "normal", False, random_state=1), fields=np.linspace(-1, 1, 99), units="binary"
    ),
    "Potts": GraphMachine(lattice((6, 8)), units=3, fields=[0.1, 0.0, 0.2]),
    "rings of odd length": GraphMachine(edwards_anderson((9, 7), random_state=1), units="categorical:3"),
}
ASKED: dict[str, Any] = {"n_chains": 2, "n_sweeps": 9, "burn_in": 2, "thin": 2, "beta": [0.4, 0.9]}


class BrokenOffError(Exception):
    pass


def interrupting(share: float) -> Any:
    def look(done: int, total: int) -> None:
        if done > share * total:
            raise BrokenOffError

    return look


def late(run: pathlib.Path, first: float, last: float) -> Any:
    """Break a run off, after a worker that was cut off before has written again what it had then."""
    kept = run.with_name("kept")

    def look(done: int, total: int) -> None:
        if done > first * total and not kept.exists():
            shutil.copytree(run / "checkpoints", kept)
        if done > last * total:
            shutil.copytree(kept, run / "checkpoints", dirs_exist_ok=True)
            raise BrokenOffError

    return look


@pytest.mark.parametrize("name", MACHINES)
def test_runs_have_the_states_of_undivided_chains(name: str, tmp_path: pathlib.Path) -> None:
    machine = MACHINES[name]
    whole = machine.sample(**ASKED, random_state=5)
    run = sample_lattice(machine, tmp_path / "run", **ASKED, chunks=4, checkpoint_every=2, random_state=5)
    found = open_dataset(run.path)
    assert (found["state"].values.ravel() == whole["state"].values.ravel()).all()
    for measured in ("energy", "magnetisation", "sweep"):
        assert (found[measured].values == whole[measured].values).all()
    assert found["energy"].dims == ("chain", "draw")
    assert not (run.path / "checkpoints").exists()


def test_held_units_are_held_in_runs(tmp_path: pathlib.Path) -> None:
    machine, asked = MACHINES["glass"], ASKED | {"clamp": {3: 1, 100: -1, 191: -1}}
    whole = machine.sample(**asked, random_state=5)
    with pytest.raises(BrokenOffError):
        sample_lattice(
            machine, tmp_path / "run", **asked, chunks=4, checkpoint_every=3, random_state=5, progress=interrupting(0.5)
        )  # fmt: skip
    found = open_dataset(resume(tmp_path / "run", scheduler=Workers(n_workers=1)).path)
    assert (found["state"].values.ravel() == whole["state"].values.ravel()).all()
    assert (found["energy"].values == whole["energy"].values).all()
    assert set(found["state"].values.reshape(2, -1)[:, 3].tolist()) == {1}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_what_was_broken_off_goes_on_with_the_same_bytes(share: float, tmp_path: pathlib.Path) -> None:
    machine = MACHINES["glass"]
    asked = ASKED | {"chunks": (4, 3, -1), "checkpoint_every": 2, "random_state": 5}
    whole = sample_lattice(machine, tmp_path / "whole", **asked)
    with pytest.raises(BrokenOffError):
        sample_lattice(machine, tmp_path / "run", **asked, progress=interrupting(share))
    with pytest.raises(RunError, match="is not finished: resume it by"):
        open_dataset(tmp_path / "run")
    run = resume(tmp_path / "run", scheduler=Workers(n_workers=1))
    assert files_of(run.path / LATTICE) == files_of(whole.path / LATTICE)
    assert files_of(resume(run.path).path / LATTICE) == files_of(whole.path / LATTICE)


def test_a_late_worker_changes_nothing(tmp_path: pathlib.Path) -> None:
    machine, asked = (
        MACHINES["glass"],
        ASKED | {"chunks": 4, "checkpoint_every": 1, "random_state": 5, "scheduler": Workers(n_workers=1)},
    )
    whole = sample_lattice(machine, tmp_path / "whole", **asked)
    with pytest.raises(BrokenOffError):
        sample_lattice(machine, tmp_path / "run", **asked, progress=late(tmp_path / "run", 0.3, 0.8))
    run = resume(tmp_path / "run", scheduler=Workers(n_workers=1))
    assert files_of(run.path / LATTICE) == files_of(whole.path / LATTICE)


def test_what_is_measured_lies_in_the_same_files_for_all_chunks(tmp_path: pathlib.Path) -> None:
    machine, found = MACHINES["alike"], []
    for number, (chunks, every) in enumerate([(-1, 11), (4, 1), ((12, 5), 3)]):
        how = {
            "chunks": chunks,
            "checkpoint_every": every,
            "scheduler": Workers(n_workers=1 + number),
        }
        run = sample_lattice(machine, tmp_path / str(number), **ASKED, **how, random_state=5)
        files = files_of(run.path / LATTICE)
        found.append({name: value for name, value in files.items() if "/c" in name and "state" not in name})
    assert len(found[0]) > 2
    assert found[0] == found[1] == found[2]


def test_what_neighbours_have_shown_must_be_there(tmp_path: pathlib.Path) -> None:
    asked = {
        "n_sweeps": 8,
        "chunks": 6,
        "checkpoint_every": 2,
        "random_state": 5,
        "scheduler": Workers(n_workers=1),
    }
    with pytest.raises(BrokenOffError):
        sample_lattice(MACHINES["alike"], tmp_path / "run", **asked, progress=interrupting(0.4))
    for file in (tmp_path / "run" / "checkpoints").glob("shown/*"):
        file.unlink()
    with pytest.raises(ValueError, match=r"shown is damaged: block \d+ shows nothing of segment"):
        resume(tmp_path / "run", scheduler=Workers(n_workers=1))


def test_what_is_needed_is_said_and_refused(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vast = GraphMachine(lattice((32768, 30720)))
    needed = projected(vast, 4096, n_workers=2)
    assert 1e9 < needed.disk < 2.1e9
    assert needed.memory < 1e9
    assert projected(vast, 4096, n_chains=4, n_workers=2).disk == 4 * needed.disk
    assert projected(vast, 16384, n_workers=2).memory > 4e9
    monkeypatch.setattr(graph_runs, "_memory", lambda: 4 * 10**9)
    with pytest.raises(RunError, match=r"will need .* and there are 4\.00 GB of memory: divide it into smaller blocks"):
        sample_lattice(vast, tmp_path / "run", n_sweeps=1, chunks=16384, scheduler=Workers(n_workers=2))
    with pytest.raises(RunError, match=r"will need .* GB of disk, and .* has .* GB left: nothing was begun"):
        sample_lattice(vast, tmp_path / "run", n_chains=10**5, n_sweeps=1, chunks=4096)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"chunks": (4, 4, 4)}, "chunks must be an int, or one for each of 2 axes"),
        ({"chunks": 0}, "chunks must be"),
        ({"chunks": ((5, 7), 14)}, "chunks must be"),
        ({"rule": "wolff"}, "rule must be one of"),
        ({"beta": [1.0, 2.0]}, "beta must be one number or of shape"),
        ({"n_sweeps": 0}, "n_sweeps must be"),
        ({"checkpoint_every": 0}, "checkpoint_every must be"),
    ],
)
def test_what_cannot_be_run_is_refused(asked: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=message):
        sample_lattice(MACHINES["alike"], tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()
