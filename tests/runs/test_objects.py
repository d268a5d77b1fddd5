"""Runs at addresses: the bytes of a folder from a store that fails, one owner at a time, and nothing half there."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import numpy as np
import pytest

from nbm_xp import objects, runs
from nbm_xp.boltzmann import load
from nbm_xp.objects import ObjectPath
from nbm_xp.runs import RunDirectory, RunError, directory, locks
from nbm_xp.storage.chunked import open_array, open_group
from tests.helpers.command import refused, told
from tests.helpers.memory_store import Watched
from tests.helpers.runs import RUNS, files_of, left_off, ordinary, results_of, whole

zarr = pytest.importorskip("zarr")
pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count


class Flaky(Watched):
    """A store whose requests fail by a seed, before or after they are carried out."""

    protocol, store, chance, share = "flaky", {}, random.Random(3), 0.0  # type: ignore[misc]

    def asked(self, name: str, options: Any, request: Callable[[], Any]) -> Any:
        fails = self.chance.random() < self.share
        if fails and self.chance.random() < 0.5:
            raise ConnectionError("password=secret")
        found = request()
        if fails:
            raise TimeoutError("password=secret")
        return found


class Overwriting(Flaky):
    """A store without conditions."""

    protocol, store = "overwriting", {}

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        super().pipe_file(path, value)


for _kind in (Flaky, Overwriting):
    fsspec.register_implementation(_kind.protocol, _kind, clobber=True)
_numbers = itertools.count()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    monkeypatch.setattr(objects, "PAUSE", 0.0)
    place = ObjectPath(f"flaky://bucket/{next(_numbers)}/run")
    yield place
    place.delete_all()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.at_night("clamped", "evaluate", "weighed on the ladder", "web", "transition")
def test_a_run_from_a_store_that_fails_is_that_of_a_folder(
    name: str, place: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flaky, "share", 0.1)
    left_off(RUNS[name], str(place), share=0.5)
    with pytest.raises(RunError, match="is not finished"):
        runs.read_result(place)
    run = runs.resume(f"{place}/")
    found = runs.read_result(str(place))
    monkeypatch.setattr(Flaky, "share", 0.0)
    assert results_of(run.path) == whole(name)
    assert (found["run"], run.events[-1].split(" ", 1)[1]) == (str(place), "finished")
    assert not [name for name in files_of(place) if name.startswith("checkpoints") or "begun" in name]
    assert results_of(runs.resume(place).path) == whole(name)


def test_a_store_that_is_gone_ends_a_run_without_telling_secrets(
    place: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(done: int, total: int) -> None:
        monkeypatch.setattr(Flaky, "share", float(done > total / 2))

    with pytest.raises(RunError, match=r"the store failed 6 times, at last by .*resume the run by") as raised:
        RUNS["sample"](place, progress=gone)
    with pytest.raises(RunError, match=r"the store failed 6 times, .* No run was begun$"):
        RUNS["sample"](place / "other")
    monkeypatch.setattr(Flaky, "share", 0.0)
    assert "secret" not in str(raised.value) + "".join(RunDirectory.open(place).events)
    assert results_of(runs.resume(place).path) == whole("sample")


@pytest.mark.parametrize("method", [
    Overwriting.pipe_file,
    fsspec.AbstractFileSystem.pipe_file,  # looks and writes in two steps
    lambda self, path, value: None,  # of an old release
])  # fmt: skip
def test_a_store_without_conditions_has_no_runs(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overwriting, "pipe_file", method)
    monkeypatch.setattr(objects, "PAUSE", 0.0)
    with pytest.raises(RunError, match="package, cannot create an object on condition that there is none"):
        RunDirectory.create("overwriting://x/run", "train", {})
    assert not ObjectPath("overwriting://x/run").exists()


def test_two_that_begin_in_one_place(place: ObjectPath) -> None:
    """The second comes to its place while the first makes its objects; what fails leaves nothing."""

    def second(folder: Any) -> None:
        with pytest.raises(RunError, match="another process has just begun a run in"):
            directory._make_objects(place, {}, None, None)

    with RunDirectory.create(place, "train", {}, save=second), pytest.raises(RunError, match="another process works"):
        RunDirectory.resume(place)
    with pytest.raises(FileExistsError, match="resume the run in it by"):
        RunDirectory.create(place, "train", {})
    with pytest.raises(ZeroDivisionError):
        RunDirectory.create(place.parent / "other", "train", {}, model=ordinary(), save=lambda folder: 1 / 0)
    assert not (place.parent / "other").exists()


def test_a_lock_is_taken_from_who_ended_and_from_nobody_else(
    place: ObjectPath, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(locks, "RENEWAL", 0.02)
    monkeypatch.setattr(locks, "LEASE", 0.6)
    RunDirectory.create(place, "train", {}).close()
    first = RunDirectory.resume(place)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # from here on, processes of another machine
    with pytest.raises(RunError, match="another process works"):
        RunDirectory.resume(place)  # it is renewed
    first._lock._stopping.set()  # suspended, or killed
    first._lock._thread.join()
    second = RunDirectory.resume(place)
    second.check_lock()
    with pytest.raises(RunError, match="another process works"):
        first.check_lock()
    second._lock._stopping.set()
    second._lock._lock.close()  # killed: another of its machine need not wait
    monkeypatch.setattr(locks, "LEASE", 1000.0)
    with RunDirectory.resume(place) as third:
        first.close()  # of the other machine
        third.check_lock()
        assert len((place / "run.lock").entries()) == 4
        assert [path.name for path in tmp_path.iterdir()] == [third._lock._file.name]


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_models_are_read_from_addresses(
    order: str, place: ObjectPath, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "PIECE", 1000)  # larger ones are written and read piece by piece
    rows = np.asarray(np.random.default_rng(0).integers(0, 2, (50, 20)), "float32", order=order)
    np.save(tmp_path / "rows.npy", rows)
    zarr.create_array(tmp_path / "shards.zarr", data=rows, chunks=(5, 4), shards=(25, 8))
    ordinary().save(tmp_path / "model.zarr")
    ordinary().save(str(place / "model.safetensors"))
    for file in filter(pathlib.Path.is_file, tmp_path.rglob("*")):
        (place / file.relative_to(tmp_path).as_posix()).upload(file)
    lazy, weights = open_array(f"{place}/rows.npy", chunks=(20, 7)), open_group(place / "model.zarr")[0]["weights.0-1"]
    for found in (lazy, open_array(place / "shards.zarr")):
        np.testing.assert_array_equal(found.compute(), rows)
    np.testing.assert_array_equal(lazy[33:2:-3, ::2].compute(), rows[33:2:-3, ::2])
    np.testing.assert_array_equal(weights.compute().T, ordinary().components_)
    np.testing.assert_array_equal(open_array(place / "model.zarr" / "weights.0-1").compute(), weights.compute())
    with pytest.raises(ValueError, match=r"must be a path of this machine's files"):
        ordinary().save(place / "model.zarr")
    how: Any = {"n_chains": 4, "n_temperatures": 20, "random_state": 1}
    here = runs.evaluate(ordinary(), tmp_path / "run", rows, **how)
    there = runs.evaluate(load(str(place / "model.safetensors")), place / "run", lazy, **how)
    assert results_of(here.path) == results_of(there.path)


def test_draws_are_read_from_addresses(place: ObjectPath, tmp_path: pathlib.Path) -> None:
    here, there = RUNS["sample"](tmp_path / "run").path, RUNS["sample"](place).path
    np.testing.assert_array_equal(runs.open_samples(there).compute(), runs.open_samples(here).compute())
    assert runs.open_dataset(there).load().identical(runs.open_dataset(here).load())
    assert runs.diagnose(there).equals(runs.diagnose(here))
    (there / "samples.zarr" / "visible" / "c.0.0.0").unlink()
    with pytest.raises(ValueError, match=r"flaky://.*visible is damaged: it lacks the chunk c\.0\.0\.0"):
        runs.open_samples(there)


def test_the_command_takes_addresses(
    place: ObjectPath, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run, draws = str(place), f"{place.parent}/draws"
    told("train", "--out", run, "--n-iter", "1", "--n-components", "4", "--json")
    assert told("sample", "--model", run, "--out", draws, "--n-draws", "20", "--json")["run"] == draws
    assert told("resume", draws, "--json")["n_draws"] == 20
    assert told("info", draws, "--json")["run"]["log"][-1].endswith(" resumed")
    assert told("plot", draws, "--what", "traces", "--json")["pictures"] == [f"{draws}/traces.png"]
    assert told("report", draws, "--json")["report"] == f"{draws}/report.html"
    assert "is not empty" in refused("train", "--out", run)
    assert "secret" not in refused("sample", "--model", "s3://key:secret@bucket/run")
