"""What is in a run's directory is what was written, and that run's: else one clear error, whichever file it is.

`run.log` and `run.lock` hold nothing that anything depends on.
"""

from __future__ import annotations

import json
import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.runs import (
    RunDirectory,
    RunError,
    Workers,
    evaluate,
    open_dataset,
    open_samples,
    read_evaluation,
    resume,
    sample,
)
from nbm_xp.runs.store import open_arrays
from tests.helpers.runs import SAMPLE, ordinary

pytest.importorskip("zarr")

ROWS = (np.random.default_rng(1).random((30, 20)) < 0.4).astype("float32")
HELD = {1: np.ones(12, dtype="float32")}
SAMPLED: dict[str, Any] = SAMPLE | {"layers": (0,), "clamp": HELD}
WEIGHED: dict[str, Any] = {"n_chains": 20, "n_temperatures": 20, "chunks": 8, "checkpoint_every": 5, "random_state": 3}
LOGS = ("run.log", "run.lock")


class LeftError(Exception):
    pass


def leave(done: int, total: int) -> None:
    if done > total // 2:
        raise LeftError


def sampled(place: pathlib.Path, resumes: bool = False, **change: Any) -> None:
    if resumes:
        resume(place)
    else:
        sample(ordinary(), place, **SAMPLED | change)
    open_samples(place).compute(scheduler="synchronous")
    open_dataset(place).load(scheduler="synchronous")


def weighed(place: pathlib.Path, resumes: bool = False, **change: Any) -> None:
    if resumes:
        resume(place)
    else:
        evaluate(ordinary(), place, ROWS, **WEIGHED | change)
    read_evaluation(place)
    open_arrays(place / "evaluation.zarr")["free_energy"][:]


KINDS: dict[str, Callable[..., None]] = {"sample": sampled, "evaluate": weighed}


@pytest.fixture(scope="module", params=[(kind, state) for kind in KINDS for state in ("finished", "interrupted")])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, pathlib.Path]:
    kind, state = request.param
    place = tmp_path_factory.mktemp("runs") / f"{kind} {state}"
    if state == "finished":
        KINDS[kind](place)
    else:
        with pytest.raises(LeftError):
            KINDS[kind](place, progress=leave, scheduler=Workers(n_workers=1))
    return KINDS[kind], place


def files(place: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in place.rglob("*") if path.is_file() and path.name not in LOGS)


def refuses(again: Callable[..., None], place: pathlib.Path) -> str:
    """What going on with a run, or reading all of it, is refused with."""
    with pytest.raises((ValueError, RunError)) as raised:
        again(place, resumes=True)
    return str(raised.value)


def test_a_flipped_bit_in_any_file_is_told(run: Any, tmp_path: pathlib.Path) -> None:
    again, whole = run
    shutil.copytree(whole, tmp_path / "run")
    for number, file in enumerate(files(tmp_path / "run")):
        content = file.read_bytes()
        places = 5, len(content) // 2, len(content) - 2
        for place in sorted({*places} - {places[number % 3]}):  # two of them, in turn
            file.write_bytes(content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :])
            copy = tmp_path / "copy"
            shutil.copytree(tmp_path / "run", copy)
            assert "copy" in refuses(again, copy), (file, place)
            shutil.rmtree(copy)
        file.write_bytes(content)
    again(tmp_path / "run", resumes=True)


def test_a_folder_in_a_file_s_place_is_told(run: Any, tmp_path: pathlib.Path) -> None:
    again, whole = run
    for file in files(whole):
        copy = tmp_path / "copy"
        shutil.copytree(whole, copy)
        place = copy / file.relative_to(whole)
        place.unlink()
        place.mkdir()
        assert "copy" in refuses(again, copy), file
        shutil.rmtree(copy)


def interrupted(place: pathlib.Path, **change: Any) -> pathlib.Path:
    with pytest.raises(LeftError):
        sampled(place, progress=leave, scheduler=Workers(n_workers=1), **change)
    return place


def test_a_checkpoint_of_another_run_is_told(tmp_path: pathlib.Path) -> None:
    """Of another seed, of other sweeps between draws, of another model, of another block."""
    mine = interrupted(tmp_path / "mine")
    (checkpoint, *others) = sorted((mine / "checkpoints" / "chains").iterdir())
    kept = checkpoint.read_bytes()
    for number, change in enumerate([{"random_state": 6}, {"thin": 3}, {"checkpoint_every": 4}]):
        other = interrupted(tmp_path / f"{number}", **change)
        shutil.copy(min((other / "checkpoints" / "chains").glob("block-000000.*")), checkpoint)
        assert "is a checkpoint of another run or block" in refuses(sampled, mine)
    assert others
    shutil.copy(others[0], checkpoint)
    assert "is a checkpoint of another run or block" in refuses(sampled, mine)
    checkpoint.write_bytes(kept)
    sampled(mine, resumes=True)


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
            open_samples(copy)
        return str(raised.value)

    assert "model.safetensors is not the file that the run began with" in exchanged("model.safetensors")
    assert "samples.zarr is of another run" in exchanged("samples.zarr")


def test_an_edited_run_is_told(tmp_path: pathlib.Path) -> None:
    sampled(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    for change in (
        {"seed": 8},
        {"configuration": about["configuration"] | {"thin": 3}},
        {"files": {}},
        {"files": {"../run.json": ""}},
        {"digest": "0" * 32},
    ):
        (tmp_path / "run" / "run.json").write_text(json.dumps(about | change))
        with pytest.raises(ValueError, match=r"run\.json is damaged"):
            RunDirectory.open(tmp_path / "run")
    del about["digest"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"run\.json is damaged: it lacks its digest"):
        RunDirectory.open(tmp_path / "run")


def test_a_chunk_that_goes_after_it_was_opened_is_no_zeros(tmp_path: pathlib.Path) -> None:
    sampled(tmp_path / "run")
    draws = open_samples(tmp_path / "run")
    chunk = tmp_path / "run" / "samples.zarr" / "visible" / "c.1.2.0"
    chunk.unlink()
    with pytest.raises(ValueError, match=r"visible is damaged: it lacks the chunk c\.1\.2\.0"):
        draws.compute(scheduler="synchronous")
    chunk.mkdir()
    with pytest.raises(ValueError, match=r"visible is damaged: c\.1\.2\.0 is no file"):
        open_samples(tmp_path / "run")


def test_a_chunk_claims_no_more_than_it_has(tmp_path: pathlib.Path) -> None:
    """One whose checksum is right and whose compressed bytes would become many more."""
    from numcodecs.blosc import Blosc

    from nbm_xp.files import crc32c

    sampled(tmp_path / "run")
    packed = bytes(Blosc(cname="zstd", clevel=9).encode(bytes(50_000_000)))
    chunk = tmp_path / "run" / "samples.zarr" / "visible" / "c.1.2.0"
    chunk.write_bytes(packed + crc32c(packed).to_bytes(4, "little"))
    with pytest.raises(ValueError, match=r"chunk c\.1\.2\.0 claims 50,000,000 bytes, not 480"):
        open_samples(tmp_path / "run").compute(scheduler="synchronous")
