"""Clusters, words, annealing, tempering and cuts on graphs, compared with what is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbm_xp import graphs
from nbm_xp.graphs import Graph, GraphMachine, as_graph, cut_value, edwards_anderson, enumerated, lattice, placed_ladder
from tests.helpers.libraries import Library, libraries

CLUSTERS = ["swendsen_wang", "wolff"]
GLASS = edwards_anderson((4, 4), "normal", random_state=1)


@pytest.mark.at_night("jax")
@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch", "jax"))
@pytest.mark.parametrize("rule", CLUSTERS)
def test_clusters_are_the_same_on_every_library(rule: str, library: Library) -> None:
    graph = graphs.erdos_renyi(40, 0.1, 1)
    machines = {
        "lattice": GraphMachine(lattice((4, 6)), 3),
        "couplings of each": GraphMachine(graph, couplings=np.linspace(0.0, 1.5, graph.edges)),
        "no edges": GraphMachine(Graph(3, *np.zeros((2, 0), int))),
        "one unit": GraphMachine(Graph(1, *np.zeros((2, 0), int))),
    }
    for name in ("lattice",) if library.name == "jax" else machines:  # which compiles all of it for each
        whole = machines[name].chains(3, [0.3, 0.9, 1.5], 4, rule=rule)
        found = machines[name].chains(2, [0.9, 1.5], 4, rule=rule, first_chain=1, library=library.name)
        whole.step(4)
        found.step(4)
        np.testing.assert_array_equal(found.rows(), whole.rows()[1:])


def test_clusters_are_found_on_chains_of_units_in_any_order() -> None:
    count = 25_000  # with whose square, for two chains, no int32 would do
    order = np.random.default_rng(1).permutation(count)
    graph = Graph(count, order[:-1], order[1:])
    machine = GraphMachine(graph, couplings=20.0)
    found = []
    for library in ("numpy", "array_api_strict"):
        chains = machine.chains(2, 1.0, 3, rule="wolff", library=library, initial=np.ones((2, count), np.int8))
        chains.step(1)
        found.append(chains.rows())
        assert (found[-1] == -1).all()  # all of them are one cluster
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("rule", [*CLUSTERS, "multi_spin"])
def test_chains_go_on_where_they_were_broken_off(rule: str) -> None:
    pytest.importorskip("xarray")
    machine, asked = GraphMachine(lattice((8, 8))), {"n_chains": 64, "beta": 0.4, "rule": rule}
    whole = machine.sample(n_sweeps=6, random_state=1, **asked)
    begun = machine.sample(n_sweeps=2, random_state=1, **asked)
    rest = machine.sample(n_sweeps=4, initial=begun, **asked)
    np.testing.assert_array_equal(rest["energy"].values, whole["energy"].values[:, 2:])


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch"))
@pytest.mark.parametrize("name", ["lattice", "regular", "cube", "pairs"])
def test_words_and_arrays_give_the_same_bits(name: str, library: Library) -> None:
    machine = {
        "lattice": lambda: GraphMachine(lattice((6, 10)), couplings=1.5),
        "regular": lambda: GraphMachine(graphs.random_regular(150, 7, 1), couplings=-0.5),
        "cube": lambda: GraphMachine(edwards_anderson((4, 4, 6), random_state=1)),
        "pairs": lambda: GraphMachine([[0, 1], [2, 3]]),
    }[name]()
    whole = machine.chains(128, 0.0, 1, rule="multi_spin")
    arrays = machine.chains(64, 0.0, 1, rule="multi_spin", first_chain=64, library=library.name)
    for beta in (0.0, 0.35, 30.0):
        for chains in (whole, arrays):
            chains.set_betas(np.full(chains.count, beta))
        whole.step(2)
        arrays.step(1)
        arrays.step(1)
    np.testing.assert_array_equal(arrays.rows(), whole.rows()[64:])


GLASSES = {
    "signs": GraphMachine(edwards_anderson((4, 5), random_state=3)),
    "normal": GraphMachine(edwards_anderson((4, 5), "normal", random_state=4), fields=0.1),
    "all pairs": GraphMachine(graphs.sherrington_kirkpatrick(16, 2)),
}


@pytest.mark.parametrize("name", GLASSES)
@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # the least energies, not means
def test_annealing_and_tempering_find_ground_states(name: str) -> None:
    pytest.importorskip("xarray")
    machine = GLASSES[name]
    least = enumerated(machine).ground_energy
    cooled = machine.anneal(n_chains=16, n_sweeps=300, betas=(0.1, 4.0), random_state=1)
    np.testing.assert_allclose(machine.energy(cooled["state"].values), cooled["energy"].values)
    assert float(cooled["energy"].min()) == pytest.approx(least)
    tempered = machine.temper(betas=np.linspace(0.2, 3.0, 8), n_sweeps=300, random_state=1)
    np.testing.assert_allclose(machine.energy(tempered["best_state"].values), tempered["best_energy"].values)
    np.testing.assert_allclose(tempered["best_energy"].values, least)


def test_tempering_gives_what_is_exact_at_every_temperature() -> None:
    pytest.importorskip("xarray")
    machine = GLASSES["signs"]
    states = enumerated(machine)
    found = machine.temper(betas=[0.3, 0.8, 1.6], n_chains=24, n_sweeps=1500, burn_in=100, random_state=2)
    for k, beta in enumerate(found["beta"].values):
        energy = found["energy"].values[:, k]
        error = graphs.monte_carlo_error(energy)
        assert abs(energy.mean() - states.energy(float(beta))) < 4 * error < 0.02
    last = machine.energy(found["state"].values[:, 2])
    assert last.mean() / 20 == pytest.approx(states.energy(1.6), abs=0.1)


def test_annealing_and_tempering_follow_from_their_seeds() -> None:
    pytest.importorskip("xarray")
    machine = GLASSES["normal"]
    how: dict[str, Any] = {"random_state": 5, "n_sweeps": 12, "clamp": {0: 1, 5: -1}}
    cooled = machine.anneal(n_chains=3, **how)
    assert cooled.equals(machine.anneal(n_chains=3, library="array_api_strict", **how))
    assert set(cooled["state"].values[:, 5].tolist()) == {-1}
    tempered = machine.temper(betas=[0.2, 0.7, 1.0], **how)
    assert set(tempered["best_state"].values[:, 5].tolist()) == {-1}
    assert tempered.equals(machine.temper(betas=[0.2, 0.7, 1.0], library="array_api_strict", **how))
    assert not tempered.equals(machine.temper(betas=[0.2, 0.7, 1.0], **(how | {"random_state": 6})))


def test_ladders_exchange_as_often_as_they_are_told() -> None:
    pytest.importorskip("xarray")
    machine = GraphMachine(edwards_anderson((4, 4, 6), random_state=1))
    ladder = placed_ladder(machine, 0.2, 1.2, 0.3, n_sweeps=150, random_state=1)
    found = machine.temper(betas=ladder, n_chains=4, n_sweeps=400, burn_in=50, random_state=2)
    shares = found["acceptance"].values
    assert ladder[0] == 0.2
    assert ladder[-1] == 1.2
    assert 0.2 < shares.min() < shares.max() < 0.4, shares
    small = GLASSES["signs"]
    same = small.temper(betas=[0.2, 1.2], acceptance=0.3, n_chains=1, n_sweeps=2, random_state=1)
    np.testing.assert_array_equal(same["beta"].values, placed_ladder(small, 0.2, 1.2, 0.3, random_state=1))


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict"))
def test_the_largest_cut_is_found_everywhere(library: Library) -> None:
    pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    dense = np.triu(rng.integers(-1, 2, (12, 12)), 1).astype(float)
    graph = as_graph(dense + dense.T)
    sides = 2 * ((np.arange(2**11)[:, None] >> np.arange(12)) & 1) - 1
    want = max(cut_value(graph, side) for side in sides)
    value, found = graphs.max_cut(graph, n_chains=8, n_sweeps=60, random_state=1, library=library.name)
    assert value == cut_value(graph, found) == want
