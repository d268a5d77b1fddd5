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
from matplotlib.colors import LinearSegmentedColormap
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
        figure = Figure(figsize=(16, 10.4), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            2, 3, height_ratios=(1.32, 1), left=0.055, right=0.985, top=0.865, bottom=0.068, hspace=0.19, wspace=0.2
        )
        figure.text(0.055, 0.952, "A restricted Boltzmann machine learns handwritten digits", size=21, weight="bold")
        figure.text(0.055, 0.918, _subtitle(findings), size=13.5, color="#4a4f59")
        panels = [[figure.add_subplot(grid[row, column]) for column in range(3)] for row in range(2)]
        _images(panels[0][0], findings.test[:100], f"{min(len(findings.test), 100)} of the test scans")
        _images(panels[0][1], findings.fantasies[:100], f"{min(len(findings.fantasies), 100)} fantasies of the model")
        _filters(panels[0][2], findings)
        _learning_curve(panels[1][0], findings)
        _convergence(panels[1][1], findings, "small")
        _convergence(panels[1][2], findings, "large")
        _write(figure, path)


def _subtitle(findings: Findings) -> str:
    passes, _, test = findings.curve[-1]
    hidden = findings.large.components_.shape[0]
    return (
        f"{hidden} hidden units, {passes} passes over {len(findings.train):,} scans of 8 × 8 pixels. "
        f"Mean log-likelihood of {len(findings.test)} test scans: {_signed(test)} nats; "
        f"independent pixels: {_signed(findings.baseline[1])}."
    )


def _signed(value: float) -> str:
    """A number with one decimal and a minus sign as wide as it should be."""
    return f"{value:.1f}".replace("-", "−")


def _images(axes: Axes, images: Any, title: str) -> None:
    axes.imshow(sheet(images, 8, 10, gap=2, fill=0.0), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title)
    axes.set_anchor("W")
    axes.set_axis_off()


def _filters(axes: Axes, findings: Findings) -> None:
    """The weights of the hidden units that matter most; blue adds ink, orange takes it away."""
    weights = findings.large.components_
    strongest = np.argsort(-(weights**2).sum(axis=1), kind="stable")[:100]
    shown = weights[strongest] / np.abs(weights[strongest]).max(axis=1, keepdims=True)
    colours = LinearSegmentedColormap.from_list("filters", [ORANGE, "#ffffff", BLUE]).with_extremes(bad="white")
    axes.imshow(sheet(shown, 8, 10, gap=1), cmap=colours, vmin=-1, vmax=1, interpolation="nearest")
    axes.set_title(f"{len(shown)} filters (blue: ink, orange: none)")
    axes.set_anchor("W")
    axes.set_axis_off()


def _learning_curve(axes: Axes, findings: Findings) -> None:
    passes, train, test = (np.array(column) for column in zip(*findings.curve, strict=True))
    level = findings.baseline[1]
    axes.axhline(level, color=GREY, linestyle=(0, (4, 3)), linewidth=1.8)
    axes.annotate(
        f"independent pixels {_signed(level)}",
        (passes[-1], level),
        (0, -16),
        textcoords="offset points",
        ha="right",
        color="#666b74",
    )
    for name, values, colour in (("train", train, BLUE), ("test", test, ORANGE)):
        label = f"{name}, at the end {_signed(values[-1])}"
        axes.plot(passes, values, "o-", color=colour, markersize=5, label=label, clip_on=False)
    axes.legend(loc="upper left")
    axes.set_xscale("log")
    axes.set_xlim(0.9, passes[-1] * 1.12)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("passes over the training scans")
    axes.set_ylabel("mean log-likelihood (nats)")
    axes.set_title("Learning curve")


def _convergence(axes: Axes, findings: Findings, name: str) -> None:
    model = findings.small if name == "small" else findings.large
    found = findings.estimates[name]
    lengths = [estimate.n_temperatures for estimate in found]
    middle = np.array([estimate.log_z for estimate in found])
    above = np.array([estimate.log_z_high for estimate in found]) - middle
    # Where three standard errors exceed the estimate there is no lower bound: the bar goes down twice as far as up.
    below = np.array([estimate.log_z_low for estimate in found])
    below = np.where(np.isfinite(below), middle - below, 2 * above)
    label = "AIS, ± 3 standard errors"
    axes.errorbar(lengths, middle, yerr=(below, above), fmt="o", color=BLUE, capsize=5, markersize=6, label=label)
    if name == "small":
        axes.axhline(findings.exact, color=ORANGE, linewidth=1.8, label=f"exact: {findings.exact:.2f}", zorder=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("temperatures in the annealing")
    axes.set_ylabel("log Z")
    axes.set_title(f"Partition function, {model.components_.shape[0]} hidden units")
    axes.legend(loc="best")


def _write(figure: Figure, path: pathlib.Path) -> None:
    with replacing(path) as part:
        figure.savefig(part, format="png", metadata={"Software": "nbm_xp"})
