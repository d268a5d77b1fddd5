"""What docs/command.md shows is true: its commands run, in turn, and say what they are shown to say."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("zarr")

import typer

from nbm_xp.cli.commands import app

from ..command import run

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")


def test_the_commands_say_what_they_are_shown_to_say(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    shown = [
        step for block in blocks for step in re.findall(r"^\$ nbm-xp (.*)\n((?:(?!\$).*\n)*)", block, re.MULTILINE)
    ]
    assert len(shown) >= 8
    for command, expected in shown:
        result = run(*shlex.split(command))
        said = result.output.replace("\r", "")
        pattern = ".*".join(map(re.escape, expected.split("…")))
        assert re.fullmatch(pattern, said), (command, said)


def test_the_commands_and_options_shown_are_taken() -> None:
    commands = typer.main.get_command(app).commands
    known = {
        name: {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
        for name, command in commands.items()
    }
    shown = re.findall(r"^(?:\$ )?nbm-xp (\w+)(.*)$", PAGE, re.MULTILINE)
    assert {name for name, _ in shown} >= {"train", "sample", "evaluate", "plot"}
    for name, rest in shown:
        assert set(re.findall(r"--[\w-]+", rest)) <= known[name], name
    anywhere = set().union(*known.values())
    assert set(re.findall(r"`(--[\w-]+)", PAGE)) <= anywhere
