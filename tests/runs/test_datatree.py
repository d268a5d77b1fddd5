"""Runs as DataTrees: all arrays, lazy, with coordinates and units; ArviZ plots them."""

from __future__ import annotations

import json
import pathlib

import dask
import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import open_datatree, read_evaluation, read_transition, store, train
from nbm_xp.runs.execution import kind_of
from tests.helpers.runs import RUNS
from tests.interop import require

pytest.importorskip("zarr")
pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.at_night("clamped", "web", "train in blocks")
def test_a_tree_holds_every_array_labelled_and_lazy(name: str, tmp_path: pathlib.Path) -> None:
    run = RUNS[name](tmp_path / "run")
    place = run.path / kind_of(run.kind).stored
    arrays = store.open_arrays(place) if kind_of(run.kind).stored else {}
    kept, tree = {name: array[...] for name, array in arrays.items()}, open_datatree(run.path)
    assert (tree.attrs["kind"], tree.attrs["seed"]) == (run.kind, str(run.seed))
    assert json.loads(tree.attrs["configuration"]) == run.configuration
    groups = [group.to_dataset() for group in tree.children.values()]
    for data in groups:
        assert set(data.dims) <= set(data.coords)
        assert all(array.attrs["units"] for array in data.variables.values() if array.dtype.kind in "biuf")
    found = {name: array for data in groups for name, array in data.data_vars.items()}
    assert len(found) == sum(map(len, groups)) and kept.keys() <= found.keys()
    if run.kind == "sample":
        model, draws = run.load_model(), kept["visible"].astype("float32")
        energies = model.free_energy(draws.reshape(-1, draws.shape[2])).reshape(draws.shape[:2])
        np.testing.assert_allclose(found["free_energy"].values, energies, rtol=1e-5)
    for name, values in kept.items():
        np.testing.assert_array_equal(found[name].values, values)
        next((place / name).glob("c*")).write_bytes(b"damaged")
    damaged = {name: array for data in open_datatree(run.path).children.values() for name, array in data.items()}
    for name in (*kept, *(["free_energy"] if run.kind == "sample" else [])):
        assert dask.is_dask_collection(damaged[name])
        with pytest.raises(ValueError, match="is damaged"):
            damaged[name].compute()


def test_a_tree_has_the_numbers_that_other_functions_read(tmp_path: pathlib.Path) -> None:
    evaluation = read_evaluation(RUNS["weighed on the ladder"](tmp_path / "evaluation").path)
    found = open_datatree(tmp_path / "evaluation")["evaluate"]
    log_z = dict(zip(found["estimate"].values, found["log_z"].values, strict=True))
    assert log_z == {"best": evaluation.log_z} | {n: vars(evaluation)[n].log_z for n in ("ais", "reverse", "ladder")}
    measured = read_transition(RUNS["transition"](tmp_path / "lattice").path)["measured"]
    energy = open_datatree(tmp_path / "lattice")["transition/energy"]
    assert energy.sel(temperature=2.5).item() == measured[1]["energy"]
    machine = RBM(3, n_iter=4, training="ptt", diagnostics=True, random_state=0)
    learnt = train(machine, tmp_path / "learnt", np.eye(6, dtype="float32")).path
    curve, last = open_datatree(learnt)["train"], json.loads((learnt / "result.json").read_text())["diagnostics"]
    assert curve["log_likelihood"].sel(epoch=last["epoch"]).item() == last["log_likelihood"]
    assert curve["acceptance"].values[-1].tolist() == last["acceptance"]


@pytest.mark.parametrize("name", ["sample", "glass"])
def test_arviz_plots_and_summarises_it(name: str, tmp_path: pathlib.Path) -> None:
    for package in ("arviz_stats", "arviz_plots"):
        require(package)
    import arviz_plots
    import arviz_stats

    tree = open_datatree(RUNS[name](tmp_path / "run").path)
    tree = tree.isel(unit=[3, 17], hidden_1_unit=[0], missing_dims="ignore").compute()
    for group in tree.children.keys() & {"posterior", "sample_stats"}:
        assert len(arviz_stats.summary(tree, group=group)) == sum(array[0, 0].size for array in tree[group].values())
        plotted = arviz_plots.plot_trace_dist(tree, group=group, backend="none")
        assert set(plotted.viz["trace"].data_vars) == set(tree[group].data_vars)
