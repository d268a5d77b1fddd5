"""The client interrupted or ended: it exits cleanly, and the run goes on to the bytes of an undisturbed one."""

from __future__ import annotations

import os
import pathlib
import signal
import time

import pytest

from nbm_xp.runs import RunError, open_samples, resume, sample
from tests.helpers.runs import SAMPLE, files_of, ordinary, program

pytest.importorskip("zarr")

CLIENT = """
import sys
from nbm_xp.runs import Workers, sample
from tests.helpers.runs import SAMPLE, ordinary

def tell(done, total):
    print(done, flush=True)
    if done > total // 4:
        sys.stdin.readline()  # wait for what comes

if __name__ == "__main__":
    sample(ordinary(), {place!r}, progress=tell, scheduler=Workers({scheduler!r}, 2), **SAMPLE)
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return files_of(sample(ordinary(), tmp_path_factory.mktemp("runs") / "whole", **SAMPLE).path / "samples.zarr")


def interrupted(place: pathlib.Path, scheduler: str, number: int) -> tuple[int, int, str]:
    """Have a client begin, and send it a signal after a quarter: what it reported last, and how it ended."""
    client = program(CLIENT.format(place=os.fspath(place), scheduler=scheduler), stdin=-1)
    assert client.stdout is not None
    reported = 0
    while reported <= 24 * 34 // 4:
        line = client.stdout.readline()
        assert line, client.communicate()[1]
        reported = int(line)
    os.kill(client.pid, number)
    _, errors = client.communicate(timeout=300)
    return reported, client.returncode, errors


@pytest.mark.parametrize(
    ("scheduler", "number", "code"),
    [
        ("threads", signal.SIGINT, -signal.SIGINT),
        ("threads", signal.SIGTERM, 128 + signal.SIGTERM),
        ("threads", signal.SIGKILL, -signal.SIGKILL),
        pytest.param("local", signal.SIGINT, -signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("local", signal.SIGTERM, 128 + signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_goes_on(
    tmp_path: pathlib.Path, undisturbed: dict[str, str], scheduler: str, number: int, code: int
) -> None:
    reported, returned, errors = interrupted(tmp_path / "run", scheduler, number)
    assert returned == code, errors
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors.splitlines()
    if number != signal.SIGKILL:
        assert "ended with" in (tmp_path / "run" / "run.log").read_text()
    with pytest.raises(RunError, match="not finished"):
        open_samples(tmp_path / "run")
    told: list[int] = []
    run = resume(tmp_path / "run", progress=lambda done, total: told.append(done))
    assert told[0] >= reported
    assert files_of(run.path / "samples.zarr") == undisturbed
    assert not list(run.path.rglob(".*"))


@pytest.mark.slow
def test_no_process_outlives_its_client(tmp_path: pathlib.Path) -> None:
    interrupted(tmp_path / "run", "local", signal.SIGTERM)
    time.sleep(1)
    named = os.fspath(tmp_path)
    alive = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if named in (process / "cmdline").read_text() or named in (process / "environ").read_text():
                alive.append(process.name)
        except OSError:
            continue
    assert alive == []
