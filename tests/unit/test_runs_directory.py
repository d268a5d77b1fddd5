"""A run's directory: whole or not there, and gone on with only as what it is."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.runs import RunDirectory, RunError
from nbm_xp.runs.whole import leftover_name, sweep, write_whole
from tests.runs import files_of, ordinary

CONFIGURATION = {"n_iter": 3, "rate": 0.5, "layers": (1, 2), "data": {"rows": np.int64(7)}}


@pytest.fixture
def place(tmp_path: pathlib.Path) -> pathlib.Path:
    with RunDirectory.begin(tmp_path / "a" / "run", "train", CONFIGURATION, seed=2**100, model=ordinary()) as run:
        return run.path


def test_it_tells_what_it_is(place: pathlib.Path) -> None:
    about = json.loads((place / "run.json").read_text())
    assert about["format"] == "nbm_xp.run 1"
    assert about["configuration"] == {"n_iter": 3, "rate": 0.5, "layers": [1, 2], "data": {"rows": 7}}
    assert (about["seed"], about["kind"]) == (2**100, "train")
    assert {"python", "nbm_xp", "numpy", "dask"} <= about["versions"].keys()
    run = RunDirectory.open(place)
    assert (run.kind, run.seed, run.created, run.versions) == ("train", 2**100, about["created"], about["versions"])
    assert np.array_equal(run.load_model().components_, ordinary().components_)
    assert sorted(os.listdir(place)) == ["model.safetensors", "run.json", "run.lock", "run.log"]


def test_lines_of_the_log_have_times_and_are_kept(place: pathlib.Path) -> None:
    with RunDirectory.begin(place, "train", CONFIGURATION, resume=True) as run:
        run.log("two\nlines")
    lines = (place / "run.log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["train begun", "going on", "two lines"]
    assert all(line.startswith("20") and "+00:00 " in line for line in lines)


@pytest.mark.parametrize(
    ("kind", "change", "seed", "says"),
    [
        ("train", {"n_iter": 4}, None, "n_iter is 3 there, and 4 was asked for"),
        ("train", {"data": {"rows": 8}}, None, "data.rows is 7 there, and 8 was asked for"),
        ("train", {"more": 1}, None, "more is not said there, and 1 was asked for"),
        ("train", {}, 5, f"seed is {2**100} there, and 5 was asked for"),
        ("sample", {}, None, "it is a run of 'train', and 'sample' was asked for"),
    ],
)
def test_it_goes_on_only_as_what_it_is(
    place: pathlib.Path, kind: str, change: dict[str, Any], seed: int | None, says: str
) -> None:
    before = files_of(place)
    with pytest.raises(ValueError, match=r"holds another run") as error:
        RunDirectory.begin(place, kind, CONFIGURATION | change, seed=seed, resume=True)
    assert says in str(error.value)
    assert files_of(place) == before


def test_something_that_is_there_is_left_alone(place: pathlib.Path) -> None:
    with pytest.raises(FileExistsError, match="resume=True"):
        RunDirectory.begin(place, "train", CONFIGURATION)
    with pytest.raises(FileExistsError, match="is a file"):
        RunDirectory.begin(place / "run.json", "train", CONFIGURATION)
    with pytest.raises(ValueError, match="no run's directory"):
        RunDirectory.begin(place.parent, "train", CONFIGURATION, resume=True)


def test_an_empty_directory_is_taken(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run").mkdir()
    with RunDirectory.begin(tmp_path / "run", "train", {}) as run:
        assert (run.path / "run.json").exists()


def test_one_process_at_a_time(place: pathlib.Path) -> None:
    with (
        RunDirectory.begin(place, "train", CONFIGURATION, resume=True),
        pytest.raises(RunError, match="another process works on the run"),
    ):
        RunDirectory.begin(place, "train", CONFIGURATION, resume=True)
    RunDirectory.begin(place, "train", CONFIGURATION, resume=True).close()


def test_it_is_made_whole_or_not_at_all(tmp_path: pathlib.Path) -> None:
    def fails(folder: pathlib.Path) -> None:
        (folder / "rows.npy").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        RunDirectory.begin(tmp_path / "run", "train", {}, also=fails)
    assert list(tmp_path.iterdir()) == []


ABOUT = (
    '{"format": "nbm_xp.run 1", "kind": "sample", "seed": 1, "created": "", "configuration": %s, "versions": %s, '
    '"model": %s}'
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ('{"format": "nbm_xp.run 9"}', "must have the format 'nbm_xp.run 1', got 'nbm_xp.run 9'"),
        ('{"format": "nbm_xp.run 1"}', "is damaged"),
        ("[]", "must have the format"),
        (ABOUT % ("3", "{}", "null"), "is damaged: .*configuration must be a mapping, got 3"),
        (ABOUT % ("{}", "null", "null"), "is damaged: .*versions must be a mapping, got None"),
        (ABOUT % ("{}", "{}", "3"), "is damaged: .*model must be a mapping, got 3"),
        (ABOUT % ("{}", "{}", "{}"), "is damaged: .*model must have a class and a file"),
    ],
)
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
    with pytest.raises(TypeError, match=r"configuration.data\[1\] must be"):
        RunDirectory.begin(tmp_path / "run", "train", {"data": [1, object()]})
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
