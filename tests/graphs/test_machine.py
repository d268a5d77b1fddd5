"""Machines on graphs: what a graph may be, the same bits everywhere, and what is measured."""

from __future__ import annotations

import importlib.util
import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from nbm_xp import graphs
from nbm_xp.graphs import GraphMachine, adjacency, as_graph, autocorrelation_time, erdos_renyi, lattice, random_regular
from nbm_xp.graphs import moves as moves_chapter
from nbm_xp.namespace import kernels as kernels_chapter
from tests.helpers.libraries import EAGER, EVERYWHERE, Library

GLASS = graphs.edwards_anderson((4, 6), "normal", random_state=3)
KINDS = [("spin", "heat_bath"), ("spin", "metropolis"), ("binary", "heat_bath"), ("binary", "metropolis"),
         (3, "heat_bath"), (3, "metropolis")]  # fmt: skip
OBSERVED = {"spin": ["energy", "magnetisation", "overlap", "means"], "binary": ["energy", "magnetisation", "means"]}


def edges_of(graph: graphs.Graph) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for a, b in zip(graph.first.tolist(), graph.second.tolist(), strict=True)}


# --- graphs


@pytest.mark.parametrize(("shape", "periodic"), [((5,), True), ((3, 4), True), ((2, 5), False), ((4, 3, 5), True),
                                                 ((4, 3, 2), (True, True, False))])  # fmt: skip
def test_lattices_join_next_units(shape: tuple[int, ...], periodic: Any) -> None:
    found = lattice(shape, periodic)
    ends = (periodic,) * len(shape) if isinstance(periodic, bool) else periodic
    want = set()
    for place in itertools.product(*map(range, shape)):
        for axis, n in enumerate(shape):
            if place[axis] + 1 < n or ends[axis]:
                there = (*place[:axis], (place[axis] + 1) % n, *place[axis + 1 :])
                a, b = (int(np.ravel_multi_index(p, shape)) for p in (place, there))
                want.add((min(a, b), max(a, b)))
    assert edges_of(found) == want
    assert found.edges == len(want)
    if found.colours is not None:
        assert all(found.colours[a] != found.colours[b] for a, b in want)


def test_graphs_come_from_matrices_edges_and_networkx() -> None:
    edges = [(0, 1), (1, 2), (0, 3), (2, 3)]
    weights = [0.5, -1.0, 2.0, 0.25]
    dense = np.zeros((5, 5))
    for (a, b), weight in zip(edges, weights, strict=True):
        dense[a, b] = dense[b, a] = weight
    found = [as_graph(dense)]
    if importlib.util.find_spec("scipy"):
        import scipy.sparse

        found += [as_graph(scipy.sparse.csr_matrix(dense)), as_graph(scipy.sparse.coo_array(dense))]
    if importlib.util.find_spec("networkx"):
        import networkx

        made = networkx.Graph()
        made.add_nodes_from("abcde")
        for (a, b), weight in zip(edges, weights, strict=True):
            made.add_edge("abcde"[b], "abcde"[a], weight=weight)
        found.append(as_graph(made))
        made.edges["a", "b"]["weight"] = "heavy"
        with pytest.raises(ValueError, match="weights must be an array of numbers"):
            as_graph(made)
        with pytest.raises(ValueError, match="undirected"):
            as_graph(networkx.DiGraph([(0, 1)]))
    for graph in found:
        assert graph.units == 5
        energies = GraphMachine(graph).energy([[1, 1, 1, 1, 1], [1, -1, 1, 1, 1]])
        np.testing.assert_array_equal(energies, [-1.75, -1.75 + 2 * (0.5 - 1.0)])
    bare = as_graph(edges, units=7)
    assert (bare.units, edges_of(bare)) == (7, set(edges))


WRONG: list[tuple[Any, str]] = [
    (lambda: as_graph([[0, 0]]), r"edges must join different units, got the edge \(0, 0\)"),
    (lambda: as_graph([[0, 3]], units=3), "edges must join units from 0 to 2, got 3"),
    (lambda: as_graph([[-1, 3]]), "edges must join units from 0 to 3, got -1"),
    (lambda: as_graph([[0.0, 1.0], [2.0, 0.0]]), r"couplings must be symmetric, got 1 at \(0, 1\) and 2 at \(1, 0\)"),
    (lambda: as_graph([[0.0, 1.0], [0.0, 0.0]]), r"couplings must be symmetric, got 1 at \(0, 1\) and 0 at \(1, 0\)"),
    (lambda: as_graph([[1.0, 1.0], [1.0, 0.0]]), r"couplings must have no diagonal, got an entry at \(0, 0\)"),
    (lambda: as_graph([[0.0, math.nan], [math.nan, 0.0]]), "couplings must be finite, got nan"),
    (lambda: as_graph([[0.5, 1.5, 2.5]]), "graph must be a square matrix, or ints of shape"),
    (lambda: as_graph([]), "graph must be"),
    (lambda: GraphMachine([[0, 1], [1, 0]]), r"edges must name each pair once, got \(0, 1\) twice"),
    (lambda: GraphMachine([[0, 1]], units=1), "units must be 'spin', 'binary', or of Potts units the number of values"),
    (lambda: GraphMachine([[0, 1]], units="spins"), "units must be 'spin', 'binary'"),
    (lambda: GraphMachine([[0, 1]], units=True), "units must be 'spin', 'binary'"),
    (lambda: GraphMachine([[0, 1]], fields=math.inf), "fields must be finite, got inf"),
    (lambda: GraphMachine([[0, 1]], fields=[1.0] * 3), r"fields must be one number or of shape \(2,\), got shape \(3,"),
    (lambda: GraphMachine([[0, 1]], units=3, fields=np.ones((2, 2))), r"fields must be one number or of shape"),
    (lambda: GraphMachine([[0, 1]], couplings=[1.0, 2.0]), r"couplings must be one number or of shape \(1,\)"),
    (lambda: GraphMachine([[0, 1]], couplings=1e308), "couplings must be so small that their sum is finite, got 1e"),
    (lambda: GraphMachine([[0, 1]], fields=[-1e308, 0.0]), "fields must be so small that their sum is finite"),
    (lambda: as_graph([[0, 1]], units="3"), "units must be a whole number, at least 1, got '3'"),
    (lambda: lattice((2, 4)), "shape must be 3 at least along periodic axes, got 2"),
    (lambda: lattice((4, 0)), "shape must be a whole number, at least 2, got 0"),
    (lambda: lattice((4, 4), periodic=(True,)), r"periodic must be one bool or 2 of them, got \(True,\)"),
    (lambda: lattice(8, 8), r"periodic must be one bool or 1 of them, got 8: all lengths are one argument, such as"),
    (lambda: GraphMachine([[0, 1]], units="categorical:1"), "the number of values, from 2 to 127, got 'categorical:1'"),
    (lambda: as_graph([[0, 1, 0.5]]), r"ints of shape \(edges, 2\), whose weights are the argument couplings; got"),
    (lambda: GraphMachine([[0, 1]]).sample(clamp=np.asarray([0, 1])), "clamp must be a dict of units and values, got"),
    (lambda: random_regular(5, 3), "degree must be less than units and their product even, got 3 and 5"),
    (lambda: erdos_renyi(5, 1.5), "probability must be from 0 to 1, got 1.5"),
    (lambda: graphs.edwards_anderson((4, 4), "gauss"), "disorder must be 'signs' or 'normal', got 'gauss'"),
    (lambda: GraphMachine(GLASS).energy(np.ones(23)), r"states must be of shape \(1, 24\), got \(1, 23\)"),
    (lambda: GraphMachine(GLASS).energy(np.zeros(24)), "states must hold -1, 1, got values from 0 to 0"),
    (lambda: GraphMachine("G1.txt"), "graph must be a Graph, .*, got str: read_gset reads files"),
    (lambda: GraphMachine({(0, 1): 0.5}), "graph must be a Graph, .*, got dict$"),
    (lambda: graphs.enumerated(lattice((4, 4))), "machine must be a GraphMachine, got Lattice"),  # type: ignore[arg-type]
    (lambda: graphs.strip_energy(lattice((4, 4))), "machine must be a GraphMachine, got Lattice"),  # type: ignore[arg-type]
    (lambda: graphs.placed_ladder(lattice((4, 4)), 0.1, 1.0), "machine must be a GraphMachine"),  # type: ignore[arg-type]
    (lambda: GraphMachine([[0, 1]]).sample(observe="correlations"), "correlations are those of .* on a lattice"),
]


def test_whole_numbers_in_a_square_are_a_matrix() -> None:
    ring = np.roll(np.eye(5, dtype=int), 1, axis=0)
    assert edges_of(as_graph(ring + ring.T)) == {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)}
    assert edges_of(as_graph([[0, 1], [1, 2]])) == {(0, 1), (1, 2)}  # two rows are two edges
    with pytest.raises(ValueError, match=r"couplings must be symmetric, got 0 at \(0, 1\) and 1 at \(1, 0\)"):
        as_graph(ring)


def test_units_of_values_that_are_alike_have_two_names() -> None:
    pytest.importorskip("xarray")
    one, other = (GraphMachine(GLASS, units) for units in (3, "categorical:3"))
    draws = [machine.sample(n_chains=2, n_sweeps=3, random_state=1)["state"].values for machine in (one, other)]
    np.testing.assert_array_equal(*draws)


def draw(**arguments: Any) -> Any:
    return GraphMachine(GLASS).sample(**({"n_chains": 2, "n_sweeps": 2} | arguments))


SAMPLED_WRONG: list[tuple[dict[str, Any], str]] = [
    ({"n_chains": 0}, "n_chains must be a whole number, at least 1, got 0"),
    ({"beta": math.nan}, "beta must be finite, got nan"),
    ({"beta": [1.0, 2.0, 3.0]}, r"beta must be one number or of shape \(2,\), got shape \(3,\)"),
    ({"rule": "gibbs"}, "rule must be one of heat_bath, metropolis"),
    ({"observe": ["entropy"]}, "observe must be of energy, magnetisation"),
    ({"n_chains": 3, "observe": "overlap"}, "chains must be even, got 3 of spin units"),
    ({"clamp": {24: 1}}, "clamp must name units from 0 to 23, got 24"),
    ({"clamp": {0.5: 1}}, "clamp must name units and values by whole numbers, got 0.5: 1"),
    ({"clamp": {0: math.nan}}, "clamp must name units and values by whole numbers, got 0: nan"),
    ({"clamp": [1]}, "clamp must be a dict of units and values, got list"),
    ({"observe": None}, "observe must be names, got None"),
    ({"observe": 5}, "observe must be names, got 5"),
    ({"clamp": {0: 0}}, "clamp must give values of -1, 1, got 0 for unit 0"),
    ({"clamp": dict.fromkeys(range(24), 1)}, "clamp must leave a unit to draw"),
    ({"initial": np.ones((1, 24))}, r"initial must be of shape \(2, 24\), got \(1, 24\)"),
    ({"initial": 3}, r"initial must be of shape \(2, 24\), got \(\)"),
    ({"random_state": -1}, "random_state must not be negative, got -1"),
    ({"library": "dask"}, "library must be one whose arrays have values at once, got dask: chunks .* or shards"),
    ({"library": "dask", "rule": "wolff"}, "got dask: .*; clusters reach through the whole graph"),
]


SQUARE, LONG, WHOLE_ROWS = GraphMachine(lattice((4, 4))), lattice((500, 40)), np.asarray([[1, 1, -1], [-1, -1, 1]])
hidden = partial(GraphMachine, [[0, 1], [1, 2], [2, 3]], hidden=[1])
factored = partial(GraphMachine, lattice((4, 4)), factors=[(0, 1, 2), (4, 5, 6, 7)])
UNSUITED: list[tuple[str, GraphMachine, dict[str, Any], str]] = [
    ("wolff", GraphMachine([[0, 1]], "binary"), {}, "is for spins and Potts units"),
    ("wolff", GraphMachine([[0, 1]], fields=0.1), {}, "is for machines without fields"),
    ("wolff", GraphMachine([[0, 1]], couplings=-1.0), {}, "is for ferromagnets: couplings must not be negative"),
    ("wolff", GraphMachine([[0, 1]]), {"clamp": {0: 1}}, "cannot clamp units: clamp must be None"),
    ("wolff", hidden(), {"given": WHOLE_ROWS}, "cannot clamp units"),
    ("wolff", factored(), {}, "is for machines without factors"),
    ("multi_spin", factored(), {}, "is for machines without factors"),
    ("multi_spin", GraphMachine([[0, 1]], "binary"), {}, "is for spins without fields"),
    ("multi_spin", GraphMachine([[0, 1]], fields=0.5), {}, "is for spins without fields"),
    ("multi_spin", GraphMachine(lattice((4, 4), False)), {}, "is for units with as many neighbours each, from 1 to 7"),
    ("multi_spin", GraphMachine(random_regular(12, 8, 1)), {}, "is for units with as many neighbours each"),
    ("multi_spin", GraphMachine(GLASS), {}, "is for couplings of one size"),
    ("multi_spin", GraphMachine([[0, 1]]), {"n_chains": 63}, "takes 64 chains together"),
    ("multi_spin", GraphMachine([[0, 1]]), {"first_chain": 1}, "takes 64 chains together"),
    ("multi_spin", GraphMachine([[0, 1]]), {"beta": -1.0}, "is for chains of one inverse temperature, not negative"),
    ("multi_spin", GraphMachine([[0, 1]]), {"clamp": {0: 1}}, "cannot clamp units: clamp must be None"),
]


WRONG += [(partial(draw, **arguments), message) for arguments, message in SAMPLED_WRONG]
WRONG += [
    (partial(machine.chains, **({"n_chains": 64, "rule": rule} | arguments)), f"rule {rule!r} {message}")
    for rule, machine, arguments, message in UNSUITED
]
WRONG += [
    (lambda: SQUARE.anneal(betas=1.0), "betas must be two finite numbers or more, got 1.0"),
    (lambda: SQUARE.anneal(betas=(0.1, math.inf)), "betas must be two finite numbers or more"),
    (lambda: SQUARE.anneal(n_sweeps=0), "n_sweeps must be a whole number, at least 1, got 0"),
    (lambda: SQUARE.temper(betas=[1.0]), r"betas must be two finite numbers or more, got \[1.0\]"),
    (lambda: SQUARE.temper(betas=[1.0, 0.5]), r"betas must rise, got \[1.0, 0.5\]"),
    (lambda: SQUARE.temper(betas=[0.1, 0.5], n_chains=0), "n_chains must be a whole number, at least 1, got 0"),
    (lambda: SQUARE.temper(betas=[0.1, 0.5], acceptance=1.5), "acceptance must be between 0 and 1, got 1.5"),
    (lambda: graphs.cut_value(SQUARE.graph, [1, 2]), r"sides must be of shape \(16,\), got \(2,\)"),
    (lambda: graphs.enumerated(GraphMachine(lattice((5, 6)))), r"2\*\*30 states to enumerate, .* must be 2\*\*25"),
    (lambda: graphs.enumerated(GraphMachine(lattice((4, 4)), units=3)), r"3\*\*16 states"),
    (lambda: graphs.onsager((2, 4), 0.4), "shape must be a whole number, at least 3, got 2"),
    (lambda: graphs.onsager(4, 0.4), "shape must be two ints, got 4"),  # type: ignore[arg-type]
    (lambda: graphs.onsager((4, 4), -0.4), "beta times coupling must be positive and finite, got -0.4"),
    (lambda: graphs.strip_energy(GraphMachine(lattice((20, 17), False))), "16 units at most where .* is open, got 17"),
    (lambda: graphs.strip_energy(GraphMachine(lattice((20, 11)))), "10 units at most where .* is joined, got 11"),
    (lambda: graphs.strip_energy(GraphMachine(random_regular(6, 3, 1))), "spins on a lattice of two axes"),
    *((partial(hidden, hidden=units), r"hidden must be different unit numbers from 0 to 3, not all of them, got .")
      for units in ([4], [1, 1], [0.5], range(4))),
    (lambda: hidden().fit(WHOLE_ROWS), "training must be 'exact', 'pcd' or 'ptt' with hidden units"),
    (lambda: hidden(training="exact").fit(np.ones((2, 2))), "X has 2 features, .* expecting 3"),
    (lambda: hidden(training="pcd").fit(np.zeros((2, 3))), "X must hold -1, 1, or NaN where a value is missing, got 0"),
    (lambda: hidden(training="pcd").fit(WHOLE_ROWS[:1]), "unit 0 is never -1"),
    (lambda: hidden(training="pcd").fit(WHOLE_ROWS * [1, np.nan, 1]), "X must have .* got only NaN in column 1"),
    (lambda: SQUARE.sample(given=WHOLE_ROWS), r"given must be of shape \(rows, 16\), .* got \(2, 3\)"),
    (lambda: hidden().sample(given=WHOLE_ROWS, clamp={0: 1}), "given: clamp must be None"),
    (lambda: hidden().sample(given=WHOLE_ROWS, shards=2), "given must be None where there are shards"),
    *((partial(factored, factors=[row]), r"factors must be rows of three or four different units from 0 to 15, got \[")
      for row in ((0, 1), (0, 1, 1), (0, 1, 16), (0, 1, 2.5), range(5))),
    (lambda: factored(units=3), "factors must be of spins or binary units, got units 3"),
    (lambda: factored(factor_couplings=[1.0]), r"factor_couplings must be one number or of shape \(2,\)"),
    (lambda: GraphMachine(LONG, factors=[(k, k + 1, k + 2) for k in range(4000)]).fit(np.ones((1, 20000))),
     "factors must be fewer to be learned, got 4000 of 20000 units"),
    (lambda: factored().sample(chunks=2), "chunks: the machine must not have factors"),
    (lambda: factored().sample(shards=2), "shards: the machine must not have factors"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_is_wrong_is_said(case: int) -> None:
    pytest.importorskip("xarray")
    make, message = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_random_graphs_are_what_they_are_called() -> None:
    degrees = np.bincount(np.concatenate([(g := random_regular(500, 3, 1)).first, g.second]))
    assert set(degrees.tolist()) == {3}
    assert len(edges_of(g)) == 750
    whole = erdos_renyi(40, 1.0)
    assert len(edges_of(whole)) == whole.edges == 780
    some = erdos_renyi(2000, 0.01, 5)
    assert len(edges_of(some)) == some.edges
    assert abs(some.edges - 19990) < 5 * math.sqrt(19990)
    assert erdos_renyi(7, 0.0).edges == 0
    assert graphs.sherrington_kirkpatrick(64, 1).weights.std() == pytest.approx(1 / 8, rel=0.05)
    assert edges_of(random_regular(500, 3, 1)) == edges_of(g) != edges_of(random_regular(500, 3, 2))


def test_files_of_the_g_set_are_read(tmp_path: Any) -> None:
    file = tmp_path / "G.txt"
    file.write_text("4 3 J\n1 2 1\n2 3 -2\n4 1\n", encoding="utf-8")
    found = graphs.read_gset(file)
    assert (found.units, edges_of(found), found.weights.tolist()) == (4, {(0, 1), (1, 2), (0, 3)}, [1.0, -2.0, 1.0])
    for written, message in (
        (b"4 3\n1 2 1\n", "promises 3 edges, and there are 1"),
        (b"4 1\n1 x 1\n", "lines must hold two units and a weight"),
        (b"3 1\n2 4 1\n", r"G.txt: edges must join units from 1 to 3, got \(2, 4\)"),
        (b"\xff\xfe", r"G.txt: lines must hold two units and a weight"),
    ):
        file.write_bytes(written)
        with pytest.raises(ValueError, match=message):
            graphs.read_gset(file)


def test_units_of_a_factor_have_different_colours() -> None:
    rng = np.random.default_rng(1)
    factors = [rng.choice(40, size, replace=False).tolist() for size in (3, 4) for _ in range(20)]
    machine = GraphMachine(random_regular(40, 3, 1), factors=factors)
    colours = np.searchsorted(machine.layout.ends, np.argsort(machine.layout.order), side="right")
    for row in [*factors, *edges_of(machine.graph)]:
        assert len({int(colours[unit]) for unit in row}) == len(row)
    assert machine.colours == colours.max() + 1


@pytest.mark.parametrize(
    "graph", [GLASS, random_regular(300, 4, 1), graphs.sherrington_kirkpatrick(20, 1), as_graph([[0, 5], [5, 1]], 9)]
)
def test_colours_are_those_of_units_in_their_turn(graph: graphs.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = adjacency.neighbour_rows(graph.units, graph.first, graph.second)
    colours = adjacency.colours_of(rows)
    monkeypatch.setattr(kernels_chapter, "kernel", lambda *_: None)
    portable = adjacency.neighbour_rows(graph.units, graph.first, graph.second)
    for a, b in zip(rows, portable, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(adjacency.colours_of(rows), colours)
    want: list[int] = []
    for unit in range(graph.units):
        taken = {want[v] for v in rows[1][rows[0][unit] : rows[0][unit + 1]] if v < unit}
        want.append(next(k for k in itertools.count() if k not in taken))
    assert colours.tolist() == want
    order = np.argsort(colours, kind="stable")
    slots = np.argsort(order).astype(np.int32)
    moved = adjacency.neighbour_rows(graph.units, slots[graph.first], slots[graph.second])
    for reorder in (lambda: None, monkeypatch.undo):
        reorder()
        again = adjacency.reordered_rows(order, slots, rows, slots[graph.first], slots[graph.second])
        for a, b in zip(again, moved, strict=True):
            np.testing.assert_array_equal(a, b)
    monkeypatch.setattr(kernels_chapter, "kernel", lambda *_: None)
    twice = adjacency.neighbour_rows(3, np.asarray([0, 2, 1]), np.asarray([1, 1, 0]))
    with pytest.raises(ValueError, match=r"got \(0, 1\) twice"):
        adjacency.colours_of(twice)


# --- the same bits


def draws(units: Any, rule: str, **how: Any) -> dict[str, Any]:
    machine = GraphMachine(GLASS, units=units, fields=0.3 if units != 3 else [0.3, -0.1, 0.0])
    observed = OBSERVED.get(units, ["energy", "magnetisation"])
    arguments = {"n_chains": 4, "n_sweeps": 6, "beta": [0.2, 0.7, 1.0, 30.0], "observe": observed, "random_state": 5}
    found = machine.sample(rule=rule, **(arguments | how))
    return {name: found[name].values for name in found}


@pytest.mark.parametrize("library", EAGER)
@pytest.mark.parametrize(("units", "rule"), KINDS)
def test_every_library_gives_the_same_bits(library: Library, units: Any, rule: str) -> None:
    pytest.importorskip("xarray")
    if library.name == "jax" and not EVERYWHERE and (units, rule) != ("spin", "heat_bath"):
        pytest.skip("compiled for each shape: by day one machine says it")
    want, got = draws(units, rule, library="numpy"), draws(units, rule, library=library.name)
    for name, value in want.items():
        assert value.tobytes() == got[name].tobytes(), name


RNG = np.random.default_rng(1)
WHOLE = RNG.integers(-9, 9, 2 * 8 * 64) * 0.25
MACHINES = {
    "regular": lambda units: GraphMachine(random_regular(200, 3, 1), units, fields=0.2),
    "all pairs": lambda units: GraphMachine(graphs.sherrington_kirkpatrick(30, 2), units),
    "sparse": lambda units: GraphMachine(erdos_renyi(150, 0.02, 1), units, fields=np.linspace(-1, 1, 150)),
    "no edges": lambda units: GraphMachine(erdos_renyi(70, 0.0), units, fields=0.5),
    "lattice": lambda units: GraphMachine(lattice((8, 64)), units),
    "open lattice": lambda units: GraphMachine(lattice((8, 64), False), units, fields=-0.3),
    "signs": lambda units: GraphMachine(graphs.edwards_anderson((4, 4, 32), random_state=1), units),
    "glass": lambda units: GraphMachine(graphs.edwards_anderson((8, 64), "normal", random_state=1), units),
    "fields": lambda units: GraphMachine(lattice((8, 64)), units, fields=np.linspace(-1, 1, 512)),
    "whole numbers": lambda units: GraphMachine(lattice((8, 64)), units, couplings=np.where(WHOLE == 0, 0.25, WHOLE)),
}


POTTS = [(lattice((8, 64)), 3), (GLASS, 2), (random_regular(200, 3, 1), 5), (erdos_renyi(150, 0.02, 1), 4),
         (erdos_renyi(70, 0.0), 3), (graphs.sherrington_kirkpatrick(30, 2), 127)]  # fmt: skip
ALL = {f"{name}, {units}": partial(make, units) for name, make in MACHINES.items() for units in ("spin", "binary")}
ALL |= {
    f"{graph}, {q}": partial(GraphMachine, graph, q, np.random.default_rng(2).normal(0.0, 0.4, (graph.units, q)))
    for graph, q in POTTS
} | {
    f"matrices, {graph}": partial(GraphMachine, graph, q, 0.1, RNG.normal(0.0, 0.4, (graph.edges, q, q)))
    for graph, q in [POTTS[2], (POTTS[3][0], 21)]  # loops of constant length, as of 21 values
}


@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.ClampWarning")
@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
@pytest.mark.parametrize("name", ALL)
def test_loops_and_arrays_give_the_same_bits(name: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ALL[name]()
    cases: list[tuple[int, Any, Any]] = [
        (1, 0.9, None), (1, 9.0, None), (3, [0.0, 0.7, -0.4], None), (70, np.linspace(-0.5, 30.0, 70), {1: 1, 5: 1})
    ]  # fmt: skip
    for chains, beta, clamp in cases:
        found = []
        for kernel in (moves_chapter.kernel, lambda *_: None):
            with monkeypatch.context() as patched:
                patched.setattr(moves_chapter, "kernel", kernel)
                patched.setattr(kernels_chapter, "kernel", kernel)
                running = machine.chains(chains, beta, 1, rule=rule, clamp=clamp)
                running.step(4)
                found.append((running.rows(), running.energies()))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])
        np.testing.assert_allclose(machine.energy(found[0][0]), found[0][1])
        assert clamp is None or (found[0][0][:, [1, 5]] == 1).all()


@pytest.mark.parametrize("units", ["spin", 3])
def test_chains_and_sweeps_can_be_divided(units: Any) -> None:
    xarray = pytest.importorskip("xarray")
    machine = GraphMachine(lattice((6, 24)), units=units)
    how = {"beta": 0.5, "random_state": 9}
    whole = machine.sample(n_chains=5, n_sweeps=8, burn_in=3, **how)
    parts = [machine.sample(n_chains=n, first_chain=k, n_sweeps=8, burn_in=3, **how) for k, n in ((0, 2), (2, 3))]
    joined = xarray.concat([part.drop_vars("beta") for part in parts], "chain", data_vars="all")
    assert joined.equals(whole.drop_vars("beta"))
    begun = machine.sample(n_chains=3, first_chain=2, n_sweeps=2, burn_in=3, **how)
    rest = machine.sample(n_chains=3, n_sweeps=6, beta=0.5, initial=begun, library="array_api_strict")
    assert rest["energy"].values.tobytes() == parts[1]["energy"].values[:, 2:].copy().tobytes()
    np.testing.assert_array_equal(rest["sweep"], np.arange(8, dtype="int64")[2:] + 4, strict=True)
    assert (rest["state"].values == parts[1]["state"].values).all()


# --- what is measured


def test_observers_see_what_there_is() -> None:
    pytest.importorskip("xarray")
    machine = GraphMachine(lattice((4, 6)), units="spin")
    found = machine.sample(n_chains=2, n_sweeps=1, beta=0.3, observe=OBSERVED["spin"], random_state=2)
    states = found["state"].values.astype(float)
    np.testing.assert_array_equal(found["magnetisation"].values[:, 0], states.mean(axis=1))
    np.testing.assert_array_equal(found["overlap"].values[:, 0], [(states[0] * states[1]).mean()])
    np.testing.assert_array_equal(found["unit_means"].values, states)
    ends = machine.layout.order[machine.layout.first], machine.layout.order[machine.layout.second]
    np.testing.assert_array_equal(found["edge_means"].values, states[:, ends[0]] * states[:, ends[1]])


@pytest.mark.parametrize("units", ["spin", "binary"])
@pytest.mark.parametrize(("shape", "periodic"), [((9,), False), ((5, 4), False), ((3, 2, 6), False), ((4, 6), True),
                                                 ((5, 3, 4), True)])  # fmt: skip
def test_correlations_are_of_all_pairs_there_are(units: str, shape: tuple[int, ...], periodic: bool) -> None:
    pytest.importorskip("xarray")
    machine = GraphMachine(lattice(shape, periodic), units)
    found = machine.sample(n_chains=2, n_sweeps=1, observe="correlations", random_state=2)
    grid = found["state"].values.astype(float).reshape(2, *shape)
    for axis, n in enumerate(shape):
        for d in range(found.sizes["distance"]):
            seen = found["correlations"].values[:, axis, d]
            if d > (n // 2 if periodic else n - 1):
                assert np.isnan(seen).all()
                continue
            firsts = range(n if periodic else n - d)
            pairs = grid.take(firsts, axis + 1) * grid.take([(k + d) % n for k in firsts], axis + 1)
            np.testing.assert_allclose(seen, pairs.reshape(2, -1).mean(axis=1), rtol=1e-15)


@pytest.mark.parametrize("divided", [{}, {"chunks": 2}, {"shards": 2}])
def test_all_that_is_measured_has_a_name_and_a_unit(divided: dict[str, int]) -> None:
    pytest.importorskip("xarray")
    if divided:
        pytest.importorskip("dask")
    machine = GraphMachine(lattice((4, 4)))
    observe = ["energy", "magnetisation", "overlap", "means", "correlations"]
    found = [machine.sample(n_chains=2, n_sweeps=2, observe=observe, random_state=1, **divided)]
    if not divided:
        how = {"n_sweeps": 2, "random_state": 1}
        found += [machine.anneal(**how), machine.temper(betas=[0.1, 0.5], **how)]
    for dataset in found:
        for name, variable in dataset.variables.items():
            assert variable.attrs["long_name"], name
            assert variable.attrs["units"] == "1", name


def test_components_without_a_clamped_unit_are_warned_of() -> None:
    pytest.importorskip("xarray")
    machine = GraphMachine([[0, 1], [1, 2], [3, 4], [6, 5]])
    with pytest.warns(graphs.ClampWarning, match="no unit of some components of the graph: 4 units, such as 3, are"):
        found = machine.sample(n_sweeps=3, clamp={0: 1}, random_state=1)
    free = machine.sample(n_sweeps=3, random_state=1)
    np.testing.assert_array_equal(found["state"].values[:, 3:], free["state"].values[:, 3:])
    for sample in (machine.anneal, machine.chains):
        with pytest.warns(graphs.ClampWarning, match="2 units, such as 5, are drawn as if none were clamped"):
            sample(clamp={0: 1, 4: 1, 3: -1})
    machine.sample(n_sweeps=1, clamp={0: 1, 3: 1, 5: -1})  # a unit of each: no warning, which is an error in tests
    isolated = GraphMachine(as_graph([[0, 1]], units=3))
    assert isolated.sample(n_sweeps=1, clamp={2: -1, 0: 1}, random_state=1)["state"].values[0, 2] == -1


def test_series_say_what_they_are_worth() -> None:
    rng = np.random.default_rng(1)
    x = np.zeros((4, 20000))
    for k in range(1, x.shape[1]):
        x[:, k] = 0.9 * x[:, k - 1] + rng.normal(size=4)
    # the correlations of such a series are 0.9 ** k
    np.testing.assert_allclose(autocorrelation_time(x), 0.5 + 0.9 / 0.1, rtol=0.2)
    assert graphs.monte_carlo_error(x) == pytest.approx(math.sqrt(2 * 9.5 / (1 - 0.81) / x.size), rel=0.2)
    np.testing.assert_allclose(autocorrelation_time(x + 1e9), autocorrelation_time(x), rtol=1e-5)
    assert autocorrelation_time(np.ones((2, 10))).tolist() == [0.5, 0.5]
    assert graphs.binder(rng.normal(size=10**5)) == pytest.approx(0.0, abs=0.02)
    assert graphs.specific_heat([1.0, 3.0], 0.5, 100) == 25.0
    with pytest.raises(ValueError, match="series must have 4 sweeps at least"):
        autocorrelation_time([1.0])
