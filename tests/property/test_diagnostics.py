"""What chains tell of their mixing: known series, machines that mix, and machines that do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, MixingWarning, edwards_anderson, lattice, random_regular
from nbm_xp.machines.diagnostics import mixing, monte_carlo_error, r_hat

SEEDS = np.random.SeedSequence(29).spawn(1000)


def correlated(shape: tuple[int, ...], inefficiency: float, seed: int = 0) -> Any:
    """Stationary series, of which so many draws are worth one: autoregressive ones of the first order."""
    share = (inefficiency - 1) / (inefficiency + 1)
    x = np.random.default_rng(SEEDS[seed]).normal(size=shape) * math.sqrt(1 - share**2)
    x[..., 0] /= math.sqrt(1 - share**2)
    for place in range(1, shape[-1]):
        x[..., place] += share * x[..., place - 1]
    return x


@pytest.mark.parametrize("inefficiency", [1, 5, 20])
@pytest.mark.parametrize(("chains", "draws"), [(1, 4000), (4, 1500), (64, 400), (200, 400)])
def test_errors_are_those_of_repeated_records(chains: int, draws: int, inefficiency: float) -> None:
    """Of 200 records: errors as the means spread, sizes as the correlation has it, and nothing to warn of."""
    if chains * draws / inefficiency < 200 or (draws < 50 * inefficiency and chains < 10):
        return
    x = correlated((200, chains, draws), inefficiency)
    found, means = mixing(x), x.mean(axis=(1, 2))
    assert np.median(found.mcse) == pytest.approx(means.std(), rel=0.2)  # which 200 means tell to 5 %
    assert np.median(found.ess) == pytest.approx(chains * draws / inefficiency, rel=0.25)
    if draws >= 50 * inefficiency:
        assert (found.disagree | found.drifts).sum() <= 1
    np.testing.assert_array_equal(mixing(x[7]).mcse, found.mcse[7])


def test_r_hat_is_that_of_known_spreads() -> None:
    """Where chains differ by a spread, its square over that of draws is what the square of R-hat is above 1."""
    x = correlated((50, 1000), 1)
    assert r_hat(x) == pytest.approx(1.0, abs=0.005)
    shifts = np.random.default_rng(3).normal(size=(50, 1))
    assert r_hat(x + shifts - shifts.mean()) == pytest.approx(math.sqrt(1 + shifts.var()), rel=0.05)
    assert r_hat(x * np.linspace(0.2, 3.0, 50)[:, None]) > 1.1  # equal means, unequal spreads
    assert r_hat(np.exp(5 * x)) == pytest.approx(float(r_hat(x)), abs=0.02)  # ranks, whatever the tails
    assert r_hat(np.sign(shifts) + 0 * x) == math.inf
    assert np.isnan(r_hat(0 * x))
    assert monte_carlo_error(x) == pytest.approx(1 / math.sqrt(x.size), rel=0.1)


def test_few_independent_draws_are_no_evidence() -> None:
    for chains, draws in ((1, 20), (2, 20), (4, 24), (64, 20)):
        found = mixing(correlated((2000, chains, draws), 1))
        assert (found.r_hat > 1.05).any() or chains == 64
        assert found.disagree.sum() <= 4
    assert np.isnan(mixing(correlated((4, 19), 1)).r_hat)


@pytest.mark.parametrize("chains", [1, 4, 64])
def test_a_beginning_far_away_is_seen(chains: int) -> None:
    x = correlated((chains, 1000), 10)
    assert not mixing(x).drifts
    x = x + 50.0 * np.exp(-np.arange(1000) / 5.0)  # that moves the mean by many standard errors
    found = mixing(x)
    assert found.drifts
    assert not mixing(x[:, 100:]).drifts
    x = np.zeros((chains, 1000))
    x[0, 30] = 1.0  # a rare event that happens to be early is none
    assert not mixing(x).drifts


MIXING: list[tuple[GraphMachine, dict[str, Any]]] = [
    (GraphMachine(lattice((8, 10))), {"beta": 0.1}),
    (GraphMachine(lattice((10, 10))), {"rule": "swendsen_wang", "beta": 0.46, "n_sweeps": 400}),
    (GraphMachine(edwards_anderson((4, 4, 4), random_state=2)), {"beta": 0.2}),
    (GraphMachine(random_regular(60, 3, 3), "binary", fields=-0.5), {"beta": 0.5, "rule": "metropolis"}),
    (GraphMachine(lattice((6, 8)), 3, fields=[0.1, 0.0, 0.0]), {"beta": 0.3, "n_chains": 2}),
]
"""Machines whose chains are at equilibrium, and observed for hundreds of autocorrelation times."""
STUCK: list[tuple[GraphMachine, dict[str, Any]]] = [
    (GraphMachine(lattice((24, 24))), {"beta": 0.5, "n_chains": 32}),  # stripes
    (GraphMachine(lattice((64, 64))), {"beta": 0.35, "burn_in": 0, "n_chains": 64, "n_sweeps": 250}),
    (GraphMachine(edwards_anderson((4, 4, 4), random_state=2)), {"beta": 2.5}),
    (GraphMachine(random_regular(40, 3, 3), "binary", -3.0, 2.0), {"beta": 2.0, "rule": "metropolis"}),
    (GraphMachine(lattice((50,))), {"beta": 3.0}),  # walls between domains
]
"""Machines whose chains stay where they happen to come to, or begin to be observed too early."""


@pytest.mark.parametrize("case", range(len(MIXING)))
def test_machines_that_do_not_mix_are_told_from_those_that_do(case: int) -> None:
    pytest.importorskip("xarray")
    machine, how = MIXING[case]
    machine.sample(**{"n_chains": 4, "n_sweeps": 800, "burn_in": 100} | how, random_state=case)
    machine, how = STUCK[case]
    with pytest.warns(MixingWarning) as found:
        machine.sample(**{"n_chains": 8, "n_sweeps": 200, "burn_in": 200} | how, random_state=case)
    assert [warning.filename for warning in found] == [__file__]  # once
