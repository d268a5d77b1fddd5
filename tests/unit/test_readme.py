"""What the README shows is true: its Python runs, its commands and its links exist."""

import pathlib
import re
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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
        r"^@nox\.session.*?\ndef (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = re.findall(r"nox -s (\w+)", README)
    assert {"demo", "tests"} <= set(named) <= set(sessions)


def test_extras_named_are_extras_of_the_project() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for group in re.findall(r"nbm_xp\[([\w,]+)\]", README) for extra in group.split(",")}
    assert named <= set(extras)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
