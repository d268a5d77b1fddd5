"""The command nbm-xp, run in the tests' own process, or in one that can be interrupted and killed."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import nbm_xp
import nbm_xp.cli
from tests.helpers.runs import HEARS_INTERRUPTIONS

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments: str) -> Any:
    from typer.testing import CliRunner

    return CliRunner().invoke(nbm_xp.cli.app, list(arguments), prog_name="nbm-xp")


def ran(*arguments: str) -> str:
    """What a call that does as it is told says on stdout; on stderr, which is no terminal, it says nothing."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return str(result.stdout)


def told(*arguments: str) -> dict[str, Any]:
    """The JSON document that a call answers with, and nothing else."""

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    found: dict[str, Any] = json.loads(ran(*arguments, "--json"), parse_constant=no_constant)
    return found


def contents(folder: str = ".") -> dict[str, bytes | None]:
    """All that is in a folder and below."""
    paths = sorted(pathlib.Path(folder).rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def refused(*arguments: str) -> str:
    """The one line with which a call is refused; nothing is written or changed."""
    before = contents()
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("nbm-xp: ")
    assert contents() == before
    return str(result.stderr)


def started(*arguments: str, first: str = "pass") -> subprocess.Popen[str]:
    """The command in a process of its own, which has said that it is ready.

    `first` are statements that it runs before.
    """
    code = f"{HEARS_INTERRUPTIONS}from nbm_xp.cli import commands, main; {first}; print('ready', flush=True); main()"
    root = str(pathlib.Path(nbm_xp.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": root, "PYTHONFAULTHANDLER": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def wait_until(reached: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait for what a process does, which may not end before, and may be slow."""
    end = time.monotonic() + 300
    while not reached():
        assert process.poll() is None, "it has ended already"
        assert time.monotonic() < end, "it does not do it"
        time.sleep(0.002)
