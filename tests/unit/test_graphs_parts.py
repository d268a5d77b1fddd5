"""Graphs in parts: the bits of the undivided ones, however they are divided and whoever computes them."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, erdos_renyi, lattice, random_regular, sherrington_kirkpatrick
from nbm_xp.graphs import part_sweeps as sweeping
from nbm_xp.graphs import partition as dividing
from nbm_xp.graphs.partition import numbers_of_parts, partitioned
from tests.unit.test_graphs_chunks import here, same

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
    "chains": 3, "sweeps": 5, "burn_in": 1, "every": 2, "beta": [0.4, 0.9, 0.1], "random_state": 5
}  # fmt: skip


@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
@pytest.mark.parametrize("name", MACHINES)
def test_parts_change_no_bit(name: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "is_there", lambda package: False)  # parts of metis have a test of their own
    machine = MACHINES[name]
    whole = machine.sample(**ASKED, rule=rule)
    told = np.random.default_rng(0).integers(3, 7, machine.units_count)
    for parts in (1, 3, 7, told):
        same(whole, here(machine.sample(**ASKED, rule=rule, parts=parts)))


def test_more_chains_than_run_together_change_no_bit() -> None:
    machine = MACHINES["three neighbours"]
    asked: dict[str, Any] = {"chains": 67, "sweeps": 2, "beta": np.linspace(0.1, 1, 67), "random_state": 3}
    draws = machine.sample(**asked, first_chain=2, parts=2)
    assert draws["state"].dims == ("chain", "unit")
    same(machine.sample(**asked, first_chain=2), here(draws))


def test_parts_of_metis_change_no_bit() -> None:
    if importlib.util.find_spec("pymetis") is None:
        pytest.skip("pymetis is not installed")
    importlib.import_module("pymetis")
    machine = MACHINES["three neighbours"]
    made, walked = (divide(machine.layout, 4) for divide in (numbers_of_parts, dividing._by_breadth))
    assert (np.bincount(made) > 30).all()
    ends = machine.layout.first, machine.layout.second
    assert sum(made[ends[0]] != made[ends[1]]) < sum(walked[ends[0]] != walked[ends[1]])
    same(machine.sample(**ASKED), here(machine.sample(**ASKED, parts=4)))


@pytest.mark.parametrize("name", ["three neighbours", "any neighbours", "all joined", "Potts"])
def test_loops_have_the_bits_of_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MACHINES[name]
    for rule in ("heat_bath", "metropolis"):
        with monkeypatch.context() as without:
            for chapter in (sweeping, dividing):
                without.setattr(chapter, "kernel", lambda *_: None)
            portable = here(machine.sample(**ASKED, rule=rule, parts=3))
        same(portable, here(machine.sample(**ASKED, rule=rule, parts=3)))


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
    bundle = sweeping.Bundle(150, "binary", "metropolis", (7,) * 6, 0, (0.5, 0.9))
    part = partitioned(layout, numbers_of_parts(layout, 3))[0]
    begun = bundle.begin(part)
    before = [x.copy() for x in begun.own]
    first, shown, totals = bundle.step(part, begun, {}, 1, 0, True)
    again, shown_again, totals_again = bundle.step(part, begun, {}, 1, 0, True)
    sent = bundle.step(*pickle.loads(pickle.dumps((part, begun))), {}, 1, 0, True)[0]
    bundle.step(part, first, {}, 1, 1, False)
    assert all((a == b).all() for a, b in zip(before, begun.own, strict=True))
    assert (first.array == again.array).all()
    assert (first.array == sent.array).all()
    assert (shown[1] == shown_again[1]).all()
    assert (totals == totals_again).all()


def test_chains_go_on_in_other_parts() -> None:
    machine = MACHINES["three neighbours"]
    asked: dict[str, Any] = {"chains": 2, "beta": 0.5}
    whole = machine.sample(sweeps=6, random_state=3, **asked)
    part = machine.sample(sweeps=4, random_state=3, parts=2, **asked)
    for first in (part, here(part), machine.sample(sweeps=4, random_state=3, **asked)):
        rest = here(machine.sample(sweeps=2, after=first, parts=5, **asked))
        assert (rest["state"].values == whole["state"].values).all()
        assert (rest["energy"].values == whole["energy"].values[:, 4:]).all()
        assert rest.attrs == whole.attrs


def test_chains_begin_where_they_are_told_to() -> None:
    machine = MACHINES["Potts"]
    given = np.random.default_rng(1).integers(0, 3, (2, machine.units_count))
    asked: dict[str, Any] = {"chains": 2, "sweeps": 3, "random_state": 3, "initial": given, "rule": "metropolis"}
    same(machine.sample(**asked), here(machine.sample(**asked, parts=3)))


def test_two_workers_change_no_bit(two_workers: Any) -> None:
    machine = MACHINES["any neighbours"]
    same(machine.sample(**ASKED), two_workers.compute(machine.sample(**ASKED, parts=3)).result())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"parts": 0}, "parts must be"),
        ({"parts": 8}, r"parts must be an int, or a part for each of 7 units, of which there are no more .* got 8"),
        ({"parts": [0, 1]}, r"parts must be an int, or a part for each of 7 units, got int64 of shape \(2,\)"),
        ({"parts": np.zeros(7)}, "parts must be an int, or a part for each of 7 units, got float64"),
        ({"parts": 2, "chunks": 2}, "parts must be left out where there are chunks"),
        (
            {"parts": 2, "rule": "wolff"},
            r"heat_bath, metropolis where there are parts, got 'wolff': clusters reach .* undivided \(parts=None\)",
        ),
        ({"parts": 2, "observe": "correlations"}, "observe must be of energy, magnetisation, overlap, means where"),
        ({"parts": 2, "observe": "overlap"}, "observe: overlaps are .*: chains must be even"),
        ({"parts": 2, "observe": None}, "observe must be names, got None"),
        ({"parts": 2, "after": 3}, "after must be what sample gave"),
        ({"parts": 2, "clamp": {7: 1}}, "clamp must name units from 0 to 6, got 7"),
        ({"parts": 2, "library": "torch"}, "library must be left out where there are parts"),
        ({"parts": 2, "initial": [1, -1]}, r"initial must be of shape \(1, 7\), got \(2,\)"),
    ],
)
def test_what_cannot_be_in_parts_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MACHINES["apart"].sample(**{"sweeps": 2} | asked)
