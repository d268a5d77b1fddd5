"""Projections of runs: the tasks, requests and bytes that a run then has, and errors for what does not fit."""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import fsspec
import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.files import sizes_of
from nbm_xp.runs import RunError, Workers, job, projected, sample, train
from tests.helpers.memory_store import Watched
from tests.helpers.runs import RUNS, ordinary

pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count

KINDS = {"info": "reads", "cat_file": "reads", "pipe_file": "writes", "ls": "lists"}
requests = list[str]()


class Counting(Watched):
    """A store that counts its requests."""

    protocol, store = "counting", {}  # type: ignore[misc]

    def asked(self, name: str, options: Any, request: Callable[[], Any]) -> Any:
        requests.append("conditional_writes" if options.get("mode") == "create" else KINDS.get(name, "deletions"))
        return request()


fsspec.register_implementation("counting", Counting, clobber=True)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.at_night("clamped", "web", "weighed on the ladder")
def test_a_run_takes_what_is_projected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, tasks = projected(lambda directory: RUNS[name](directory)), list[int]()

    def counted(*task: Any) -> None:
        tasks.append(task[2])
        job.run_segment(*task)

    monkeypatch.setattr("nbm_xp.runs.pools.run_segment", counted)
    requests.clear()
    sizes = sizes_of(RUNS[name](f"counting://bucket/{name}/run").path)
    if not name.startswith("train"):  # its steps are no segments, and a small model has larger random streams
        assert (found.tasks, found.files) == (len(tasks), pytest.approx(len(sizes), abs=4))
        assert found.storage == pytest.approx(sum(sizes.values()), rel=0.25)
    for kind, count in Counter(requests).items():
        assert getattr(found, kind) == pytest.approx(count, rel=0.1, abs=5), kind
    assert 0 < found.core_hours < 0.1
    assert " ".join(line.split()[0] for line in str(found).splitlines()) == "memory storage requests tasks processor"


BIG: dict[str, Any] = {"n_chains": 4096, "n_draws": 60, "chunks": 4096, "checkpoint_every": 60, "random_state": 1}


def test_what_does_not_fit_is_not_begun_and_what_fits_is_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, two_workers: Any
) -> None:
    model, place, small = ordinary(100, 60), tmp_path / "run", Workers(n_workers=2, memory_limit="40MB")
    said = r"this process, .* 2 tasks at once, will need 0\.07 GB .* 0\.04 GB: checkpoint_every=\d+ or chunks=\d+ would"
    with pytest.raises(RunError, match=f"{said} fit; nothing was begun"):
        sample(model, place, **BIG, scheduler=small)
    with pytest.raises(RunError, match=r"of disk space, and .* left: fewer chains or draws would fit; nothing was"):
        sample(model, place, n_chains=10**8, n_draws=10**9)
    with pytest.raises(RunError, match=r"one task needs 0\.\d\d GB; nothing"):
        sample(model, place, n_chains=1, n_draws=1, scheduler=Workers(n_workers=2, memory_limit=1))
    at, rows = {"nthreads": 4, "memory_limit": 450_000_000}, np.zeros((20_000, 100), "float32")
    monkeypatch.setattr("distributed.Client.scheduler_info", lambda *args, **options: {"workers": {"tcp://a:1": at}})
    with pytest.raises(RunError, match=r"worker tcp://a:1, .* 4 tasks .* 0\.45 GB: 3 at once or checkpoint_every"):
        sample(model, place, **BIG | {"n_chains": 4 * 4096}, scheduler=two_workers.scheduler.address)
    with pytest.raises(RunError, match=r"need 0\.0\d GB .* 0\.05 GB: batch_size=10000 would fit; nothing was begun"):
        train(RBM(60, batch_size=20_000, n_iter=1), place, rows, scheduler=Workers(n_workers=2, memory_limit="50MB"))
    assert not place.exists()
    sample(model, place, **BIG | {"checkpoint_every": 30}, scheduler=small)


def test_arguments_are_those_of_the_run() -> None:
    model = ordinary()
    more = projected(sample, model, 1000, burn_in=50, scheduler=Workers("local", n_workers=8), sweep_seconds=0.0036)
    assert (more.core_hours, more.tasks_at_once, more.tasks) == (pytest.approx(0.001 * 1050), 1, 8 * 2)
    assert more.client_memory != more.memory
    for run, asked, message in (
        (sample, {"n_chains": 0}, "n_chains must be"),
        (sample, {"sweep_seconds": "much"}, "sweep_seconds must be"),
        (train, {"X": None}, "X must be an array"),
        (ordinary, {}, "run must be sample, evaluate, train, sample_graph or measure_lattice"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            projected(run, model, **asked)


def test_a_training_needs_what_its_arrays_take() -> None:
    rows, models = np.zeros((1000, 300), "float32"), (RBM(200, optimizer=each) for each in ("sgd", "adam"))
    small, large = (projected(train, model, rows, sweep_seconds=1e-6) for model in models)
    assert small.tasks == 100 * 10 and small.core_hours == pytest.approx(1e-6 * 1000 * 10 / 3600)
    assert large.checkpoints - small.checkpoints == pytest.approx(2 * 300 * 200 * 4, rel=0.02)
