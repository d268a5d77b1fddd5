"""Exact answers for machines on graphs: held to one another, and sampling held to them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from nbm_xp import graphs
from nbm_xp.graphs import GraphMachine, edwards_anderson, enumerated, erdos_renyi, lattice, onsager, strip_log_partition

CRITICAL = math.log(1 + math.sqrt(2)) / 2


@pytest.mark.parametrize("units", ["spin", "binary", 3])
def test_all_states_are_enumerated_in_the_order_of_their_digits(units: Any) -> None:
    graph = erdos_renyi(7, 0.5, 1)
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(7, 3) if units == 3 else 7)
    factors = [] if units == 3 else [(0, 1, 2), (6, 3, 4, 1), (5, 2, 6)]
    couplings, strengths = rng.normal(size=graph.edges), [0.5, -0.7, 0.9][: len(factors)]
    machine = GraphMachine(graph, units, fields, couplings, factors=factors, factor_couplings=strengths)
    found = enumerated(machine)
    states = [state[::-1] for state in itertools.product(machine.kind.values, repeat=7)]
    np.testing.assert_allclose(found.energies, machine.energy(states), atol=1e-13)
    first = states[100]
    want = 0.0
    for a, b, w in zip(graph.first.tolist(), graph.second.tolist(), machine.layout.weights.tolist(), strict=True):
        want -= w * (first[a] == first[b] if units == 3 else first[a] * first[b])
    want -= sum(fields[i, s] if units == 3 else fields[i] * s for i, s in enumerate(first))
    want -= sum(k * math.prod(first[i] for i in row) for k, row in zip(strengths, factors, strict=True))
    assert found.energies[100] == pytest.approx(want)
    assert found.probabilities(0.7).sum() == pytest.approx(1)
    assert found.log_partition(0.0) == pytest.approx(7 * math.log(machine.kind.count))
    step = 1e-4
    slope = (found.log_partition(0.5 + step) - found.log_partition(0.5 - step)) / (2 * step)
    assert found.energy(0.5) * 7 == pytest.approx(-slope, rel=1e-6)
    bend = -(found.energy(0.5 + step) - found.energy(0.5 - step)) / (2 * step)
    assert found.specific_heat(0.5) == pytest.approx(0.25 * bend, rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (3, 6)])
@pytest.mark.parametrize("beta", [0.05, 0.3, CRITICAL, 0.5, 2.0])
def test_onsager_is_what_all_states_give(shape: tuple[int, int], beta: float) -> None:
    states, found = enumerated(GraphMachine(lattice(shape))), onsager(shape, beta)
    assert found.log_partition == pytest.approx(states.log_partition(beta) / states.units, rel=1e-13)
    assert found.energy == pytest.approx(states.energy(beta), rel=1e-12)
    assert found.specific_heat == pytest.approx(states.specific_heat(beta), rel=1e-9)
    assert onsager(shape, beta / 2, 2.0).energy == pytest.approx(2 * found.energy)


def test_onsager_far_from_the_critical_point_and_large() -> None:
    assert onsager((512, 512), 20.0).energy == pytest.approx(-2.0)
    assert onsager((512, 256), CRITICAL).energy == pytest.approx(-math.sqrt(2), rel=2e-3)
    assert onsager((64, 48), 0.4).energy == pytest.approx(onsager((48, 64), 0.4).energy, rel=1e-12)
    assert onsager((16, 10), 0.41).log_partition * 160 == pytest.approx(
        strip_log_partition(GraphMachine(lattice((16, 10))), 0.41), rel=1e-12
    )


@pytest.mark.parametrize("periodic", [True, False, (True, False), (False, True)])
def test_strips_are_what_all_states_give(periodic: Any) -> None:
    machine = GraphMachine(
        edwards_anderson((5, 3), "normal", periodic, random_state=1), fields=np.linspace(-1.0, 1.0, 15)
    )
    states = enumerated(machine)
    for beta in (0.2, 1.3):
        assert strip_log_partition(machine, beta) == pytest.approx(states.log_partition(beta), rel=1e-12)
        assert graphs.strip_energy(machine, beta) == pytest.approx(states.energy(beta), rel=1e-12)
    cold = strip_log_partition(machine, 60.0) / 60
    assert cold == pytest.approx(states.log_partition(60.0) / 60, rel=1e-12)


GLASS, WEIGHTED = edwards_anderson((3, 4), "normal", random_state=1), erdos_renyi(9, 0.4, 1)
FACTORS = [(0, 4, 8), (1, 2, 3, 7), (5, 4, 9, 11), (10, 1, 6)]
LOCAL, CLUSTERS, WORDS = ("heat_bath", "metropolis"), ("swendsen_wang", "wolff"), ("multi_spin",)
MACHINES: dict[str, tuple[GraphMachine, float, tuple[str, ...]]] = {
    "ferromagnet": (GraphMachine(lattice((4, 4)), fields=0.1), 0.45, LOCAL),
    "glass": (GraphMachine(GLASS, fields=0.3), 0.45, LOCAL),
    "all pairs": (GraphMachine(graphs.sherrington_kirkpatrick(9, 1)), 0.45, LOCAL),
    "binary": (GraphMachine(graphs.random_regular(10, 3, 1), "binary", fields=-0.8), 0.45, LOCAL),
    "Potts with fields": (GraphMachine(lattice((3, 3)), 3, fields=[0.2, 0.0, -0.3]), 0.45, LOCAL),
    "matrices": (GraphMachine(GLASS, 2, couplings=[[0.2, -0.5], [0.9, 0.0]]), 0.45, LOCAL),
    "factors": (GraphMachine(GLASS, factors=FACTORS, factor_couplings=[0.8, -1.0, 0.6, 0.9], fields=0.2), 0.45, LOCAL),
    "binary factors": (GraphMachine([[0, 11]], "binary", -0.5, factors=FACTORS, factor_couplings=2.0), 0.45, LOCAL),
    "square": (GraphMachine(lattice((4, 4))), 0.4, CLUSTERS + WORDS),
    "weights": (GraphMachine(WEIGHTED, couplings=np.linspace(0.0, 1.5, WEIGHTED.edges)), 0.4, CLUSTERS),
    "Potts": (GraphMachine(lattice((3, 3)), 3), 0.8, CLUSTERS),
    "odd": (GraphMachine(graphs.random_regular(12, 3, 1)), 0.4, WORDS),
    "signs": (GraphMachine(edwards_anderson((4, 3), random_state=1)), 0.4, WORDS),
}


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, (*_, rules) in MACHINES.items() for rule in rules])
def test_sampling_gives_what_is_exact(name: str, rule: str) -> None:
    pytest.importorskip("xarray")
    machine, beta, _ = MACHINES[name]
    states = enumerated(machine)
    found = machine.sample(n_chains=64, n_sweeps=1000, burn_in=100, beta=beta, rule=rule, random_state=11)
    energy = found["energy"].values
    error = graphs.monte_carlo_error(energy)
    assert abs(energy.mean() - states.energy(beta)) < 4 * error < 0.025
    heat = beta**2 * machine.n_units * energy.var()
    assert heat == pytest.approx(states.specific_heat(beta), rel=0.06)


def test_a_lattice_that_is_frozen_has_its_ground_states_alone() -> None:
    near, frozen = onsager((4, 4), 99.0), onsager((4, 4), 1000.0)
    assert near.energy == pytest.approx(frozen.energy) == -2.0
    assert near.log_partition - 2 * 99.0 == pytest.approx(frozen.log_partition - 2 * 1000.0, abs=1e-9)
    assert abs(near.specific_heat) < 1e-100
    assert frozen.specific_heat == 0.0
