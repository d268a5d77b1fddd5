"""scikit-learn's own checks of estimators hold; its pipelines, searches, tables and routing of metadata work."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks

from nbm_xp.boltzmann import DBM, RBM, Imputer, OutlierDetector, RBMClassifier
from tests.helpers import documented_usage
from tests.helpers.libraries import DASK, Library, libraries

SMALL: dict[str, Any] = {"n_components": 4, "n_iter": 2, "random_state": 0}
_WEIGHED = "a row of weight 2 counts as two in each step, but minibatches of repeated rows, and draws, are others"
_FLIPPED = "score_samples flips a unit of each row, chosen by the row's place, as that of BernoulliRBM"
_STATES = "the rows are uniform numbers, which name no states"
_SIGNS = "the rows are standardised; clipped to [0, 1] they lose what tells the classes apart"
_ALL = dict.fromkeys((f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")), _WEIGHED)
_LISTED = dict.fromkeys(("check_methods_sample_order_invariance", "check_methods_subset_invariance"), _FLIPPED)
EXPECTED_FAILURES: list[tuple[Any, dict[str, str]]] = [
    (RBM(**SMALL), _ALL | _LISTED), (RBM(**SMALL, visible="gaussian"), _ALL), (Imputer(RBM(**SMALL)), {}),
    (DBM([None, 4, 3], n_iter=2, random_state=0), _ALL), (OutlierDetector(RBM(**SMALL)), {}),
    (RBMClassifier(**SMALL), _ALL | {"check_classifiers_train": _SIGNS}),
]  # fmt: skip
"""Estimators, and the checks of scikit-learn's that each fails, with the reason."""
BY_NIGHT: list[tuple[Any, dict[str, str]]] = [
    (RBM(**SMALL, visible="categorical:64"), dict.fromkeys(_ALL, _STATES) | _LISTED),
    (RBMClassifier(8, 0.3, n_iter=10, random_state=0, visible="gaussian"), _ALL),
    (OutlierDetector(DBM([None, 4, 3], n_iter=2, random_state=0, visible="normal")), {}),
    (RBM(**SMALL, hidden="relu"), _ALL | _LISTED), (RBM(**SMALL, visible="spin"), _ALL | _LISTED),
    (RBM(**SMALL, visible="normal"), _ALL),
    (DBM([None, 4, 3], n_iter=2, random_state=0, visible="gaussian"), _ALL),
    (Imputer(DBM([None, 4, 3], n_iter=2, random_state=0, visible="normal")), {}),
]  # fmt: skip
TABLES = (
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas, estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas, estimator_checks.check_global_output_transform_pandas,
)  # fmt: skip


def expected_failures(estimator: Any) -> dict[str, str]:
    return next(failing for known, failing in EXPECTED_FAILURES + BY_NIGHT if known is estimator)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::nbm_xp.boltzmann.TrainingWarning")
@estimator_checks.parametrize_with_checks(
    [estimator for estimator, _ in EXPECTED_FAILURES], expected_failed_checks=expected_failures
)
def test_scikit_learns_checks_hold(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::nbm_xp.boltzmann.TrainingWarning")
@estimator_checks.parametrize_with_checks([each for each, _ in BY_NIGHT], expected_failed_checks=expected_failures)
def test_they_hold_of_other_units(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("check", TABLES)
@pytest.mark.parametrize("estimator", [EXPECTED_FAILURES[0][0], EXPECTED_FAILURES[3][0]], ids=["RBM", "DBM"])
def test_scikit_learns_checks_of_tables_hold(estimator: Any, check: Any) -> None:
    check(type(estimator).__name__, estimator)


def images(count: int = 200) -> tuple[Any, Any]:
    pixels, labels = load_digits(return_X_y=True)
    return pixels[:count].astype("float32"), labels[:count]


def rows(count: int = 40, features: int = 6) -> Any:
    return (np.random.default_rng(0).random((count, features)) < 0.4).astype("float32")


def test_a_pipeline_predicts_on_rows_beyond_the_range_of_its_scaler() -> None:
    X, labels = images()
    model = make_pipeline(MinMaxScaler(), RBM(**SMALL), LogisticRegression(max_iter=50, tol=0.1))
    model.fit(X[:100], labels[:100])
    beyond = 3 * X[100:] - 1
    with pytest.warns(UserWarning, match=r"X has values from -.* to .*, those outside \[0, 1\] are clipped"):
        assert model.predict(beyond).shape == (100,)


@pytest.mark.filterwarnings("ignore:X has values:UserWarning")
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
@pytest.mark.parametrize("visible", ["binary", "spin"])
def test_clipped_rows_are_the_nearest_ones(visible: str, dtype: str) -> None:
    beyond = (5 * rows(20) - 3).astype(dtype)
    nearest = np.clip(beyond, -1 if visible == "spin" else 0, 1)
    assert (beyond != nearest).any()
    rbm, same = (RBM(**SMALL, visible=visible).fit(X) for X in (beyond, nearest))
    np.testing.assert_array_equal(rbm.components_, same.components_)
    np.testing.assert_array_equal(rbm.transform(beyond), rbm.transform(nearest))
    np.testing.assert_array_equal(rbm.free_energy(beyond), rbm.free_energy(nearest))
    assert rbm.score(beyond) == rbm.score(nearest)
    rbm.transform(np.full((2, 6), 7, dtype="uint8"))  # which has no -1


def test_what_the_rounding_of_a_scaler_leaves_is_clipped_silently() -> None:
    X = rows() * np.float32(1 + 2e-7)
    assert X.max() > 1
    np.testing.assert_array_equal(RBM(**SMALL).fit(X).components_, RBM(**SMALL).fit(rows()).components_)


@pytest.mark.parametrize("library", DASK)
def test_blocks_that_are_computed_later_are_clipped_then(library: Library) -> None:
    rbm, beyond = RBM(**SMALL).fit(rows()), 3 * rows(7) - 1
    found = rbm.transform(library.array(beyond))
    with pytest.warns(UserWarning, match="are clipped"):
        np.testing.assert_allclose(library.numpy(found), rbm.transform(np.clip(beyond, 0, 1)), rtol=1e-6)
    with pytest.warns(UserWarning, match="are clipped"):
        trained = RBM(**SMALL).fit(library.array(beyond))
    np.testing.assert_allclose(trained.components_, RBM(**SMALL).fit(np.clip(beyond, 0, 1)).components_, rtol=1e-4)


def test_score_samples_is_there_where_states_can_be_listed() -> None:
    for visible, there in (("binary", True), ("categorical:3", True), ("gaussian", False), ("1*spin+2*normal", False)):
        assert hasattr(RBM(visible=visible), "score_samples") is there
    with pytest.raises(AttributeError, match="has no attribute 'score_samples'") as caught:
        _ = RBM(visible="gaussian").score_samples
    assert "compare free_energy" in str(caught.value.__cause__)


def test_a_search_needs_no_scorer() -> None:
    found = GridSearchCV(RBM(n_components=3, n_iter=40, random_state=0), {"learning_rate": [1e-9, 0.5]}, cv=2)
    pairs = np.repeat(rows(100, 3), 2, axis=1)
    assert found.fit(pairs).best_params_ == {"learning_rate": 0.5}
    assert found.best_score_ == found.cv_results_["mean_test_score"].max()
    best: RBM = found.best_estimator_
    assert found.score(pairs) == pytest.approx(best.log_likelihood(pairs).mean(), rel=1e-5)


def test_the_score_is_a_likelihood_where_that_is_known() -> None:
    X = rows(50, 24)
    small, large = (RBM(n, n_iter=1, random_state=0).fit(X) for n in (5, 23))
    assert small.score(X) == pytest.approx(small.log_likelihood(X).mean(), rel=1e-6)
    assert large.score(X) == pytest.approx(large.score_samples(X).mean(), rel=1e-6)
    tempered = RBM(23, n_iter=1, random_state=0, training="ptt").fit(X)
    assert tempered.score(X) == pytest.approx(tempered.log_likelihood(X, tempered.ais(50, 200)).mean(), abs=0.2)
    gaussian = RBM(23, n_iter=1, random_state=0, visible="gaussian").fit(X)
    deep = DBM([24, 23, 22], n_iter=1, random_state=0).fit(X)
    for model in (gaussian, deep):
        found = model.log_likelihood(X, model.ais(50, 200, random_state=1)).mean()
        assert model.score(X) == pytest.approx(found, abs=0.2)


@pytest.mark.parametrize("library", libraries("dask", "array_api_strict", "torch", "cupy"))
def test_outliers_are_rows_of_low_probability(library: Library) -> None:
    detector = OutlierDetector(RBM(**SMALL), contamination=0.2).fit(library.array(rows()))
    machine = RBM(**SMALL).fit(rows())
    energies = machine.free_energy(rows(90))
    found = library.array(rows(90))
    np.testing.assert_allclose(library.numpy(detector.score_samples(found)), -energies, rtol=1e-4)
    assert detector.offset_ == pytest.approx(np.quantile(-machine.free_energy(rows()), 0.2), rel=1e-4)
    expected = np.where(library.numpy(detector.decision_function(found)) < 0, -1, 1)
    np.testing.assert_array_equal(library.numpy(detector.predict(found)), expected)


def test_an_outlier_detector_takes_a_trained_machine_and_tells_bad_arguments() -> None:
    machine = RBM(**SMALL).fit(rows())
    frozen = OutlierDetector(FrozenEstimator(machine), contamination=0.5).fit(rows(20))
    assert frozen.offset_ == pytest.approx(-np.median(machine.free_energy(rows(20))))
    for share in (0.0, 0.6, -1, True, "auto", float("nan")):
        with pytest.raises(ValueError, match="contamination must be"):
            OutlierDetector(machine, contamination=share).fit(rows())
    with pytest.raises(TypeError, match="estimator must be an RBM or a DBM, got MinMaxScaler"):
        OutlierDetector(MinMaxScaler()).fit(rows())


def test_looking_at_a_score_changes_nothing() -> None:
    X = rows(50, 24)
    for settings in ({}, {"training": "ptt"}, {"visible": "gaussian"}):
        one, other = (RBM(23, n_iter=1, random_state=0, **settings).fit(X) for _ in range(2))
        assert one.score(X) == one.score(X) == other.score(X)
        np.testing.assert_array_equal(one.gibbs(X), RBM(23, n_iter=1, random_state=0, **settings).fit(X).gibbs(X))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_in_and_tables_out(kind: str) -> None:
    package = pytest.importorskip(kind, reason=f"needs {kind}")
    table = package.DataFrame(dict(zip("abcdef", rows().T, strict=True)))
    rbm = RBM(**SMALL).fit(table)
    assert rbm.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(rbm.components_, RBM(**SMALL).fit(rows()).components_)
    found = clone(rbm).set_output(transform=kind).fit_transform(table)
    assert list(found.columns) == ["rbm0", "rbm1", "rbm2", "rbm3"]
    np.testing.assert_array_equal(found.to_numpy(), rbm.transform(rows()))
    with config_context(transform_output=kind):
        assert isinstance(rbm.transform(table), package.DataFrame)
    assert isinstance(rbm.transform(table), np.ndarray)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda rbm: pickle.loads(pickle.dumps(rbm))])
def test_a_copy_keeps_names_output_and_requests(again: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    table = pandas.DataFrame(rows(), columns=list("abcdef"))
    with config_context(enable_metadata_routing=True):
        rbm = RBM(**SMALL).set_output(transform="pandas").set_fit_request(callback=True).fit(table)
    copied = again(rbm)
    assert copied.feature_names_in_.tolist() == list("abcdef")
    assert isinstance(copied.transform(table), pandas.DataFrame)
    assert copied.get_metadata_routing().fit.requests["callback"] is True


def test_a_saved_model_keeps_the_names_of_columns(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    table = pandas.DataFrame(rows(), columns=list("abcdef"))
    RBM(**SMALL).fit(table).save(tmp_path / "model.safetensors")
    loaded = RBM.load(tmp_path / "model.safetensors")
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- g"):
        loaded.transform(table.rename(columns={"a": "g"}))
    assert not hasattr(loaded.fit(rows()), "feature_names_in_")


def test_metadata_is_routed_to_whom_asks_for_it() -> None:
    seen: list[int] = []
    with config_context(enable_metadata_routing=True):
        assert get_config()["enable_metadata_routing"]
        model = make_pipeline(MinMaxScaler(), RBM(**SMALL).set_fit_request(callback=True))
        model.fit(rows(), callback=lambda rbm: seen.append(rbm.n_iter_))
        assert seen == [1, 2]
        with pytest.raises(ValueError, match="callback"):
            make_pipeline(MinMaxScaler(), RBM(**SMALL)).fit(rows(), callback=print)
        assert clone(model[1]).get_metadata_routing().fit.requests["callback"] is True


def test_a_search_hands_weights_on() -> None:
    X, weights = rows(60), np.where(np.arange(60) < 30, 5.0, 1.0)
    asking = RBM(3, n_iter=2, random_state=0)
    with config_context(enable_metadata_routing=True):
        asking.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"n_components": [3]}, cv=2).fit(X, sample_weight=weights)
    plain = RBM(3, n_iter=2, random_state=0)
    best = search.best_estimator_.components_
    np.testing.assert_array_equal(best, plain.fit(X, sample_weight=weights).components_)
    plain.fit(X[30:], sample_weight=weights[30:])
    first = plain.score(X[:30], sample_weight=weights[:30])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(first)


def test_what_mypy_checks_runs() -> None:
    documented_usage.main()
