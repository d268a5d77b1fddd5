"""Rows with missing values: all results against sums over all states; learning; other libraries; pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from nbm_xp.boltzmann import CD, DBM, PCD, PTT, RBM, Imputer, missing
from nbm_xp.namespace import to_numpy
from tests.boltzmann.test_kinds import FINITE, MIX, SITES, machine, states_of
from tests.helpers.libraries import DASK, LIBRARIES, Library, computing, guard
from tests.helpers.runs import deep, ordinary

ROWS = (np.random.default_rng(0).random((90, 3)) < 0.5).repeat(2, axis=1).astype("float64")
CALLS: list[Any] = [
    lambda rbm, X: rbm.impute(X, n_chains=3, n_sweeps=4, probabilities=True, errors=True),
    lambda rbm, X: rbm.log_likelihood(X, 0.0, n_chains=3, n_temperatures=5, errors=True),
    lambda rbm, X: rbm.transform(X[:9, :], n_chains=3), lambda rbm, X: rbm.sample(3, 5, given=X, random_state=0),
]  # fmt: skip


def with_gaps(rows: Any, share: float = 0.4, seed: int = 0) -> Any:
    """Rows as floating-point numbers, of which a share is missing at random; the first row stays complete."""
    found = np.array(rows, dtype=np.result_type(rows, "float32"))
    found[1:][np.random.default_rng(seed).random(found[1:].shape) < share] = np.nan
    return found


def fitting(X: Any, told: Any) -> Any:
    """Whether each visible state has the values that are there in each row."""
    return (np.isnan(X)[:, None, :] | (X[:, None, :] == told)).all(axis=2)


@pytest.mark.parametrize(("visible", "hidden"), [*FINITE, ("twelve units", "")])
def test_results_are_those_of_sums_over_all_states(visible: str, hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rbm = machine(visible, hidden) if hidden else ordinary(7, 5)
    told, units = states_of(visible, SITES) if hidden else states_of("binary", 7)
    X = with_gaps(told[np.random.default_rng(1).integers(0, len(told), 20)])
    gaps, weights = np.isnan(X), np.where(fitting(X, told), -rbm.free_energy(told), -np.inf)
    incomplete, totals = gaps.any(axis=1), logsumexp(weights, axis=1)
    likelihoods, posterior = totals - rbm.log_partition(), np.exp(weights - totals[:, None])
    found, errors = rbm.log_likelihood(X, errors=True)
    if rbm.state_.topology.radices(1) is not None:
        np.testing.assert_allclose(found, likelihoods, atol=2e-5)
        assert not errors.any()
    monkeypatch.setattr(missing, "_MOST_STATES", 0)
    found, errors = rbm.log_likelihood(X, n_chains=60, errors=True)
    assert np.all(np.abs(found - likelihoods) < 4 * errors + 2e-5)
    means, errors = rbm.impute(X, n_chains=60, n_sweeps=60, probabilities=True, errors=True)
    assert np.all(np.abs(means - posterior @ units) < 4 * errors + 1e-3)
    completed = rbm.impute(X, n_chains=60, n_sweeps=60)
    np.testing.assert_array_equal(completed[~gaps], X[~gaps])
    np.testing.assert_allclose(completed, rbm.state_.topology.units[0].decoded(means), atol=1e-6)
    drawn = rbm.sample(800, 30, given=X, random_state=0)
    assert np.all(gaps | (drawn == X))
    wanted = posterior @ told
    spread = np.sqrt(np.maximum(posterior @ told**2 - wanted**2, 0))
    assert np.all(np.abs(drawn.mean(axis=0) - wanted) < 4 * spread / np.sqrt(800) + 1e-6)
    there = ~gaps.all(axis=1)
    less = np.where(np.eye(X.shape[1], dtype=bool), np.nan, X[there, None, :])  # without one value of a row
    without = logsumexp(np.where(fitting(np.concatenate(less), told), -rbm.free_energy(told), -np.inf), axis=1)
    scores = (totals[there, None] - without.reshape(there.sum(), -1)) * (~gaps).sum(axis=1)[there, None]
    monkeypatch.setattr(rbm, "_conditional_means", lambda *of: RBM._conditional_means(rbm, *of[:2], 100, 200))
    apart = np.abs(scores - rbm.score_samples(X)[there, None])
    assert np.where(gaps[there], np.inf, apart).min(axis=1).mean() < 0.1
    monkeypatch.undo()
    features = rbm.transform(X)
    np.testing.assert_allclose(features[incomplete], (posterior @ rbm.transform(told))[incomplete], atol=0.2)
    np.testing.assert_allclose(features[~incomplete], rbm.transform(X[~incomplete]), rtol=1e-6)


@pytest.mark.parametrize(("visible", "hidden"), [("gaussian", "spin"), ("normal", "binary")])
def test_missing_real_numbers_are_summed_out(visible: str, hidden: str) -> None:
    rbm, (_, states) = machine(visible, hidden), states_of(hidden, 3)
    X = with_gaps(np.random.default_rng(1).normal(size=(20, SITES)))
    fields = states @ rbm.components_ + rbm.intercept_visible_
    precisions = fields[0, 1::2] if visible == "normal" else np.ones(SITES)
    means = fields[:, :: fields.shape[1] // SITES] / precisions
    of_states = states @ rbm.intercept_hidden_ + (0.5 * precisions * means**2).sum(axis=1)
    squares = -0.5 * precisions * (X[:, None, :] - means) ** 2 + 0.5 * np.log(precisions / 2 / np.pi)
    weights = of_states - logsumexp(of_states) + np.nansum(squares, axis=2)
    wanted = logsumexp(weights, axis=1)
    np.testing.assert_allclose(rbm.log_likelihood(X), wanted, rtol=1e-9)
    shares = np.exp(weights - wanted[:, None])
    imputed, errors = rbm.impute(X, n_chains=60, n_sweeps=60, errors=True)
    errors = errors[:, :: errors.shape[1] // SITES]
    assert np.all(np.abs(imputed - np.where(np.isnan(X), shares @ means, X)) < 4 * errors + 1e-6)


@pytest.mark.parametrize("sizes", [(6, 4, 3), (5, 3, 3, 2)])
def test_deep_machines_sum_out_what_is_missing(sizes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dbm, told = deep(sizes), states_of("binary", sizes[0])[0]
    layers = np.split(states_of("binary", sum(sizes))[0], np.cumsum(sizes)[:-1], axis=1)
    weights = sum(layer @ bias for layer, bias in zip(layers, dbm.intercepts_, strict=True))
    for below, above, coefs in zip(layers, layers[1:], dbm.coefs_, strict=False):
        weights = weights + ((below @ coefs) * above).sum(axis=1)
    table = np.exp(weights - logsumexp(weights)).reshape(len(told), -1)
    X = with_gaps(told[np.random.default_rng(1).integers(0, len(told), 15)])
    fits, lacking = fitting(X, told), np.isnan(X).any(axis=1)
    joint = fits @ table
    wanted = np.log(joint.sum(axis=1))
    np.testing.assert_allclose(dbm.log_likelihood(X)[lacking], wanted[lacking], rtol=1e-4)
    np.testing.assert_array_equal(dbm.log_likelihood(X)[~lacking], dbm.log_likelihood(X[~lacking]))
    monkeypatch.setattr(missing, "_MOST_STATES", 0)
    found, errors = dbm.log_likelihood(X, dbm.log_partition(), n_chains=60, errors=True)
    assert np.all((np.abs(found - wanted) < 4 * errors + 1e-4)[lacking])
    means, errors = dbm.impute(X, n_chains=60, errors=True)
    assert np.all(np.abs(means - (fits * table.sum(axis=1)) @ told / np.exp(wanted)[:, None]) < 4 * errors + 2e-3)
    hidden = joint @ layers[-1][: table.shape[1]] / np.exp(wanted)[:, None]
    np.testing.assert_allclose(dbm.transform(X)[lacking], hidden[lacking], atol=0.05)


@pytest.mark.at_night("cd", "pcd")
@pytest.mark.parametrize("training", [PCD(average=True), CD(average=True), PTT()], ids=["pcd", "cd", "ptt"])
def test_learning_from_incomplete_rows_reaches_the_largest_likelihood(training: Any) -> None:
    told, random = states_of("binary", 5)[0], np.random.default_rng(0)
    weights = random.normal(0, 4, (2, 5))
    of_hidden, bias = -weights.sum(axis=1) / 2, -weights.sum(axis=0) / 2
    teacher = RBM.from_parameters(weights, of_hidden, bias, random_state=0)
    X = with_gaps(teacher.sample(600, 200), 0.3)
    fits, counts = np.unique(fitting(X, told), axis=0, return_counts=True)

    def loss(parameters: Any) -> float:
        """The mean negative log-likelihood of the values that are there."""
        weights, (bias, of_hidden) = parameters[:10].reshape(5, 2), np.split(parameters[10:], [5])
        log_weights = told @ bias + np.logaddexp(0, told @ weights + of_hidden).sum(axis=1)
        likelihoods = logsumexp(np.where(fits, log_weights, -np.inf), axis=1) - logsumexp(log_weights)
        return float(-np.average(likelihoods, weights=counts))

    best = minimize(loss, np.concatenate([weights.T.ravel(), bias, of_hidden])).fun
    n_iter, n_gibbs = (50, 1) if training.name == "ptt" else (200, 5)
    settings: dict[str, Any] = {"batch_size": 50, "schedule": "linear", "diagnostics": False, "random_state": 0}
    rbm = RBM(2, 0.2, n_iter=n_iter, n_gibbs=n_gibbs, training=training, **settings).fit(X)
    reached, alone = -float(rbm.log_likelihood(X).mean()), [np.zeros(10), np.log(rbm.base_rate_ / (1 - rbm.base_rate_))]
    assert best - 1e-3 < reached < best + 0.025 < loss(np.concatenate([*alone, np.zeros(2)])) - 0.4


@pytest.mark.parametrize("visible", ["binary", MIX, "normal"])
def test_base_rates_are_those_of_the_values_that_are_there(visible: str) -> None:
    told = np.random.default_rng(0).normal(size=(30, 4)) if visible == "normal" else states_of(visible, SITES)[0]
    X, settings = with_gaps(np.tile(told, (3, 1)), 0.3), {"n_iter": 4, "visible": visible, "random_state": 0}
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    weighted, repeated = RBM(3, **settings).fit(X, None, weights), RBM(3, **settings).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.base_rate_, repeated.base_rate_, atol=0.02)
    if visible == "binary":
        rbm = RBM(3, **settings).fit(scipy.sparse.csr_array(X))
        np.testing.assert_allclose(rbm.base_rate_, (np.nansum(X, axis=0) + 1) / ((~np.isnan(X)).sum(axis=0) + 2))
    before = weighted.base_rate_
    weighted.partial_fit(np.where(np.arange(4) == 0, np.nan, told[:9]))
    assert np.isfinite(weighted.components_).all()
    unchanged = np.isclose(weighted.base_rate_, before)
    assert unchanged[0] and not unchanged.all()


def test_an_interrupted_training_ends_with_the_same_bits(tmp_path: Any) -> None:
    X, settings = with_gaps(ROWS), {"batch_size": 30, "random_state": 0}
    for model in (RBM(3, **settings), DBM([6, 4, 3], **settings)):
        half = clone(model).set_params(n_iter=2).fit(X)
        half.save(tmp_path / "half.safetensors")
        resumed = type(model).load(tmp_path / "half.safetensors").set_params(n_iter=4).fit(X, resume=True)
        np.testing.assert_array_equal(resumed.transform(X), clone(model).set_params(n_iter=4).fit(X).transform(X))


@pytest.mark.at_night("jax", "torch")
@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_the_same_on_every_library(library: Library) -> None:
    X, settings = with_gaps(ROWS[:30]), {"n_iter": 2, "batch_size": 10, "random_state": 0}
    rows = library.array(X)
    with computing():
        host, there = RBM(3, **settings).fit(X), RBM(3, **settings).fit(rows)
    np.testing.assert_allclose(to_numpy(there.components_), host.components_, rtol=1e-8, atol=1e-12)
    for most in (missing._MOST_STATES, 0):
        with pytest.MonkeyPatch.context() as patch, guard():
            patch.setattr(missing, "_MOST_STATES", most)
            for call in CALLS:
                found, wanted = (of if isinstance(of, tuple) else (of,) for of in (call(there, rows), call(host, X)))
                for ours, theirs in zip(found, wanted, strict=True):
                    np.testing.assert_allclose(library.numpy(ours), theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("library", DASK)
def test_complete_blocks_have_no_chains(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    rbm, rows = RBM(3, n_iter=2, random_state=0).fit(ROWS), library.array(ROWS)
    monkeypatch.setattr(missing.ConditionalMeans, "collect", None)
    np.testing.assert_allclose(library.numpy(rbm.transform(rows)), rbm.transform(ROWS), rtol=1e-14)
    np.testing.assert_allclose(library.numpy(rbm.free_energy(rows)), rbm.free_energy(ROWS), rtol=1e-14)


def test_an_imputer_is_a_step_of_a_pipeline() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(with_gaps(ROWS, 0.2), columns=list("abcdef"))
    imputer = Imputer(RBM(4, n_iter=20, random_state=0))
    assert make_pipeline(imputer, LogisticRegression()).fit(table, ROWS[:, 0]).score(table, ROWS[:, 0]) > 0.8
    assert get_tags(imputer).input_tags.allow_nan
    filled = imputer.set_output(transform="pandas").fit_transform(table)
    assert list(filled.columns) == list("abcdef") and not filled.isna().any(axis=None)
    pandas.testing.assert_frame_equal(filled[table.notna()], table)


def test_diagnostics_follow_complete_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few, none = with_gaps(ROWS, 0.1), np.where(np.arange(6) == np.arange(len(ROWS))[:, None] % 6, np.nan, ROWS)
    rbm = RBM(3, n_iter=1, diagnostics=True, random_state=0)
    whole, weights = ~np.isnan(few).any(axis=1), np.arange(1.0, len(few) + 1)
    found = clone(rbm).fit(few, sample_weight=weights)
    expected = np.average(found.log_likelihood(few[whole]), weights=weights[whole])
    assert found.diagnostics_[0].log_likelihood == pytest.approx(expected, abs=0.1)
    rbm = clone(rbm).set_params(n_iter=2, diagnostics="auto", verbose=1)
    with monkeypatch.context() as patch:
        patch.setattr(missing, "_MOST_STATES", 0)
        (last,) = rbm.fit(none, held_out=few).diagnostics_
    assert "epoch 1 of 2: rows have missing values" in capsys.readouterr().out
    for rows, value in ((none, last.log_likelihood), (few, last.held_out)):
        exact = rbm.log_likelihood(rows, last.log_z).mean()
        assert exact != value == pytest.approx(exact, abs=0.05)
    assert rbm.score(none) == pytest.approx(rbm.log_likelihood(none).mean())


def test_parameters_may_be_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    dask, X, random = pytest.importorskip("dask"), with_gaps(ROWS[:30]), np.random.default_rng(0)
    arrays = [random.normal(size=shape) for shape in ((5, 6), 5, 6)]
    lazy_arrays, rows = (dask.array.from_array(x, chunks=3) for x in arrays), dask.array.from_array(X, chunks=(10, 6))
    rbm, lazy = (RBM.from_parameters(*values, random_state=0) for values in (arrays, lazy_arrays))
    for call in CALLS:
        for values in (call(lazy, X), call(lazy, rows)):
            np.testing.assert_allclose(values, call(rbm, X), rtol=1e-9)
    monkeypatch.setattr(missing, "_MOST_STATES", 0)
    with dask.config.set({"array.chunk-size": "64B"}):
        for call in CALLS[:3]:
            np.testing.assert_allclose(call(lazy, rows), call(rbm, X), rtol=1e-9)
        with pytest.raises(ValueError, match=r"in \[0, 1\] in lazy rows where parameters are in tiles .*, got NaN"):
            lazy.free_energy(rows).compute()
