"""Pictures: what the demo found on one page, and states of visible units as a sheet of small images.

One look throughout: ink is dark on white; blue is the model, orange the test or what is compared, grey what is given.
Files are written whole or not at all.
"""

from __future__ import annotations

import math
import pathlib
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from nbm_xp.namespace.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .demo import Findings

__all__ = ["draw_findings", "draw_states", "sheet"]

BLUE, ORANGE, GREY, INK = "#1f5f99", "#d9622b", "#8a8f98", "#20242c"
LOOK: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 12.5,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b9bec7",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": "#4a4f59",
    "ytick.color": "#4a4f59",
    "axes.grid": True,
    "grid.color": "#e8eaee",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "svg.hashsalt": "nbm_xp",
}


def sheet(images: Any, side: int, columns: int, gap: int = 1, fill: float = float("nan")) -> Any:
    """Rows of pixels as one picture: square images beside and below one another, with a gap between."""
    count = len(images)
    rows = math.ceil(count / columns)
    step = side + gap
    page = np.full((rows * step - gap, columns * step - gap), fill)
    for place, image in enumerate(images):
        top, left = divmod(place, columns)
        page[top * step : top * step + side, left * step : left * step + side] = image.reshape(side, side)
    return page


def draw_states(states: Any, side: int, path: pathlib.Path) -> None:
    """Write states of visible units, or their probabilities, as a sheet of square images."""
    columns = math.ceil(math.sqrt(len(states)))
    page = sheet(states, side, columns)
    scale = max(1, 1200 // page.shape[1])
    inches = (page.shape[1] * scale / 100, page.shape[0] * scale / 100)
    figure = Figure(figsize=inches, dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(page, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    axes.set_axis_off()
    _write(figure, path)


def draw_findings(findings: Findings, path: pathlib.Path) -> None:
    """Draw what the demo found: data, fantasies, filters, the learning curve, and log Z with its error bars."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(16, 9.6), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            2, 12, height_ratios=(1, 0.86), left=0.045, right=0.985, top=0.905, bottom=0.075, hspace=0.3, wspace=1.6
        )
        figure.text(0.045, 0.962, "A restricted Boltzmann machine learns handwritten digits", size=20, weight="bold")
        ink = [figure.add_subplot(grid[0, 4 * column : 4 * column + 4]) for column in range(3)]
        _show(ink[0], findings.test[:100], "Test scans")
        _show(ink[1], findings.fantasies[:100], "Fantasies of the model")
        _filters(ink[2], findings)
        _learning_curve(figure.add_subplot(grid[1, :6]), findings)
        _convergence(figure.add_subplot(grid[1, 6:9]), findings, "small")
        _convergence(figure.add_subplot(grid[1, 9:]), findings, "large")
        _write(figure, path)


def _show(axes: Axes, images: Any, title: str) -> None:
    axes.imshow(sheet(images, 8, 10, gap=2, fill=0.0), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title)
    axes.set_axis_off()


def _filters(axes: Axes, findings: Findings) -> None:
    """The hidden units with the longest weight vectors; blue adds ink, orange takes it away."""
    weights = findings.large.components_
    strongest = np.argsort(-(weights**2).sum(axis=1), kind="stable")[:100]
    shown = weights[strongest]
    shown = shown / np.abs(shown).max(axis=1, keepdims=True)
    colours = mpl.colors.LinearSegmentedColormap.from_list("filters", [ORANGE, "#ffffff", BLUE])
    colours.set_bad("white")
    axes.imshow(sheet(shown, 8, 10, gap=1), cmap=colours, vmin=-1, vmax=1, interpolation="nearest")
    axes.set_title("Filters of its hidden units")
    axes.set_axis_off()


def _learning_curve(axes: Axes, findings: Findings) -> None:
    passes, train, test = (np.array(column) for column in zip(*findings.curve, strict=True))
    axes.axhline(findings.baseline[1], color=GREY, linestyle=(0, (4, 3)), linewidth=1.8)
    axes.annotate(
        f"independent pixels, test: {findings.baseline[1]:.1f}",
        (passes[-1], findings.baseline[1]),
        (0, 7),
        textcoords="offset points",
        ha="right",
        color="#666b74",
    )
    for name, values, colour in (("train", train, BLUE), ("test", test, ORANGE)):
        axes.plot(passes, values, "o-", color=colour, markersize=5, label=f"{name}: {values[-1]:.1f}")
    axes.set_xscale("log")
    axes.set_xlabel("passes over the training scans")
    axes.set_ylabel("mean log-likelihood (nats)")
    axes.set_title("Learning curve, by annealed importance sampling")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.22))


def _convergence(axes: Axes, findings: Findings, name: str) -> None:
    found = findings.estimates[name]
    lengths = [estimate.n_temperatures for estimate in found]
    middle = np.array([estimate.log_z for estimate in found])
    # Where three standard errors exceed the estimate there is no lower bound: the bar reaches as far down as up, twice.
    above = np.array([estimate.log_z_high for estimate in found]) - middle
    below = np.array([estimate.log_z_low for estimate in found])
    below = np.where(np.isfinite(below), middle - below, 2 * above)
    axes.errorbar(
        lengths, middle, yerr=(below, above), fmt="o", color=BLUE, capsize=5, markersize=6, label="AIS ± 3 s.e."
    )
    if name == "small":
        axes.axhline(findings.exact, color=ORANGE, linewidth=1.8, label=f"exact: {findings.exact:.2f}", zorder=0)
    hidden = (findings.small if name == "small" else findings.large).components_.shape[0]
    axes.set_xscale("log")
    axes.set_xlabel("temperatures")
    axes.set_ylabel("log Z")
    axes.set_title(f"log Z, {hidden} hidden")
    axes.legend(loc="best")


def _write(figure: Figure, path: pathlib.Path) -> None:
    with replacing(path) as part:
        figure.savefig(part, format="png", metadata={"Software": "nbm_xp"})
