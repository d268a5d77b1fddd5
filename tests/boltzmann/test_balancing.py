"""Offsets between places far apart, and what tempered training learns of rare rows by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM, storage
from nbm_xp.boltzmann.learning_step import Balance
from nbm_xp.boltzmann.state import MachineState
from nbm_xp.boltzmann.storage import LADDER
from nbm_xp.boltzmann.topology import Topology
from tests.boltzmann.test_tempered import two_clusters

UNITS = (6, 4)


def followed(states: list[Any], steps: int = 1200) -> Balance:
    """What the offsets come to, when the same states come again and again."""
    offsets = [B.variable(np.mean(state, axis=0), "float64") for state in states]
    topology = Topology([state.shape[1] for state in states])
    arrays = {name: np.zeros(shape) for name, shape in storage.shapes(topology).items()}
    balance = Balance(MachineState("RBM", topology, arrays, 0), offsets)
    counts = np.full(len(states[0]), 1.0 / len(states[0]))
    rows = [B.variable(state, "float64") for state in states]
    _, updates = balance.followed(balance.moments(rows, B.variable(counts, "float64")))
    step = B.function([], [], updates=updates)
    for _ in range(steps):
        step()
    return balance


def test_offsets_leave_the_products_as_little_variance_as_they_can() -> None:
    random = np.random.default_rng(0)
    rare = random.random((400, 1)) < 0.1
    states = [(random.random((400, size)) < np.where(rare, 0.95, 0.1)).astype("float64") for size in UNITS]

    def variance(offsets: list[Any]) -> float:
        moved = [state - offset for state, offset in zip(states, offsets, strict=True)]
        return float((moved[0][:, :, None] * moved[1][:, None, :]).var(axis=0).sum())

    found = [offset.value for offset in followed(states).offsets]
    least = variance(found)
    assert least < 0.9 * variance([state.mean(axis=0) for state in states])
    for layer in (0, 1):
        for step in 0.05 * random.normal(size=(20, UNITS[layer])):
            assert variance([offset + (step if place == layer else 0.0) for place, offset in enumerate(found)]) > least


def rare_rows(rows: int = 5000, units: int = 100) -> Any:
    """One row in twenty lies far from the others."""
    random = np.random.default_rng(0)
    return (random.random((rows, units)) < np.where(np.arange(rows)[:, None] < 0.05 * rows, 0.9, 0.1)).astype("float32")


def small_place(model: RBM) -> tuple[float, float]:
    """What share of a machine's probability lies where rare rows do, and how many units are 1 there; exact."""
    hidden = np.array(np.meshgrid(*[[0.0, 1.0]] * model.n_components)).reshape(model.n_components, -1).T
    inputs = hidden @ model.components_ + model.intercept_visible_
    logarithms = hidden @ model.intercept_hidden_ + np.logaddexp(0, inputs).sum(axis=1)
    weights = np.exp(logarithms - logarithms.max())
    weights /= weights.sum()
    means = (1 / (1 + np.exp(-inputs))).mean(axis=1)
    share = float(weights[means > 0.5].sum())
    return share, float(weights @ (means * (means > 0.5))) / max(share, 1e-9)


def test_what_rare_rows_look_like_is_learnt_and_how_rare_they_are() -> None:
    model = RBM(4, n_iter=6, training="ptt", random_state=0).fit(rare_rows(1600))
    share, ones = small_place(model)
    assert 0.025 < share < 0.2  # six epochs are few: the slow test below is the strict one
    assert ones > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_share_of_a_rare_place_is_that_of_the_data(seed: int) -> None:
    model = RBM(16, training="ptt", random_state=seed).fit(rare_rows())
    assert abs(small_place(model)[0] - 0.05) < 0.01
    assert abs(float((model.sample(4000, 50, random_state=0).mean(axis=1) > 0.5).mean()) - 0.05) < 0.015


def test_the_pace_falls_where_steps_are_too_long_for_rare_rows() -> None:
    """At the default rate a step changes the odds of the rare rows more than the chains that know them can follow."""
    rows = rare_rows(2000)
    rbm = RBM(16, n_iter=2, training="ptt", random_state=1)
    paces = []
    rbm.fit(rows, callback=lambda model: paces.append(float(model.state_.variables[f"{LADDER}pace"].value[0])))
    assert paces[0] < 0.5  # then the schedule lowers the rate itself
    assert abs(rbm.diagnostics_[-1].log_likelihood - float(rbm.log_likelihood(rows).mean())) < 0.5
    slow = RBM(4, 0.01, n_iter=2, training="ptt", random_state=1).fit(two_clusters(100))
    assert float(slow.state_.variables[f"{LADDER}pace"].value[0]) == 1.0


def test_a_step_changes_the_odds_of_two_states_by_little() -> None:
    rows, rbm = np.random.default_rng(0).permutation(rare_rows(2000, 1000)), RBM(4, training="ptt", random_state=1)
    for minibatch in np.split(rows, 40):
        arrays = rbm.partial_fit(minibatch).state_.arrays()
        gains = arrays[f"{LADDER}free"] - rbm.free_energy(arrays[f"{LADDER}state.0"][-1].T)
        assert np.ptp(gains) < 1.2
