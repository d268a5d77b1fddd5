"""The benchmarks' records, pictures and table: a ratio is of the same round, and every peer that did the work is shown.

What other pages quote from the table is what it says.
"""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import pytest

from benchmarks import harness, pages, plot
from tests.helpers.pages import PAGES

ROW = harness.Row("a row", harness.Contender("nbm_xp"), per=100.0, unit="number")
OURS = harness.timing("one", ROW, ROW.ours, {"nbm_xp": [1.0, 2.0, 3.0]})


def peer(name: str, samples: list[float], at_most: float | None = None) -> harness.Timing:
    contender = harness.Contender(name, at_most=at_most)
    return harness.timing("one", ROW, contender, {"nbm_xp": OURS.samples, name: samples})


TIMINGS = [
    OURS, peer("slower", [2.0, 4.0, 6.0], at_most=0.75), peer("far slower", [100.0, 200.0, 300.0]),
    peer("nothing", [1e-9, 1e-9, 1e-9]),
    replace(OURS, contender="not here", seconds=None, samples=[], missing="not installed"),
    harness.Peak("two", "memory", "nbm_xp", 10), harness.Peak("two", "memory", "by hand", 40),
    harness.Peak("two", "memory", "elsewhere", None, missing="not installed"),
]  # fmt: skip


def test_ratios_are_of_the_same_round() -> None:
    found = plot.ratios(harness.record(TIMINGS, "a machine"))
    assert [(r.benchmark, r.peer, r.middle, r.bar) for r in found] == [
        ("one", "slower", 0.5, 0.75), ("one", "far slower", 0.01, None), ("two", "by hand", 0.25, None),
    ]  # fmt: skip
    assert all(r.low == r.high for r in found)  # the machine's slower rounds are slower for both


def test_the_table_takes_the_place_of_the_one_before(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n## The table\n\n| old |\n\n## On a device\n", encoding="utf-8")
    for _ in range(2):
        pages.write(page, pages.table(TIMINGS, "a machine; and its releases"))
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# A page\n\n## The table\n\na machine; and its releases.\n")
    assert text.endswith("|\n\n## On a device\n")
    assert "| old |" not in text
    ratios = {"one: a row, beside slower": "0.50", "one: a row, beside far slower": "0.010"}
    assert pages.figures(text) == ratios | {"two: memory, beside by hand": "0.25"}
    quote = '[0.7](page.md#the-table "one: a row, beside slower")'
    assert pages.quoted(f"It takes {quote}.", ratios) == f"It takes {quote.replace('0.7', '0.50')}."
    with pytest.raises(KeyError, match="beside faster"):
        pages.quoted(quote.replace("slower", "faster"), ratios)


def test_pages_quote_the_table() -> None:
    """`python -m benchmarks.pages` writes the quotes anew."""
    ratios = pages.figures(pages.TABLE.read_text(encoding="utf-8"))
    texts = {page.name: page.text for page in PAGES}
    assert sum(len(pages.QUOTE.findall(text)) for text in texts.values()) == sum(
        text.count('#the-table "') for text in texts.values()
    )
    assert {name: pages.quoted(text, ratios) for name, text in texts.items()} == texts


@pytest.mark.parametrize("options", [[], ["--throughput", "one"]], ids=["ratios", "throughput"])
def test_a_picture_is_drawn(options: list[str], tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need nbm_xp[app]")
    results, picture = tmp_path / "results.json", tmp_path / "picture.svg"
    results.write_text(json.dumps(harness.record(TIMINGS, "a machine; and its releases")), encoding="utf-8")
    plot.main([str(results), str(picture), *options])
    drawn = picture.read_text(encoding="utf-8")
    assert "slower" in drawn
    assert "not here" not in drawn
