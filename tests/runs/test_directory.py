"""A run's directory: whole or not there, and gone on with only as what it is."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
from typing import Any

import numpy as np
import pytest

from nbm_xp.files import leftover_name, sweep, write_whole
from nbm_xp.runs import RunDirectory, RunError
from tests.helpers.runs import files_of, ordinary

CONFIGURATION = {"n_iter": 3, "rate": 0.5, "layers": (1, 2), "data": {"rows": np.int64(7)}}


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    with RunDirectory.create(
        tmp_path / "a" / "run", "train", CONFIGURATION, random_state=2**100, model=ordinary()
    ) as run:
        return run.path


def test_it_tells_what_it_is(place: pathlib.Path) -> None:
    about = json.loads((place / "run.json").read_text())
    assert about["format"] == "nbm_xp.run 2"
    assert about["configuration"] == {"n_iter": 3, "rate": 0.5, "layers": [1, 2], "data": {"rows": 7}}
    assert (about["seed"], about["kind"]) == (2**100, "train")
    assert {"python", "nbm_xp", "numpy", "dask"} <= about["versions"].keys()
    run = RunDirectory.open(place)
    assert (run.kind, run.seed, run.created, run.versions) == ("train", 2**100, about["created"], about["versions"])
    assert np.array_equal(run.load_model().components_, ordinary().components_)
    assert sorted(os.listdir(place)) == ["model.safetensors", "run.json", "run.lock", "run.log"]


def test_lines_of_the_log_have_times_and_are_kept(place: pathlib.Path) -> None:
    with RunDirectory.resume(place) as run:
        run.log("two\nlines")
    lines = (place / "run.log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["train begun", "resumed", "two lines"]
    assert all(line.startswith("20") and "+00:00 " in line for line in lines)


def test_something_that_is_there_is_left_alone(place: pathlib.Path) -> None:
    with pytest.raises(FileExistsError, match="resume the run in it by"):
        RunDirectory.create(place, "train", CONFIGURATION)
    with pytest.raises(FileExistsError, match="is a file"):
        RunDirectory.create(place / "run.json", "train", CONFIGURATION)
    with pytest.raises(ValueError, match="no run's directory"):
        RunDirectory.resume(place.parent)


def test_an_empty_directory_is_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run").mkdir()
    with RunDirectory.create(tmp_path / "run", "train", {}) as run:
        assert (run.path / "run.json").exists()


def test_one_process_at_a_time(place: pathlib.Path) -> None:
    with RunDirectory.resume(place), pytest.raises(RunError, match="another process works on the run"):
        RunDirectory.resume(place)
    RunDirectory.resume(place).close()


def test_it_is_made_whole_or_not_at_all(tmp_path: pathlib.Path) -> None:
    def fails(folder: pathlib.Path) -> None:
        (folder / "rows.npy").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match=r"the disk of .* is full.*No space left"):
        RunDirectory.create(tmp_path / "run", "train", {}, save=fails)
    assert list(tmp_path.iterdir()) == []


ABOUT = (
    '{"format": "nbm_xp.run 2", "kind": "sample", "seed": 1, "created": "", "files": {}, "configuration": %s, '
    '"versions": %s, "model": %s}'
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"), ('{"format": "nbm_xp.run 9"}', "must have the format 'nbm_xp.run 2', got 'nbm_xp.run 9'"),
        ('{"format": "nbm_xp.run 2"}', "is damaged"), ("[]", "must have the format"),
        (ABOUT % ("3", "{}", "null"), "is damaged: .*configuration must be a mapping, got 3"),
        (ABOUT % ("{}", "null", "null"), "is damaged: .*versions must be a mapping, got None"),
    ],
)  # fmt: skip
def test_a_damaged_one_is_refused(tmp_path: pathlib.Path, content: str, says: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=says):
        RunDirectory.open(tmp_path)


def test_what_is_not_there_is_not_opened(tmp_path: pathlib.Path, place: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match="no run's directory"):
        RunDirectory.open(tmp_path / "none")
    with pytest.raises(ValueError, match="holds a run of 'train', not of 'sample'"):
        RunDirectory.open(place, "sample")


def test_what_json_cannot_tell_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match=r"a configuration must hold .*, got <object object"):
        RunDirectory.create(tmp_path / "run", "train", {"data": [1, object()]})
    assert list(tmp_path.iterdir()) == []


def test_leftovers_are_swept_away_and_nothing_else(tmp_path: pathlib.Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("whole", leftover_name("half"), ".hidden"):
        (tmp_path / "folder" / name).write_text("x")
    (tmp_path / leftover_name("store")).mkdir()
    assert sweep(tmp_path) == 2
    assert sorted(os.listdir(tmp_path / "folder")) == [".hidden", "whole"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "note", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "note", b"new")
    assert files_of(tmp_path).keys() == {"note"}
    assert (tmp_path / "note").read_bytes() == b"old"


def test_errors_name_the_place_that_was_asked_for(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbm_xp.boltzmann import RBM
    from nbm_xp.storage.arrays import save_arrays

    model = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
    for name, write in (
        ("model.safetensors", model.save),
        ("x.npz", lambda path: save_arrays(path, {"x": np.zeros(3)})),
        ("note", lambda path: write_whole(path, b"x")),
    ):
        with pytest.raises(FileNotFoundError) as raised:
            write(tmp_path / "nowhere" / name)
        assert raised.value.filename == str(tmp_path / "nowhere" / name)

    def full(path: pathlib.Path, content: Any) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises(RunError, match=r"the disk of .*/run is full") as full_disk:
        RunDirectory.create(tmp_path / "run", "train", {})
    assert "unfinished" not in str(full_disk.value)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_directories_whose_makers_died_are_swept_by_the_next(tmp_path: pathlib.Path) -> None:
    dead, alive, new, others = (tmp_path / leftover_name(name) for name in ("run", "run", "run", "other"))
    for place in (dead, alive, new, others):
        place.mkdir()
        (place / "model.safetensors").write_text("half")
    for place in (dead, alive, others):
        (place / "run.lock").touch()
    with open(alive / "run.lock", "a") as lock:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(lock, fcntl.LOCK_EX)
        with RunDirectory.create(tmp_path / "run", "train", {}):
            pass
    assert {path.name for path in tmp_path.iterdir()} == {"run", alive.name, new.name, others.name}
    os.utime(new, (0, 0))
    with RunDirectory.create(tmp_path / "run" / "below", "train", {}):
        pass
    assert new.exists()
    shutil.rmtree(tmp_path / "run")
    with RunDirectory.create(tmp_path / "run", "train", {}):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"run", others.name}


def test_two_that_begin_one_run_at_a_time(tmp_path: pathlib.Path) -> None:
    """The second comes to its place while the first makes its directory."""
    first: list[RunDirectory] = []

    def meanwhile(folder: pathlib.Path) -> None:
        first.append(RunDirectory.create(tmp_path / "run", "train", {"of": "the first"}))

    with pytest.raises(RunError, match=r"another process has just begun a run in .*run: wait for it, or name another"):
        RunDirectory.create(tmp_path / "run", "train", {"of": "the second"}, save=meanwhile)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert RunDirectory.open(tmp_path / "run").configuration == {"of": "the first"}
    with pytest.raises(RunError, match="another process works on the run"):
        RunDirectory.resume(tmp_path / "run")  # it is locked from its first moment on
    first[0].close()
    RunDirectory.resume(tmp_path / "run").close()
