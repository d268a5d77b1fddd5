"""Hidden units and missing values of machines on graphs: sums, gradients, draws and learning, beside enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import Graph, GraphMachine, enumerated
from nbm_xp.graphs.exact import states_of
from nbm_xp.graphs.likelihoods import place_of
from tests.helpers.libraries import Library, libraries

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


def test_hidden_units_learn_what_visible_pairs_cannot() -> None:
    """The parity of three spins: pairs of them are independent, and one hidden unit joined with each learns it."""
    rows = np.asarray([[a, b, a * b] for a in (-1, 1) for b in (-1, 1)] * 5)
    star = [[0, 3], [1, 3], [2, 3]]
    how = {"training": "exact", "weight_decay": 1e-4, "random_state": 1}
    alone = GraphMachine([[0, 1], [1, 2], [0, 2]], **how).fit(rows)
    assert alone.log_likelihood(rows).mean() == pytest.approx(-3 * np.log(2), abs=1e-3)
    hidden = GraphMachine([*star, [0, 1], [1, 2], [0, 2]], hidden=[3], **how).fit(rows)
    assert hidden.log_likelihood(rows).mean() > -2 * np.log(2) - 0.05


@pytest.mark.parametrize("library", libraries(without=("jax",)))  # which compiles for longer than it learns
def test_every_library_learns_the_same(library: Library) -> None:
    rows, weights = rows_of("spin", 40, 0.2), np.linspace(1.0, 2.0, 40)
    for how in ({"training": "exact"}, {"training": "pcd", "n_chains": 4, "learning_rate": 0.1}):
        want, got = (GraphMachine(PAIRS, hidden=HIDDEN, random_state=3, **how) for _ in range(2))
        for _ in range(2):
            want.partial_fit(rows, sample_weight=weights)
            got.partial_fit(library.array(rows), sample_weight=weights)
        np.testing.assert_allclose(place_of(got), place_of(want), atol=1e-5)
    assert got.n_features_in_ == 5
