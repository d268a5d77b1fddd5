"""Lattices in chunks: the bits of the undivided ones, however they are divided and whoever computes them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import Graph, GraphMachine, edwards_anderson, lattice
from nbm_xp.graphs import lattice_sweeps as sweeps_chapter
from nbm_xp.graphs.blocks import ChainGroup, Step, packed, unpack
from nbm_xp.graphs.energy_model import units_of
from nbm_xp.graphs.graph import Lattice
from nbm_xp.graphs.lattice_blocks import LatticeBlock, couplings_of
from nbm_xp.graphs.lattice_sweeps import divided

pytest.importorskip("dask")
pytest.importorskip("xarray")

FIELDS = np.random.default_rng(0).normal(size=99)
MACHINES: dict[str, GraphMachine] = {
    "alike": GraphMachine(lattice((12, 14))),
    "signs in space": GraphMachine(edwards_anderson((8, 6, 4), random_state=1), fields=0.3),
    "normal couplings": GraphMachine(edwards_anderson((12, 10), "normal", random_state=1), units="binary", fields=0.3),
    "open, fields of each": GraphMachine(edwards_anderson((11, 9), "normal", False, random_state=1), fields=FIELDS),
    "open along one axis": GraphMachine(lattice((6, 7), (True, False)), couplings=-0.7),
    "a ring": GraphMachine(lattice(10), couplings=0.3, fields=0.1),
    "alike, fields of each": GraphMachine(lattice((9, 11), False), couplings=0.3, units="binary", fields=FIELDS),
    "rings of odd length": GraphMachine(edwards_anderson((7, 9), random_state=1), fields=0.3),
    "an odd ring": GraphMachine(lattice(11), couplings=0.3, units="binary"),
    "odd and open": GraphMachine(lattice((5, 4, 3), (True, False, True)), couplings=0.6),
    "Potts": GraphMachine(lattice((6, 8)), units=4, couplings=-0.7),
    "Potts with fields": GraphMachine(lattice((5, 7, 3), False), units=3, fields=[0.1, 0.2, 0.0]),
}
ASKED: dict[str, Any] = {
    "n_chains": 2, "n_sweeps": 5, "burn_in": 1, "thin": 2, "beta": [0.4, 0.9], "random_state": 5
}  # fmt: skip


def same(whole: Any, parts: Any) -> None:
    assert (whole["state"].values.ravel() == parts["state"].values.ravel()).all()
    for name in ("energy", "magnetisation", "sweep", "beta", "chain"):
        assert whole[name].dims == parts[name].dims
        assert (whole[name].values == parts[name].values).all(), name


def here(draws: Any) -> Any:
    return draws.compute(scheduler="synchronous")


@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
@pytest.mark.parametrize("name", MACHINES)
def test_chunks_change_no_bit(name: str, rule: str) -> None:
    machine = MACHINES[name]
    whole = machine.sample(**ASKED, rule=rule)
    for chunks in (-1, 5):
        same(whole, here(machine.sample(**ASKED, rule=rule, chunks=chunks)))


@pytest.mark.parametrize("chunks", [(3, 2), (4, 7), ((5, 1, 6), (2, 12)), (1, -1)])
def test_chunks_may_be_ragged(chunks: Any) -> None:
    machine = MACHINES["alike"]
    same(machine.sample(**ASKED), here(machine.sample(**ASKED, chunks=chunks)))


@pytest.mark.parametrize("at_once", [2, 3, 7])
@pytest.mark.parametrize("name", ["alike", "open, fields of each", "Potts with fields"])
def test_several_sweeps_of_a_task_change_no_bit(name: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MACHINES[name]
    monkeypatch.setattr("nbm_xp.graphs.lattice_sweeps.LatticeDivision.sweeps_at_once", at_once)
    same(machine.sample(**ASKED), here(machine.sample(**ASKED, chunks=5)))


@pytest.mark.parametrize("name", ["alike", "normal couplings", "open, fields of each"])
def test_loops_have_the_bits_of_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MACHINES[name]
    for rule in ("heat_bath", "metropolis"):
        with monkeypatch.context() as without:
            without.setattr(sweeps_chapter, "kernel", lambda *_: None)
            portable = here(machine.sample(**ASKED, rule=rule, chunks=5))
        same(portable, here(machine.sample(**ASKED, rule=rule, chunks=5)))


@pytest.mark.parametrize("name", ["alike", "open, fields of each", "signs in space"])
def test_overlaps_are_those_of_the_undivided_lattice(name: str) -> None:
    machine = MACHINES[name]
    asked = ASKED | {"n_chains": 4, "beta": [0.1, 0.2, 0.9, 0.9], "observe": ("energy", "magnetisation", "overlap")}
    whole, parts = machine.sample(**asked), machine.sample(**asked, chunks=5)
    assert parts["overlap"].chunks is not None
    alone = machine.sample(**asked | {"observe": ["overlap"]}, chunks=4)
    for found in (here(parts), here(alone)):
        assert found["overlap"].dims == whole["overlap"].dims == ("pair", "sweep")
        assert (found["overlap"].values == whole["overlap"].values).all()
        assert found["overlap"].attrs == whole["overlap"].attrs
        assert (found["state"].values.ravel() == whole["state"].values.ravel()).all()
    same(whole, here(parts))
    assert len(np.unique(whole["overlap"].values)) > 1
    more = asked | {"burn_in": 0, "n_sweeps": 2, "thin": 1, "random_state": None}
    rest = here(machine.sample(**more, initial=parts, chunks=3))
    assert (rest["overlap"].values == machine.sample(**more, initial=whole)["overlap"].values).all()


def test_nothing_is_computed_until_asked() -> None:
    draws = MACHINES["alike"].sample(**ASKED, chunks=(6, 7))
    assert draws["state"].dims == ("chain", "axis_0", "axis_1")
    assert draws["state"].chunks == ((1, 1), (6, 6), (7, 7))
    assert draws["energy"].chunks is not None


def test_all_blocks_may_begin_at_once() -> None:
    convert = importlib.import_module("dask._task_spec").convert_legacy_graph
    tasks = convert(dict(MACHINES["alike"].sample(**ASKED, chunks=(6, 7))["state"].data.__dask_graph__()))
    begun = [task for key, task in tasks.items() if isinstance(key, tuple) and "-begin-" in f"{key[0]}-"]
    assert len(begun) == 2 * 4
    assert not any(task.dependencies for task in begun)


def test_chains_go_on_in_other_chunks() -> None:
    machine = MACHINES["alike"]
    asked: dict[str, Any] = {"n_chains": 2, "beta": 0.5}
    whole = machine.sample(n_sweeps=6, random_state=3, **asked)
    part = machine.sample(n_sweeps=4, random_state=3, chunks=5, **asked)
    for first in (part, here(part), machine.sample(n_sweeps=4, random_state=3, **asked)):
        rest = here(machine.sample(n_sweeps=2, initial=first, chunks=(4, 14), **asked))
        assert (rest["state"].values.ravel() == whole["state"].values.ravel()).all()
        assert (rest["energy"].values == whole["energy"].values[:, 4:]).all()
        assert rest.attrs == whole.attrs
    back = machine.sample(n_sweeps=2, initial=here(part), **asked)
    assert (back["state"].values == whole["state"].values).all()


def test_chains_begin_where_they_are_told_to() -> None:
    machine = MACHINES["alike"]
    up = np.ones((2, machine.n_units), np.int8)
    asked: dict[str, Any] = {
        "n_chains": 2,
        "n_sweeps": 3,
        "beta": 0.5,
        "random_state": 3,
        "initial": up,
        "first_chain": 4,
    }
    same(machine.sample(**asked), here(machine.sample(**asked, chunks=5)))


def test_two_workers_change_no_bit(two_workers: Any) -> None:
    machine = MACHINES["signs in space"]
    same(machine.sample(**ASKED), two_workers.compute(machine.sample(**ASKED, chunks=3)).result())


def test_what_was_learnt_is_what_is_sampled_in_chunks() -> None:
    machine = GraphMachine(lattice((4, 6)), fields=0.1)
    draws = machine.sample(n_chains=50, n_sweeps=5, random_state=1, beta=0.3)
    machine.fit(draws["state"].values)
    asked: dict[str, Any] = {"n_chains": 2, "n_sweeps": 4, "random_state": 1}
    same(machine.sample(**asked), here(machine.sample(**asked, chunks=3)))


def test_a_lattice_is_laid_out_when_asked() -> None:
    vast = GraphMachine(lattice((30000, 33334)))
    assert vast.n_units == 30000 * 33334
    assert vast.colours == 2
    assert not vast.has_layout
    assert "1000020000 units, 2000040000 edges" in repr(vast)
    draws = vast.sample(n_sweeps=1, chunks=10000, random_state=1)
    assert draws["state"].shape == (1, 30000, 33334)
    assert not vast.has_layout


def test_numbers_of_one_size_are_rounded_as_those_of_many() -> None:
    graph = lattice((6, 5), False)
    one, many = GraphMachine(graph, couplings=1 / 3), GraphMachine(graph, couplings=np.full(graph.edges, 1 / 3))
    assert one.resolution == many.resolution
    assert (one.layout.weights == many.layout.weights).all()
    assert couplings_of(one).unit == couplings_of(many).unit == one.layout.weights[0]


@pytest.mark.parametrize(
    ("machine", "asked", "message"),
    [
        (GraphMachine([[0, 1]]), {}, r"chunks: the machine must be on a lattice"),
        (MACHINES["alike"], {"rule": "gibbs"}, r"rule must be .* where there are chunks, got 'gibbs'$"),
        (
            MACHINES["alike"],
            {"rule": "wolff"},
            r"heat_bath, metropolis where there are chunks, got 'wolff': clusters reach .* undivided \(chunks=None\)",
        ),
        (MACHINES["alike"], {"observe": "entropy"}, r"observe must be of energy, .*, means, got 'entropy'"),
        (MACHINES["Potts"], {"observe": "means"}, r"observe: means are those of units with two values"),
        (MACHINES["Potts"], {"observe": "correlations"}, r"observe: correlations are those of units with two values"),
        (MACHINES["alike"], {"observe": "overlap", "n_chains": 3}, r"observe: overlaps are .*: n_chains must be even"),
        (MACHINES["Potts"], {"observe": "overlap", "n_chains": 2}, r"observe: overlaps are .* of spins"),
        (MACHINES["alike"], {"clamp": {0: 2}}, r"clamp must give values of -1, 1, got 2 for unit 0"),
        (MACHINES["alike"], {"library": "torch"}, r"library must be None where there are chunks"),
        (MACHINES["alike"], {"chunks": (3, 4, 5)}, r"chunks must be an int, or for each of 2 axes .*, got \(3, 4, 5\)"),
        (MACHINES["alike"], {"chunks": 0}, r"chunks must be an int"),
        (MACHINES["alike"], {"chunks": (12, (7, 8))}, r"chunks must be an int"),
        (MACHINES["alike"], {"chunks": "auto"}, r"chunks must be an int"),
        (MACHINES["alike"], {"initial": [1, -1]}, r"initial must be of shape \(1, 168\), got \(2,\)"),
    ],
)
def test_what_cannot_be_in_chunks_raises(machine: GraphMachine, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        machine.sample(**{"n_sweeps": 2, "chunks": 2} | asked)


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_blocks_reach_around_short_lattices(at_once: int) -> None:
    division = divided((6, 4), (True, False), (2, 3), at_once)
    work = division.work(ChainGroup(24, "binary", "heat_bath", (7,) * 6, 0, (0.5,)))
    whole = np.random.default_rng(0).integers(0, 2, (6, 4)).astype(np.int8)
    depth = division.depth
    around = np.pad(np.pad(whole, ((depth, depth), (0, 0)), "wrap"), ((0, 0), (depth, depth)))
    begun = {
        block: work.resume((0, *block), whole[
            tuple(slice(o, o + n) for o, n in zip(memory.offset, memory.size, strict=True))
        ][None])
        for block in division.blocks
        for memory in [division.block(block, 0)]
    }  # fmt: skip
    for block, (state, _) in begun.items():
        shown = {(0, *other): begun[other][1] for other in division.neighbours(block)}
        memory, flat = work.with_halo((0, *block), state, shown)
        found = memory.take(flat, tuple(slice(0, n + 2 * depth) for n in memory.size))
        want = around[tuple(slice(b, b + n + 2 * depth) for b, n in zip(memory.offset, memory.size, strict=True))]
        np.testing.assert_array_equal(found[0], want)


@pytest.mark.parametrize("units", ["spin", "binary", 5])
@pytest.mark.parametrize("shape", [(7, 21), (3, 5, 2, 40), (2, 300, 2, 1000), (300, 2, 1000), (1, 1)])
def test_what_is_packed_comes_back(units: Any, shape: tuple[int, ...]) -> None:
    values = units_of(units)
    states = np.random.default_rng(0).choice(values.values, (*shape[:-1], 2 * shape[-1])).astype(np.int8)[..., ::2]
    kept, back = packed(values, states), np.zeros_like(states)
    unpack(values, kept, back)
    np.testing.assert_array_equal(back, states)
    assert kept.nbytes == (states.size if units == 5 else states.size // shape[-1] * -(-shape[-1] // 8))


@pytest.mark.parametrize("size", [(5, 7), (4, 8), (9,), (1, 1), (2, 3, 5)])
def test_blocks_hold_what_was_put_there(size: tuple[int, ...]) -> None:
    rng, depth = np.random.default_rng(0), 2
    block = LatticeBlock(Lattice((64,) * len(size), (True,) * len(size)), (3,) * len(size), size, depth)
    whole = rng.integers(0, 100, (2, *block.padded)).astype(np.int8)
    flat, own = block.split(whole), (slice(None), *block.middle)
    np.testing.assert_array_equal(block.take(flat, block.middle), whole[own])
    np.testing.assert_array_equal(block.own(flat)[..., 0, :], whole[own][..., ::2])
    np.testing.assert_array_equal(block.own(flat)[..., 1, : size[-1] // 2], whole[own][..., 1::2])
    for begin in range(block.padded[-1]):
        for end in range(begin, block.padded[-1] + 1):
            place = (*block.middle[:-1], slice(begin, end))
            np.testing.assert_array_equal(block.take(flat, place), whole[:, *place])
            changed = whole.copy()
            changed[:, *place] += 100
            block.put(now := flat.copy(), place, changed[:, *place])
            np.testing.assert_array_equal(now, block.split(changed))


def test_a_block_between_tasks_is_bits() -> None:
    machine = GraphMachine(lattice((64, 128)))
    division = divided((64, 128), (True, True), (32, -1), 1)
    work = division.work(ChainGroup(64 * 128, "spin", "heat_bath", (5,) * 6, 0, (0.4,)))
    begun = {(0, *block): work.begin((0, *block)) for block in division.blocks}
    shown = {block: layers for block, (_, layers) in begun.items()}
    for block, (state, _) in begun.items():
        given = division.given(couplings_of(machine), block[1:])
        after, layers, totals = work.step(block, state, shown, Step(0, 1, 0, (1,)), given)
        assert state[0].nbytes == after[0].nbytes == 32 * 128 // 8
        assert sum(layer.nbytes for layer in layers) == 2 * 2 * (128 + 2 * 2)
        assert totals.shape == (1, 2)
        assert set(np.unique(work.array(block, after))) == {-1, 1}


def test_graphs_of_lattices_are_graphs() -> None:
    found = edwards_anderson((4, 5), random_state=1)
    assert isinstance(found, Lattice)
    assert isinstance(found, Graph)
    with pytest.raises(AttributeError):
        found.units = 3  # type: ignore[misc]
