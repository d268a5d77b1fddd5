"""The benchmarks' records and pictures: a ratio is of the same round, and every peer that did the work is shown."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace

import pytest

from benchmarks import harness, plot

ROW = harness.Row("a row", harness.Contender("nbm_xp"), per=100.0, unit="number")
OURS = harness.timing("one", ROW, ROW.ours, {"nbm_xp": [1.0, 2.0, 3.0]})


def peer(name: str, samples: list[float], at_most: float | None = None) -> harness.Timing:
    contender = harness.Contender(name, at_most=at_most)
    return harness.timing("one", ROW, contender, {"nbm_xp": OURS.samples, name: samples})


TIMINGS = [
    OURS,
    peer("slower", [2.0, 4.0, 6.0], at_most=0.75),
    peer("far slower", [100.0, 200.0, 300.0]),
    peer("nothing", [1e-9, 1e-9, 1e-9]),
    replace(OURS, contender="not here", seconds=None, samples=[], missing="not installed"),
    harness.Peak("two", "memory", "nbm_xp", 10),
    harness.Peak("two", "memory", "by hand", 40),
    harness.Peak("two", "memory", "elsewhere", None, missing="not installed"),
]


def test_ratios_are_of_the_same_round() -> None:
    found = plot.ratios(harness.record(TIMINGS, "a machine"))
    assert [(r.benchmark, r.peer, r.middle, r.bar) for r in found] == [
        ("one", "slower", 0.5, 0.75),
        ("one", "far slower", 0.01, None),
        ("two", "by hand", 0.25, None),
    ]
    assert all(r.low == r.high for r in found)  # the machine's slower rounds are slower for both


def test_a_page_holds_the_machine_and_every_contender() -> None:
    page = harness.page(TIMINGS, "a machine; and its releases")
    assert page.startswith("a machine; and its releases\n\n```text\n")
    assert all(timing.contender in page for timing in TIMINGS)


@pytest.mark.parametrize("options", [[], ["--throughput", "one"]], ids=["ratios", "throughput"])
def test_a_picture_is_drawn(options: list[str], tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need nbm_xp[app]")
    results, picture = tmp_path / "results.json", tmp_path / "picture.svg"
    results.write_text(json.dumps(harness.record(TIMINGS, "a machine; and its releases")), encoding="utf-8")
    plot.main([str(results), str(picture), *options])
    drawn = picture.read_text(encoding="utf-8")
    assert "slower" in drawn
    assert "not here" not in drawn
