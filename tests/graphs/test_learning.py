"""Machines on graphs that learn from states: gradients, what is recovered, every library, and scikit-learn's tools."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp import graphs
from nbm_xp.graphs import GraphMachine, enumerated, erdos_renyi, lattice, neighbourhoods, random_regular
from nbm_xp.graphs.exact import all_states
from nbm_xp.graphs.latent import objective
from nbm_xp.graphs.likelihoods import Objective, joined, place_of
from nbm_xp.graphs.neighbourhoods import Neighbourhood
from nbm_xp.machines.diagnostics import TrainingWarning
from tests.helpers.libraries import LIBRARIES, Library, libraries, on_libraries

RNG = np.random.default_rng(7)
COUPLINGS, FIELDS = RNG.normal(0.0, 0.4, 18), RNG.normal(0.0, 0.3, 9)
SQUARE, HIDDEN, FACTORS = lattice((3, 3)), [1, 4], [(0, 4, 8), (1, 2, 3, 7), (6, 4, 5)]
TRUTHS = {
    "spin": GraphMachine(SQUARE, "spin", FIELDS, COUPLINGS),
    "binary": GraphMachine(SQUARE, "binary", FIELDS, 2 * COUPLINGS),
    "potts": GraphMachine(SQUARE, 3, RNG.normal(0.0, 0.3, (9, 3)), 1.5 * COUPLINGS),
    "factors": GraphMachine(SQUARE, "spin", FIELDS, COUPLINGS, factors=FACTORS, factor_couplings=[0.5, -0.4, 0.6]),
    "matrices": GraphMachine(SQUARE, 3, RNG.normal(0.0, 0.3, (9, 3)), RNG.normal(0.0, 0.4, (18, 3, 3))),
}


def unlearnt(kind: str, **params: Any) -> GraphMachine:
    """A machine whose couplings have the shape of the true ones."""
    truth = TRUTHS[kind]
    couplings = np.zeros((3, 3)) if kind == "matrices" else None
    return GraphMachine(SQUARE, truth.units, couplings=couplings, factors=truth.factors, **params)


def exact_states(machine: GraphMachine, count: int, seed: int = 1) -> Any:
    """Independent states of a small machine, by its probabilities."""
    chances = enumerated(machine).probabilities()
    return all_states(machine)[np.random.default_rng(seed).choice(chances.size, count, p=chances)]


def agreeing(machine: GraphMachine, row: Any) -> Any:
    """Which states agree with the values of a row that are there."""
    return ((all_states(machine) == row) | np.isnan(row)).all(axis=1)


def log_chance(machine: GraphMachine, row: Any) -> float:
    return float(np.log(enumerated(machine).probabilities()[agreeing(machine, row)].sum()))


def with_hidden(kind: str) -> GraphMachine:
    return GraphMachine(**TRUTHS[kind].get_params() | {"hidden": HIDDEN})


def with_gaps(rows: Any, missing: float) -> Any:
    """Rows with values missing at random."""
    return np.where(np.random.default_rng(2).random(rows.shape) < missing, np.nan, rows) if missing else rows


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize(("name", "missing"), [("likelihood", 0.0), ("pseudo", 0.0), ("likelihood", 0.3)])
def test_gradients_are_those_of_finite_differences(kind: str, name: str, missing: float) -> None:
    machine = TRUTHS[kind]
    rows, weights = with_gaps(exact_states(machine, 30), missing), np.linspace(0.5, 3.0, 30)
    aim = objective(machine, rows, weights, (0.1, 0.3))
    assert aim.incomplete == (missing > 0)
    place = np.random.default_rng(3).normal(0.0, 0.5, place_of(machine).size)
    climb = getattr(aim, name)
    for way in np.random.default_rng(4).normal(size=(3, place.size)):
        ahead, behind = (climb(place + h * way)[0] for h in (1e-5, -1e-5))
        assert climb(place)[1] @ way == pytest.approx((ahead - behind) / 2e-5, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_values_are_those_of_enumeration(kind: str, missing: float) -> None:
    machine = TRUTHS[kind]
    rows = with_gaps(exact_states(machine, 12), missing)
    want = np.asarray([log_chance(machine, row) for row in rows])
    np.testing.assert_allclose(machine.log_likelihood(rows), want)
    pseudo = np.zeros(12)  # of each value, given the others that are there
    for unit in range(9):
        pseudo += want - [log_chance(machine, np.where(np.arange(9) == unit, np.nan, row)) for row in rows]
    np.testing.assert_allclose(machine.score_samples(rows), pseudo)
    weights = np.arange(12.0)
    assert machine.score(rows, sample_weight=weights) == pytest.approx(float((pseudo * weights).sum() / weights.sum()))
    hidden, less = with_hidden(kind), np.delete(rows, HIDDEN, axis=1)
    missing_there = np.where(np.isin(np.arange(9), HIDDEN), np.nan, rows)
    for name in ("log_likelihood", "score_samples"):
        np.testing.assert_allclose(getattr(hidden, name)(less), getattr(machine, name)(missing_there))


@pytest.mark.parametrize("kind", TRUTHS)
def test_draws_given_rows_are_those_of_enumeration(kind: str) -> None:
    pytest.importorskip("xarray")
    machine, rows = with_hidden(kind), np.delete(with_gaps(exact_states(TRUTHS[kind], 3), 0.4), HIDDEN, axis=1)
    draws = machine.sample(2000, 40, given=rows, random_state=2)
    assert (draws["state"].dims, draws["energy"].dims) == (("chain", "row", "unit"), ("chain", "row", "sweep"))
    states, chances = (x.astype(float) for x in (all_states(machine), enumerated(machine).probabilities()))
    for k, row in enumerate(np.insert(rows.astype(float), [HIDDEN[0], HIDDEN[1] - 1], np.nan, axis=1)):
        p = chances * agreeing(machine, row)
        p /= p.sum()
        found = draws["state"].values[:, k, :].astype(float)
        np.testing.assert_array_equal(found, np.where(np.isnan(row), found, row))
        for moment in (lambda x: x, lambda x: x * x[:, 1:2]):
            want = p @ moment(states)
            error = np.sqrt((p @ moment(states) ** 2 - want**2).clip(0) / 2000 + 1 / 2000**2)
            assert (np.abs(moment(found).mean(axis=0) - want) <= 4 * error).all()


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch"))
@pytest.mark.parametrize("missing", [0.0, 0.4])  # where nothing is missing, compiled loops draw the hidden units
def test_draws_given_rows_can_be_divided_on_every_library(library: Library, missing: float) -> None:
    pytest.importorskip("xarray")
    machine, rows = with_hidden("spin"), np.delete(with_gaps(exact_states(TRUTHS["spin"], 3), missing), HIDDEN, axis=1)
    whole = machine.sample(4, 6, given=rows, random_state=1, library="numpy")
    part = machine.sample(2, 4, given=rows, random_state=1, first_chain=2, library=library.name)
    rest = machine.sample(2, 2, given=rows, initial=part, library=library.name)
    np.testing.assert_array_equal(rest["state"].values, whole["state"].values[2:])
    np.testing.assert_array_equal(part["energy"].values, whole["energy"].values[2:, :, :4])
    every = np.where(np.arange(9) == HIDDEN[1], 1, np.ones((3, 9)) * np.nan)  # hidden units can be clamped, too
    np.testing.assert_array_equal(machine.chains(2, given=every, library=library.name).rows()[:, HIDDEN[1]], 1)


def gauged(machine: GraphMachine) -> Any:
    """What data can tell: fields of Potts units up to a constant, matrices up to what either unit alone tells."""
    if machine.couplings_.ndim == 3:
        centred = machine.couplings_ - machine.couplings_.mean(axis=1, keepdims=True)
        return (centred - centred.mean(axis=2, keepdims=True)).reshape(-1)
    fields = machine.fields_ if not machine.kind.is_categorical else machine.fields_[:, 1:] - machine.fields_[:, :1]
    return np.concatenate([machine.coupling_parameters, fields.reshape(-1)])


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("training", ["pseudo_likelihood", "exact"])
def test_parameters_are_recovered_within_statistical_errors(kind: str, training: str) -> None:
    truth = TRUTHS[kind]
    rows = exact_states(truth, 4000)
    learnt = unlearnt(kind, training=training).fit(rows)
    truth.couplings_, truth.fields_ = truth.couplings, np.asarray(truth.fields)
    aim, place = Objective(learnt, rows), place_of(learnt)
    slope = (aim.likelihood if training == "exact" else aim.pseudo)(place)[1]
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    # each is a mean over 4,000 rows, of which a standard error is 0.03, or of Potts units 0.06, at most
    assert np.abs(gauged(learnt) - gauged(truth)).max() < {"matrices": 0.4, "potts": 0.25}.get(kind, 0.12)
    if training == "exact":  # at the maximum, the machine shows what the data shows
        for a, b in zip(aim.moments_of(enumerated(learnt).probabilities()), aim.wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("kind", TRUTHS)
def test_steps_are_those_of_energies_of_centred_states(kind: str) -> None:
    machine, rows = TRUTHS[kind], exact_states(TRUTHS[kind], 60)
    aim = Objective(machine, rows, np.linspace(0.5, 1.5, 60))
    values = (rows[:, :, None] == np.arange(3) if machine.kind.is_categorical else rows[:, :, None]).astype(float)
    plain, from_means = (
        np.concatenate([
            np.einsum("neb,nec->nebc" if kind == "matrices" else "neb,neb->ne", x[:, SQUARE.first], x[:, SQUARE.second])
            .reshape(60, -1),
            *(values[:, units].prod(axis=1) for units in FACTORS * (kind == "factors")),
            values.transpose(0, 2, 1).reshape(60, -1),
        ], axis=1)
        for x in (values, values - aim.wanted[1].T)
    )  # fmt: skip
    weights = RNG.permutation(np.linspace(-1.0, 1.0, 60))
    change = plain @ aim.centred(weights @ plain) - from_means @ (weights @ from_means)
    np.testing.assert_allclose(change, change[0])  # energies change alike, but for a constant
    if kind == "spin":
        lengths = np.linalg.eigvalsh(np.cov(from_means.T, aweights=np.linspace(0.5, 1.5, 60), ddof=0))
        assert aim.largest_curvature() == pytest.approx(lengths[-1], rel=0.01)


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("training", ["pseudo_likelihood", "exact"])
def test_couplings_and_fields_have_penalties_of_their_own(kind: str, training: str) -> None:
    rows = exact_states(TRUTHS[kind], 200)
    learnt = unlearnt(kind, training=training, weight_decay=0.2, field_decay=0.03).fit(rows)
    aim, place = Objective(learnt, rows), place_of(learnt)
    slope = (aim.likelihood if training == "exact" else aim.pseudo)(place)[1]
    np.testing.assert_allclose(
        slope, joined(*(a * b for a, b in zip((0.2, 0.03), aim.split(place), strict=True))), atol=1e-5
    )
    assert learnt.fit(rows, resume=True).n_iter_ < 2


@pytest.mark.parametrize(
    ("kind", "training", "missing"),
    [(kind, way, 0.0) for kind in TRUTHS for way in ("pcd", "ptt") if kind != "factors" or way == "pcd"]
    + [("spin", "pcd", 0.3), ("potts", "ptt", 0.2), pytest.param("matrices", "pcd", 0.2, marks=pytest.mark.slow)],
)
@pytest.mark.at_night("binary", "potts")
def test_chains_lead_to_the_maximum_of_the_likelihood(kind: str, training: str, missing: float) -> None:
    rows, hidden = with_gaps(exact_states(TRUTHS[kind], 500), missing), None
    if missing:
        rows, hidden = np.delete(rows, HIDDEN, axis=1), HIDDEN
    how = {"n_iter": 200, "n_chains": 128, "random_state": 3, "weight_decay": 0.01, "hidden": hidden}
    how |= {"momentum": 0.8, "schedule": "linear"} if kind == "matrices" else {}
    exact, learnt = (
        unlearnt(kind, training=way, **how).fit(rows, resume=kind == "matrices") for way in ("exact", training)
    )
    lost = float(np.mean(exact.log_likelihood(rows) - learnt.log_likelihood(rows)))
    assert abs(lost) < (0.02 if missing else 0.01)
    if kind == "spin":
        once, again = (unlearnt(kind, training=training, **how | {"n_iter": 20}).fit(rows) for _ in range(2))
        np.testing.assert_array_equal(again.couplings_, once.couplings_)


def test_chains_exchange_where_sweeps_alone_stay_on_one_side() -> None:
    graph = lattice((4, 4))
    rows = np.ones((200, 16), dtype=np.int8)
    rows[:140] *= -1  # two valleys, of shares 0.7 and 0.3
    flips = np.random.default_rng(1).random(rows.shape) < 0.03
    rows = np.where(flips, -rows, rows)
    how = {"n_iter": 300, "n_chains": 64, "weight_decay": 1e-3, "random_state": 1}
    learnt = GraphMachine(graph, training="ptt", **how).fit(rows)
    exact = GraphMachine(graph, training="exact", weight_decay=1e-3).fit(rows)
    assert abs(float(np.mean(exact.log_likelihood(rows) - learnt.log_likelihood(rows)))) < 0.05


@pytest.mark.parametrize(("truth", "library"), on_libraries(TRUTHS, LIBRARIES))
def test_every_library_learns_the_same(truth: GraphMachine, library: Library) -> None:
    kind = next(name for name in TRUTHS if TRUTHS[name] is truth)
    rows, weights = exact_states(truth, 60), np.linspace(1.0, 2.0, 60)
    want = unlearnt(kind, weight_decay=0.05).fit(rows, sample_weight=weights)
    machine = unlearnt(kind, weight_decay=0.05)
    got = machine.fit(library.array(rows), sample_weight=weights)
    np.testing.assert_allclose(place_of(got), place_of(want), atol=1e-5)
    np.testing.assert_allclose(got.score_samples(library.array(rows)), want.score_samples(rows), atol=1e-5)


@pytest.mark.parametrize("library", libraries(without=("jax",)))  # which compiles for longer than it learns
def test_every_library_learns_hidden_units_the_same(library: Library) -> None:
    rows, weights = with_gaps(exact_states(TRUTHS["spin"], 40), 0.2), np.linspace(1.0, 2.0, 40)
    rows = np.delete(rows, HIDDEN, axis=1)
    for how in ({"training": "exact"}, {"training": "pcd", "n_chains": 4, "learning_rate": 0.1}):
        want, got = (GraphMachine(SQUARE, hidden=HIDDEN, random_state=3, **how) for _ in range(2))
        for _ in range(2):
            want.partial_fit(rows, sample_weight=weights)
            got.partial_fit(library.array(rows), sample_weight=weights)
        np.testing.assert_allclose(place_of(got), place_of(want), atol=1e-5)
    assert got.n_features_in_ == 7


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch"))
@pytest.mark.at_night("torch")
def test_chains_run_where_the_rows_lie(library: Library) -> None:
    training = "ptt" if library.name == "torch" else "pcd"
    rows = exact_states(TRUTHS["spin"], 60)
    how = {"training": training, "n_iter": 4, "n_chains": 6, "weight_decay": 0.1, "random_state": 2}
    want = GraphMachine(SQUARE, **how).fit(rows)
    got = GraphMachine(SQUARE, **how).fit(library.array(rows))
    np.testing.assert_allclose(got.couplings_, want.couplings_, atol=1e-5)


@pytest.mark.parametrize("units", ["spin", 3, "matrices"])
@pytest.mark.parametrize(
    "graph",
    [lattice((4, 6)), random_regular(40, 3, 1), erdos_renyi(30, 0.05, 1), graphs.sherrington_kirkpatrick(12, 1)],
)
def test_tables_of_neighbours_and_of_all_pairs_say_the_same(
    graph: Any, units: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(1).integers(0, 2, (25, graph.units)) * (2 if units == "spin" else 1)
    rows = rows - 1 if units == "spin" else rows
    machine = GraphMachine(graph, 3, couplings=np.eye(3)) if units == "matrices" else GraphMachine(graph, units)
    place = np.random.default_rng(2).normal(size=machine.edge_couplings.size + machine.layout.fields.size)
    found = []
    for few in (neighbourhoods.FEW_UNITS, 0):
        monkeypatch.setattr(neighbourhoods, "FEW_UNITS", few)
        aim = Objective(machine, rows)
        value, slope = aim.pseudo(place)
        found.append(
            np.hstack(
                [value, slope, joined(*aim.wanted), aim.scores(Neighbourhood.shares, place), aim.largest_curvature()]
            )
        )
    np.testing.assert_allclose(*found, atol=1e-9)
    np.testing.assert_allclose(aim.scores(Neighbourhood.shares, place), -aim.machine_at(place).energy(rows))


def test_batches_lead_there_too() -> None:
    truth = TRUTHS["spin"]
    rows = exact_states(truth, 3000)
    whole = GraphMachine(SQUARE).fit(rows)
    for training, rate in (("pseudo_likelihood", 0.1), ("pcd", 0.05)):
        machine = GraphMachine(SQUARE, couplings=0.0, training=training, learning_rate=rate, random_state=1)
        for _ in range(20):
            for batch in np.split(rows, 10):
                machine.partial_fit(batch)
        assert machine.n_iter_ == 200
        assert np.abs(machine.couplings_ - whole.couplings_).max() < 0.2


def test_scikit_learn_takes_machines_as_estimators() -> None:
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV
    from sklearn.utils.validation import check_is_fitted

    rows = exact_states(TRUTHS["spin"], 300)
    machine = GraphMachine(SQUARE, fields=FIELDS, weight_decay=0.3)
    copied = sklearn.base.clone(machine.fit(rows))
    assert copied is not machine
    np.testing.assert_array_equal(copied.energy(rows), GraphMachine(SQUARE, fields=FIELDS).energy(rows))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(copied)
    check_is_fitted(machine)
    search = GridSearchCV(copied, {"weight_decay": [10.0, 0.01]}, cv=3).fit(rows)
    assert search.best_params_ == {"weight_decay": 0.01}
    assert search.best_estimator_.score(rows) > GraphMachine(SQUARE, weight_decay=10.0).fit(rows).score(rows)
    assert machine.get_params()["graph"] is SQUARE


def test_parameters_are_set_by_name() -> None:
    machine = GraphMachine([[0, 1]], weight_decay=0.1)
    assert machine.set_params(couplings=0.25, n_iter=3) is machine
    assert machine.energy([[1, 1]]).tolist() == [-0.25]
    assert (machine.n_iter, machine.weight_decay) == (3, 0.1)
    with pytest.raises(ValueError, match="GraphMachine has no parameter 'coupling'"):
        machine.set_params(coupling=1.0)
    with pytest.raises(ValueError, match="couplings must be finite, got nan"):
        machine.set_params(couplings=math.nan, n_iter=9)
    assert (machine.n_iter, machine.couplings) == (3, 0.25)


def test_what_was_learnt_is_drawn_from() -> None:
    pytest.importorskip("xarray")
    rows = exact_states(TRUTHS["spin"], 2000)
    learnt = GraphMachine(SQUARE).fit(rows)
    draws = learnt.sample(n_chains=64, n_sweeps=400, burn_in=50, observe="means", random_state=1)
    means = draws["edge_means"].values.mean(axis=0)
    np.testing.assert_allclose(means, (rows[:, SQUARE.first] * rows[:, SQUARE.second]).mean(axis=0), atol=0.05)


GOOD = np.asarray([[1] * 9, [-1] * 9])
WRONG: list[tuple[dict[str, Any], Any, str]] = [
    ({}, np.ones((2, 8)), "X has 8 features, but GraphMachine is expecting 9 features"),
    ({}, np.ones(9), "X must have two axes"),
    ({}, np.zeros((2, 9)), "X must hold -1, 1, got 0"),
    ({"units": "binary"}, GOOD, "X must hold 0, 1, got -1"),
    ({"units": 3}, np.full((2, 9), 3), "X must hold 0, 1, 2, got 3"),
    ({}, np.where(GOOD > 0, np.nan, GOOD), "training must be 'exact', 'pcd' or 'ptt' with missing values"),
    ({}, np.ones((0, 9)), "X must have at least one row"),
    ({}, np.ones((2, 9)), "unit 0 is never -1, to which no field is large enough"),
    ({"units": 3}, np.where(GOOD > 0, 2, 0), "unit 0 is never 1, to which no field is large enough"),
    ({"training": "gibbs"}, GOOD, "training must be 'pseudo_likelihood' or 'pcd'"),
    ({"n_iter": 0}, GOOD, "n_iter must be a whole number, at least 1, got 0"),
    ({"n_chains": 0}, GOOD, "n_chains must be a whole number, at least 1, got 0"),
    ({"n_sweeps": 1.5}, GOOD, "n_sweeps must be a whole number, at least 1, got 1.5"),
    ({"learning_rate": 0}, GOOD, "learning_rate must be a finite number, above 0, got 0"),
    ({"weight_decay": -1.0}, GOOD, "weight_decay must be a finite number, at least 0, got -1.0"),
    ({"weight_decay": 0.1, "field_decay": 0}, np.ones((2, 9)), "unit 0 is never -1, to which no field is large"),
    ({"field_decay": -1}, GOOD, "field_decay must be a finite number, at least 0, got -1"),
    ({"momentum": 1}, GOOD, "momentum must be a number, at least 0 and below 1, got 1"),
    ({"tol": math.inf}, GOOD, "tol must be a finite number, above 0, got inf"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_cannot_be_learnt_is_said_and_changes_nothing(case: int) -> None:
    arguments, rows, message = WRONG[case]
    machine = GraphMachine(SQUARE, **arguments)
    before = dict(machine.__dict__)
    with pytest.raises(ValueError, match=message):
        machine.fit(rows)
    assert machine.__dict__ == before


def test_too_many_states_are_not_gone_through() -> None:
    machine = GraphMachine(lattice((5, 5)), training="exact")
    with pytest.raises(ValueError, match=r"training 'exact' goes through all states, and 3.36e\+07 are more"):
        machine.fit(np.ones((2, 25)))
    with pytest.raises(ValueError, match="sample_weight must have one axis"):
        GraphMachine(SQUARE).fit(GOOD, sample_weight=[1.0])


def test_learning_that_stops_early_warns() -> None:
    rows = exact_states(TRUTHS["spin"], 300)
    with pytest.warns(TrainingWarning, match="learning stopped after 2 steps"):
        GraphMachine(SQUARE, n_iter=2).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphMachine(SQUARE).fit(rows)
