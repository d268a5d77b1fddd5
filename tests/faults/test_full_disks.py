"""A full disk, or a file longer than is allowed: a clear error, nothing half-written, and the run goes on later."""

from __future__ import annotations

import errno
import os
import pathlib
import stat

import pytest

from nbm_xp.runs import RunError, Workers, open_samples, resume, sample
from tests.helpers.runs import SAMPLE, files_of, ordinary, program, results_of, whole

pytest.importorskip("zarr")

LIMITED = """
import resource
from nbm_xp.runs import RunError, sample
from tests.helpers.runs import SAMPLE, ordinary

told = []
def tell(done, total):
    told.append(done)
    if done > total // 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))

try:
    sample(ordinary(), {place!r}, progress=tell, **SAMPLE)
except RunError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(told[-1], error)
"""


def goes_on(place: pathlib.Path, reported: int) -> None:
    """What is there is whole, none of it is lost, and the rest follows."""
    there = files_of(place / "unfinished.zarr")
    assert {f"samples.zarr/{name}": digest for name, digest in there.items()}.items() <= whole("sample").items()
    with pytest.raises(RunError, match="not finished"):
        open_samples(place)
    told: list[int] = []
    run = resume(place, progress=lambda done, total: told.append(done))
    assert told[0] >= reported
    assert results_of(run.path) == whole("sample")


def test_a_file_longer_than_is_allowed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("resource")
    client = program(LIMITED.format(place=os.fspath(tmp_path / "run")))
    out, errors = client.communicate(timeout=300)
    reported, _, message = out.partition(" ")
    assert "is full, or the file would be longer than is allowed" in message, errors
    assert "resume the run by runs.resume" in message
    goes_on(tmp_path / "run", int(reported))


@pytest.mark.parametrize("at", range(8))
def test_a_disk_that_is_full_at_any_write(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Chunks and checkpoints take turns: each kind fails in its time, after half of its bytes."""
    count, flush = 0, os.fsync

    def limited(descriptor: int) -> None:
        nonlocal count
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            count += 1
            if count > 5 * at + 1:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(descriptor)

    told = [0]
    monkeypatch.setattr(os, "fsync", limited)
    with pytest.raises(RunError, match=r"the disk of .*run is full.*No space left on device"):
        sample(
            ordinary(),
            tmp_path / "run",
            scheduler=Workers(n_workers=1),
            progress=lambda done, _: told.append(done),
            **SAMPLE,
        )
    monkeypatch.undo()
    if (tmp_path / "run" / "unfinished.zarr").exists():
        goes_on(tmp_path / "run", told[-1])
    else:
        assert not (tmp_path / "run" / "samples.zarr").exists()
