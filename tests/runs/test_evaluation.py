"""Evaluation as a run: right, the same however it is computed, and gone on with.

Equal to the last bit: the files, for any scheduler, number of workers and `checkpoint_every`, and after any fault; and,
of rows that a block holds, 4,096, what `free_energy` of the model in memory gives for them. Rows of several blocks in
memory at once agree to rounding.
"""

from __future__ import annotations

import pathlib
from dataclasses import astuple
from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM, missing
from nbm_xp.runs import Workers, evaluate, evaluation_jobs, read_evaluation, read_result
from nbm_xp.runs.inputs import rows_of
from nbm_xp.runs.job import one_thread
from nbm_xp.runs.store import open_arrays
from tests.helpers.runs import QUALITY, deep, ordinary, results_of

pytest.importorskip("zarr")

ROWS = (np.random.default_rng(1).random((50, 20)) < 0.4).astype("float32")
ASKED: dict[str, Any] = {"n_chains": 60, "n_temperatures": 40, "chunks": 30, "checkpoint_every": 15, "random_state": 3}

SKIPPING = [(0, 1), (0, 2), (1, 2)]


def gaussian(kind: type[RBM | DBM]) -> Any:
    rng = np.random.default_rng(2)
    weights, hidden = rng.normal(0, 0.3, (6, 20)), rng.normal(size=6)
    if kind is RBM:
        return RBM.from_parameters(weights, hidden, np.zeros(20), visible="gaussian")
    more = [rng.normal(size=(6, 4)), np.zeros(4)]
    return DBM.from_parameters([weights.T, more[0]], [np.zeros(20), hidden, more[1]], visible="gaussian")


def learnt() -> DBM:
    return DBM([20, 6, 5], 0.1, n_iter=2, batch_size=10, random_state=1).fit(ROWS)


MACHINES = {
    "rbm": ordinary, "gaussian rbm": lambda: gaussian(RBM), "stack": lambda: deep((20, 6, 5)),
    "four layers": lambda: deep((20, 6, 5, 4)), "skip connection": lambda: deep((20, 6, 5), connections=SKIPPING),
    "two tops": lambda: deep((20, 6, 5), connections=[(0, 1), (0, 2)]), "gaussian stack": lambda: gaussian(DBM),
    "centred and learnt": learnt,
}  # fmt: skip


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.at_night("four layers", "two tops", "gaussian stack")
def test_rows_are_weighed_as_in_memory(tmp_path: pathlib.Path, name: str) -> None:
    model, rows = MACHINES[name](), ROWS.copy()
    if name in ("rbm", "stack"):
        rows[::2, ::3] = np.nan
    run = evaluate(model, tmp_path / "run", rows, reverse=True, **ASKED)
    found = read_evaluation(run.path)
    with one_thread():
        wanted = model.free_energy(rows.astype(str(model.state_.parameters.dtype)))
    energies = open_arrays(run.path / "evaluation.zarr")["free_energy"][:]
    np.testing.assert_array_equal(energies, wanted)
    assert found.mean_log_likelihood == -wanted.astype("float64").mean() - found.log_z
    assert found.lower_bound == (name not in ("rbm", "gaussian rbm", "two tops"))
    exact = model.log_partition()
    for estimate in (found.ais, found.reverse):
        assert estimate is not None and estimate.log_z_low < exact < estimate.log_z_high
        assert estimate.log_weights.shape == (60,)
    likelihoods = model.log_likelihood(rows, exact)
    assert found.log_z == found.exact == exact
    assert found.mean_log_likelihood == pytest.approx(float(likelihoods.mean()), abs=1e-4)
    assert found.mean_log_likelihood_low == found.mean_log_likelihood == found.mean_log_likelihood_high
    assert found.standard_error == pytest.approx(likelihoods.std(ddof=1) / np.sqrt(50), rel=1e-4) and found.n_rows == 50


def test_rows_of_several_blocks_agree_with_those_at_once(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal to the last bit in parts of a block's length, to rounding at once; incomplete rows to the last bit."""
    model = deep((8, 5, 4))
    rows = (np.random.default_rng(5).random((9000, 8)) < 0.4).astype("float32")
    run = evaluate(model, tmp_path / "run", rows, log_z=0.0)
    energies = open_arrays(run.path / "evaluation.zarr")["free_energy"][:]
    with one_thread():
        parts = [model.free_energy(rows[first : first + 4096]) for first in range(0, 9000, 4096)]
    np.testing.assert_array_equal(energies, np.concatenate(parts))
    np.testing.assert_allclose(energies, model.free_energy(rows), rtol=1e-5)
    monkeypatch.setattr(missing, "_MOST_STATES", 0)
    monkeypatch.setattr(evaluation_jobs, "_ROWS_IN_A_BLOCK", 128)
    same = np.repeat(np.where(np.arange(8) < 4, np.nan, rows[:1]), 300, axis=0)
    run = evaluate(model, tmp_path / "incomplete", same, log_z=0.0)
    energies = open_arrays(run.path / "evaluation.zarr")["free_energy"][:]
    with one_thread():
        np.testing.assert_array_equal(energies, model.free_energy(same))
    assert len(np.unique(energies)) > 250


def test_chains_in_reverse_of_a_large_model_go_through_sweeps_first(tmp_path: pathlib.Path) -> None:
    """A machine whose units have no connections to speak of: chains are where they are to be after a sweep."""
    model = deep((30, 25, 21), scale=1e-6)
    exact = float(sum(np.logaddexp(0, bias).sum() for bias in model.intercepts_))
    asked = ASKED | {
        "reverse": True, "n_sweeps": 30, "n_chains": 100, "n_temperatures": 8, "chunks": 50, "checkpoint_every": 4,
    }  # fmt: skip
    run = evaluate(model, tmp_path / "run", **asked)
    assert run.configuration["reverse"] == "chains"
    found = read_evaluation(run.path)
    assert found.reverse is not None and found.reverse.log_z_low < exact < found.reverse.log_z_high
    # Chains that have not left where they start from, the base rate, are those of no state of the model.
    not_moved = read_evaluation(evaluate(model, tmp_path / "not", **asked | {"n_sweeps": 0}).path).reverse
    assert not_moved is not None and not_moved.log_z_high < exact
    asked |= {"scheduler": Workers(n_workers=1), "checkpoint_every": 3}
    other = evaluate(model, tmp_path / "other", **asked)
    assert results_of(other.path) == results_of(run.path)


def test_log_z_may_be_known_and_rows_left_out(tmp_path: pathlib.Path) -> None:
    model = ordinary()
    known = model.log_partition()
    estimate = model.ais(20, 20, random_state=0)
    assert read_evaluation(evaluate(model, tmp_path / "other", ROWS, log_z=estimate).path).log_z == estimate.log_z
    found = read_evaluation(evaluate(model, tmp_path / "none", **ASKED).path)
    assert (found.n_rows, found.mean_log_likelihood) == (0, None) and found.ais is not None
    found = read_evaluation(evaluate(model, tmp_path / "run", ROWS, log_z=known).path)
    assert (found.ais, found.log_z) == (None, known)
    assert found.mean_log_likelihood == pytest.approx(model.log_likelihood(ROWS).mean(), abs=1e-4)
    assert found.mean_log_likelihood_low == found.mean_log_likelihood_high == found.mean_log_likelihood


@pytest.mark.parametrize("name", ["rbm", "gaussian rbm", "stack"])
def test_energies_and_draws_are_those_in_memory(tmp_path: pathlib.Path, name: str) -> None:
    model = MACHINES[name]()
    place = evaluate(model, tmp_path / "run", ROWS, n_sweeps=30, **QUALITY, **ASKED).path
    found, told = read_evaluation(place), read_result(place)
    wanted = model.thermodynamics(60, 40, random_state=3)
    np.testing.assert_allclose(astuple(found.thermodynamics), astuple(wanted), rtol=1e-4, atol=1e-4)
    assert told["thermodynamics"]["entropy"] == found.thermodynamics.entropy[-1]
    draws = model.sample(60, 30, random_state=3)[:50]
    assert found.adversarial_accuracy == model.adversarial_accuracy(ROWS, draws)
    assert told["adversarial_accuracy"] == vars(found.adversarial_accuracy)


@pytest.mark.parametrize("model", [ordinary, lambda: deep((20, 9, 7))], ids=["rbm", "dbm"])
@pytest.mark.at_night("rbm")
def test_it_is_the_same_however_it_is_computed(tmp_path: pathlib.Path, model: Any) -> None:
    whole = evaluate(model(), tmp_path / "whole", ROWS, reverse=True, **ASKED)
    lazy, how = dask.array.from_array(ROWS, chunks=(7, 20)), {"scheduler": Workers(n_workers=1), "checkpoint_every": 7}
    assert results_of(evaluate(model(), tmp_path / "run", lazy, reverse=True, **ASKED | how).path) == results_of(
        whole.path
    )


@pytest.mark.parametrize(
    ("rows", "change", "says"),
    [
        (ROWS[:, :3], {}, "X has 3 features, but the model is expecting 20"),
        (ROWS, {"reverse": True, "n_sweeps": -1}, "n_sweeps must be"), (ROWS[:0], {}, "X must have at least one row"),
        (ROWS * np.nan, {"adversarial_accuracy": True}, r"X must have values in \[0, 1\], got NaN"),
        (None, {"log_z": 1.0}, "X must be given where log_z is"),
        (ROWS, {"log_z": 1.0, "reverse": True}, "reverse must be left out where log_z is given"),
        (ROWS, {"log_z": 1.0, "thermodynamics": True}, "thermodynamics must be left out where log_z is given"),
        (ROWS[:1], {"adversarial_accuracy": True}, "X must be given, with at least two rows, where adversarial"),
        (ROWS, {"betas": [0.5, 1.0]}, "betas must rise from 0 to 1"), (ROWS, {"n_chains": 0}, "n_chains must be"),
        (ROWS, {"checkpoint_every": 0}, "checkpoint_every must be"),
        (ROWS, {"log_z": float("nan")}, "log_z must be a finite number, an AISEstimate or a LadderEstimate, got nan"),
        (ROWS, {"log_z": "many"}, "log_z must be a finite number, an AISEstimate or a LadderEstimate, got 'many'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(
    tmp_path: pathlib.Path, rows: Any, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        evaluate(ordinary(), tmp_path / "run", rows, **ASKED | change)
    assert list(tmp_path.iterdir()) == []


def test_what_is_damaged_is_refused(tmp_path: pathlib.Path) -> None:
    run = evaluate(ordinary(), tmp_path / "run", ROWS, **ASKED)
    result, weights = run.path / "evaluation.json", run.path / "evaluation.zarr" / "log_weight" / "c.1"
    told = result.read_text()
    result.write_text("{}")
    with pytest.raises(ValueError, match=r"evaluation\.json is damaged"):
        read_evaluation(run.path)
    result.write_text(told)
    weights.write_bytes(weights.read_bytes()[:3])
    with pytest.raises(ValueError, match="log_weight is damaged"):
        read_evaluation(run.path)
    weights.unlink()
    with pytest.raises(ValueError, match=r"log_weight is damaged: it lacks the chunk c\.1"):
        read_evaluation(run.path)
    (run.path / "rows.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ValueError, match=r"rows\.npy is damaged"):
        rows_of(run.path, 0, 5)
