"""What is in a run's directory is what was written, and that run's: else one clear error, whichever file it is.

`run.log` and `run.lock` hold nothing that anything depends on.
"""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from nbm_xp import runs
from nbm_xp.runs import RunDirectory, RunError, Workers, resume
from nbm_xp.runs.store import open_arrays
from tests.helpers.runs import RUNS, left_off, ordinary

pytest.importorskip("zarr")

LOGS = ("run.log", "run.lock")
sampled = RUNS["clamped"]
READERS: dict[str, list[Callable[[pathlib.Path], object]]] = {
    "clamped": [
        lambda place: runs.open_samples(place).compute(scheduler="synchronous"),
        lambda place: runs.open_dataset(place).load(scheduler="synchronous"),
    ],
    "evaluate": [runs.read_evaluation, lambda place: open_arrays(place / "evaluation.zarr")["free_energy"][:]],
    "train": [runs.trained_model],
}


def again(place: pathlib.Path) -> None:
    """Go on with a run, and read all of it."""
    for read in READERS[place.parent.name]:
        resume(place)
        read(place)


def interrupted(place: pathlib.Path, name: str = "clamped", **change: Any) -> pathlib.Path:
    left_off(RUNS[name], place, share=0.5, **change | ({} if name == "train" else {"scheduler": Workers(n_workers=1)}))
    return place


@pytest.fixture(scope="module", params=[(name, state) for name in READERS for state in ("finished", "interrupted")])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    name, state = request.param
    place = tmp_path_factory.mktemp(state) / name / "run"
    return RUNS[name](place).path if state == "finished" else interrupted(place, name)


def files(place: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in place.rglob("*") if path.is_file() and path.name not in LOGS)


def rejects(place: pathlib.Path) -> str:
    """What going on with a run, or reading all of it, is refused with."""
    with pytest.raises((ValueError, RunError)) as raised:
        again(place)
    return str(raised.value)


def test_a_flipped_bit_in_any_file_is_told(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / run.parent.name / "copy"
    for number, file in enumerate(files(run)):
        content = file.read_bytes()
        places = 5, len(content) // 2, len(content) - 2
        for place in sorted({*places} - {places[number % 3]}):  # two of them, in turn
            shutil.copytree(run, copy)
            changed = content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]
            (copy / file.relative_to(run)).write_bytes(changed)
            assert "copy" in rejects(copy), (file, place)
            shutil.rmtree(copy)
    shutil.copytree(run, copy)
    again(copy)


def test_a_folder_in_a_file_s_place_is_told(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / run.parent.name / "copy"
    for file in files(run):
        shutil.copytree(run, copy)
        place = copy / file.relative_to(run)
        place.unlink()
        place.mkdir()
        assert "copy" in rejects(copy), file
        shutil.rmtree(copy)


def test_a_checkpoint_of_another_run_is_told(tmp_path: pathlib.Path) -> None:
    """Of another seed, of other sweeps between draws, of another model, of another block."""
    mine = interrupted(tmp_path / "clamped" / "mine")
    checkpoint, second = sorted((mine / "checkpoints" / "chains").iterdir())[:2]
    kept, of_another_block = checkpoint.read_bytes(), second.read_bytes()  # other blocks go on
    for number, change in enumerate([{"random_state": 6}, {"thin": 3}, {"checkpoint_every": 4}]):
        other = interrupted(tmp_path / f"{number}", **change)
        shutil.copy(min((other / "checkpoints" / "chains").glob("block-000000.*")), checkpoint)
        assert "is a checkpoint of another run or block" in rejects(mine)
    checkpoint.write_bytes(of_another_block)
    assert "is a checkpoint of another run or block" in rejects(mine)
    checkpoint.write_bytes(kept)
    again(mine)


def test_what_is_exchanged_is_told(tmp_path: pathlib.Path) -> None:
    sampled(tmp_path / "mine")
    sampled(tmp_path / "other", random_state=6)
    copy = tmp_path / "copy"

    def exchanged(name: str) -> str:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "mine", copy)
        if (copy / name).is_dir():
            shutil.rmtree(copy / name)
            shutil.copytree(tmp_path / "other" / name, copy / name)
        else:
            ordinary(seed=1).save(copy / name)
        with pytest.raises(ValueError, match="copy") as raised:
            runs.open_samples(copy)
        return str(raised.value)

    assert "model.safetensors is not the file that the run began with" in exchanged("model.safetensors")
    assert "samples.zarr is of another run" in exchanged("samples.zarr")


def test_an_edited_run_is_told(tmp_path: pathlib.Path) -> None:
    sampled(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    edited = {"configuration": about["configuration"] | {"thin": 3}}
    for change in ({"seed": 8}, edited, {"files": {}}, {"files": {"../run.json": ""}}, {"digest": "0" * 32}):
        (tmp_path / "run" / "run.json").write_text(json.dumps(about | change))
        with pytest.raises(ValueError, match=r"run\.json is damaged"):
            RunDirectory.open(tmp_path / "run")
    del about["digest"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"run\.json is damaged: it lacks its digest"):
        RunDirectory.open(tmp_path / "run")


def test_a_chunk_that_goes_after_it_was_opened_is_no_zeros(tmp_path: pathlib.Path) -> None:
    sampled(tmp_path / "run")
    draws = runs.open_samples(tmp_path / "run")
    chunk = tmp_path / "run" / "samples.zarr" / "visible" / "c.1.2.0"
    chunk.unlink()
    with pytest.raises(ValueError, match=r"visible is damaged: it lacks the chunk c\.1\.2\.0"):
        draws.compute(scheduler="synchronous")
    chunk.mkdir()
    with pytest.raises(ValueError, match=r"visible is damaged: c\.1\.2\.0 is no file"):
        runs.open_samples(tmp_path / "run")


def test_a_chunk_claims_no_more_than_it_has(tmp_path: pathlib.Path) -> None:
    """One whose checksum is right and whose compressed bytes would become many more."""
    from numcodecs.blosc import Blosc

    from nbm_xp.records import crc32c

    sampled(tmp_path / "run")
    packed = bytes(Blosc(cname="zstd", clevel=9).encode(bytes(50_000_000)))
    chunk = tmp_path / "run" / "samples.zarr" / "visible" / "c.1.2.0"
    chunk.write_bytes(packed + crc32c(packed).to_bytes(4, "little"))
    with pytest.raises(ValueError, match=r"chunk c\.1\.2\.0 claims 50,000,000 bytes, not 480"):
        runs.open_samples(tmp_path / "run").compute(scheduler="synchronous")
