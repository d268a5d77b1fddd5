"""What the pages show is true: their code runs, their commands and links exist, the tables name all functions.

The pages are the README, CONTRIBUTING and all of docs/; `tests.helpers.pages` says what a page and a block of code are.
"""

from __future__ import annotations

import importlib
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from nbm_xp import keras1, keras2
from tests.helpers.clusters import begin_workers_from_one_process
from tests.helpers.page_tables import TABLES, with_table
from tests.helpers.pages import LANGUAGES, PAGES, ROOT, Block, Page
from tests.interop import SINCE, require

INVENTORY = ROOT / "tests" / "golden" / "inventory.json"
BY_NAME = {page.name: page for page in PAGES}
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
SESSIONS = re.findall(r"^@nox\.session.*\n(?:@.*\n)*def (\w+)", NOXFILE, re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named(page: Page) -> str:
    """A page, and the libraries that it needs: the session for those finds it by them."""
    return "-".join([page.name, *sorted(page.packages & {"torch", "jax", "distributed"})])


@pytest.mark.parametrize("page", [page for page in PAGES if page.blocks and page.name != "CONTRIBUTING.md"], ids=named)
def test_a_page_runs(page: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Its blocks in turn; an ``expression  # → value`` must give that value, as Python prints it.

    The README's commands are long runs. CONTRIBUTING's recipes have a test of their own.
    """
    for name in sorted(page.packages):
        require(name, SINCE.get(name) if page.name in TABLES else None)
    if "distributed" in page.packages:
        begin_workers_from_one_process()
    monkeypatch.chdir(tmp_path)
    page.run(commands=page.name != "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_code_are_sound(page: Page) -> None:
    """Also of code that is not run."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.text)
    assert [link for link in links if not (page.path.parent / link).exists()] == []
    assert {block.language for block in page.blocks} <= LANGUAGES, "each fence names one of them"
    for block in page.blocks:
        if block.language == "python":
            compile(block.text, page.name, "exec")
        elif block.language == "sh":
            check_commands(block)


def check_commands(block: Block) -> None:
    """Subcommands, options and their values; sessions, extras and groups; what is not ours only where it is not run."""
    for command in block.commands:
        match command:
            case ["nbm-xp", *arguments]:
                refuse_unknown(arguments)
            case ["nox", "-s", *rest]:
                before = rest[: rest.index("--")] if "--" in rest else rest
                assert set(before) <= set(SESSIONS)
            case ["pip", "install", *what]:
                extras = {name for group in re.findall(r"\[([\w,]+)\]", " ".join(what)) for name in group.split(",")}
                groups = {group for flag, group in itertools.pairwise(what) if flag == "--group"}
                assert extras <= set(PROJECT["project"]["optional-dependencies"])
                assert groups <= set(PROJECT["dependency-groups"])
            case ["python", "-m", module, *arguments]:
                assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists() or (ROOT / module).is_dir()
                if module.startswith("benchmarks"):
                    program = importlib.import_module("benchmarks.__main__" if module == "benchmarks" else module)
                    program.parsed(arguments)
            case _:
                assert block.not_run, f"{shlex.join(command)}: what it does is not looked at here"


def refuse_unknown(arguments: list[str]) -> None:
    """Raise what the command nbm-xp would, without running it."""
    typer = pytest.importorskip("typer", reason="the command needs nbm_xp[app]")
    from nbm_xp.cli.commands import app

    commands = typer.main.get_command(app).commands
    name, *rest = arguments
    commands[name].make_context(name, rest)


@pytest.mark.parametrize(
    "line", ["nbm-xp trian", "nbm-xp train --epoch 3", "nbm-xp train --n-iter few", "nox -s none", "pip install .[x]"]
)
def test_a_command_that_is_not_taken_is_found(line: str) -> None:
    failing = pytest.importorskip("nbm_xp.cli.output", reason="the command needs nbm_xp[app]")
    with pytest.raises((AssertionError, KeyError, failing._UsageError)):
        check_commands(Block("sh", line, 0))


@pytest.mark.parametrize("text", ["1 + 1  # → 3", "x = 1  # → 1", "(\n    1,  # → 1\n    2,\n)  # → (1, 2)"])
def test_a_value_that_is_not_given_is_found(text: str) -> None:
    page = Page(ROOT / "page.md", f"A page.\n\n```python\n{text}\n```\n")
    with pytest.raises(AssertionError):
        page.run()


def test_the_source_shown_is_the_source() -> None:
    from nbm_xp.tape import Variable, function, placeholder
    from nbm_xp.tape import namespace as xp

    a, x = placeholder((None, 3), dtype="float64"), Variable([1.0, 2.0, 3.0], dtype="float64")
    scores = xp.tanh(a @ x)
    tape = BY_NAME["docs/tape.md"].text
    printed = tape[tape.index("print(score.source())") : tape.index("`a0` is the input")]
    shown = re.findall(r"^# ?(.*)\n", printed, re.MULTILINE)
    assert "\n".join(shown).strip() == function([a], [scores, xp.max(scores)]).source().strip()


def test_recipes_run() -> None:
    """In a process of their own: what they declare is declared for good."""
    recipes = [block.text for block in BY_NAME["CONTRIBUTING.md"].blocks if block.language == "python"]
    assert len(recipes) == 2
    subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(recipes)], check=True, cwd=ROOT, timeout=120)


def test_files_named_in_the_recipes_exist() -> None:
    text = BY_NAME["CONTRIBUTING.md"].text
    found = set(re.findall(r"`((?:nbm_xp|tests)/[\w/.]+)`", text)) - {"nbm_xp/namespace/compat/NAME.py"}
    assert found
    assert [name for name in sorted(found) if not (ROOT / name).exists()] == []


def test_sessions_named_are_sessions_of_the_noxfile() -> None:
    text = "".join(page.text for page in PAGES)
    assert {"docs", "quick", "tests"} <= set(re.findall(r"nox -s (\w+)", text)) <= set(SESSIONS)


@pytest.mark.parametrize("page", TABLES)
def test_a_table_says_what_the_cases_of_the_tests_show(page: str) -> None:
    """Of functions and libraries, and of other packages, which are needed for it."""
    for name in BY_NAME[page].packages & {"xarray", *SINCE}:
        require(name, SINCE.get(name))
    text = BY_NAME[page].text
    assert text == with_table(page, text), "python -m tests.helpers.page_tables writes it anew"


def test_every_difference_between_the_keras_surfaces_is_documented() -> None:
    """Under its name, in bold, each function that is another one in Keras 1.0 than in 2.0."""
    names = [entry["name"] for entry in json.loads(INVENTORY.read_text(encoding="utf-8"))["keras1"]]
    differ = {name for name in names if getattr(keras1, name) is not getattr(keras2, name)}
    assert differ == set(re.findall(r"\*\*`(\w+)`\*\*", BY_NAME["docs/keras1.md"].text))
    assert f"{len(names) - len(differ)} names are the same function" in BY_NAME["docs/keras1.md"].text
