"""Hidden units and missing values of machines on graphs: sums, gradients, draws and learning, beside enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import Graph, GraphMachine, enumerated
from nbm_xp.graphs.exact import states_of
from nbm_xp.graphs.latent import IncompleteObjective, objective
from tests.helpers.libraries import LIBRARIES, Library, libraries

RNG = np.random.default_rng(5)
PAIRS = Graph(7, *np.asarray(np.triu_indices(7, 1)))  # hidden units are joined with each other, too
HIDDEN = [5, 1]
VISIBLE = [0, 2, 3, 4, 6]
TRUTHS = {
    "spin": GraphMachine(PAIRS, "spin", RNG.normal(0.0, 0.3, 7), RNG.normal(0.0, 0.6, 21), hidden=HIDDEN),
    "binary": GraphMachine(PAIRS, "binary", RNG.normal(0.0, 0.5, 7), RNG.normal(0.0, 1.5, 21), hidden=HIDDEN),
    "potts": GraphMachine(PAIRS, 3, RNG.normal(0.0, 0.5, (7, 3)), RNG.normal(0.0, 1.0, 21), hidden=HIDDEN),
    "matrices": GraphMachine(PAIRS, 3, 0.1, RNG.normal(0.0, 0.7, (21, 3, 3)), hidden=HIDDEN),
}


def rows_of(kind: str, count: int, missing: float = 0.0, seed: int = 1) -> Any:
    """Independent rows of visible units, with values missing at random, but at least one in each column."""
    machine, rng = TRUTHS[kind], np.random.default_rng(seed)
    chances = enumerated(machine).probabilities()
    states = states_of(machine, 0, chances.size)[rng.choice(chances.size, count, p=chances)]
    gaps = rng.random((count, len(VISIBLE))) < missing
    gaps[0] = False
    return np.where(gaps, np.nan, states[:, VISIBLE].astype(float)) if missing else states[:, VISIBLE]


def agreeing(machine: GraphMachine, row: Any) -> Any:
    """Which states agree with the values of a row of visible units that are there."""
    states = states_of(machine, 0, machine.kind.count**7)[:, VISIBLE]
    return ((states == row) | np.isnan(row)).all(axis=1)


@pytest.mark.parametrize("kind", TRUTHS)
def test_likelihoods_are_sums_over_all_states_that_agree(kind: str) -> None:
    machine, rows = TRUTHS[kind], rows_of(kind, 6, 0.3)
    chances = enumerated(machine).probabilities()
    want = np.asarray([np.log(chances[agreeing(machine, row)].sum()) for row in rows])
    np.testing.assert_allclose(machine.log_likelihood(rows), want)
    pseudo = np.zeros(6)
    for unit in range(5):
        others = np.where(np.arange(5) == unit, np.nan, rows)
        pseudo += want - [np.log(chances[agreeing(machine, row)].sum()) for row in others]
    np.testing.assert_allclose(machine.score_samples(rows), pseudo)
    weights = np.arange(6.0)
    assert machine.score(rows, sample_weight=weights) == pytest.approx(float(pseudo @ weights / weights.sum()))
    visible = GraphMachine(PAIRS, machine.units, machine.fields, machine.couplings)
    full = np.insert(rows_of(kind, 6), [1, 4], 1, axis=1)  # nothing is hidden, and nothing missing but in some rows
    some = np.vstack([full, np.where(np.arange(7) == 2, np.nan, full)])
    for method in (visible.log_likelihood, visible.score_samples):
        np.testing.assert_allclose(method(some)[:6], method(full))


@pytest.mark.parametrize("kind", TRUTHS)
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    aim = objective(TRUTHS[kind], rows_of(kind, 20, 0.3), np.linspace(0.5, 3.0, 20), weight_decay=0.1)
    assert isinstance(aim, IncompleteObjective)
    place = np.random.default_rng(3).normal(0.0, 0.5, aim.machine.edge_couplings.size + aim.machine.unit_fields.size)
    way = np.random.default_rng(4).normal(size=place.size)
    ahead, behind = (aim.likelihood(place + h * way)[0] for h in (1e-5, -1e-5))
    assert aim.likelihood(place)[1] @ way == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("kind", TRUTHS)
def test_draws_given_rows_are_those_of_enumeration(kind: str) -> None:
    pytest.importorskip("xarray")
    machine, rows = TRUTHS[kind], rows_of(kind, 3, 0.4)
    draws = machine.sample(2000, 40, observe=["energy", "magnetisation"], given=rows, random_state=2)
    assert draws["state"].dims, draws["energy"].dims == (("chain", "row", "unit"), ("chain", "row", "sweep"))
    states = states_of(machine, 0, machine.kind.count**7).astype(float)
    chances = enumerated(machine).probabilities()
    for k, row in enumerate(rows):
        p = chances * agreeing(machine, row)
        p /= p.sum()
        found = draws["state"].values[:, k, :].astype(float)
        np.testing.assert_array_equal(found[:, VISIBLE], np.where(np.isnan(row), found[:, VISIBLE], row))
        for moment in (lambda x: x, lambda x: x * x[:, 1:2]):
            want = p @ moment(states)
            error = np.sqrt((p @ moment(states) ** 2 - want**2).clip(0) / 2000 + 1 / 2000**2)
            assert (np.abs(moment(found).mean(axis=0) - want) <= 4 * error).all()


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch"))
@pytest.mark.parametrize("missing", [0.0, 0.4])  # where nothing is missing, compiled loops draw the hidden units
def test_every_library_and_division_draws_the_same(library: Library, missing: float) -> None:
    pytest.importorskip("xarray")
    machine, rows = TRUTHS["spin"], rows_of("spin", 3, missing)
    whole = machine.sample(4, 6, given=rows, random_state=1, library="numpy")
    part = machine.sample(2, 4, given=rows, random_state=1, first_chain=2, library=library.name)
    rest = machine.sample(2, 2, given=rows, initial=part, library=library.name)
    np.testing.assert_array_equal(rest["state"].values, whole["state"].values[2:])
    np.testing.assert_array_equal(part["energy"].values, whole["energy"].values[2:, :, :4])
    every = np.insert(rows.astype(float), [1, 4], np.nan, axis=1)  # also with columns for hidden units
    every[:, 5] = 1.0
    np.testing.assert_array_equal(machine.chains(2, given=every, library=library.name).rows()[:, 5], 1)


@pytest.mark.parametrize(
    ("kind", "training", "missing"),
    [("spin", "pcd", 0.3), ("binary", "ptt", 0.0), ("potts", "ptt", 0.3), ("matrices", "pcd", 0.0)],
)
def test_chains_lead_to_where_the_exact_gradient_leads(kind: str, training: str, missing: float) -> None:
    rows, how = rows_of(kind, 200, missing), {"hidden": HIDDEN, "weight_decay": 0.02, "random_state": 1}
    couplings = np.zeros((3, 3)) if kind == "matrices" else None
    truth, machines = TRUTHS[kind], []
    for method in ("exact", training):
        machine = GraphMachine(PAIRS, truth.units, couplings=couplings, training=method, n_iter=300, **how).fit(rows)
        machines.append(machine)
    exact, learnt = (float(np.mean(machine.log_likelihood(rows))) for machine in machines)
    uniform = GraphMachine(PAIRS, truth.units, couplings=0.0, hidden=HIDDEN).log_likelihood(rows).mean()
    assert abs(exact - learnt) < 0.03 < 0.2 * (exact - uniform)
    assert machines[0].n_features_in_ == 5


def test_hidden_units_learn_what_visible_pairs_cannot() -> None:
    """The parity of three spins: pairs of them are independent, and one hidden unit joined with each learns it."""
    rows = np.asarray([[a, b, a * b] for a in (-1, 1) for b in (-1, 1)] * 5)
    star = [[0, 3], [1, 3], [2, 3]]
    how = {"training": "exact", "weight_decay": 1e-4, "random_state": 1}
    alone = GraphMachine([[0, 1], [1, 2], [0, 2]], **how).fit(rows)
    assert alone.log_likelihood(rows).mean() == pytest.approx(-3 * np.log(2), abs=1e-3)
    hidden = GraphMachine([*star, [0, 1], [1, 2], [0, 2]], hidden=[3], **how).fit(rows)
    assert hidden.log_likelihood(rows).mean() > -2 * np.log(2) - 0.05


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_learns_the_same(library: Library) -> None:
    rows, weights = rows_of("spin", 40, 0.2), np.linspace(1.0, 2.0, 40)
    how = {"hidden": HIDDEN, "training": "exact", "weight_decay": 0.05, "random_state": 3}
    want = GraphMachine(PAIRS, **how).fit(rows, sample_weight=weights)
    got = GraphMachine(PAIRS, **how).fit(library.array(rows), sample_weight=weights)
    np.testing.assert_allclose(got.couplings_, want.couplings_, atol=1e-5)
    if library.name == "jax":
        return  # which compiles for longer than it learns
    chains = {"training": "pcd", "n_chains": 4, "learning_rate": 0.1}
    want, got = (GraphMachine(PAIRS, **how | chains) for _ in range(2))
    for _ in range(2):
        want.partial_fit(rows)
        got.partial_fit(library.array(rows))
    np.testing.assert_allclose(got.fields_, want.fields_, atol=1e-5)


GOOD = np.asarray([[1, 1, -1], [-1, -1, 1]])
LINE = [[0, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: GraphMachine(LINE, hidden=[4]), r"hidden must be different unit numbers from 0 to 3, .* got \[4\]"),
        (lambda: GraphMachine(LINE, hidden=[1, 1]), r"hidden must be different unit numbers"),
        (lambda: GraphMachine(LINE, hidden=[0.5]), r"hidden must be different unit numbers"),
        (lambda: GraphMachine(LINE, hidden=range(4)), "not all of them"),
        (lambda: GraphMachine(LINE, hidden=[1]).fit(GOOD), "training must be 'exact', 'pcd' or 'ptt' with hidden"),
        (lambda: GraphMachine(LINE, hidden=[1], training="exact").fit(GOOD[:, :2]), "X has 2 features, .* expecting 3"),
        (lambda: GraphMachine(LINE, hidden=[1], training="pcd").fit(0 * GOOD), "X must hold -1, 1, or NaN .* got 0"),
        (lambda: GraphMachine(LINE, hidden=[1], training="pcd").fit(GOOD[:1]), "unit 0 is never -1"),
        (
            lambda: GraphMachine(LINE, hidden=[1], training="pcd").fit(GOOD * [1, np.nan, 1]),
            "a value in each column, got only NaN in column 1",
        ),
        (lambda: GraphMachine(LINE).sample(given=GOOD), r"given must be of shape \(rows, 4\), .* got \(2, 3\)"),
        (lambda: GraphMachine(LINE, hidden=[1]).sample(given=GOOD, clamp={0: 1}), "given: clamp must be None"),
        (lambda: GraphMachine(LINE, hidden=[1]).sample(given=GOOD, shards=2), "given must be None where there are"),
        (lambda: GraphMachine(LINE, hidden=[1]).sample(given=GOOD, rule="wolff"), "cannot clamp units"),
    ],
)
def test_what_cannot_be(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()
