"""What a model rejects, it rejects before any work, naming the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder

from nbm_xp import set_floatx
from nbm_xp.boltzmann import DBM, PCD, RBM, SGD, Imputer, RBMClassifier
from nbm_xp.machines.minibatches import WINDOW, minibatches
from tests.helpers.libraries import DASK, LIBRARIES, Library, guard, libraries

GOOD = (np.random.default_rng(0).random((12, 4)) < 0.5).astype("float32")


def with_value(value: float, other: float = 0.0) -> Any:
    bad = GOOD.copy()
    bad[5, 2], bad[7, 1] = value, other
    return bad


BAD_VALUES = {
    "infinite": (with_value(np.inf), r"X must have values in \[0, 1\]"),
    "infinite and missing": (with_value(-np.inf, np.nan), r"X must have values in \[0, 1\]"),
}
BAD_KINDS = {
    "one axis": (GOOD[0], r"X must have two axes, \(rows, features\), got an array of shape \(4,\)"),
    "three axes": (GOOD[None], "X must have two axes"),
    "complex": (GOOD.astype("complex64"), "X must hold real numbers"),
}
BAD_OBJECTS = {
    "strings": ([["a", "b"]], "X must be an array of numbers"),
    "nothing": (None, "X must be an array of numbers"),
    "ragged": ([[1, 0], [1]], "X must be an array of numbers"),
    "objects": (np.full((2, 4), "one", dtype=object), "X must be an array of numbers"),
}
METHODS = ("transform", "free_energy", "score_samples", "log_likelihood", "partial_fit")


@pytest.fixture
def rbm() -> RBM:
    return RBM(3, n_iter=1, random_state=0).fit(GOOD)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", BAD_VALUES | BAD_KINDS | BAD_OBJECTS)
def test_bad_rows_are_refused(rbm: RBM, method: str, case: str) -> None:
    bad, message = (BAD_VALUES | BAD_KINDS | BAD_OBJECTS)[case]
    before = rbm.components_.copy()
    with pytest.raises(ValueError, match=message):
        getattr(rbm, method)(bad)
    with pytest.raises(ValueError, match=message):
        RBM().fit(bad)
    np.testing.assert_array_equal(rbm.components_, before)


@pytest.mark.parametrize("library", libraries("array_api_strict", "torch", "jax", "cupy"))
@pytest.mark.parametrize("case", BAD_VALUES | BAD_KINDS)
def test_bad_rows_of_other_libraries_are_refused(library: Library, case: str) -> None:
    bad, message = (BAD_VALUES | BAD_KINDS)[case]
    with pytest.raises(ValueError, match=message):
        RBM().fit(library.array(bad))


@pytest.mark.parametrize("library", DASK)
@pytest.mark.parametrize("case", BAD_VALUES)
def test_bad_values_on_dask_are_refused_when_they_are_computed(rbm: RBM, library: Library, case: str) -> None:
    bad, message = library.array(BAD_VALUES[case][0]), r"X must have values in \[0, 1\]"
    with guard():
        promised = rbm.transform(bad)
    with pytest.raises(ValueError, match=message):
        promised.compute(scheduler="synchronous")
    with pytest.raises(ValueError, match=message):
        RBM().fit(bad)


@pytest.mark.parametrize("method", [*METHODS, "gibbs"])
def test_other_numbers_of_features_are_refused(rbm: RBM, method: str) -> None:
    with pytest.raises(ValueError, match="has 3 features, but RBM is expecting 4"):
        getattr(rbm, method)(GOOD[:, :3])


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_rows_give_no_rows(rbm: RBM, library: Library) -> None:
    nothing = library.array(GOOD[:0])
    with guard():
        hidden, energy = rbm.transform(nothing), rbm.free_energy(nothing)
    assert library.numpy(hidden).shape == (0, 3) and library.numpy(energy).shape == (0,)
    if not library.lazy:
        with pytest.raises(ValueError, match="at least one row"):
            RBM().fit(nothing)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components"), ({"n_components": 2.5}, "n_components"),
        ({"batch_size": 0}, "batch_size"), ({"batch_size": True}, "batch_size"), ({"n_iter": -1}, "n_iter"),
        ({"n_gibbs": 0}, "n_gibbs"),
        *(({"learning_rate": rate}, "learning_rate") for rate in (0.0, -0.1, float("nan"), float("inf"), "fast")),
        ({"optimizer": SGD(1.0)}, "momentum must be a number, at least 0 and below 1, got 1.0"),
        ({"optimizer": SGD(-0.5)}, "momentum"), ({"optimizer": SGD(weight_decay=-1e-3)}, "weight_decay"),
        ({"schedule": "cosine"}, r"schedule must be one of \['auto', 'constant', .* or a callable, got 'cosine'"),
        ({"random_state": -1}, "random_state"), ({"shuffle": "yes"}, "shuffle"),
        ({"diagnostics": "often"}, "diagnostics"), ({"training": "x"}, r"training must be one of .*, got 'x'"),
        ({"training": PCD(average="last")}, "average must be None, True or False, got 'last'"),
        ({"training": PCD(positive="exact")}, "positive must be 'mean_field' or 'gibbs', got 'exact'"),
        ({"training": PCD(n_positive=0)}, "n_positive must be a whole number, at least 1"),
        ({"optimizer": "newton"}, r"optimizer must be one of \['sgd', 'adam'\] or an SGD or Adam object, got 'newton'"),
        ({"visible": "poisson"}, "visible must be one of .*, categorical:Q with Q states, got 'poisson'"),
    ],
)  # fmt: skip
def test_bad_hyperparameters_are_refused(settings: dict[str, Any], message: str) -> None:
    rbm = RBM(**settings)
    for learn in (rbm.fit, rbm.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(GOOD)
        assert not hasattr(rbm, "n_features_in_")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rbm: rbm.sample(0), "n_chains must be a whole number, at least 1"),
        (lambda rbm: rbm.sample(2, -1), "n_sweeps must be a whole number, at least 0"),
        (lambda rbm: rbm.sample(2, 1.5), "n_sweeps must be an integer, got 1.5"),
        (lambda rbm: rbm.sample(3, 1, initial=GOOD), "initial must have a row for each of 3 chains, got 12"),
        (lambda rbm: rbm.sample(12, 1, initial=GOOD * np.nan), r"initial must have values in \[0, 1\]"),
        (lambda rbm: rbm.sample(2, 1, library="beer"), "beer"), (lambda rbm: rbm.ais(5, 5, library="beer"), "beer"),
        (lambda rbm: rbm.gibbs(GOOD * np.nan), r"v must have values in \[0, 1\]"), (lambda rbm: rbm.ais(0), "n_chains"),
        (lambda rbm: rbm.fit(with_value(np.nan) * [1, 1, np.nan, 1]), "in each column, got only NaN in column 2"),
        (lambda rbm: rbm.sample(2, 1, given=GOOD, initial=GOOD), "initial and clamp must be left out where rows are"),
        (lambda rbm: rbm.impute(GOOD * np.nan, n_chains=1), "n_chains must be a whole number, at least 2, got 1"),
        (lambda rbm: RBMClassifier(4).fit(with_value(np.inf), [0, 1] * 6), r"values in \[0, 1\], got values"),
        (lambda rbm: Imputer(OneHotEncoder()).fit(GOOD), "estimator must be an RBM or a DBM, got OneHotEncoder"),
        (lambda rbm: rbm.ais(5, 1), "n_temperatures must be a whole number, at least 2"),
        (lambda rbm: rbm.ais(5, betas=[0.0, 0.7, 0.5, 1.0]), "betas must rise from 0 to 1"),
        (lambda rbm: rbm.ais(5, betas=[0.1, 1.0]), "betas must rise from 0 to 1"), (lambda rbm: rbm.to("beer"), "beer"),
        (lambda rbm: rbm.ais(5, betas=[]), "betas must rise from 0 to 1"),
        (lambda rbm: rbm.ais(5, betas=3), "betas must be numbers that rise from 0 to 1, got 3"),
        (lambda rbm: rbm.ais(5, betas="abc"), "betas must be numbers that rise from 0 to 1, got 'abc'"),
        (lambda rbm: rbm.reverse_ais(5, 5, initial=5), "initial must have 2 entries, one for each layer, got 5"),
        (lambda rbm: rbm.sample(2, 3, clamp=[1, 2]), "clamp must map layers to their states, got list"),
        (lambda rbm: rbm.gibbs(GOOD[:0]), "v must have at least one row"),
        (lambda rbm: rbm.score(GOOD[:0]), "X must have at least one row"),
        (lambda rbm: rbm.score_samples(GOOD[:0]), "X must have at least one row"),
        (lambda rbm: rbm.log_likelihood(GOOD, np.nan), "log_z must be .* AISEstimate or a LadderEstimate, got nan"),
        (lambda rbm: rbm.log_likelihood(GOOD, "many"), "log_z must be a finite number, .*, got 'many'"),
        (lambda rbm: rbm.log_likelihood(GOOD, np.zeros(2)), "log_z must be a finite number, .*, got array"),
        (lambda rbm: rbm.parallel_tempering(5, 5, library="beer"), "beer"),
        (lambda rbm: rbm.parallel_tempering(5, 2, n_temperatures="many"), "n_temperatures must be a whole number or"),
        (lambda rbm: rbm.fit(GOOD, held_out=GOOD[:, :3]), "held_out has 3 features, but the model is expecting 4"),
        (lambda rbm: rbm.fit(GOOD, held_out=with_value(np.inf)), r"held_out must have values in \[0, 1\]"),
        (lambda rbm: RBM(random_state="today").fit(GOOD), "random_state must be"),
        (lambda rbm: DBM([4, 2], connections=7).fit(GOOD), "connections must be pairs of layers, got 7"),
        (lambda rbm: RBM.from_parameters([1.0], [0.0], [0.0]), "components must be an array"),
        (lambda rbm: RBM.from_parameters(np.ones((2, 3)), np.ones(3), np.ones(3)), r"intercept_hidden must have shape"),
        (lambda rbm: with_parameters(intercept_hidden=None), "intercept_hidden must be an array of numbers, got None"),
        (lambda _: with_parameters(components=np.full((2, 3), np.nan)), "components must have finite values, got NaN"),
        (lambda rbm: with_parameters(intercept_visible=[0, np.inf, 0]), "intercept_visible must have finite values"),
        (lambda rbm: with_parameters(components=np.ones((2, 3), "complex64")), "components must hold real numbers"),
        (lambda rbm: with_parameters(base_rate=[0, 0.5, 2]), r"base_rate must have values in \[0, 1\]"),
        (lambda rbm: with_parameters(n_components=7), "n_components must be the 2 rows of components, got 7"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(rbm: RBM, call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(rbm)


def with_parameters(**others: Any) -> RBM:
    parameters = {"components": np.ones((2, 3)), "intercept_hidden": np.zeros(2), "intercept_visible": np.zeros(3)}
    return RBM.from_parameters(**parameters | others)


def test_parameters_that_are_whole_numbers_make_a_model_as_others_do() -> None:
    whole = with_parameters(components=np.ones((2, 3), dtype="int64"), random_state=0)
    as_floats = with_parameters(components=np.ones((2, 3), dtype="float64"), random_state=0)
    assert whole.components_.dtype == "float64"
    np.testing.assert_array_equal(whole.sample(8, 5), as_floats.sample(8, 5))
    assert whole.log_partition() == as_floats.log_partition()
    set_floatx("float64")
    assert RBM(2, n_iter=0).fit(GOOD).components_.dtype == "float32"  # of the rows


def test_the_exact_partition_function_has_its_limit() -> None:
    RBM.from_parameters(np.zeros((20, 30)), np.zeros(20), np.zeros(30))
    big = RBM.from_parameters(np.zeros((21, 22)), np.zeros(21), np.zeros(22))
    with pytest.raises(ValueError, match=r"at most 20 binary units outside of one group .* layers of \[22, 21\] units"):
        big.log_partition()


def test_rows_in_unknown_number_are_refused_where_the_number_counts(rbm: RBM) -> None:
    import dask.array as da

    rows = da.from_array(GOOD, chunks=(5, 4))
    unknown = rows[rows[:, 0] >= 0]
    for method in (rbm.gibbs, rbm.score_samples):
        with pytest.raises(ValueError, match="known number of rows"):
            method(unknown)
    np.testing.assert_allclose(rbm.transform(unknown).compute(scheduler="synchronous"), rbm.transform(GOOD), rtol=1e-6)
    with pytest.raises(ValueError, match="got NaN"):
        rbm.transform(np.nan * unknown).compute(scheduler="synchronous")


def test_minibatches_hold_every_row_once_in_windows() -> None:
    X = np.arange(2 * WINDOW + 7.0)[:, None]
    random = np.random.default_rng(0)
    batches = [rows for rows, _ in minibatches(X, 10, random.random)]
    seen = np.concatenate(batches)[:, 0]
    np.testing.assert_array_equal(np.sort(seen), X[:, 0])
    assert sorted({len(batch) for batch in batches}) == [5, 10]
    length = WINDOW // 10 * 10
    assert all(np.ptp(batch // length) == 0 for batch in batches)
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in minibatches(X, 10)]), X)
    shuffled, _ = next(minibatches(X[:9], 10, np.random.default_rng(1).random))  # one window: a draw for each row alone
    assert shuffled[:, 0].tolist() == np.random.default_rng(1).random(9).argsort().tolist()


def test_sparse_rows_of_several_kinds_are_held_to_the_kinds_of_their_columns() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    settings: dict[str, Any] = {"visible": "2*categorical:3+2*binary", "n_iter": 1, "random_state": 0}
    rows = np.array([[2.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])
    of_sparse, of_dense = (RBM(2, **settings).fit(X).components_ for X in (sparse.csr_array(rows), rows))
    np.testing.assert_array_equal(of_sparse, of_dense)
    rows[1, 2] = 2.0
    with pytest.raises(ValueError, match=r"X\[..., 2:4\] must have values in \[0, 1\]"):
        RBM(2, **settings).fit(sparse.csr_array(rows))


def test_tables_of_columns_of_several_dtypes_are_rows() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"height": [1.0, 0.5, -1.0], "smoker": [True, False, True]})
    settings: dict[str, Any] = {"visible": "1*gaussian+1*binary", "n_iter": 1, "random_state": 0}
    of_table = RBM(2, **settings).fit(table)
    np.testing.assert_array_equal(of_table.components_, RBM(2, **settings).fit(table.to_numpy("float64")).components_)
    nullable = pandas.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1]}).astype("Int64")
    RBM(2, n_iter=1).fit(nullable)
    nullable.loc[1, "b"] = pandas.NA
    missing = np.array([[0, 1], [1, np.nan], [1, 1]])
    of_table, of_array = (RBM(2, n_iter=2, random_state=0).fit(X) for X in (nullable, missing))
    np.testing.assert_array_equal(of_table.components_, of_array.components_)
    with pytest.raises(ValueError, match="X must be an array of numbers"):
        RBM(2, n_iter=1).fit(table.assign(smoker=["yes", "no", "yes"]))


def test_held_out_rows_and_starts_are_held_to_names_and_clipped_as_rows_are() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame((np.random.default_rng(0).random((20, 3)) < 0.5).astype("float32"), columns=list("abc"))
    turned = table[list("cba")]
    with pytest.raises(ValueError, match="in the same order"):
        RBM(2, n_iter=1).fit(table, held_out=turned)
    with pytest.raises(ValueError, match="in the same order"):
        RBM(2, n_iter=1).fit(table).sample(20, 1, initial=turned)
    with pytest.warns(UserWarning, match="held_out has values from 0 to 2, those outside"):
        rbm = RBM(2, n_iter=1).fit(table, held_out=2 * table)
    with pytest.warns(UserWarning, match="initial has values from 0 to 2, those outside"):
        rbm.sample(20, 1, initial=2 * table)
