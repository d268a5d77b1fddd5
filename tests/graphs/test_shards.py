"""Graphs in shards: the bits of the undivided ones, however they are divided and whoever computes them."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, erdos_renyi, lattice, random_regular, sherrington_kirkpatrick
from nbm_xp.graphs import moves as moving
from nbm_xp.graphs import shard_sweeps as sweeping
from nbm_xp.graphs import shards as dividing
from nbm_xp.graphs.blocks import ChainGroup, Step
from nbm_xp.graphs.shards import shard_numbers, shards_of
from tests.graphs.test_chunks import here, same

pytest.importorskip("dask")
pytest.importorskip("xarray")

MACHINES: dict[str, GraphMachine] = {
    "three neighbours": GraphMachine(random_regular(200, 3, random_state=1)),
    "any neighbours": GraphMachine(erdos_renyi(150, 0.03, random_state=2), units="binary", fields=0.3),
    "all joined": GraphMachine(sherrington_kirkpatrick(20, random_state=2), fields=np.linspace(-1, 1, 20)),
    "Potts": GraphMachine(random_regular(60, 3, random_state=1), units=3, fields=[0.1, 0.0, 0.2], couplings=0.8),
    "an odd lattice": GraphMachine(lattice((7, 5)), couplings=-0.7),
    "apart": GraphMachine([[0, 1], [2, 3], [3, 4], [6, 5]], fields=0.1),
}
ASKED: dict[str, Any] = {
    "n_chains": 3, "n_sweeps": 5, "burn_in": 1, "thin": 2, "beta": [0.4, 0.9, 0.1], "random_state": 5
}  # fmt: skip


@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
@pytest.mark.parametrize("name", MACHINES)
def test_shards_change_no_bit(name: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "is_there", lambda package: False)  # shards of metis have a test of their own
    machine = MACHINES[name]
    whole = machine.sample(**ASKED, rule=rule)
    told = np.random.default_rng(0).integers(3, 7, machine.n_units)
    for shards in (1, 3, 7, told):
        same(whole, here(machine.sample(**ASKED, rule=rule, shards=shards)))


def test_more_chains_than_run_together_change_no_bit() -> None:
    machine = MACHINES["three neighbours"]
    asked: dict[str, Any] = {"n_chains": 67, "n_sweeps": 2, "beta": np.linspace(0.1, 1, 67), "random_state": 3}
    draws = machine.sample(**asked, first_chain=2, shards=2)
    assert draws["state"].dims == ("chain", "unit")
    same(machine.sample(**asked, first_chain=2), here(draws))


def test_shards_of_metis_change_no_bit() -> None:
    if importlib.util.find_spec("pymetis") is None:
        pytest.skip("pymetis is not installed")
    importlib.import_module("pymetis")
    machine = MACHINES["three neighbours"]
    made, walked = (divide(machine.layout, 4) for divide in (shard_numbers, dividing._by_breadth))
    assert (np.bincount(made) > 30).all()
    ends = machine.layout.first, machine.layout.second
    assert sum(made[ends[0]] != made[ends[1]]) < sum(walked[ends[0]] != walked[ends[1]])
    same(machine.sample(**ASKED), here(machine.sample(**ASKED, shards=4)))


@pytest.mark.parametrize("name", ["three neighbours", "any neighbours", "all joined", "Potts"])
def test_loops_have_the_bits_of_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MACHINES[name]
    for rule in ("heat_bath", "metropolis"):
        with monkeypatch.context() as without:
            for chapter in (sweeping, dividing, moving):
                without.setattr(chapter, "kernel", lambda *_: None)
            portable = here(machine.sample(**ASKED, rule=rule, shards=3))
        same(portable, here(machine.sample(**ASKED, rule=rule, shards=3)))


@pytest.mark.parametrize("name", MACHINES)
def test_a_walk_is_the_same_by_loops_and_by_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = MACHINES[name].layout
    walk = dividing._walk(layout)
    assert sorted(walk.tolist()) == list(range(layout.units))
    monkeypatch.setattr(dividing, "kernel", lambda *_: None)
    assert dividing._walk(layout).tolist() == walk.tolist()


def test_a_task_that_is_done_again_gives_the_same() -> None:
    machine = MACHINES["any neighbours"]
    layout = machine.layout
    work = sweeping.ShardWork(ChainGroup(150, "binary", "metropolis", (7,) * 6, 0, (0.5, 0.9)))
    shard = shards_of(layout, shard_numbers(layout, 3))[0]
    second = Step(0, 1, 1, (1,))
    begun, *_ = work.step((0, 0), None, {}, Step(0, 1, 0, ()), shard)
    before = [x.copy() for x in begun.own]
    first, shown, totals = work.step((0, 0), begun, {}, second, shard)
    again, shown_again, totals_again = work.step((0, 0), begun, {}, second, shard)
    sent = work.step((0, 0), pickle.loads(pickle.dumps(begun)), {}, second, shard)[0]
    read = work.step((0, 0), work.loaded(work.saved(begun), shard), {}, second, shard)[0]
    work.step((0, 0), first, {}, Step(1, 1, 0, ()), shard)
    assert all((a == b).all() for a, b in zip(before, begun.own, strict=True))
    for other in (again, sent, read):
        assert (work.array((0, 0), first) == work.array((0, 0), other)).all()
    assert (shown[0] == shown_again[0]).all()
    assert (totals == totals_again).all()


def test_chains_go_on_in_other_shards() -> None:
    machine = MACHINES["three neighbours"]
    asked: dict[str, Any] = {"n_chains": 2, "beta": 0.5}
    whole = machine.sample(n_sweeps=6, random_state=3, **asked)
    part = machine.sample(n_sweeps=4, random_state=3, shards=2, **asked)
    for first in (part, here(part), machine.sample(n_sweeps=4, random_state=3, **asked)):
        rest = here(machine.sample(n_sweeps=2, initial=first, shards=5, **asked))
        assert (rest["state"].values == whole["state"].values).all()
        assert (rest["energy"].values == whole["energy"].values[:, 4:]).all()
        assert rest.attrs == whole.attrs


def test_chains_begin_where_they_are_told_to() -> None:
    machine = MACHINES["Potts"]
    given = np.random.default_rng(1).integers(0, 3, (2, machine.n_units))
    asked: dict[str, Any] = {"n_chains": 2, "n_sweeps": 3, "random_state": 3, "initial": given, "rule": "metropolis"}
    same(machine.sample(**asked), here(machine.sample(**asked, shards=3)))


def test_two_workers_change_no_bit(two_workers: Any) -> None:
    machine = MACHINES["any neighbours"]
    same(machine.sample(**ASKED), two_workers.compute(machine.sample(**ASKED, shards=3)).result())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"shards": 0}, "shards must be"),
        ({"shards": 8}, r"shards must be an int, or a shard for each of 7 units, of which there are no more .* got 8"),
        ({"shards": [0, 1]}, r"shards must be an int, or a shard for each of 7 units, got int64 of shape \(2,\)"),
        ({"shards": np.zeros(7)}, "shards must be an int, or a shard for each of 7 units, got float64"),
        ({"shards": 2, "chunks": 2}, "shards must be None where there are chunks"),
        (
            {"shards": 2, "rule": "wolff"},
            r"heat_bath, metropolis where there are shards, got 'wolff': clusters reach .* undivided \(shards=None\)",
        ),
        (
            {"shards": 2, "observe": "correlations"},
            "observe: correlations are those of units with two values on a lattice",
        ),
        ({"shards": 2, "observe": "overlap"}, "observe: overlaps are .*: n_chains must be even"),
        ({"shards": 2, "observe": None}, "observe must be names, got None"),
        ({"shards": 2, "initial": 3}, r"initial must be of shape \(1, 7\), got \(\)"),
        ({"shards": 2, "clamp": {7: 1}}, "clamp must name units from 0 to 6, got 7"),
        ({"shards": 2, "library": "torch"}, "library must be None where there are shards"),
        ({"shards": 2, "initial": [1, -1]}, r"initial must be of shape \(1, 7\), got \(2,\)"),
    ],
)
def test_what_cannot_be_in_shards_raises(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MACHINES["apart"].sample(**{"n_sweeps": 2} | asked)
