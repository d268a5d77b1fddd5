"""Any graph's chains as runs: the states of the undivided ones, the same files for all shards, after interruptions."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine
from nbm_xp.runs import RunError, Workers, graph_job, open_dataset, projected, resume, sample_graph
from nbm_xp.runs.graph_job import GRAPH
from tests.graphs.test_shards import ASKED, MACHINES
from tests.helpers.runs import files_of
from tests.runs.test_lattices import BrokenOffError, interrupting, late

pytest.importorskip("zarr")
pytest.importorskip("xarray")

ASK: dict[str, Any] = ASKED | {"random_state": 5}


def drawn(run: pathlib.Path) -> dict[str, bytes]:
    """The files without headers, which say what the run was asked for."""
    return {name: value for name, value in files_of(run / GRAPH).items() if not name.endswith("zarr.json")}


@pytest.mark.parametrize("name", ["any neighbours", "Potts", "an odd lattice", "apart"])
def test_runs_have_the_states_of_undivided_chains(name: str, tmp_path: pathlib.Path) -> None:
    machine = MACHINES[name]
    whole = machine.sample(**ASKED)
    run = sample_graph(machine, tmp_path / "run", **ASK, shards=3)
    found = open_dataset(run.path)
    for measured in ("state", "energy", "magnetisation", "sweep"):
        assert (found[measured].values == whole[measured].values).all(), measured
    assert found["state"].dims == ("chain", "unit")
    assert not (run.path / "checkpoints").exists()


def test_overlaps_are_measured_in_runs(tmp_path: pathlib.Path) -> None:
    machine, asked = MACHINES["three neighbours"], {"n_chains": 66, "beta": 0.5, "n_sweeps": 3, "observe": "overlap"}
    whole = machine.sample(**asked, random_state=5)
    found = open_dataset(sample_graph(machine, tmp_path / "run", **asked, random_state=5, shards=3).path)
    assert found["overlap"].dims == ("pair", "draw")
    assert (found["overlap"].values == whole["overlap"].values).all()
    assert set(found.data_vars) == {"state", "overlap"}
    assert len(set(whole["overlap"].values[:, -1].tolist())) > 3


@pytest.mark.parametrize("asked", [{"observe": []}, {"thin": 9}, {"thin": 9, "observe": "overlap"}], ids=str)
def test_states_are_all_there_is_where_nothing_is_measured(asked: dict[str, Any], tmp_path: pathlib.Path) -> None:
    machine = MACHINES["three neighbours"]
    asked |= {"n_chains": 2, "n_sweeps": 2, "random_state": 1}
    run = sample_graph(machine, tmp_path / "run", **asked, shards=2, scheduler=Workers(n_workers=1))
    found = open_dataset(run.path)
    assert set(found.variables) == {"state", "chain"}
    whole = machine.sample(**asked)
    assert (found["state"].values == whole["state"].values).all()


def test_held_units_are_held_in_runs(tmp_path: pathlib.Path) -> None:
    machine, clamp = MACHINES["three neighbours"], {3: 1, 100: -1, 199: -1}
    whole = machine.sample(**ASKED, clamp=clamp)
    found = open_dataset(sample_graph(machine, tmp_path / "run", **ASK, clamp=clamp, shards=3).path)
    assert (found["state"].values == whole["state"].values).all()
    assert (found["energy"].values == whole["energy"].values).all()
    assert set(found["state"].values[:, 199].tolist()) == {-1}


def test_files_are_the_same_for_all_shards(tmp_path: pathlib.Path) -> None:
    machine, found = MACHINES["three neighbours"], []
    asked = ASK | {"n_chains": 67, "beta": 0.5, "n_sweeps": 2}
    for number, shards in enumerate([1, 3, np.arange(200) % 5]):
        run = sample_graph(
            machine, tmp_path / str(number), **asked, shards=shards, scheduler=Workers(n_workers=1 + number % 2)
        )
        found.append(drawn(run.path))
    assert len(found[0]) > 67
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("share", "rule"), [(0.0, "heat_bath"), (0.13, "metropolis"), (0.7, "metropolis")])
def test_what_was_broken_off_goes_on_with_the_same_bytes(
    share: float, rule: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ASK | {"shards": 3, "rule": rule}
    whole = sample_graph(MACHINES["any neighbours"], tmp_path / "whole", **asked | {"shards": 1})
    monkeypatch.setattr(graph_job, "_cache", graph_job._Cache())
    with pytest.raises(BrokenOffError):
        sample_graph(MACHINES["any neighbours"], tmp_path / "run", **asked, progress=interrupting(share))
    with pytest.raises(RunError, match="is not finished: resume it by"):
        open_dataset(tmp_path / "run")
    monkeypatch.setattr(graph_job, "_cache", graph_job._Cache())  # as in another process
    run = resume(tmp_path / "run", scheduler=Workers(n_workers=1))
    assert drawn(run.path) == drawn(whole.path)
    assert drawn(resume(run.path).path) == drawn(whole.path)


def test_a_late_worker_changes_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ASK | {"shards": 3, "scheduler": Workers(n_workers=1)}
    machine = MACHINES["three neighbours"]
    whole = sample_graph(machine, tmp_path / "whole", **asked)
    with pytest.raises(BrokenOffError):
        sample_graph(machine, tmp_path / "run", **asked, progress=late(tmp_path / "run", 0.3, 0.8))
    monkeypatch.setattr(graph_job, "_cache", graph_job._Cache())
    assert drawn(resume(tmp_path / "run", scheduler=Workers(n_workers=1)).path) == drawn(whole.path)


@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
def test_states_are_read_from_disk_where_none_are_at_hand(
    rule: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = MACHINES["Potts"]
    monkeypatch.setattr(graph_job, "AT_HAND", 0)
    run = sample_graph(machine, tmp_path / "run", **ASK, shards=4, rule=rule)
    whole = machine.sample(**ASKED, rule=rule)
    assert (open_dataset(run.path)["state"].values == whole["state"].values).all()
    assert (open_dataset(run.path)["energy"].values == whole["energy"].values).all()


def test_two_workers_write_the_same_files(tmp_path: pathlib.Path, two_workers: Any) -> None:
    machine = MACHINES["three neighbours"]
    whole = sample_graph(machine, tmp_path / "whole", **ASK, shards=2, scheduler=Workers(n_workers=1))
    run = sample_graph(machine, tmp_path / "run", **ASK, shards=2, scheduler=two_workers.scheduler.address)
    assert files_of(run.path / GRAPH) == files_of(whole.path / GRAPH)


def test_what_is_needed_grows_with_what_is_asked() -> None:
    machine = MACHINES["three neighbours"]
    one, many = (projected(machine, shards=4, n_chains=chains, n_workers=1) for chains in (1, 640))
    assert one.memory < many.memory
    assert one.disk < many.disk


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"shards": 0}, "shards must be"),
        ({"rule": "wolff"}, "rule must be one of heat_bath, metropolis where there are shards"),
        ({"beta": [1.0, 2.0]}, "beta must be one number or of shape"),
        ({"n_sweeps": 0}, "n_sweeps must be"),
        ({"observe": "overlap", "n_chains": 3}, "observe: overlaps are those of two chains each"),
        ({"observe": 7}, "observe must be names, got 7"),
        ({"observe": "means"}, "observe must be of energy, magnetisation, abs_magnetisation, overlap, got 'means'"),
    ],
)
def test_what_cannot_be_run_is_refused(asked: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=message):
        sample_graph(GraphMachine([[0, 1]]), tmp_path / "run", **asked)
    assert not (tmp_path / "run").exists()
