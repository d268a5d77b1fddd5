"""Evaluation as a run: right, the same however it is computed, and gone on with."""

from __future__ import annotations

import pathlib
from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp.runs import RunError, evaluate, read_evaluation
from tests.runs import files_of, ordinary

pytest.importorskip("zarr")

ROWS = (np.random.default_rng(1).random((50, 20)) < 0.4).astype("float32")
ASKED: dict[str, Any] = {"n_runs": 60, "n_temperatures": 80, "chunks": 16, "checkpoint_every": 25, "seed": 3}
RESULTS = ("evaluation.json", "evaluation.zarr")


def results_of(place: pathlib.Path) -> dict[str, str]:
    return {name: digest for name, digest in files_of(place).items() if name.startswith(RESULTS)}


def test_it_agrees_with_the_exact_answer(tmp_path: pathlib.Path) -> None:
    model = ordinary()
    found = read_evaluation(evaluate(model, tmp_path / "run", ROWS, **ASKED).path)
    assert found.ais is not None
    assert found.ais.log_z_low < model.log_partition() < found.ais.log_z_high
    assert found.ais.log_weights.shape == (60,)
    exact = model.log_likelihood(ROWS)
    assert found.mean_log_likelihood == pytest.approx(exact.mean() + model.log_partition() - found.log_z, abs=1e-4)
    assert found.mean_log_likelihood_low < exact.mean() < found.mean_log_likelihood_high
    assert found.standard_error == pytest.approx(exact.std(ddof=1) / np.sqrt(50), rel=1e-4)
    assert found.n_rows == 50


def test_log_z_may_be_known(tmp_path: pathlib.Path) -> None:
    model = ordinary()
    known = model.log_partition()
    found = read_evaluation(evaluate(model, tmp_path / "run", ROWS, log_z=known).path)
    assert (found.ais, found.log_z) == (None, known)
    assert found.mean_log_likelihood == pytest.approx(model.log_likelihood(ROWS).mean(), abs=1e-4)
    assert found.mean_log_likelihood_low == found.mean_log_likelihood_high == found.mean_log_likelihood


def test_rows_may_be_left_out(tmp_path: pathlib.Path) -> None:
    found = read_evaluation(evaluate(ordinary(), tmp_path / "run", **ASKED).path)
    assert (found.n_rows, found.mean_log_likelihood) == (0, None)
    assert found.ais is not None


@pytest.mark.parametrize(
    "change", [{"n_workers": 1}, {"checkpoint_every": 7}, {"scheduler": "processes", "n_workers": 2}], ids=str
)
def test_it_is_the_same_however_it_is_computed(tmp_path: pathlib.Path, change: dict[str, Any]) -> None:
    whole = evaluate(ordinary(), tmp_path / "whole", ROWS, **ASKED)
    lazy = dask.array.from_array(ROWS, chunks=(7, 20))
    run = evaluate(ordinary(), tmp_path / "run", lazy, **ASKED | change)
    assert results_of(run.path) == results_of(whole.path)


def test_it_goes_on_where_it_was_left(tmp_path: pathlib.Path) -> None:
    whole = evaluate(ordinary(), tmp_path / "whole", ROWS, **ASKED)

    class LeftError(Exception):
        pass

    for part in (0.3, 0.6, 0.99):

        def leave(done: int, total: int, part: float = part) -> None:
            if done > part * total:
                raise LeftError

        with pytest.raises(LeftError):
            evaluate(ordinary(), tmp_path / "run", ROWS, resume=True, progress=leave, **ASKED)
        with pytest.raises(RunError, match="not finished"):
            read_evaluation(tmp_path / "run")
    run = evaluate(ordinary(), tmp_path / "run", ROWS, resume=True, **ASKED)
    assert results_of(run.path) == results_of(whole.path)
    assert read_evaluation(evaluate(ordinary(), run.path, ROWS, resume=True, **ASKED).path).n_rows == 50


def test_other_rows_are_refused(tmp_path: pathlib.Path) -> None:
    evaluate(ordinary(), tmp_path / "run", ROWS, **ASKED)
    with pytest.raises(ValueError, match=r"rows is '\w+' there, and '\w+' was asked for"):
        evaluate(ordinary(), tmp_path / "run", 1 - ROWS, resume=True, **ASKED)


@pytest.mark.parametrize(
    ("rows", "change", "says"),
    [
        (ROWS[:, :3], {}, "X has 3 features, but the model has 20"),
        (ROWS[:0], {}, "X must have at least one row"),
        (ROWS * 2, {}, r"X must have values in \[0, 1\]"),
        (None, {"log_z": 1.0}, "X must be given where log_z is"),
        (ROWS, {"n_runs": 0}, "n_runs must be"),
        (ROWS, {"betas": [0.5, 1.0]}, "betas must rise from 0 to 1"),
        (ROWS, {"checkpoint_every": 0}, "checkpoint_every must be"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    tmp_path: pathlib.Path, rows: Any, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        evaluate(ordinary(), tmp_path / "run", rows, **ASKED | change)
    assert list(tmp_path.iterdir()) == []
