"""Training as a run, and `resume`: what was broken off ends with the same bytes, by what its directory says alone."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp import runs
from nbm_xp.boltzmann import DBM, PCD, RBM, SGD, blocks
from nbm_xp.graphs import GraphMachine, lattice
from nbm_xp.machines import minibatches
from nbm_xp.records import finite_json
from nbm_xp.runs import training_blocks
from nbm_xp.runs.cluster_pool import ClusterPool
from nbm_xp.runs.training import MODEL
from tests.helpers.runs import left_off, results_of

ROWS = (np.random.default_rng(0).random((30, 9)) < 0.4).astype("float32")
LEARNING: dict[str, Callable[[], Any]] = {
    "plain": lambda: RBM(3, n_iter=7, random_state=5),
    "momentum": lambda: RBM(3, n_iter=7, random_state=5, optimizer=SGD(0.5), schedule="linear"),
    "deep": lambda: DBM([9, 4, 2], n_iter=7, random_state=5),
    "ptt": lambda: RBM(3, n_iter=7, random_state=5, training="ptt", learning_rate=2.0),
}


def broken_off(place: pathlib.Path, model: Any, passes: int, rows: Any = ROWS, **options: Any) -> None:
    left_off(runs.train, model, place, rows, share=(passes - 0.5) / model.n_iter, **options)
    assert not (place / MODEL).exists()


@pytest.mark.parametrize(("model", "last"), list(zip(LEARNING.values(), (1, 5, 3, 6), strict=True)), ids=LEARNING)
def test_a_training_broken_off_goes_on_to_the_same_bytes(
    tmp_path: pathlib.Path, model: Callable[[], Any], last: int
) -> None:
    whole = runs.train(model(), tmp_path / "whole", ROWS)
    fitted = model().fit(ROWS)
    for mine, theirs in zip(runs.trained_model(whole.path).state_.parameters, fitted.state_.parameters, strict=True):
        np.testing.assert_array_equal(mine.value, theirs.value)
    broken_off(tmp_path / "run", model(), last, checkpoint_every=2)
    told: list[int] = []
    run = runs.resume(tmp_path / "run", progress=lambda done, total: told.append(done))
    assert told == list(range(last - last % 2, 8)) and results_of(run.path) == results_of(whole.path)
    log = (run.path / "run.log").read_text()
    assert f"ended after epoch {last}: KeyboardInterrupt" in log and ("the checkpoint of epoch" in log) == (last > 1)


@pytest.mark.parametrize("options", [{"diagnostics": True}, {"training": "ptt"}], ids=["annealed", "ladder"])
@pytest.mark.filterwarnings("ignore::nbm_xp.boltzmann.TrainingWarning")  # so few rows
def test_the_diagnostics_are_those_of_fit(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    whole = RBM(3, n_iter=4, random_state=5, **options).fit(ROWS, held_out=ROWS[:7])
    broken_off(tmp_path / "run", RBM(3, n_iter=4, random_state=5, **options), 3, held_out=ROWS[:7], checkpoint_every=2)
    found, result = runs.trained_model(runs.resume(tmp_path / "run").path), runs.read_result(tmp_path / "run")
    assert found.diagnostics_ == whole.diagnostics_ and [at.epoch for at in found.diagnostics_] == [1, 2, 3, 4]
    assert result["diagnostics"] == finite_json(dataclasses.asdict(whole.diagnostics_[-1]))
    assert result["epochs"] == 4 and result["n_rows"] == len(ROWS) and not result["lower_bound"]


def test_the_model_given_is_left_as_it_is(tmp_path: pathlib.Path) -> None:
    model = RBM(3, n_iter=2)
    run = runs.train(model, tmp_path / "run", ROWS)
    assert not hasattr(model, "components_") and model.random_state is None
    assert run.seed == runs.trained_model(run.path).random_state


MISSING = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.1, np.nan, ROWS)
DIVIDED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "pcd": (lambda: RBM(3), {}),
    "cd": (lambda: RBM(3, training="cd", n_gibbs=2, visible="gaussian"), {"X": ROWS - ROWS.mean()}),
    "ptt": (lambda: RBM(3, training="ptt", learning_rate=2.0), {"held_out": ROWS[:7]}),
    "missing": (lambda: RBM(3, visible="categorical:2", optimizer="adam"), {"X": MISSING, "sample_weight": range(30)}),
    "deep": (lambda: DBM([9, 4, 2], visible="spin", training=PCD(positive="gibbs")), {"X": 2 * ROWS - 1}),
    "deep cd": (lambda: DBM([9, 4, 2], training="cd"), {"X": dask.array.from_array(ROWS, chunks=(7, -1))}),
    "deep ptt": (lambda: DBM([9, 4, 2], training="ptt"), {}),
}


@pytest.mark.parametrize("name", DIVIDED)
@pytest.mark.filterwarnings("ignore::nbm_xp.boltzmann.TrainingWarning")  # so few rows
@pytest.mark.at_night("cd", "deep cd", "deep ptt")
def test_minibatches_in_blocks_give_the_same_bytes_everywhere(
    name: str, tmp_path: pathlib.Path, two_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, in threads, on two workers, on one, and broken off in one place and resumed in another."""
    monkeypatch.setattr(blocks, "BLOCK", 5)
    begin, options = DIVIDED[name]
    model, options = begin().set_params(n_iter=3, random_state=5, batch_size=17), {"X": ROWS} | options
    whole = model.fit(**options).state_
    cluster, given = runs.Workers(two_workers.scheduler.address), dict(options)
    rows = given.pop("X")
    with cluster, monkeypatch.context() as alone:
        runs.train(model, tmp_path / "threads", rows, **given)
        runs.train(model, tmp_path / "two", rows, **given, scheduler=cluster)
        left_off(runs.train, model, tmp_path / "moved", rows, **given, scheduler=cluster, share=0.5, checkpoint_every=1)
        runs.resume(tmp_path / "moved")
        left_off(runs.train, model, tmp_path / "one", rows, **given, share=0.5, checkpoint_every=1)
        alone.setattr(ClusterPool, "count", 1)
        runs.resume(tmp_path / "one", scheduler=cluster)
    for place in ("threads", "two", "moved", "one"):
        found = runs.trained_model(tmp_path / place).state_
        assert found.progress() == whole.progress()
        for mine, theirs in zip(found.arrays().items(), whole.arrays().items(), strict=True):
            assert (mine[0], np.asarray(mine[1]).tobytes()) == (theirs[0], np.asarray(theirs[1]).tobytes())


def test_rows_are_read_a_window_at_a_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 3)
    monkeypatch.setattr(minibatches, "WINDOW", 8)
    read, rows_of = list[tuple[int, int]](), training_blocks.rows_of

    def noted(folder: str, first: int, count: int) -> Any:
        read.append((first, count))
        return rows_of(folder, first, count)

    monkeypatch.setattr(training_blocks, "rows_of", noted)
    rows = dask.array.from_array(ROWS, chunks=(9, -1))
    run = runs.train(RBM(3, n_iter=2, batch_size=4, random_state=5), tmp_path / "run", rows)
    assert set(read) == {(0, 8), (8, 8), (16, 8), (24, 6)} and len(read) <= 8  # a window an epoch
    fitted = RBM(3, n_iter=2, batch_size=4, random_state=5).fit(rows)
    np.testing.assert_array_equal(runs.trained_model(run.path).components_, fitted.components_)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "rbm"}, "model must be a model of nbm_xp.boltzmann, got str"),
        ({"model": RBM(0)}, "n_components must be a whole number, at least 1, got 0"),
        ({"model": RBM(3, schedule=lambda done, total: 1.0)}, "schedule must be a name in a run"),
        ({"X": ROWS + np.inf}, r"X must have values in \[0, 1\]"),
        ({"X": ROWS[:0]}, "X must have at least one row"),
        ({"held_out": ROWS[:0]}, "held_out must have at least one row"),
        ({"held_out": ROWS[:, :5]}, "held_out has 5 features, but the model"),
        ({"sample_weight": [1.0]}, "sample_weight must have one axis, a weight for each of"),
        ({"hours": 0}, "hours must be a number, above 0 and below 1,000,000, got 0"),
        ({"callback": 3}, "callback must be callable, got 3"),
        ({"scheduler": "local"}, "a minibatch of 10 rows is computed in this process, .*Set batch_size above 500"),
        ({"checkpoint_every": 1.5}, "checkpoint_every must be a whole number, at least 1, got 1.5"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_made(
    tmp_path: pathlib.Path, given: dict[str, Any], message: str
) -> None:
    asked: dict[str, Any] = {"model": RBM(3, n_iter=1), "X": ROWS} | given
    with pytest.raises((TypeError, ValueError), match=message):
        runs.train(asked.pop("model"), tmp_path / "run", asked.pop("X"), **asked)
    assert list(tmp_path.iterdir()) == []


def test_one_process_at_a_time_trains(tmp_path: pathlib.Path) -> None:
    broken_off(tmp_path / "run", RBM(3, n_iter=4, random_state=0), 2, checkpoint_every=1)
    with pytest.raises(FileExistsError, match="is not empty"):
        runs.train(RBM(3, n_iter=4, random_state=0), tmp_path / "run", ROWS)
    with pytest.raises(ValueError, match="minibatch of 10 rows is computed in this process"):
        runs.resume(tmp_path / "run", scheduler="local")


def test_what_is_not_there_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no run's directory .*nowhere"):
        runs.resume(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty is no run's directory: it has no run.json"):
        runs.resume(tmp_path / "empty")
    broken_off(tmp_path / "early", RBM(3, n_iter=4, random_state=0), 1, checkpoint_every=3)
    with pytest.raises(runs.RunError, match="early has kept no model yet"):
        runs.trained_model(tmp_path / "early")
    with runs.RunDirectory.create(tmp_path / "other", "paint", {}):
        pass
    with pytest.raises(ValueError, match=r"runs are of the kinds sample, .*, got 'paint'"):
        runs.resume(tmp_path / "other")


def test_a_run_keeps_the_names_of_columns_and_clips_as_fit_does(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=list("abcdefghi"))
    turned = table[list("ihgfedcba")]
    with pytest.warns(UserWarning, match="held_out has values from 0 to 2, those outside"):
        run = runs.train(RBM(3, n_iter=2, random_state=5), tmp_path / "run", table, held_out=2 * table)
    model = runs.trained_model(run.path)
    assert list(model.feature_names_in_) == list(table.columns)
    with pytest.raises(ValueError, match="in the same order"):
        runs.evaluate(model, tmp_path / "evaluation", turned, n_chains=4, n_temperatures=4)
    settings = {"n_chains": 4, "n_temperatures": 4, "random_state": 1}
    with pytest.warns(UserWarning, match="X has values from 0 to 2, those outside"):
        evaluation = runs.evaluate(model, tmp_path / "evaluation", 2 * table, **settings)
    whole = runs.evaluate(model, tmp_path / "whole", table, **settings)
    found, wanted = (runs.read_evaluation(each.path).mean_log_likelihood for each in (evaluation, whole))
    assert found == wanted is not None
    with pytest.raises(ValueError, match="in the same order"):
        runs.train(RBM(3, n_iter=2), tmp_path / "other", table, held_out=turned)


def test_a_progress_that_cannot_be_called_begins_no_run(tmp_path: pathlib.Path) -> None:
    model, place = RBM(3, n_iter=1, random_state=5).fit(ROWS), tmp_path / "run"
    for begin in (
        lambda: runs.sample(model, place, 4, 2, progress=3),
        lambda: runs.evaluate(model, place, progress=3),
        lambda: runs.sample_graph(GraphMachine(lattice((4, 4))), place, n_sweeps=4, progress=3),
        lambda: runs.measure_lattice(place, (4, 4), [2.0], n_sweeps=4, progress=3),
        lambda: runs.resume(place, progress=3),
    ):
        with pytest.raises(TypeError, match="progress must be callable, got 3"):
            begin()
        assert not place.exists()
