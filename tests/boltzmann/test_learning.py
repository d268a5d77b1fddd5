"""What learning takes besides rows of an array: weights of rows, sparse rows, Adam's steps, means of parameters."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import DBM, PCD, RBM, SGD, Adam
from nbm_xp.boltzmann.energy import free_energy
from nbm_xp.boltzmann.negative_phase import PersistentChains
from nbm_xp.boltzmann.training_methods import training_method
from nbm_xp.boltzmann.trajectory_tempering import TemperedChains
from nbm_xp.namespace import to_numpy
from tests.boltzmann.test_tempered import two_clusters
from tests.helpers.libraries import Library, computing, libraries

ROWS = (np.random.default_rng(0).random((40, 9)) < 0.3).astype("float32")
WEIGHTS = np.random.default_rng(1).integers(0, 4, 40)
REPEATED = np.repeat(ROWS, WEIGHTS, axis=0)


def begun(**settings: Any) -> Any:
    random = np.random.default_rng(2)
    parameters = (random.normal(size=shape).astype("float32") for shape in ((4, 9), (4,), (9,)))
    return RBM.from_parameters(*parameters, random_state=0, batch_size=5, **settings)


@pytest.mark.parametrize("settings", [{}, {"training": PCD(centred=True)}, {"optimizer": SGD(0.5, 0.1)}], ids=str)
@pytest.mark.parametrize("scale", [1, 0.01])
def test_a_row_of_weight_two_is_as_two_rows(settings: dict[str, Any], scale: float) -> None:
    one, other = begun(**settings), begun(**settings)
    for _ in range(3):
        one.partial_fit(ROWS, sample_weight=scale * WEIGHTS)
        other.partial_fit(REPEATED)
    np.testing.assert_allclose(one.components_, other.components_, rtol=2e-4, atol=2e-6)
    assert one.score(ROWS, sample_weight=scale * WEIGHTS) == pytest.approx(other.score(REPEATED), rel=1e-4)


@pytest.mark.parametrize("training", ["pcd", "cd", "ptt"])
def test_weights_that_are_all_equal_change_nothing(training: str) -> None:
    settings: dict[str, Any] = {"n_iter": 3, "random_state": 3, "training": training, "batch_size": 10}
    plain = RBM(4, **settings).fit(ROWS)
    weighed = RBM(4, **settings).fit(ROWS, sample_weight=np.full(40, 7.0))
    np.testing.assert_allclose(weighed.components_, plain.components_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weighed.base_rate_, plain.base_rate_, rtol=1e-6)


def test_a_minibatch_of_rows_of_weight_zero_is_no_error() -> None:
    only_zeros = begun()
    before = only_zeros.components_.copy()
    only_zeros.n_iter, only_zeros.shuffle = 1, False
    only_zeros.fit(ROWS[:10], resume=True, sample_weight=[1.0] * 5 + [0.0] * 5)
    assert not np.array_equal(only_zeros.components_, before) and np.isfinite(only_zeros.components_).all()


@pytest.mark.at_night("jax", "torch")
@pytest.mark.parametrize("library", libraries())
@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({"optimizer": SGD(0.5)}, None), ({"optimizer": "adam", "learning_rate": 0.01}, None),
        ({"diagnostics": True}, WEIGHTS), ({"visible": "categorical:2"}, WEIGHTS),
    ],
    ids=str,
)  # fmt: skip
def test_training_is_the_same_on_every_library(settings: dict[str, Any], weights: Any, library: Library) -> None:
    rows = ROWS.astype("float64")
    settings = {"n_iter": 2, "batch_size": 8, "random_state": 0, **settings}
    host, there = (RBM(3, **settings).fit(X, sample_weight=weights) for X in (rows, library.array(rows)))
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_", "base_rate_"):
        np.testing.assert_allclose(to_numpy(getattr(there, name)), getattr(host, name), rtol=1e-8, atol=1e-12)
    for ours, theirs in zip(host.diagnostics_, there.diagnostics_, strict=True):
        assert (ours.log_likelihood, ours.r_hat) == pytest.approx((theirs.log_likelihood, theirs.r_hat))
    score = there.score(library.array(rows), sample_weight=weights)
    assert score == pytest.approx(host.score(rows, sample_weight=weights))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 39, r"sample_weight must have one axis, a weight for each of 40 rows, got an array of shape \(39,\)"),
        (np.ones((40, 1)), r"for each of 40 rows, got an array of shape \(40, 1\)"),
        ([-1] + [1.0] * 39, r"sample_weight must have finite weights of at least 0, and not all zero, got .* from -1"),
        ([np.nan] + [1.0] * 39, "sample_weight must have finite weights"),
        (np.zeros(40), "not all zero, got weights from 0, 0 in all"),
        (["a"] * 40, "sample_weight must be an array of numbers"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: Any, message: str) -> None:
    rbm = begun()
    before = rbm.components_.copy()
    for use in (rbm.fit, rbm.partial_fit, rbm.score):
        with pytest.raises(ValueError, match=message):
            use(ROWS, sample_weight=weights)
    np.testing.assert_array_equal(rbm.components_, before)


def test_what_is_watched_counts_rows_by_their_weights() -> None:
    rows = np.repeat(np.eye(2, dtype="float32"), 4, axis=1).repeat(50, axis=0)
    weights = np.repeat([9.0, 1.0], 50)
    rbm = RBM(3, n_iter=30, learning_rate=0.05, random_state=0, diagnostics=True)
    with np.errstate(all="ignore"):
        rbm.fit(rows, sample_weight=weights)
    look = rbm.diagnostics_[-1]
    assert min(look.data_share or 0, 1 - (look.data_share or 0)) == pytest.approx(0.1)
    assert abs(look.log_likelihood - rbm.score(rows, sample_weight=weights)) < 5 * look.standard_error + 0.02


@pytest.mark.parametrize("make", ["csr_matrix", "csc_array", "coo_array", "lil_matrix"])
def test_sparse_rows_are_as_dense_ones(make: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = getattr(sparse, make)(ROWS)
    settings: dict[str, Any] = {"n_iter": 2, "random_state": 0, "diagnostics": True}
    dense, other = RBM(3, **settings).fit(ROWS), RBM(3, **settings).fit(rows)
    np.testing.assert_allclose(other.components_, dense.components_, rtol=1e-6)
    np.testing.assert_array_equal(dense.transform(rows), dense.transform(ROWS))
    np.testing.assert_array_equal(dense.free_energy(rows), dense.free_energy(ROWS))
    assert dense.score(rows) == dense.score(ROWS)
    weighed, wanted = (RBM(3, **settings).fit(X, sample_weight=WEIGHTS) for X in (rows, ROWS))
    np.testing.assert_allclose(weighed.components_, wanted.components_, rtol=1e-5, atol=1e-7)


def test_sparse_rows_become_dense_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.where(np.random.default_rng(0).random((5000, 300)) < 0.01, 0.5, 0.0).astype("float32")
    rows = sparse.csr_array(dense)
    seen: list[int] = []
    to_array = type(rows).toarray

    def noted(self: Any, order: str | None = None) -> Any:
        seen.append(self.shape[0])
        return to_array(self, order=order)

    monkeypatch.setattr(type(rows), "toarray", noted)
    rbm = RBM(2, n_iter=1, batch_size=50, random_state=0).fit(rows)
    assert max(seen) <= 1024 and sum(count == 50 for count in seen) == 100
    np.testing.assert_allclose(rbm.transform(rows), rbm.transform(dense), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda rows: np.inf * rows, "got values from 0 to inf"), (lambda rows: rows[:0], "X must have at least one row")],
)
def test_sparse_rows_are_checked(change: Any, message: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match=message):
        RBM(2).fit(change(sparse.csr_array(ROWS)))
    with pytest.warns(UserWarning, match="X has values from 2 to 2, those outside"):
        clipped = RBM(2, n_iter=1, random_state=0).fit(2 * sparse.csr_array(ROWS))
    np.testing.assert_allclose(clipped.components_, RBM(2, n_iter=1, random_state=0).fit(ROWS).components_, rtol=1e-6)
    with pytest.raises(ValueError, match="expecting 9 features"):
        clipped.transform(sparse.csr_array(ROWS[:, :3]))


@pytest.mark.parametrize(
    "settings", [{}, {"training": PCD(centred=True)}, {"training": "ptt"}, {"optimizer": Adam(0.5)}], ids=str
)
def test_adams_first_step_is_as_long_as_the_rate_in_each_weight(settings: dict[str, Any]) -> None:
    rbm = begun(**{"optimizer": "adam", "learning_rate": 0.01} | settings)
    before = rbm.components_.copy()
    rbm.partial_fit(ROWS)
    np.testing.assert_allclose(np.abs(rbm.components_ - before), 0.01, rtol=1e-2)


@pytest.mark.parametrize("momentum", [0.0, 0.6])
@pytest.mark.parametrize("penalty", ["l1_weights", "l2l1_weights"])
@pytest.mark.at_night("l2l1_weights")
def test_a_penalised_optimum_has_zero_among_its_subgradients(penalty: str, momentum: float) -> None:
    """Exact gradients, by enumeration, lead there; weights are exactly 0 where those leave them."""
    random, every = np.random.default_rng(0), np.array(list(np.ndindex(2, 2, 2, 2)), float)
    rbm = RBM.from_parameters(2 * random.normal(size=(3, 4)), random.normal(size=3), np.zeros(4))
    of_rows, of_all = (
        free_energy(rbm.state_.parameters, (B.variable(x), None)) for x in (every[[0, 3, 12, 15]], every)
    )
    slopes = B.gradients(B.mean(of_rows) + B.logsumexp(-of_all), list(rbm.state_.parameters))
    sgd, now = SGD(momentum, **{penalty: 0.04}), rbm.state_.parameters
    steps, updates = sgd.steps(rbm.state_, 0.5, [0.5 * slope for slope in slopes], 0.0)
    updates += [(old, old - step) for old, step in zip(now, sgd.shrunk(rbm.state_, 0.5, steps, 0.0), strict=True)]
    descend = B.function([], slopes, updates=updates)
    slope, weights = [(descend()[0].T, rbm.components_) for _ in range(4000)][-1]
    bound = 0.04 * (np.abs(weights).mean(axis=1, keepdims=True) if penalty == "l2l1_weights" else 1) + 0 * weights
    zero = weights == 0
    assert 0 < zero.sum() < 12 and np.all(np.abs(slope[zero]) <= bound[zero] + 1e-6)
    np.testing.assert_allclose(slope[~zero], -(bound * np.sign(weights))[~zero], atol=1e-6)


def test_adam_takes_the_steps_that_its_paper_has() -> None:
    rate, first, second = 0.02, 0.9, 0.999
    rbm = begun(optimizer="adam", learning_rate=rate)
    mean = spread = np.zeros((4, 9))
    for done in range(1, 6):
        before = rbm.components_.copy()
        rbm.partial_fit(ROWS)
        kept = rbm.state_.arrays()
        gradient = (kept["velocity.weights.0-1"].T - first * mean) / (1 - first)
        mean, spread = first * mean + (1 - first) * gradient, second * spread + (1 - second) * gradient**2
        np.testing.assert_allclose(kept["square.weights.0-1"].T, spread, rtol=1e-2, atol=1e-9)
        step = rate * (mean / (1 - first**done)) / (np.sqrt(spread / (1 - second**done)) + 1e-8)
        np.testing.assert_allclose(before - rbm.components_, step, rtol=1e-2, atol=1e-5)


AVERAGED = [(TemperedChains, {"training": "ptt"}), (PersistentChains, {"training": PCD(average=True)})]


@pytest.mark.parametrize(("phase", "settings"), AVERAGED)
def test_fit_ends_with_the_mean_of_the_last_quarter_of_its_steps(
    phase: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    met, follow = [], phase.follow

    def seen(chains: Any, number: int) -> bool:
        met.append(np.array(chains.parameters.weights[0].value.T))
        return bool(follow(chains, number))

    monkeypatch.setattr(phase, "follow", seen)
    rbm = RBM(3, n_iter=5, random_state=0, **settings).fit(two_clusters(160))
    last = met[-20:]  # of 80
    np.testing.assert_allclose(rbm.components_, np.average(last, 0, np.arange(1, 21)), rtol=1e-4, atol=1e-6)
    assert not [name for name in rbm.state_.variables if name.startswith("mean.")]
    rbm.set_params(training=type(training_method(rbm.training))(average=False)).fit(two_clusters(160))
    np.testing.assert_array_equal(rbm.components_, met[-1])


@pytest.mark.parametrize("settings", [settings for _, settings in AVERAGED], ids=str)
def test_a_mean_that_was_begun_is_dropped_where_training_goes_on_for_longer(settings: dict[str, Any]) -> None:
    def stop(model: RBM) -> None:
        if model.n_iter_ == 7:
            raise InterruptedError

    rbm = RBM(3, n_iter=8, random_state=0, **settings)
    with pytest.raises(InterruptedError):
        rbm.fit(two_clusters(160), callback=stop)
    assert "mean.steps" in rbm.state_.variables
    rbm.set_params(n_iter=40)
    rbm.fit(two_clusters(160), resume=True, callback=lambda model: model.set_params(n_iter=8))
    assert "mean.steps" not in rbm.state_.variables


@pytest.mark.parametrize("settings", [settings for _, settings in AVERAGED], ids=str)
def test_fit_ends_with_the_mean_where_a_callback_says_that_it_ends(settings: dict[str, Any]) -> None:
    """That of the passes since it was begun: two of twelve, where the eleventh turns out to be the last."""
    met: list[Any] = []

    def stop_after_eleven(rbm: RBM) -> None:
        met.append(np.array(rbm.components_))
        rbm.n_iter = 11 if rbm.n_iter_ == 11 else 12

    rbm = RBM(3, 0.5, n_iter=12, schedule="constant", batch_size=20, random_state=0, **settings)
    rbm.fit(two_clusters(20), callback=stop_after_eleven)
    assert len(met) == 11 and np.abs(met[-1] - met[-2]).max() > 1e-3
    np.testing.assert_allclose(rbm.components_, (met[-2] + 2 * met[-1]) / 3, rtol=1e-4, atol=1e-6)
    assert not [name for name in rbm.state_.variables if name.startswith("mean.")]


FEW = (np.random.default_rng(0).random((30, 6)) < 0.4).astype("float32")
BATCHED: list[Any] = [
    lambda size: RBM(4, batch_size=size, n_iter=2, random_state=0),
    lambda size: DBM([6, 4, 3], batch_size=size, n_iter=2, random_state=0),
]


@pytest.mark.parametrize("kind", BATCHED, ids=["rbm", "dbm"])
@pytest.mark.parametrize("rows", [FEW, dask.array.from_array(FEW, chunks=7)], ids=["numpy", "dask"])  # type: ignore[no-untyped-call]
def test_fit_takes_all_rows_and_no_more(kind: Any, rows: Any) -> None:
    with computing():
        large, whole = kind(10**9).fit(rows), kind(30).fit(rows)
        pairs = zip(large.state_.arrays().values(), whole.state_.arrays().values(), strict=True)
        assert all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)
    assert large.batch_size == 10**9


@pytest.mark.parametrize("kind", BATCHED, ids=["rbm", "dbm"])
def test_partial_fit_has_as_many_chains_as_its_first_rows(kind: Any) -> None:
    def chains(model: Any) -> set[int]:
        return {chain.shape[0] for name, chain in model.state_.variables.items() if name.startswith("chain.")}

    assert chains(kind(10**9).partial_fit(FEW[:8]).partial_fit(FEW)) == {8} and chains(kind(5).partial_fit(FEW)) == {5}
