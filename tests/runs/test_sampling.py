"""Sampling as a run: the same draws however it is computed, readable by others, refused with clear words."""

from __future__ import annotations

import pathlib
import socket
import sys
import time
from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from nbm_xp.runs import RunDirectory, RunError, Workers, evaluate, open_dataset, open_samples, sample
from nbm_xp.runs.sampling import SampleJob
from tests.helpers.clusters import two_processes
from tests.helpers.runs import SAMPLE, dyadic, files_of, ordinary

pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return sample(ordinary(), tmp_path_factory.mktemp("runs") / "whole", **SAMPLE)


class CUDARuntimeError(RuntimeError):
    """An error of the name of CuPy's."""


def fail(message: str = "cudaErrorECCUncorrectable: uncorrectable ECC error encountered") -> None:
    def advance(*given: Any) -> Any:
        raise CUDARuntimeError(message)

    SampleJob.advance = advance  # type: ignore[method-assign]


def test_a_worker_whose_device_is_gone_leaves_its_tasks_to_others(tmp_path: pathlib.Path, whole: RunDirectory) -> None:
    with two_processes(as_default=False) as client:
        gone = next(iter(client.nthreads()))
        client.run(fail, workers=[gone])
        run = sample(ordinary(), tmp_path / "run", **SAMPLE, scheduler=client.scheduler.address)
        assert any(gone not in client.nthreads() or time.sleep(0.05) for _ in range(200))
    assert files_of(run.path / "samples.zarr") == files_of(whole.path / "samples.zarr")


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("cudaErrorMemoryAllocation: out of memory", r"a device is out of memory .* smaller by chunks"),
        ("cudaErrorNoDevice: no CUDA-capable device is detected", r"a device is gone .*: resume the run"),
        ("cudaErrorIllegalAddress: an illegal memory access was encountered", r"^cudaErrorIllegal.* encountered$"),
    ],
)
def test_errors_of_devices_are_told(
    message: str, says: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SampleJob, "advance", SampleJob.advance)  # restores it
    fail(message)
    with pytest.raises(RuntimeError, match=says):
        sample(ordinary(), tmp_path / "run", **SAMPLE)


@pytest.mark.parametrize(
    "change",
    [
        {"scheduler": Workers(n_workers=1)},
        {"scheduler": Workers(n_workers=3)},
        pytest.param({"scheduler": Workers("local", 2, "1GB")}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_draws_are_equal_to_the_last_bit(tmp_path: pathlib.Path, whole: RunDirectory, change: dict[str, Any]) -> None:
    run = sample(ordinary(), tmp_path / "run", **SAMPLE | change)
    assert files_of(run.path / "samples.zarr") == files_of(whole.path / "samples.zarr")


def test_more_chains_and_draws_begin_as_fewer_do(tmp_path: pathlib.Path) -> None:
    few = sample(dyadic(), tmp_path / "few", **SAMPLE)
    more = sample(dyadic(), tmp_path / "more", **SAMPLE | {"n_chains": 30, "n_draws": 14})
    assert np.array_equal(open_samples(more.path)[:24, :12].compute(), open_samples(few.path).compute())


def test_missing_values_are_drawn_given_the_others(tmp_path: pathlib.Path) -> None:
    rbm, rows = dyadic(), (np.random.default_rng(1).random((3, 20)) < 0.5).astype("float32")
    rows[np.random.default_rng(2).random(rows.shape) < 0.4] = np.nan
    run = sample(rbm, tmp_path / "run", **SAMPLE | {"given": rows, "n_chains": 5, "chunks": 4})
    drawn = open_samples(run.path)[:, -1].compute().reshape(5, 3, 20)
    assert (np.isnan(rows) | (drawn == rows)).all()
    np.testing.assert_array_equal(drawn, rbm.sample(5, 34, given=rows, random_state=5))


def test_a_seed_that_nobody_chose_is_noted(tmp_path: pathlib.Path) -> None:
    first = sample(ordinary(), tmp_path / "first", **SAMPLE | {"random_state": None})
    again = sample(ordinary(), tmp_path / "again", **SAMPLE | {"random_state": first.seed})
    assert files_of(again.path / "samples.zarr") == files_of(first.path / "samples.zarr")


def test_xarray_reads_it_without_being_told_more(whole: RunDirectory) -> None:
    xarray = pytest.importorskip("xarray")
    found = xarray.open_zarr(whole.path / "samples.zarr")
    xarray.testing.assert_identical(found, open_dataset(whole.path))
    assert found.visible.dims == ("chain", "draw", "unit") and found.hidden_1.dims[2] == "hidden_1_unit"
    assert (found.visible.dtype, found.visible.chunks[:2]) == ("uint8", ((8, 8, 8), (3, 3, 3, 3)))
    assert found.sweep.values.tolist() == list(range(12, 35, 2)) and found.chain.values.tolist() == list(range(24))
    assert found.attrs["seed"] == "5" and (found.visible.values == open_samples(whole.path).compute()).all()


def test_progress_counts_up_to_the_whole(tmp_path: pathlib.Path) -> None:
    told: list[tuple[int, int]] = []
    sample(ordinary(), tmp_path / "run", progress=lambda done, total: told.append((done, total)), **SAMPLE)
    assert told[0] == (0, 24 * 34) and told[-1] == (24 * 34, 24 * 34)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_chains": 0}, "n_chains must be a whole number, at least 1, got 0"),
        ({"n_draws": 1.5}, "n_draws must be a whole number, at least 1, got 1.5"),
        ({"burn_in": -1}, "burn_in must be a whole number, at least 0, got -1"), ({"thin": 0}, "thin must be"),
        ({"chunks": 0}, "chunks must be"), ({"checkpoint_every": 0}, "checkpoint_every must be"),
        ({"layers": (2,)}, r"layers must be different numbers from 0 to 1, at least one, got \(2,\)"),
        ({"layers": ()}, "layers must be different numbers"), ({"layers": (0, 0)}, "layers must be different numbers"),
        ({"clamp": {0: np.zeros(20)}}, "layers must not be clamped ones"),
        ({"clamp": {1: np.zeros(3)}, "layers": (0,)}, r"clamp must hold, for layer 1, an array of shape \(12,\)"),
        ({"clamp": {1: np.zeros(12)}, "layers": (0,), "given": np.zeros((1, 20))}, "clamp must be left out where rows"),
        ({"clamp": {7: np.zeros(3)}}, "clamp must be layers from 0 to 1, got 7"),
        ({"clamp": [1, 0]}, "clamp must map layers to their states, got list"),
        ({"clamp": {1: [np.nan] * 12}, "layers": (0,)}, r"clamp\[1\] must have values in \[0, 1\], got NaN"),
        ({"clamp": {1: [5.0] * 12}, "layers": (0,)}, r"clamp\[1\] must have values in \[0, 1\], got values from 5 to"),
        ({"clamp": {1: ["a"] * 12}, "layers": (0,)}, r"clamp\[1\] must be an array of numbers"),
        ({"layers": 0}, "layers must be different numbers from 0 to 1, at least one, got 0"),
        ({"layers": "01"}, "layers must be different numbers from 0 to 1, at least one, got '01'"),
        ({"random_state": -1}, "random_state must not be negative, got -1"),
        ({"library": "dask"}, "library must be one that computes at once, got 'dask'"),
        ({"scheduler": "rays"}, "scheduler must be 'threads', 'local' .* or an address tcp://…, got 'rays'"),
        ({"scheduler": "processes"}, r"'local' \(processes of this machine\) .*, got 'processes'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(tmp_path: pathlib.Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        sample(ordinary(), tmp_path / "run", **SAMPLE | change)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model", [3, "model.safetensors"])
def test_what_is_no_model_is_refused(tmp_path: pathlib.Path, model: Any) -> None:
    for begin in (sample, evaluate):
        with pytest.raises(TypeError, match=f"model must be a model of nbm_xp.boltzmann, got {type(model).__name__}"):
            begin(model, tmp_path / "run")
        with pytest.raises(ValueError, match="This RBM instance is not fitted yet"):
            begin(RBM(3), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_no_directory_is_made_where_there_is_no_cluster(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("distributed")
    with dask.config.set({"distributed.comm.timeouts.connect": "100ms"}):
        for begin in (sample, evaluate):
            with pytest.raises(RunError, match=r"there is no Dask cluster at tcp://127.0.0.1:1"):
                begin(ordinary(), tmp_path / "run", scheduler="tcp://127.0.0.1:1")
    assert list(tmp_path.iterdir()) == []


def test_a_layer_that_was_not_kept_is_refused(whole: RunDirectory) -> None:
    with pytest.raises(ValueError, match=r"name must be one of \['hidden_1', 'visible'\], got 'hidden_2'"):
        open_samples(whole.path, "hidden_2")


def test_one_thread_of_linear_algebra_while_it_runs() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    from nbm_xp.runs.job import _loaded_blas, one_thread

    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = counts()
    with one_thread(), one_thread():
        assert set(counts()) <= {1}
    assert counts() == before
    known = _loaded_blas(1)
    assert _loaded_blas(1) is known
    assert _loaded_blas(2) is not known


def test_workers_serve_several_runs(tmp_path: pathlib.Path, whole: RunDirectory) -> None:
    with Workers("threads", n_workers=2) as workers:
        for name in ("a", "b"):
            run = sample(ordinary(), tmp_path / name, scheduler=workers, **SAMPLE)
            assert files_of(run.path / "samples.zarr") == files_of(whole.path / "samples.zarr")


def test_a_package_that_is_missing_is_named(whole: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ModuleNotFoundError, match=r"this needs xarray: install nbm_xp\[xarray\]"):
        open_dataset(whole.path)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"dashboard_address": ":8787"}, "dashboard_address is for scheduler='local', not for 'threads'"),
        ({"scheduler": "local", "dashboard_address": "everywhere"}, "dashboard_address must be as '127.0.0.1:8787' or"),
        ({"scheduler": "local", "dashboard_address": 8787}, "dashboard_address must be as"),
        ({"scheduler": "local", "memory_limit": "much"}, "memory_limit must be a size in bytes or as '4GB', got 'much"),
        ({"scheduler": "tcp://a:1", "memory_limit": "1GB"}, "memory_limit is for scheduler='threads' or 'local', not"),
        ({"n_workers": 0}, "n_workers must be"),
        ({"scheduler": "tcp://127.0.0.1:1", "n_workers": 2}, "n_workers must not be given with the cluster"),
    ],
    ids=str,
)
def test_workers_that_cannot_be_raise_an_error(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Workers(**asked)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "shown"), [(None, False), (":0", True)])
def test_the_dashboard_is_for_this_machine_unless_it_is_asked_for(asked: str | None, shown: bool) -> None:
    """127.0.0.2 stands for any other address that this machine has."""
    pytest.importorskip("distributed")
    before = dask.config.get("distributed.deploy.lost-worker-timeout")
    with Workers("local", n_workers=1, dashboard_address=asked) as workers:
        port = int(str(workers.dashboard).split(":")[2].split("/")[0])
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        if shown:
            socket.create_connection(("127.0.0.2", port), timeout=5).close()
        else:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", port), timeout=5)
    assert dask.config.get("distributed.deploy.lost-worker-timeout") == before
