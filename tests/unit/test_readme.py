"""What the README shows is true: its Python runs, its commands and its links exist. So do CONTRIBUTING's."""

import pathlib
import re
import subprocess
import sys
import textwrap
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.splitlines()[0][:40])
def test_example_runs(example: str) -> None:
    """A line `expression  # value` must give that value, as Python prints it."""
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    for line in example.splitlines():
        expression, mark, value = line.partition("  # → ")
        if mark:
            assert repr(eval(expression.rpartition("= ")[2], names)) == value


def test_there_is_an_example() -> None:
    assert EXAMPLES


def test_sessions_named_are_sessions_of_the_noxfile() -> None:
    sessions = re.findall(
        r"^@nox\.session.*\n(?:@.*\n)*def (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = set(re.findall(r"nox -s (\w+)", README))
    assert {"demo", "tests"} <= named
    assert named | set(re.findall(r"nox -s (\w+)", CONTRIBUTING)) <= set(sessions)


def test_extras_named_are_extras_of_the_project() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for group in re.findall(r"nbm_xp\[([\w,]+)\]", README) for extra in group.split(",")}
    assert named <= set(extras)


def test_commands_shown_are_taken() -> None:
    """Subcommands and options that the README shows are those of the command."""
    typer = pytest.importorskip("typer", reason="the command needs nbm_xp[app]")
    from nbm_xp.cli.commands import app

    commands = typer.main.get_command(app).commands
    known = {name: {option for p in command.params for option in p.opts} for name, command in commands.items()}
    shown = re.findall(r"^nbm-xp (\w+)(.*?)(?: {2,}#.*)?$", README, re.MULTILINE)
    assert shown
    for name, rest in shown:
        assert set(re.findall(r"--[\w-]+", rest)) <= known[name], name


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", README + CONTRIBUTING)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_recipes_run() -> None:
    """In a process of their own: what they declare is declared for good."""
    recipes = re.findall(r"^ *```python\n(.*?)^ *```", CONTRIBUTING, flags=re.MULTILINE | re.DOTALL)
    assert len(recipes) == 2
    program = "\n".join(map(textwrap.dedent, recipes))
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, cwd=ROOT, timeout=120)


def test_files_named_in_the_recipes_exist() -> None:
    named = set(re.findall(r"`((?:nbm_xp|tests)/[\w/.]+)`", CONTRIBUTING)) - {"nbm_xp/namespace/gaps/NAME.py"}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
