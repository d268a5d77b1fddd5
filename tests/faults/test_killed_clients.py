"""The client interrupted, ended or killed: it exits cleanly, and the run goes on to the bytes of an undisturbed one."""

from __future__ import annotations

import os
import pathlib
import signal
import time

import pytest

from nbm_xp.runs import resume
from tests.helpers.runs import program, results_of, whole

pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose files count

CLIENT = """
import sys
from tests.helpers.runs import RUNS

def tell(done, total):
    print(done, total, flush=True)
    if done > {share} * total:
        sys.stdin.readline()  # wait for what comes

if __name__ == "__main__":
    RUNS[{name!r}]({place!r}, progress=tell, **{how})
"""


def interrupted(name: str, place: pathlib.Path, share: float, number: int, **how: str) -> tuple[int, int, str]:
    """Have a client begin, and send it a signal after a share: what it reported last, and how it ended."""
    client = program(CLIENT.format(name=name, place=os.fspath(place), share=share, how=how), stdin=-1)
    assert client.stdout is not None
    reported, total = 0, 1
    while reported <= share * total:
        line = client.stdout.readline()
        assert line, client.communicate()[1]
        reported, total = map(int, line.split())
    os.kill(client.pid, number)
    _, errors = client.communicate(timeout=300)
    return reported, client.returncode, errors


INTERRUPTED, ENDED, KILLED = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


BY_DAY = [("sample", 0.25, INTERRUPTED, {}), ("train", 0.5, KILLED, {})]
BY_NIGHT = [
    ("sample", 0.25, ENDED, {}), ("sample", 0.25, KILLED, {}), ("train", 0.3, ENDED, {}),
    ("sample", 0.25, INTERRUPTED, {"scheduler": "local"}), ("train", 0.7, INTERRUPTED, {}),
    ("sample", 0.25, ENDED, {"scheduler": "local"}), ("web", 0.6, KILLED, {}), ("glass", 0.6, KILLED, {}),
    # while it sweeps; while it anneals, and anneals in reverse
    *(("skipping", share, KILLED, {}) for share in (0.1, 0.5, 0.8)), ("transition", 0.5, KILLED, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "share", "number", "how"), [*BY_DAY, *(pytest.param(*each, marks=pytest.mark.slow) for each in BY_NIGHT)]
)
def test_an_interrupted_run_goes_on(
    name: str, share: float, number: int, how: dict[str, str], tmp_path: pathlib.Path
) -> None:
    reported, returned, errors = interrupted(name, tmp_path / "run", share, number, **how)
    assert returned == (128 + number if number == ENDED else -number), errors
    if number == INTERRUPTED:
        assert "KeyboardInterrupt" in errors.splitlines()
    if number != KILLED:
        assert " ended " in (tmp_path / "run" / "run.log").read_text()
    told: list[int] = []
    run = resume(tmp_path / "run", progress=lambda done, total: told.append(done))
    assert reported <= max(told[:5])  # each part says where it goes on
    assert results_of(run.path) == whole(name)
    assert not list(run.path.rglob(".*"))


@pytest.mark.slow
def test_no_process_outlives_its_client(tmp_path: pathlib.Path) -> None:
    interrupted("sample", tmp_path / "run", 0.25, ENDED, scheduler="local")
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
