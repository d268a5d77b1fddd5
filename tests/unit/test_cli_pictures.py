"""What stands on the pictures: axes say what they show, and in which unit."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from nbm_xp.cli.pictures import drawing, panels


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch) -> Figure:
    figure = Figure()

    @contextlib.contextmanager
    def kept(*args: Any, **options: Any) -> Iterator[Figure]:
        yield figure

    monkeypatch.setattr(drawing, "drawn", kept)
    return figure


@pytest.mark.parametrize("count", [3, 60])
def test_a_learning_curve_says_what_it_shows(figure: Figure, count: int) -> None:
    looks = [
        {"pass": n, "pseudo_likelihood": -20.0 + 0.1 * n, "log_likelihood": -30.0 + n} for n in range(1, count + 1)
    ]
    drawing.draw_curve(looks, pathlib.Path("curve.png"))
    left, right = figure.axes
    assert left.get_title() == "Learning curve: training rows"
    assert left.get_ylabel() == "mean pseudo-likelihood (nats a row)"
    assert right.get_title() == "Learning curve: held-out rows"
    assert right.get_ylabel() == "mean log-likelihood by AIS (nats a row)"
    assert left.get_xlabel() == "passes over the training rows"
    (line,) = left.get_lines()
    assert (line.get_marker() in ("", "None")) == (count == 60)


def test_the_words_of_filters_fit_any_data(figure: Figure) -> None:
    drawing.draw_filters(np.eye(4, 9), pathlib.Path("filters.png"))
    assert figure.axes[0].get_title() == "4 filters (blue: positive, orange: negative)"
    assert panels.filters.__kwdefaults__["words"] in figure.axes[0].get_title()
