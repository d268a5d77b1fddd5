"""What the pages in docs/ show is true: their code runs, the table of functions names them all."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re

import pytest

from nbm_xp import keras1, keras2
from tests.function_pages import PAGES as TABLES

DOCS = pathlib.Path(__file__).parents[2] / "docs"
INVENTORY = DOCS.parent / "tests" / "golden" / "inventory.json"
PAGES = {
    name: (DOCS / name).read_text(encoding="utf-8")
    for name in ("tape.md", "keras2.md", "keras1.md", "neon.md", "random.md", "runs.md")
}
TAPE = PAGES["tape.md"]
TABLE_TEXTS = {name: (DOCS / name).read_text(encoding="utf-8") for name in TABLES}


def is_for_here(block: str) -> bool:
    """Whether all libraries that a block imports are installed."""
    return all(importlib.util.find_spec(name) for name in re.findall(r"^import (\w+)", block, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str) -> None:
    """Its blocks in turn; a line ``expression  # → value`` must give that value, as Python prints it."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGES[page], flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"print": lambda text: None}
    shown = 0
    for block in filter(is_for_here, blocks):
        lines: list[str] = []
        for line in block.splitlines():
            expression, mark, value = line.partition("  # → ")
            if not mark:
                lines.append(line)
                continue
            exec(compile("\n".join(lines), f"docs/{page}", "exec"), names)
            lines, shown = [], shown + 1
            assert repr(eval(expression, names)) == value, line
        exec(compile("\n".join(lines), f"docs/{page}", "exec"), names)
    assert shown > 10


def test_the_source_shown_is_the_source() -> None:
    from nbm_xp.tape import Variable, function, placeholder
    from nbm_xp.tape import namespace as xp

    a, x = placeholder((None, 3), dtype="float64"), Variable([1.0, 2.0, 3.0], dtype="float64")
    scores = xp.tanh(a @ x)
    shown = re.findall(
        r"^# ?(.*)\n", TAPE[TAPE.index("print(score.source())") : TAPE.index("Here `a0` is")], re.MULTILINE
    )
    assert "\n".join(shown).strip() == function([a], [scores, xp.max(scores)]).source().strip()


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", "".join((PAGES | TABLE_TEXTS).values()))
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []


@pytest.mark.parametrize("name", TABLES)
def test_a_table_names_every_function(name: str) -> None:
    text, surface = TABLE_TEXTS[name], TABLES[name].surface()
    rows = set(re.findall(r"^\| `([\w.]+)` \|", text, re.MULTILINE))
    _, _, beside = text.partition("## Without arrays")
    assert surface <= rows | set(re.findall(r"`([\w.]+)`", beside)), "nox -s docs writes the table anew"
    assert rows - surface <= {"getitem", "setitem"}
    assert "the test fails" not in text


def test_every_documented_name_of_keras_has_a_row() -> None:
    documented = json.loads(INVENTORY.read_text(encoding="utf-8"))["keras2"]
    rows = re.findall(r"^\| `(\w+)` \|", TABLE_TEXTS["keras2_functions.md"], re.MULTILINE)
    assert sorted(rows) == sorted(entry["name"] for entry in documented)


def test_every_difference_between_the_keras_surfaces_is_told() -> None:
    """Under its name, in bold, each function that is another one in Keras 1.0 than in 2.0."""
    names = [entry["name"] for entry in json.loads(INVENTORY.read_text(encoding="utf-8"))["keras1"]]
    differ = {name for name in names if getattr(keras1, name) is not getattr(keras2, name)}
    assert differ == set(re.findall(r"\*\*`(\w+)`\*\*", PAGES["keras1.md"]))
    assert f"{len(names) - len(differ)} are one and the same function" in PAGES["keras1.md"]
