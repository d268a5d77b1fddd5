"""One engine: the same seed gives the same draws in memory, on Dask in any blocks, and in a run on disk."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.graphs import GraphMachine, edwards_anderson, erdos_renyi, lattice
from nbm_xp.graphs import lattice_sweeps as lattice_chapter
from nbm_xp.graphs import shards as shard_chapter
from nbm_xp.graphs.adjacency import colours_of, neighbour_rows
from nbm_xp.graphs.graph import Lattice, odd_rings, row_starts
from nbm_xp.runs import open_dataset, sample_graph
from tests.helpers.libraries import EVERYWHERE

pytest.importorskip("dask")
pytest.importorskip("xarray")
pytest.importorskip("zarr")


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    """Lattices of one to three axes, of odd and even lengths, with ends that are joined and open ones."""
    axes = draw(st.integers(1, 3))
    most = {1: 23, 2: 9, 3: 5}[axes]
    shape = tuple(draw(st.integers(3, most)) for _ in range(axes))
    return lattice(shape, tuple(draw(st.booleans()) for _ in range(axes)))


def equal(whole: Any, blocks: Any, names: tuple[str, ...] = ("energy", "magnetisation", "state")) -> None:
    found = blocks.compute(scheduler="synchronous")
    for name in names:
        one, other = whole[name].values, found[name].values
        np.testing.assert_array_equal(one.ravel(), other.ravel(), err_msg=name)
        assert whole[name].attrs == found[name].attrs
        if name not in ("state", "unit_means"):
            assert whole[name].dims == found[name].dims
            assert whole[name].dtype == found[name].dtype


@settings(max_examples=40, deadline=None)
@given(lattices())
def test_colours_and_slots_are_those_of_units_in_their_turn(graph: Lattice) -> None:
    turn = colours_of(neighbour_rows(graph.units, graph.first, graph.second))
    np.testing.assert_array_equal(graph.colours, turn)
    assert graph.colour_count == turn.max() + 1 <= graph.reach
    slots, length = np.argsort(np.argsort(turn, kind="stable")), graph.shape[-1]
    rows, turn = slots.reshape(-1, length), turn.reshape(-1, length)
    odd = odd_rings(graph.shape, graph.periodic)
    for colour in range(graph.colour_count):
        starts, along = row_starts(graph.shape, odd, np.arange(len(rows)), colour)
        for row, start, kind in zip(range(len(rows)), starts, along, strict=True):
            mine = np.flatnonzero(turn[row] == colour)
            np.testing.assert_array_equal(rows[row, mine], start + np.arange(mine.size))
            last = odd[-1]
            want = {0: range(0, length - last, 2), 1: range(1, length - last, 2), 2: [length - 1] * last, 3: []}
            assert mine.tolist() == list(want[kind])


@settings(max_examples=10 if EVERYWHERE else 4, deadline=None)
@given(
    graph=lattices(), units=st.sampled_from(["spin", "binary", 3]), rule=st.sampled_from(["heat_bath", "metropolis"]),
    chunks=st.integers(2, 6), at_once=st.integers(1, 3), seed=st.integers(0, 99), loops=st.booleans(),
    clamped=st.integers(0, 2),
)  # fmt: skip
def test_a_lattice_has_the_same_draws_in_memory_on_dask_and_in_a_run(
    graph: Lattice, units: Any, rule: str, chunks: int, at_once: int, seed: int, loops: bool, clamped: int
) -> None:
    rng = np.random.default_rng(seed)
    couplings = [0.7, rng.choice([-1.0, 1.0], graph.edges), rng.normal(size=graph.edges)][seed % 3]
    shape = (graph.units, 3) if units == 3 else (graph.units,)
    fields = [0.0, 0.2, rng.normal(size=shape)][seed // 3 % 3]
    machine = GraphMachine(graph, units, fields, couplings)
    asked = asked_of(machine, rule, clamped, rng)
    initial = {"initial": rng.choice(machine.kind.values, (2, graph.units))} if seed % 4 == 0 else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nbm_xp.graphs.lattice_blocks.LatticeDivision.sweeps_at_once", at_once)
        if not loops:
            patch.setattr(lattice_chapter, "kernel", lambda *_: None)
        whole = machine.sample(**asked, random_state=seed, **initial)
        blocks = machine.sample(**asked, random_state=seed, chunks=chunks, **initial)
        equal(whole, blocks, (*asked["observe"], "state"))
        if initial:  # which runs on disk do not take
            return
        with tempfile.TemporaryDirectory() as folder:
            run = sample_graph(
                machine, f"{folder}/run", **asked, random_state=seed, chunks=chunks, checkpoint_every=at_once
            )
            equal_to_run(whole, found := open_dataset(run.path))
            assert found["state"].shape[1:] == machine.state_shape


def asked_of(machine: GraphMachine, rule: str, clamped: int, rng: np.random.Generator) -> dict[str, Any]:
    values, chosen = machine.kind.values, rng.choice(machine.n_units, clamped, replace=False).tolist()
    return {
        "n_chains": 2, "n_sweeps": 4, "burn_in": 1, "thin": 2, "beta": [0.3, 0.8], "rule": rule,
        "clamp": {unit: values[unit % len(values)] for unit in chosen},
        "observe": ["energy", "magnetisation", "abs_magnetisation", *(["overlap"] if machine.units == "spin" else [])],
    }  # fmt: skip


def equal_to_run(whole: Any, found: Any) -> None:
    for name in map(str, found.data_vars):
        drawn = np.asarray(found[name].data.compute())  # xarray does not know arrays that are expressions
        np.testing.assert_array_equal(drawn.ravel(), whole[name].values.ravel(), err_msg=name)
        assert found[name].attrs["long_name"] == whole[name].attrs["long_name"]
    assert found["state"].dtype == np.int8


@settings(max_examples=8, deadline=None)
@given(graph=lattices(), chunks=st.integers(2, 6), overlap=st.booleans(), units=st.sampled_from(["spin", "binary"]))
def test_states_are_looked_at_in_chunks(graph: Lattice, chunks: int, overlap: bool, units: str) -> None:
    machine = GraphMachine(graph, units, couplings=0.4)
    also = ("overlap",) if overlap and units == "spin" else ()
    asked: dict[str, Any] = {
        "n_chains": 2, "n_sweeps": 5, "thin": 2, "random_state": 3,
        "observe": ["energy", "correlations", "means", *also],
    }  # fmt: skip
    names = ("energy", "correlations", "unit_means", "edge_means", "state", *also)
    equal(machine.sample(**asked), machine.sample(**asked, chunks=chunks), names)


@settings(max_examples=10 if EVERYWHERE else 4, deadline=None)
@given(
    units=st.sampled_from(["spin", "binary", 3]), rule=st.sampled_from(["heat_bath", "metropolis"]),
    shards=st.integers(0, 6), clamped=st.integers(0, 9), seed=st.integers(0, 99), loops=st.booleans(),
    initial=st.booleans(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.ClampWarning")
def test_a_graph_has_the_same_draws_in_memory_on_dask_and_in_a_run(
    units: Any, rule: str, shards: int, clamped: int, seed: int, loops: bool, initial: bool
) -> None:
    rng = np.random.default_rng(seed)
    machine = GraphMachine(erdos_renyi(40, 0.15, seed), units, 0.1)
    asked = asked_of(machine, rule, clamped, rng)
    divided = rng.integers(3, 7, 40) if shards == 0 else shards  # or the shard of each unit
    with pytest.MonkeyPatch.context() as patch:
        if not loops:
            patch.setattr(shard_chapter, "kernel", lambda *_: None)
        if initial:  # which runs on disk do not take, nor means of states
            asked |= {"initial": rng.choice(machine.kind.values, (2, 40)), "first_chain": 4}
            asked["observe"] += [] if units == 3 else ["means"]
        whole = machine.sample(**asked, random_state=seed)
        assert all((whole["state"].values[:, unit] == value).all() for unit, value in asked["clamp"].items())
        equal(whole, machine.sample(**asked, random_state=seed, shards=divided), tuple(map(str, whole.data_vars)))
        if not initial:
            with tempfile.TemporaryDirectory() as folder:
                run = sample_graph(machine, f"{folder}/run", **asked, random_state=seed, shards=divided)
                equal_to_run(whole, open_dataset(run.path))


def test_more_chains_than_run_together_have_the_same_draws() -> None:
    machine = GraphMachine(edwards_anderson((5, 4), random_state=1))
    asked: dict[str, Any] = {"n_chains": 70, "n_sweeps": 3, "random_state": 2, "observe": ["overlap", "means"]}
    asked |= {"beta": np.linspace(0.1, 1.0, 70), "first_chain": 2}
    equal(machine.sample(**asked), machine.sample(**asked, shards=3), ("overlap", "unit_means", "edge_means", "state"))
