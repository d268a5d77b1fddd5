"""The model keeps scikit-learn's conventions, and scikit-learn's tools work with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM, SGD, NotFittedError

SETTINGS: dict[str, Any] = {"n_components": 5, "n_iter": 2, "random_state": 3}


def rows(count: int = 40, features: int = 6) -> Any:
    return (np.random.default_rng(0).random((count, features)) < 0.4).astype("float32")


def test_hyperparameters_are_kept_read_and_set_by_name() -> None:
    rbm = RBM(**SETTINGS, n_gibbs=5)
    assert RBM(**rbm.get_params()).get_params() == rbm.get_params()
    assert rbm.set_params(n_components=7, n_gibbs=2) is rbm
    assert (rbm.n_components, rbm.n_gibbs) == (7, 2)
    with pytest.raises(ValueError, match="Invalid parameter 'n_hidden'"):
        rbm.set_params(n_hidden=3)
    assert repr(rbm) == "RBM(n_components=7, n_gibbs=2, n_iter=2, random_state=3)"


def test_the_signature_begins_like_scikit_learns() -> None:
    from sklearn.neural_network import BernoulliRBM

    theirs = BernoulliRBM().get_params()
    assert {name: value for name, value in RBM().get_params().items() if name in theirs} == theirs
    fitted = BernoulliRBM(5, n_iter=1).fit(rows())
    ours = RBM(5, n_iter=1).fit(rows())
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_"):
        assert getattr(ours, name).shape == getattr(fitted, name).shape
        assert getattr(ours, name).dtype == getattr(fitted, name).dtype
    assert ours.n_features_in_ == fitted.n_features_in_


def test_energies_and_scores_agree_with_scikit_learns() -> None:
    from sklearn.neural_network import BernoulliRBM

    X = rows(400)
    theirs = BernoulliRBM(5, n_iter=1, random_state=0).fit(X)
    ours = RBM.from_parameters(theirs.components_, theirs.intercept_hidden_, theirs.intercept_visible_, random_state=0)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-5)
    np.testing.assert_allclose(ours.free_energy(X), theirs._free_energy(X), rtol=1e-5)
    spread = theirs.score_samples(X).std() / np.sqrt(len(X))
    assert abs(ours.score_samples(X).mean() - theirs.score_samples(X).mean()) < 6 * spread


@pytest.mark.parametrize(
    "use",
    [
        lambda rbm: rbm.transform(rows()), lambda rbm: rbm.gibbs(rows()), lambda rbm: rbm.score_samples(rows()),
        lambda rbm: rbm.free_energy(rows()), lambda rbm: rbm.sample(2, 2), lambda rbm: rbm.ais(2, 2),
        lambda rbm: rbm.log_partition(), lambda rbm: rbm.components_, lambda rbm: rbm.save("model.npz"),
    ],
)  # fmt: skip
def test_a_model_that_has_learnt_nothing_says_so(use: Any) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        use(RBM())
    assert not hasattr(RBM(), "components_")


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_of_numpy_seed_it(make: Any) -> None:
    first, again = (RBM(5, n_iter=1, random_state=make(4)).fit(rows()).components_ for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (RBM(5, n_iter=1).fit(rows()).components_ != RBM(5, n_iter=1).fit(rows()).components_).all()


@pytest.mark.parametrize("seed", [0, 2**31, 2**32 - 1, 2**70])
def test_any_int_is_a_seed(seed: int) -> None:
    assert np.isfinite(RBM(2, n_iter=1, random_state=seed).fit(rows()).components_).all()


def test_parameters_can_be_set_to_arrays_of_the_same_shape() -> None:
    rbm = RBM(**SETTINGS).fit(rows())
    before = rbm.transform(rows())
    rbm.components_ = np.zeros((5, 6))
    rbm.intercept_hidden_ = np.full(5, 2.0)
    np.testing.assert_allclose(rbm.transform(rows()), 1 / (1 + np.exp(-2)), rtol=1e-6)
    assert (before != rbm.transform(rows())).any()
    for name in ("components_", "intercept_hidden_", "intercept_visible_"):
        with pytest.raises(ValueError, match=f"{name} must have shape"):
            setattr(rbm, name, np.zeros(3))


def test_partial_fit_goes_on_where_it_was() -> None:
    X = rows()
    rbm = RBM(5, random_state=0)
    for _ in range(3):
        assert rbm.partial_fit(X[:20]) is rbm
    rbm.partial_fit(X[20:27])
    assert rbm.n_samples_seen_ == 67
    smoothed = (3 * X[:20].sum(axis=0) + X[20:27].sum(axis=0) + 1) / 69
    np.testing.assert_allclose(rbm.base_rate_, smoothed, rtol=1e-5)
    with pytest.raises(ValueError, match="X has 5 features, but RBM is expecting 6"):
        rbm.partial_fit(X[:, :5])


def test_a_changed_hyperparameter_counts_from_the_next_step_on() -> None:
    X = rows()
    rbm = RBM(5, random_state=0).partial_fit(X)
    before = rbm.intercept_visible_
    rbm.set_params(learning_rate=1e-300).partial_fit(X)
    np.testing.assert_array_equal(rbm.intercept_visible_, before)
    rbm.set_params(learning_rate=0.1, optimizer=SGD(0.9, 0.1), n_gibbs=3, training="cd").partial_fit(X)
    assert (rbm.intercept_visible_ != before).any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "bool", "int64"])
def test_the_model_has_the_precision_of_its_rows(dtype: str) -> None:
    rbm = RBM(**SETTINGS).fit(rows().astype(dtype))
    expected = "float64" if dtype in ("float64", "uint8", "int64") else "float32"
    assert {rbm.components_.dtype, rbm.transform(rows()).dtype, rbm.gibbs(rows()).dtype} == {np.dtype(expected)}


def test_the_rows_are_shuffled_unless_told_otherwise() -> None:
    X = rows()
    ordered, shuffled = (RBM(**SETTINGS, shuffle=shuffle).fit(X).components_ for shuffle in (False, True))
    assert (ordered != shuffled).any()
    by_hand = RBM(**SETTINGS)
    by_hand.set_params(n_iter=0, shuffle=False).fit(X)
    for start in (*range(0, 40, 10), *range(0, 40, 10)):
        by_hand.partial_fit(X[start : start + 10])
    np.testing.assert_array_equal(by_hand.components_, ordered)


def test_a_fit_that_diverges_says_so() -> None:
    rows = np.random.default_rng(0).normal(0.0, 100.0, (40, 6)).astype("float32")
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="not finite after 50 epochs: a lower learning"):
        RBM(4, visible="gaussian", learning_rate=1e6, n_iter=50, random_state=0).fit(rows)
