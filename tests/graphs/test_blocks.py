"""Lattices in chunks and graphs in shards: the bits of the undivided ones, however they are divided, and lazily."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, edwards_anderson, erdos_renyi, lattice, random_regular
from nbm_xp.graphs import shards as shards_chapter
from nbm_xp.graphs.chain_groups import ChainGroup
from nbm_xp.graphs.lattice_blocks import couplings_of, divided
from nbm_xp.graphs.lattice_sweeps import LatticeBlock, lattice_block
from nbm_xp.graphs.shards import Shard, shard_numbers
from nbm_xp.rng import hashed_seed

pytest.importorskip("dask")
pytest.importorskip("xarray")

LATTICES: dict[str, GraphMachine] = {
    "alike": GraphMachine(lattice((12, 14))),
    "signs in space": GraphMachine(edwards_anderson((8, 6, 4), random_state=1), fields=0.3),
    "Potts with fields": GraphMachine(lattice((5, 7, 3), False), units=3, fields=[0.1, 0.2, 0.0]),
}
GRAPHS: dict[str, GraphMachine] = {
    "three neighbours": GraphMachine(random_regular(200, 3, random_state=1)),
    "any neighbours": GraphMachine(erdos_renyi(150, 0.03, random_state=2), units="binary", fields=0.3),
    "apart": GraphMachine([[0, 1], [2, 3], [3, 4], [6, 5]], fields=0.1),
}
BLOCKS: dict[str, tuple[GraphMachine, str, Any]] = {
    "chunks": (LATTICES["alike"], "chunks", ((5, 1, 6), (2, 12))),
    "other chunks": (LATTICES["signs in space"], "chunks", 3),
    "sums in double precision": (GraphMachine(lattice((5, 7, 3), False), fields=np.linspace(-1, 1, 105)), "chunks", 3),
    "shards": (GRAPHS["any neighbours"], "shards", 3),
}
ASKED: dict[str, Any] = {
    "n_chains": 2, "n_sweeps": 3, "burn_in": 1, "thin": 2, "beta": [0.4, 0.9], "random_state": 5
}  # fmt: skip


def same(whole: Any, parts: Any) -> None:
    parts = parts.compute(scheduler="synchronous")
    assert (whole["state"].values.ravel() == parts["state"].values.ravel()).all()
    for name in ("energy", "magnetisation", "sweep", "beta", "chain"):
        assert whole[name].dims == parts[name].dims
        assert (whole[name].values == parts[name].values).all(), name


def test_shards_of_metis_change_no_bit() -> None:
    if importlib.util.find_spec("pymetis") is None:
        pytest.skip("pymetis is not installed")
    machine = GRAPHS["three neighbours"]
    made, walked = (divide(machine.layout, 4) for divide in (shard_numbers, shards_chapter._by_breadth))
    assert (np.bincount(made) > 30).all()
    assert (np.bincount(walked) == 50).all()
    ends = machine.layout.first, machine.layout.second
    assert sum(made[ends[0]] != made[ends[1]]) < sum(walked[ends[0]] != walked[ends[1]])
    same(machine.sample(**ASKED), machine.sample(**ASKED, shards=4))


def test_nothing_is_computed_until_asked_and_all_blocks_may_begin_at_once() -> None:
    draws = LATTICES["alike"].sample(**ASKED, chunks=(6, 7))
    assert draws["state"].dims == ("chain", "axis_0", "axis_1")
    assert draws["state"].chunks == ((1, 1), (6, 6), (7, 7))
    assert draws["energy"].chunks is not None
    convert = importlib.import_module("dask._task_spec").convert_legacy_graph
    tasks = convert(dict(draws["state"].data.__dask_graph__()))
    begun = [task for key, task in tasks.items() if isinstance(key, tuple) and "-begin-" in f"{key[0]}-"]
    assert len(begun) == 2 * 4
    assert not any(task.dependencies for task in begun)


@pytest.mark.parametrize("name", BLOCKS)
def test_chains_go_on_in_other_blocks(name: str) -> None:
    machine, argument, way = BLOCKS[name]
    asked: dict[str, Any] = {"n_chains": 2, "beta": 0.5}
    whole = machine.sample(n_sweeps=4, random_state=3, **asked)
    part = machine.sample(n_sweeps=2, random_state=3, **asked, **{argument: 4})
    for first in (part, part.compute(scheduler="synchronous"), machine.sample(n_sweeps=2, random_state=3, **asked)):
        rest = machine.sample(n_sweeps=2, initial=first, **asked, **{argument: way}).compute(scheduler="synchronous")
        assert (rest["state"].values.ravel() == whole["state"].values.ravel()).all()
        assert (rest["energy"].values == whole["energy"].values[:, 2:]).all()
        assert rest.attrs == whole.attrs
    back = machine.sample(n_sweeps=2, initial=part.compute(scheduler="synchronous"), **asked)
    assert (back["state"].values == whole["state"].values).all()


@pytest.mark.parametrize("name", ["other chunks", "shards"])
def test_two_workers_change_no_bit(name: str, two_workers: Any) -> None:
    machine, argument, way = BLOCKS[name]
    same(machine.sample(**ASKED), two_workers.compute(machine.sample(**ASKED, **{argument: way})).result())


def test_a_lattice_is_laid_out_when_asked() -> None:
    vast = GraphMachine(lattice((30000, 33334)))
    assert vast.n_units == 30000 * 33334
    assert vast.colours == 2
    assert "1000020000 units, 2000040000 edges" in repr(vast)
    draws = vast.sample(n_sweeps=1, chunks=10000, random_state=1)
    assert draws["state"].shape == (1, 30000, 33334)


def test_a_lattice_of_a_million_million_units_is_drawn_in_blocks_alone() -> None:
    side = 10**6
    machine = GraphMachine(lattice((side, side)))
    with pytest.raises(ValueError, match=r"chunks must be given .*, got 1000000000000"):
        machine.sample()
    division = divided((side, side), (True, True), ((side - 9, 9), (side // 2, side // 2 - 12, 12)))
    block = lattice_block(division, (1, 2), couplings_of(machine))
    group = ChainGroup(machine.n_units, "spin", "heat_bath", hashed_seed(1), 0, (0.4,))
    row, column = np.arange(side - 9, side)[:, None], np.arange(side - 12, side)
    slots = (row * side + column) // 2 + (row + column) % 2 * (side**2 // 2)
    uniforms = group.uniforms(slots.ravel(), 0).reshape(slots.shape)
    np.testing.assert_array_equal(block.begin(group)[0][0], np.where(uniforms < 0.5, -1, 1))


def test_numbers_of_one_size_are_rounded_as_those_of_many() -> None:
    graph = lattice((6, 5), False)
    one, many = GraphMachine(graph, couplings=1 / 3), GraphMachine(graph, couplings=np.full(graph.edges, 1 / 3))
    assert one.resolution == many.resolution
    assert (one.layout.weights == many.layout.weights).all()
    assert couplings_of(one).unit == couplings_of(many).unit == one.layout.weights[0]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_task_can_be_done_again_elsewhere(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step leaves the states that it is given as they are, and a block that was sent away makes the same step."""
    machine, argument, way = BLOCKS[name]

    def checked(step: Any) -> Any:
        def repeated(block: Any, group: Any, states: Any, *others: Any) -> Any:
            before = states.copy()
            found = step(pickle.loads(pickle.dumps(block)), group, states, *others)
            np.testing.assert_array_equal(states, before)
            return found

        return repeated

    for kind in (Shard, LatticeBlock):
        monkeypatch.setattr(kind, "step", checked(kind.step))
    same(machine.sample(**ASKED), machine.sample(**ASKED, **{argument: way}))


CHUNKED, APART = {"chunks": 2}, {"shards": 2}
WRONG: list[tuple[GraphMachine, dict[str, Any], str]] = [
    (GraphMachine([[0, 1]]), CHUNKED, r"chunks: the machine must be on a lattice"),
    (LATTICES["alike"], CHUNKED | {"rule": "gibbs"}, r"rule must be .* where there are chunks, got 'gibbs'"),
    (
        LATTICES["alike"],
        CHUNKED | {"rule": "wolff"},
        r"heat_bath, metropolis where there are chunks, got 'wolff': the others need the undivided graph",
    ),
    (LATTICES["alike"], CHUNKED | {"observe": "entropy"}, r"observe must be of energy, .*, means, got 'entropy'"),
    (LATTICES["Potts with fields"], CHUNKED | {"observe": "means"}, r"observe: means are those of units with two"),
    (
        LATTICES["Potts with fields"],
        CHUNKED | {"observe": "overlap", "n_chains": 2},
        r"observe: overlaps are .* of spins",
    ),
    (LATTICES["alike"], CHUNKED | {"library": "torch"}, r"library must be None where there are chunks"),
    (LATTICES["alike"], {"chunks": (3, 4, 5)}, r"chunks must be an int, or for each of 2 axes .*, got \(3, 4, 5\)"),
    (LATTICES["alike"], {"chunks": 0}, r"chunks must be an int"),
    (LATTICES["alike"], {"chunks": (12, (7, 8))}, r"chunks must be an int"),
    (LATTICES["alike"], {"chunks": "auto"}, r"chunks must be an int"),
    (LATTICES["alike"], CHUNKED | {"initial": [1, -1]}, r"initial must be of shape \(1, 168\), got \(2,\)"),
    (GRAPHS["apart"], {"shards": 0}, "shards must be"),
    (GRAPHS["apart"], {"shards": 8}, r"shards must be an int, or a shard for each of 7 units, of which .* got 8"),
    (GRAPHS["apart"], {"shards": [0, 1]}, r"shards must be an int, .* each of 7 units, got int64 of shape \(2,\)"),
    (GRAPHS["apart"], {"shards": np.zeros(7)}, "shards must be an int, or a shard for each of 7 units, got float64"),
    (GRAPHS["apart"], APART | CHUNKED, "shards must be None where there are chunks"),
    (GRAPHS["apart"], APART | {"observe": "correlations"}, "observe: correlations are those of .* on a lattice"),
    (GRAPHS["apart"], APART | {"observe": "overlap"}, "observe: overlaps are .*: n_chains must be even"),
    (GRAPHS["apart"], APART | {"observe": None}, "observe must be names, got None"),
    (GRAPHS["apart"], APART | {"initial": 3}, r"initial must be of shape \(1, 7\), got \(\)"),
    (GRAPHS["apart"], APART | {"clamp": {7: 1}}, "clamp must name units from 0 to 6, got 7"),
    (GRAPHS["apart"], APART | {"library": "torch"}, "library must be None where there are shards"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_cannot_be_in_blocks_raises(case: int) -> None:
    machine, asked, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        machine.sample(**{"n_sweeps": 2} | asked)
