"""Deep Boltzmann machines keep scikit-learn's conventions, and refuse what they cannot do before any work."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
import safetensors

from nbm_xp.boltzmann import DBM, PCD, RBM, SGD
from nbm_xp.boltzmann.optimizers import SCHEDULES, rate_after

ROWS = (np.random.default_rng(0).random((20, 6)) < 0.4).astype("float32")
SKIPPING = [(0, 1), (1, 2), (0, 2)]
SETTINGS: dict[str, Any] = {"n_iter": 2, "batch_size": 8, "random_state": 3}


@pytest.fixture
def dbm() -> DBM:
    return DBM([6, 4, 3], connections=SKIPPING, optimizer=SGD(0.5), **SETTINGS).fit(ROWS)


def arrays_of(model: DBM) -> list[Any]:
    return [*model.coefs_, *model.intercepts_, model.base_rate_]


def test_it_has_an_array_for_each_connection_and_layer(dbm: DBM) -> None:
    assert [w.shape for w in dbm.coefs_] == [(6, 4), (6, 3), (4, 3)]
    assert [b.shape for b in dbm.intercepts_] == [(6,), (4,), (3,)]
    assert {array.dtype for array in arrays_of(dbm)} == {np.dtype("float32")}
    assert (dbm.n_features_in_, dbm.n_iter_, dbm.n_samples_seen_) == (6, 2, 20)
    assert [means.shape for means in dbm.mean_field(ROWS)] == [(20, 4), (20, 3)]
    assert dbm.transform(ROWS).shape == (20, 3)
    assert [x.shape for x in dbm.sample(5, 2, layer=None)] == [(5, 6), (5, 4), (5, 3)]
    assert dbm.sample(5, 2, layer=2).shape == (5, 3)


def test_a_callable_schedule_is_saved_as_the_default(tmp_path: pathlib.Path) -> None:
    model = DBM([6, 4], schedule=lambda done, total: 0.5, **SETTINGS).fit(ROWS)
    model.save(tmp_path / "model.safetensors")
    with safetensors.safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        assert json.loads(file.metadata()["params"])["schedule"] == "auto"
    DBM.load(tmp_path / "model.safetensors").partial_fit(ROWS)


def test_two_layers_are_a_restricted_machine() -> None:
    random = np.random.default_rng(1)
    weights, hidden, visible = (random.normal(size=shape) for shape in ((4, 6), (4,), (6,)))
    rbm = RBM.from_parameters(weights, hidden, visible, random_state=1)
    dbm = DBM.from_parameters([weights.T], [visible, hidden], random_state=1)
    np.testing.assert_allclose(dbm.transform(ROWS), rbm.transform(ROWS), rtol=1e-12)
    np.testing.assert_allclose(dbm.log_likelihood(ROWS), rbm.log_likelihood(ROWS), rtol=1e-12)
    np.testing.assert_array_equal(dbm.sample(7, 5), rbm.sample(7, 5))
    learnt = RBM(4, 0.05, 8, 2, random_state=3).fit(ROWS)
    same = DBM([6, 4], training=PCD(centred=False), **SETTINGS).fit(ROWS)
    np.testing.assert_array_equal(same.coefs_[0], learnt.components_.T)


@pytest.mark.parametrize(
    "options", [{"training": "cd", "n_gibbs": 3}, {"training": PCD(positive="gibbs"), "n_gibbs": 3}, {}]
)
def test_learning_finds_a_distribution_it_can_express(options: dict[str, Any]) -> None:
    """Two units that are always equal, beside one that is independent: 4 states of equal probability."""
    rows = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]] * 25, dtype="float64")
    settings: dict[str, Any] = {"batch_size": 20, "n_iter": 250, "schedule": "linear", "random_state": 0}
    model = DBM([3, 4, 2], 0.4, **settings, **options).fit(rows)
    assert model.log_likelihood(rows).mean() > -np.log(4) - 0.25  # single units reach -3 log 2, 0.69 below


def test_schedules() -> None:
    rates = {name: [rate_after(name, 2.0, done, 4) for done in range(4)] for name in SCHEDULES}
    assert rates["constant"] == [2.0, 2.0, 2.0, 2.0] and rates["linear"] == [2.0, 1.5, 1.0, 0.5]
    np.testing.assert_allclose(rates["exponential"], 2 * 0.01 ** (np.arange(4) / 4))
    np.testing.assert_allclose(rates["step"], [2.0, 2.0, 0.2, 0.02])
    seen: list[Any] = []
    DBM([6, 4], schedule=lambda done, total: seen.append((done, total)) or 0.5, **SETTINGS).fit(ROWS)  # type: ignore[func-returns-value]
    assert seen == [(0, 2), (1, 2)]


@pytest.mark.parametrize("factor", [-1.0, float("nan"), float("inf"), "a"])
def test_a_schedule_that_gives_no_rate_is_refused(factor: Any) -> None:
    with pytest.raises(ValueError, match="schedule must give a finite factor of at least 0"):
        DBM([6, 4], schedule=lambda done, total: factor, **SETTINGS).fit(ROWS)


def test_rows_of_other_features_than_the_layers_are_refused() -> None:
    model = DBM([5, 4])
    with pytest.raises(ValueError, match="X has 6 features, but layers begin with 5 visible units"):
        model.fit(ROWS)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda dbm: dbm.sample(20, 1, clamp={3: ROWS}), "clamp must be layers from 0 to 2, got 3"),
        (lambda dbm: dbm.sample(20, 1, clamp={1: ROWS}), r"clamp\[1\] has 6 features, but DBM is expecting 4"),
        (lambda dbm: dbm.sample(9, 1, clamp={0: ROWS}), r"clamp\[0\] must have a row for each of 9 chains, got 20"),
        (lambda dbm: dbm.sample(20, 1, clamp={0: ROWS * np.nan}), r"clamp\[0\] must have values in \[0, 1\]"),
        (lambda dbm: dbm.sample(20, 1, clamp={0: ROWS}, initial=ROWS), "initial must be left out where clamp holds"),
        (lambda m: m.sample(2, 1, clamp=dict(enumerate(m.gibbs([ROWS[:2], None, ROWS[:2, :3]])))), "leave a layer"),
        (lambda dbm: dbm.sample(2, 1, layer=3), "layer must be layers from 0 to 2, got 3"),
        (lambda dbm: dbm.gibbs([ROWS]), "states must have 3 entries, one for each layer, got 1"),
        (lambda dbm: dbm.gibbs([ROWS, None, ROWS]), r"states\[2\] has 6 features, but DBM is expecting 3"),
        (lambda dbm: dbm.mean_field(ROWS, tolerance=-1), "tolerance must be a number"),
        (lambda dbm: dbm.mean_field(ROWS, max_iterations=0), "max_iterations must be a whole number"),
        (lambda dbm: dbm.mean_field(ROWS[:, :5]), "X has 5 features, but DBM is expecting 6"),
        (lambda dbm: dbm.reverse_ais(2, 3, initial=[ROWS[:2]]), "initial must have 3 entries, one for each layer"),
        (lambda dbm: dbm.parallel_tempering(2, 0), "n_sweeps must be a whole number, at least 1"),
        (lambda dbm: setattr(dbm, "coefs_", []), "coefs_ must be 3 arrays, got 0"),
        (lambda dbm: setattr(dbm, "intercepts_", [ROWS] * 3), r"intercepts_\[0\] must have shape \(6,\)"),
        (lambda dbm: DBM.from_parameters([], [np.zeros(3), np.zeros(2)]), "coefs must be 1 arrays"),
        (lambda _: DBM.from_parameters([np.zeros((2, 3))], [np.zeros(3), np.zeros(2)]), r"coefs\[0\] must have shape"),
        (lambda dbm: DBM.from_parameters([np.zeros((2, 3))], [3, 2]), "intercepts must be arrays with one axis"),
    ],
)
def test_bad_arguments_are_refused(dbm: DBM, call: Any, message: str) -> None:
    before = arrays_of(dbm)
    with pytest.raises(ValueError, match=message):
        call(dbm)
    for ours, theirs in zip(arrays_of(dbm), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
