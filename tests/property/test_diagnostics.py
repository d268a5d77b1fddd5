"""What chains tell of their mixing: known series, machines that mix, and machines that do not."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, MixingWarning, edwards_anderson, lattice, random_regular
from nbm_xp.machines.diagnostics import mixing, monte_carlo_error, r_hat, report

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
    here, far = (report({"energy": (x + mean, None)}).attributes for mean in (0.0, 1e9))
    assert far == pytest.approx(here, rel=1e-4)  # large systems have energies far from 0


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


def mixes(k: int) -> tuple[GraphMachine, dict[str, Any]]:
    """Machines whose chains are at equilibrium, and observed for hundreds of autocorrelation times."""
    turn = k // 5
    how: dict[str, Any] = {"n_chains": (4, 8, 32)[turn % 3], "n_sweeps": 800, "burn_in": 100}
    match k % 5:
        case 0:
            return GraphMachine(lattice((8 + turn, 10))), how | {"beta": 0.1 + 0.015 * turn}
        case 1:
            cold = {"rule": ("swendsen_wang", "wolff")[turn % 2], "beta": 0.46 + 0.02 * turn, "n_sweeps": 400}
            return GraphMachine(lattice((10, 10))), how | cold
        case 2:
            return GraphMachine(edwards_anderson((4, 4, 4), random_state=k)), how | {"beta": 0.2 + 0.02 * turn}
        case 3:
            machine = GraphMachine(random_regular(60, 3, k), "binary", fields=-0.5)
            return machine, how | {"beta": 0.5, "rule": "metropolis"}
    machine = GraphMachine(lattice((6, 8 + turn)), 3, fields=[0.1, 0.0, 0.0])
    return machine, how | {"beta": 0.3 + 0.02 * turn, "n_chains": 2}


def sticks(k: int) -> tuple[GraphMachine, dict[str, Any]]:
    """Machines whose chains stay where they happen to come to, or begin to be observed too early."""
    turn = k // 5
    how: dict[str, Any] = {"n_chains": (8, 16, 32)[turn % 3], "n_sweeps": 200, "burn_in": 200}
    match k % 5:
        case 0:  # stripes
            return GraphMachine(lattice((24, 24))), how | {"beta": 0.5 + 0.03 * turn, "n_chains": 32}
        case 1:  # no burn-in
            early = {"beta": 0.35 + 0.01 * turn, "burn_in": 0, "n_chains": 64, "n_sweeps": 250}
            return GraphMachine(lattice((64, 64))), how | early
        case 2:
            return GraphMachine(edwards_anderson((4, 4, 4), random_state=k)), how | {"beta": 2.5 + 0.1 * turn}
        case 3:
            machine = GraphMachine(random_regular(40, 3, k), "binary", couplings=2.0, fields=-3.0)
            return machine, how | {"beta": 2.0, "rule": "metropolis"}
    return GraphMachine(lattice((50 + turn,))), how | {"beta": 3.0 + 0.2 * turn}  # walls between domains


def warned(machine: GraphMachine, how: dict[str, Any], seed: int) -> bool:
    """Whether sampling warns, which it does once at most."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        machine.sample(random_state=seed, **how)
    assert len(found) <= 1
    assert all(warning.category is MixingWarning and warning.filename == __file__ for warning in found)
    return bool(found)


@pytest.mark.parametrize("count", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_machines_that_do_not_mix_are_told_from_those_that_do(count: int) -> None:
    pytest.importorskip("xarray")
    silent = [k for k in range(count) if not warned(*sticks(k), k)]
    alarms = [k for k in range(count) if warned(*mixes(k), k)]
    assert not silent
    assert len(alarms) <= count // 50, alarms
