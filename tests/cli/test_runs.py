"""Sampling and weighing at the command line: runs on schedulers, broken off and gone on with; pictures of all of it."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("zarr")

from nbm_xp.boltzmann import DBM, RBM
from nbm_xp.runs import evaluate, open_samples, projected, sample
from tests.helpers.command import PNG, contents, ran, refused, run, started, told

SCANS = (np.random.default_rng(0).random((30, 9)) < 0.4).astype("float32")
M = ("--model", "model.safetensors")
CHAINS = ("sample", *M, "--out", "chains", "--n-chains", "10", "--n-draws", "12", "--chunks", "4", "--seed", "3")


@pytest.fixture(autouse=True)
def model(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> RBM:
    monkeypatch.chdir(tmp_path)
    np.save("scans.npy", SCANS)
    rbm = RBM(4, n_iter=20, learning_rate=0.1, random_state=0).fit(SCANS)
    rbm.save("model.safetensors")
    return rbm


def drawn(folder: str = "chains") -> Any:
    return open_samples(folder).compute()


# Sampling


def test_a_run_of_chains_keeps_all_draws_and_says_what_it_is() -> None:
    found = told(*CHAINS, "--thin", "3", "--burn-in", "5")
    assert drawn().shape == (10, 12, 9)
    asked = {"n_chains": 10, "n_draws": 12, "thin": 3, "burn_in": 5, "seed": 3, "layers": [0]}
    assert asked.items() <= {name: found[name] for name in asked}.items()
    about = json.loads(pathlib.Path("chains/run.json").read_text())
    assert (about["kind"], about["seed"], about["configuration"]["thin"]) == ("sample", 3, 3)
    assert "finished" in pathlib.Path("chains/run.log").read_text() and found["dashboard"] is None


def test_a_run_is_projected_for_a_model_and_for_one_that_does_not_exist(model: RBM) -> None:
    asked = {"n_chains": 10, "n_draws": 12, "chunks": 4, "thin": 2, "sweep_seconds": 0.5}
    options = [text for name, value in asked.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    assert told("project", *M, *options, "--json") == vars(projected(sample, model, **asked))
    found = told("project", "--layers", "9,4", *options, "--n-workers", "3", "--json")
    assert (found["tasks"], found["tasks_at_once"], found["core_hours"] * 3600) == (3, 3, pytest.approx(120))
    assert "--layers must be at least two numbers" in refused("project", "--layers", "9")
    assert "--layers is in place of --model" in refused("project", "--layers", "9,4", *M)
    assert not pathlib.Path("chains").exists()


@pytest.mark.slow
def test_a_cluster_gives_the_same_draws_and_tells_its_page() -> None:
    pytest.importorskip("distributed")
    ran(*CHAINS)
    where = ["--scheduler", "local", "--n-workers", "1", "--memory-limit", "1GB"]
    with started(*CHAINS, "--out", "cluster", *where, "--json") as process:
        answered, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    address = json.loads(answered)["dashboard"]
    assert address.startswith("http://") and said.startswith(f"dashboard: {address}\n")
    assert list(contents("chains/samples.zarr").values()) == list(contents("cluster/samples.zarr").values())


def test_a_finished_run_is_left_as_it_is() -> None:
    ran(*CHAINS, "--thin", "2")
    before = contents("chains/samples.zarr")
    assert "wrote chains/samples.zarr" in ran("resume", "chains")
    assert "`nbm-xp resume chains`, or name another directory" in refused(*CHAINS)
    assert "model.safetensors: a model, and no run's directory" in refused("resume", "model.safetensors")
    assert contents("chains/samples.zarr") == before


def test_the_same_seed_gives_the_same_numbers_as_in_memory(model: RBM) -> None:
    chains = ("--n-chains", "6", "--seed", "7")
    ran("sample", *M, *chains, "--n-sweeps", "5", "--out", "states.npy")
    ran("sample", *M, *chains, "--n-draws", "1", "--thin", "5", "--out", "drawn")
    states = model.sample(6, 5, random_state=7)
    np.testing.assert_array_equal(np.load("states.npy"), states)
    np.testing.assert_array_equal(open_samples("drawn")[:, 0], states)
    found = told("evaluate", *M, "--n-temperatures", "30", "--n-chains", "20", "--seed", "7")
    assert found["ais"]["log_z"] == model.ais(20, 30, random_state=7).log_z


# Weighing


def test_evaluate_finds_what_there_is_to_find(model: RBM) -> None:
    found = told("evaluate", *M, "--data", "scans.npy", "--n-temperatures", "400")
    assert found["exact"] == pytest.approx(model.log_partition()) and found["log_z"] == found["exact"]
    assert found["ais"]["n_temperatures"] == 400 and found["ais"]["log_z"] == pytest.approx(found["exact"], abs=0.1)
    assert found["mean_log_likelihood"] == pytest.approx(float(model.log_likelihood(SCANS).mean()), rel=1e-5)
    assert found["n_rows"] == 30
    again = told("evaluate", *M, "--data", "scans.npy", "--n-temperatures", "400")
    assert again | {"seconds": 0} == found | {"seconds": 0}
    shown = ran("evaluate", *M, "--n-temperatures", "50")
    assert "exact" in shown and " 50 " in shown


def test_a_model_too_large_to_enumerate_is_estimated_with_bounds() -> None:
    RBM(25, n_iter=2, random_state=0).fit((np.random.default_rng(0).random((40, 30)) < 0.4).astype("float32")).save(
        "large.safetensors"
    )
    found = told("evaluate", "--model", "large.safetensors", "--n-temperatures", "200")
    assert found["exact"] is None and found["log_z_low"] < found["log_z"] < found["log_z_high"]


def test_evaluate_takes_the_rows_to_test_with() -> None:
    np.savez("mnist.npz", **{"train.data": SCANS, "test.data": SCANS[:7], "valid.data": SCANS[:3]})
    assert told("evaluate", *M, "--data", "mnist.npz", "--n-temperatures", "9")["n_rows"] == 7
    assert told("evaluate", *M, "--data", "mnist.npz:valid.data", "--n-temperatures", "9")["n_rows"] == 3


# Pictures


def is_a_picture(path: str) -> bool:
    return pathlib.Path(path).read_bytes().startswith(PNG)


TRAINED = ("train", "--data", "scans.npy", "--n-components", "3", "--n-iter", "3")


@pytest.mark.parametrize(
    ("begin", "names"),
    [
        ((*TRAINED, "--held-out", "scans.npy"), ("filters", "samples", "diagnostics", "convergence")),
        ((*TRAINED, "--training", "ptt"), ("filters", "samples", "diagnostics", "convergence")),
        (CHAINS, ("filters", "samples", "traces")),
        (("evaluate", *M, "--n-chains", "20", "--n-temperatures", "30"), ("filters", "samples", "convergence")),
    ],
)
@pytest.mark.at_night("begin1")
def test_plot_draws_all_that_a_run_has_to_show(begin: tuple[str, ...], names: tuple[str, ...]) -> None:
    ran(*begin, "--out", "begun")
    os.rename("scans.npy", "moved.npy")
    os.mkdir("pictures")
    shown = told("plot", "begun", "--out", "pictures")["pictures"]
    assert shown == [f"pictures/{name}.png" for name in names] and all(map(is_a_picture, shown))


def test_plot_draws_models_whose_units_make_no_square() -> None:
    RBM(5, n_iter=1, random_state=0).fit(SCANS[:, :7]).save("seven.safetensors")
    ran("plot", "seven.safetensors", "--what", "filters")
    ran("plot", "seven.safetensors", "--what", "samples")
    assert is_a_picture("filters.png") and is_a_picture("samples.png")


# What is there


def test_info_tells_of_runs_and_models() -> None:
    ran("train", "--data", "scans.npy", "--n-components", "3", "--n-iter", "3", "--seed", "4")
    found = told("info", "run")
    assert (found["run"]["kind"], found["run"]["seed"]) == ("train", 4)
    assert found["configuration"]["params"]["n_components"] == 3 and found["result"]["epochs"] == 3
    assert (found["model"]["visible units"], found["model"]["hidden units"]) == (9, 3)
    assert "finished" in found["run"]["log"][-1]
    ran(*CHAINS)
    assert told("info", "chains")["run"]["kind"] == "sample"
    assert told("info", "model.safetensors")["model"]["hidden units"] == 4
    shown = ran("info", "run")
    assert all(word in shown for word in ("epochs", "hidden units", "learning_rate"))
    DBM([9, 4, 3], n_iter=1, random_state=0).fit(SCANS).save("deep.safetensors")
    assert told("info", "deep.safetensors")["model"]["hidden units"] == [4, 3]


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = run("train", "--data", "scans.npy", "--n-components", "3", "--n-iter", "2", "--json")
    assert result.exit_code == 0 and "training" in result.stderr and json.loads(result.stdout)["epochs"] == 2


def test_a_log_z_that_was_given_stays_given(model: RBM) -> None:
    evaluate(model, "weighed", SCANS, log_z=5.0, n_chains=300, random_state=0)
    pathlib.Path("weighed/evaluation.json").unlink()
    found = told("resume", "weighed")
    assert (found["given"], found["log_z"], found["ais"]) == (5.0, 5.0, None)
    assert found["mean_log_likelihood"] == pytest.approx(float(model.log_likelihood(SCANS, 5.0).mean()), abs=1e-4)
    assert "given" in ran("resume", "weighed")
    assert "log Z was given there" in refused("plot", "weighed", "--what", "convergence")


def test_sweeps_before_annealing_in_reverse_can_be_chosen() -> None:
    large = RBM.from_parameters(np.full((25, 30), 0.5), np.zeros(25), np.full(30, -3.0))
    large.save("large.safetensors")
    asked = ("evaluate", "--model", "large.safetensors", "--n-temperatures", "20", "--n-chains", "20")
    assert "--n-sweeps is for chains in reverse" in refused(*asked, "--n-sweeps", "3")
    few, many = (told(*asked, "--reverse", "--n-sweeps", steps)["reverse"] for steps in ("0", "50"))
    assert few["log_z"] != many["log_z"]


def test_draws_that_are_damaged_are_not_drawn() -> None:
    ran(*CHAINS)
    chunk = pathlib.Path("chains/samples.zarr/visible/c.0.0.0")
    chunk.write_bytes(chunk.read_bytes()[:20])
    for what in ("samples", "traces"):
        assert "visible is damaged" in refused("plot", "chains", "--what", what)
    chunk.unlink()
    assert "it lacks the chunk c.0.0.0" in refused("plot", "chains", "--what", "samples")


@pytest.mark.parametrize("name", ["fantasies.jpg", "fantasies.PNG"])
def test_the_name_of_another_kind_of_file_is_no_folder(name: str) -> None:
    words = f"--out must be a file (.npy, .npz, .png) or a folder for a run, got {name}"
    assert words in refused("sample", "--model", "model.safetensors", "--out", name)


@pytest.mark.parametrize("command", ["sample", "evaluate"])
def test_a_run_without_zarr_leaves_nothing_behind(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert "zarr" in refused(command, "--model", "model.safetensors", "--out", "place")
