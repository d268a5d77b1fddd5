"""Chains on graphs as runs: the states of the undivided ones, and the same files whoever computes them."""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, edwards_anderson, lattice, random_regular
from nbm_xp.runs import Workers, open_dataset, resume, sample_graph
from nbm_xp.runs.execution import carry_out
from nbm_xp.runs.graph_job import GRAPH, GraphJob
from tests.helpers.runs import files_of, program, stopping_after

pytest.importorskip("zarr")
pytest.importorskip("xarray")

WEB = GraphMachine(random_regular(200, 3, random_state=1))
GLASS = GraphMachine(edwards_anderson((8, 6, 4), random_state=1), fields=0.3)
MACHINES: dict[str, tuple[GraphMachine, dict[str, Any]]] = {
    "a lattice": (GraphMachine(lattice((12, 14))), {"chunks": 5, "checkpoint_every": 2}),
    "a glass": (GLASS, {"chunks": (4, 3, -1), "checkpoint_every": 2}),
    "a web": (WEB, {"shards": 3}),
}
ASKED: dict[str, Any] = {
    "n_chains": 2, "n_sweeps": 9, "burn_in": 2, "thin": 2, "beta": [0.4, 0.9], "random_state": 5
}  # fmt: skip
ALONE = Workers(n_workers=1)


def late(run: pathlib.Path, first: float, last: float) -> Any:
    """Break a run off, after a worker that was cut off before has written again what it had then."""
    kept = run.with_name("kept")

    def look(done: int, total: int) -> None:
        if done > first * total and not kept.exists():
            with contextlib.suppress(shutil.Error):  # of a file that was replaced meanwhile
                shutil.copytree(run / "checkpoints", kept)
        if done > last * total:
            shutil.copytree(kept, run / "checkpoints", dirs_exist_ok=True)
            raise KeyboardInterrupt

    return look


def check_equal(whole: Any, run: pathlib.Path) -> None:
    found = open_dataset(run)
    for name in (*map(str, found.data_vars), *(["sweep"] if "sweep" in found.variables else [])):
        np.testing.assert_array_equal(found[name].values.ravel(), whole[name].values.ravel(), err_msg=name)


@pytest.mark.parametrize("asked", [{"observe": []}, {"thin": 9}, {"thin": 9, "observe": "overlap"}], ids=str)
def test_states_are_all_there_is_where_nothing_is_measured(asked: dict[str, Any], tmp_path: pathlib.Path) -> None:
    asked |= {"n_chains": 2, "n_sweeps": 2, "random_state": 1}
    run = sample_graph(WEB, tmp_path / "run", **asked, shards=2, scheduler=ALONE)
    assert set(open_dataset(run.path).variables) == {"state", "chain"}
    check_equal(WEB.sample(**asked), run.path)


@pytest.mark.parametrize("name", ["a glass", "a web"])
def test_a_late_worker_changes_nothing(name: str, tmp_path: pathlib.Path) -> None:
    machine, divided = MACHINES[name]
    asked = ASKED | divided | {"scheduler": ALONE}
    whole = sample_graph(machine, tmp_path / "whole", **asked)
    with pytest.raises(KeyboardInterrupt):
        sample_graph(machine, tmp_path / "run", **asked, progress=late(tmp_path / "run", 0.3, 0.8))
    assert files_of(resume(tmp_path / "run", scheduler=ALONE).path / GRAPH) == files_of(whole.path / GRAPH)


def test_what_neighbours_have_shown_must_be_there(tmp_path: pathlib.Path) -> None:
    machine, divided = MACHINES["a lattice"]
    with pytest.raises(KeyboardInterrupt):
        sample_graph(machine, tmp_path / "run", **ASKED, **divided, scheduler=ALONE, progress=stopping_after(0.4))
    for file in (tmp_path / "run" / "checkpoints").glob("shown/*"):
        file.unlink()
    with pytest.raises(ValueError, match=r"shown is damaged: it lacks block \d+ after \d+ segments"):
        resume(tmp_path / "run", scheduler=ALONE)


class Unordered(list[Any]):
    """A pool whose tasks do nothing, and end in any order."""

    def check(self, *given: Any) -> None:
        """Accept everything."""

    def submit(self, *task: Any) -> Any:
        self.append(object())
        return self[-1]

    def wait(self, pending: Any, timeout: float) -> list[Any]:
        return [self.pop(hash((len(self), 1)) % len(self))]

    check_result = check


def test_work_for_a_finished_task_does_not_grow_with_the_number_of_blocks(tmp_path: pathlib.Path) -> None:
    calls = []
    for side in (4, 16):
        division = (8 * side, 8 * side), (True, True), (8, 8), 1
        job = GraphJob("", 1, "", "spin", "heat_bath", (1.0,), 64 * side**2, 0, 9, 3, (), *division)
        run, counted = SimpleNamespace(path=tmp_path, checkpoints=tmp_path, log=len, check_lock=list), Counter[str]()
        sys.setprofile(lambda frame, event, arg, counted=counted: counted.update([event]))
        try:
            carry_out(run, [job], Unordered(), max)
        finally:
            sys.setprofile(None)
        assert job.total == job.done(dict.fromkeys(range(side**2), 10)) == 64 * side**2 * 9
        calls.append(counted.total() / (side**2 * job.n_segments))
    assert calls[1] < 1.05 * calls[0], calls


def test_two_workers_write_the_same_files(tmp_path: pathlib.Path, two_workers: Any) -> None:
    for name in ("a glass", "a web"):
        machine, divided = MACHINES[name]
        runs = [
            sample_graph(machine, tmp_path / f"{name} {k}", **ASKED, **divided, scheduler=scheduler)
            for k, scheduler in enumerate([ALONE, two_workers.scheduler.address])
        ]
        assert files_of(runs[0].path / GRAPH) == files_of(runs[1].path / GRAPH)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"shards": 2, "rule": "wolff"}, "rule must be one of heat_bath, metropolis where there are shards"),
        ({"rule": "wolff"}, "rule must be one of heat_bath, metropolis where there are chunks"),
        ({"n_sweeps": 0}, "n_sweeps must be"),
        ({"checkpoint_every": 0}, "checkpoint_every must be"),
        ({"chunks": 0}, "chunks must be"),
        ({"observe": "overlap", "n_chains": 3, "beta": 1}, "observe: overlaps are those of two chains each"),
        ({"observe": "means"}, "observe must be of energy, magnetisation, abs_magnetisation, overlap, got 'means'"),
    ],
)
def test_what_cannot_be_run_raises(asked: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=message):
        sample_graph(MACHINES["a lattice"][0], tmp_path / "run", **ASKED | asked)
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="chunks: the machine must be on a lattice"):
        sample_graph(WEB, tmp_path / "run", chunks=4)


@pytest.mark.slow
def test_a_billion_spins_take_less_than_four_gigabytes(tmp_path: pathlib.Path) -> None:
    source = (
        "from nbm_xp.graphs import GraphMachine, lattice\n"
        "from nbm_xp.runs import Workers, open_dataset, projected, sample_graph\n"
        "machine = GraphMachine(lattice((32768, 30720)))\n"
        "asked = {'n_sweeps': 2, 'beta': 0.44, 'chunks': 4096, 'scheduler': Workers(n_workers=2)}\n"
        "print(projected(sample_graph, machine, **asked, sweep_seconds=0).memory)\n"
        f"run = sample_graph(machine, {str(tmp_path / 'run')!r}, **asked)\n"
        "energy, second = open_dataset(run.path)['energy'].values[0]\n"
        # not `ru_maxrss`, which is at least that of the process that starts this one
        "print(1024 * int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]))\n"
        "print(0 > energy > second > -2)\n"
    )
    said, failed = program(source).communicate(timeout=3600)
    memory, taken, cooled = said.split()
    assert int(taken) < 1.2 * int(memory) < 4e9, failed
    assert cooled == "True"
