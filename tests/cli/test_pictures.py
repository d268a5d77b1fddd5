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

from nbm_xp.boltzmann.annealing import estimate
from nbm_xp.cli.pictures import diagnostics, figures, panels


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch) -> Figure:
    figure = Figure()

    @contextlib.contextmanager
    def kept(*args: Any, **options: Any) -> Iterator[Figure]:
        yield figure

    monkeypatch.setattr(figures, "drawn", kept)
    monkeypatch.setattr(diagnostics, "drawn", kept)
    return figure


def looks(count: int, **also: Any) -> list[dict[str, Any]]:
    common = {"log_z": 9.0, "effective": 50.0, "r_hat": 1.1, "held_out": None, "pseudo_likelihood": None}
    return [
        common | {"epoch": n, "log_likelihood": -20.0 + n, "standard_error": None if n == 1 else 0.1} | also
        for n in range(1, count + 1)
    ]


LADDERED = {"acceptance": [0.7, 0.3], "r_hat": None}
SIDED = {"share": 0.9, "data_share": 0.6, "chain_share": 0.5, "pseudo_likelihood": -3.0, "held_out": -21.0}


@pytest.mark.parametrize(
    ("also", "second"),
    [(LADDERED, "Acceptance along the ladder"), (SIDED, "Shares of one side of the data")],
    ids=["ladder", "sides"],
)
@pytest.mark.parametrize("count", [1, 3, 40])
def test_what_was_watched_says_what_it_shows(figure: Figure, also: dict[str, Any], second: str, count: int) -> None:
    data = None if count == 1 else np.eye(9)
    diagnostics.draw_diagnostics(looks(count, **also), data, np.eye(9), "9 samples", pathlib.Path("watch.png"))
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    assert titles[:2] == ["Log-likelihood", second] and titles[4:] == ["The data"] * (data is not None) + ["9 samples"]
    for axes in figure.axes[:4]:
        assert axes.get_xlabel() and "(" in axes.get_ylabel(), axes.get_title()
    bars = figure.axes[0].containers[0]
    assert bars.has_yerr and len(bars.lines[0].get_xdata()) == count
    ends = np.ptp(np.asarray(bars.lines[2][0].get_segments())[:, :, 1], axis=1)
    assert ends == pytest.approx([0.0] + [0.6] * (count - 1))  # three standard errors either way, where they are known


def test_weights_of_chains_are_drawn_as_their_estimates_of_log_z(figure: Figure) -> None:
    panels.weights(axes := figure.subplots(), estimate(np.linspace(499.0, 501.0, 40), 10))
    assert (axes.patches[0].get_x(), axes.patches[-1].get_corners()[2][0]) == pytest.approx((499.0, 501.0))
