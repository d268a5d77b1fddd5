"""The page on a run: one file that needs no other, with a picture, a table or a sentence for each part."""

from __future__ import annotations

import base64
import pathlib
import re

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("zarr")
pytest.importorskip("xarray")

from nbm_xp.cli.pictures.figures import Source
from tests.helpers.command import PNG, ran, refused
from tests.helpers.runs import RUNS, left_off, ordinary

pytestmark = pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")
PARTS = {"Results", "Mixing", "Cost", "Configuration", "Versions", "Log"}


@pytest.mark.parametrize("name", ["sample", "weighed on the ladder", "glass", "transition", "train"])
@pytest.mark.at_night("glass", "train", "weighed on the ladder")
def test_a_page_has_all_parts_and_needs_nothing_else(name: str, tmp_path: pathlib.Path) -> None:
    run = RUNS[name](tmp_path / "a <run> & more")
    assert ran("report", str(run.path), "--output", f"{tmp_path}/page.html") == f"wrote {tmp_path}/page.html\n"
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>a &lt;run&gt; &amp; more</h1>" in text and "<run>" not in text
    assert not re.search(r'<script|<link|<iframe|href=|url\(|https?:|src="(?!data:)', text)
    sections = dict(re.findall(r"<h2>(.*?)</h2>\n(.*?)(?=<h2>|</body>)", text, re.DOTALL))
    assert sections.keys() >= PARTS
    assert all(re.search(r"<(p|pre|table|figure)\b", content) for content in sections.values())
    pictures = dict(re.findall(r'<img alt="(\w+)" src="data:image/png;base64,(.*?)">', text))
    assert pictures.keys() == Source(run.path, 0, []).pictures().keys()
    without = {"diagnostics", "traces", "convergence", "samples"} - pictures.keys()
    assert sections["Not in this run"].count("There ") == len(without)
    assert all(base64.b64decode(picture).startswith(PNG) for picture in pictures.values())
    assert f">{run.versions['numpy']}<" in sections["Versions"]


def test_a_page_says_that_a_run_is_not_finished(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left_off(RUNS["sample"], "run", share=0.5)
    assert "wrote run/report.html" in ran("report")
    text = pathlib.Path("run/report.html").read_text(encoding="utf-8")
    assert "The run is not finished: nbm-xp resume run continues it." in text and "There is no R-hat: " in text
    ordinary().save("model.safetensors")
    assert "a model, and no run's directory" in refused("report", "model.safetensors")
    assert "--out must end in .html, got page.pdf" in refused("report", "run", "--out", "page.pdf")
