"""What pictures are made of: one style for all, figures that are written whole or not at all, and panels.

Ink is dark on white; blue is the model, orange the test or what is compared, grey what is given.
"""

from __future__ import annotations

import contextlib
import math
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator

from nbm_xp.boltzmann import AISEstimate
from nbm_xp.boltzmann.sequences import pearson
from nbm_xp.files import replacing
from nbm_xp.machines import Array

from ..output import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE", "FEW", "GREY", "INK", "ORANGE", "STYLE", "SUBTLE", "agreement", "along_epochs", "contacts", "convergence",
    "draw_states", "drawn", "filters", "images", "learning_curve", "sheet", "strongest", "traces", "weights",
    "whole_numbers", "write",
]  # fmt: skip

BLUE, ORANGE, GREY, INK, SUBTLE = "#1f5f99", "#d9622b", "#8a8f98", "#20242c", "#4a4f59"
STYLE: Any = {
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
    "xtick.color": SUBTLE,
    "ytick.color": SUBTLE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8eaee",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "svg.hashsalt": "nbm_xp",
}


def sheet(images: Array, side: int, columns: int, gap: int = 1, fill: float = float("nan")) -> Array:
    """Rows of pixels as one picture: square images beside and below one another, with a gap between."""
    count = len(images)
    rows = math.ceil(count / columns)
    step = side + gap
    page = np.full((rows * step - gap, columns * step - gap), fill)
    for place, image in enumerate(images):
        top, left = divmod(place, columns)
        page[top * step : top * step + side, left * step : left * step + side] = image.reshape(side, side)
    return page


@contextlib.contextmanager
def drawn(path: pathlib.Path, width: float, height: float, *, arranged: bool = True) -> Iterator[Figure]:
    """A figure to draw on, of so many inches at 100 dots each, which is written when the body ends.

    Its panels are `arranged` with margins that fit their labels, unless the body places them itself.
    """
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12) if arranged else None
        figure = Figure(figsize=(width, height), dpi=100, facecolor="white", layout=layout)
        yield figure
        write(figure, path)


def write(figure: Figure, path: pathlib.Path) -> None:
    """Write a figure to a .png file."""
    with replacing(path) as part:
        figure.savefig(part, format="png", metadata={"Software": "nbm_xp"})


def draw_states(states: Array, pixels: int, path: pathlib.Path) -> None:
    """Write states of visible units, or their probabilities, as a sheet of square images and nothing else."""
    page = sheet(states, pixels, math.ceil(math.sqrt(len(states))))
    scale = max(1, 1200 // page.shape[1]) / 100
    figure = Figure(figsize=(page.shape[1] * scale, page.shape[0] * scale), dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(page, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    axes.set_axis_off()
    write(figure, path)


_PALETTE = (BLUE, ORANGE, "#3b8f6b", "#8a5aa8", "#b7862a", "#5b7fb8", "#c24d6a", "#6b7280")
FEW = 25
"""So many points of a curve are marked, each on its own."""

_ROWS = 40  # of chains of a binary unit, each a row


def images(axes: Axes, rows: Array, side: int | None, title: str, *, columns: int = 10, gap: int = 2) -> None:
    """Rows of units as a sheet of square images, or, where they make none, as the rows that they are."""
    page = rows if side is None else sheet(rows, side, columns, gap=gap, fill=0.0)
    shape: Any = "auto" if side is None else "equal"
    low, high = min(0.0, float(rows.min())), max(1.0, float(rows.max()))
    axes.imshow(page, cmap="Greys", vmin=low, vmax=high, interpolation="nearest", aspect=shape)
    _titled(axes, title, side)
    if side is None:
        axes.set(xlabel="unit", ylabel="row")


def strongest(weights: Array, count: int = 100) -> Array:
    """The weights of the hidden units that matter most, each scaled to its largest; a row each."""
    chosen = weights[np.argsort(-(weights**2).sum(axis=1), kind="stable")[:count]]
    largest = np.abs(chosen).max(axis=1, keepdims=True)
    return chosen / np.where(largest > 0, largest, 1.0)


def filters(
    axes: Axes,
    weights: Array,
    side: int | None,
    *,
    columns: int = 10,
    words: str = "blue: positive, orange: negative",
) -> None:
    """The weights of the hidden units that matter most; blue makes a visible unit more probable, orange less."""
    shown = strongest(weights)
    colours = LinearSegmentedColormap.from_list("filters", [ORANGE, "#ffffff", BLUE]).with_extremes(bad="white")
    page = shown if side is None else sheet(shown, side, columns, gap=1)
    shape: Any = "auto" if side is None else "equal"
    axes.imshow(page, cmap=colours, vmin=-1, vmax=1, interpolation="nearest", aspect=shape)
    _titled(axes, f"{len(shown)} filters ({words})", side)
    if side is None:
        axes.set(xlabel="visible unit", ylabel="hidden unit, the strongest first")


def _titled(axes: Axes, title: str, side: int | None) -> None:
    axes.set_title(title)
    axes.grid(False)
    if side is not None:
        axes.set_anchor("W")
        axes.set_axis_off()


def learning_curve(
    axes: Axes, epochs: Sequence[int], series: Mapping[str, Sequence[float]], value: str, title: str = "Learning curve"
) -> None:
    """What a model in training reached, epoch by epoch; each series' last value stands in the legend."""
    for colour, (name, values) in zip(_PALETTE, series.items(), strict=False):
        label = f"{name}, at the end {signed(values[-1])}"
        marker = "o" if len(epochs) <= FEW else ""  # many of them would hide the line
        axes.plot(epochs, values, "-", marker=marker, color=colour, markersize=5, label=label, clip_on=False)
    along_epochs(axes, epochs, title, value, "upper left")  # most curves rise


def along_epochs(axes: Axes, epochs: Sequence[int], title: str, value: str, legend: Any = "best") -> None:
    """Label a panel whose horizontal axis counts epochs: logarithmic where they span a decade."""
    if epochs[-1] >= 10 * max(epochs[0], 1):
        axes.set_xscale("log")
        axes.set_xlim(max(epochs[0], 1) * 0.9, epochs[-1] * 1.12)
    whole_numbers(axes)
    axes.set(xlabel="epochs", ylabel=value, title=title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=legend)


def agreement(axes: Axes, data: Array, model: Array, title: str) -> None:
    """Numbers of the data and of a model's states against one another: how many there are, by the shade of grey."""
    data, model = np.ravel(data), np.ravel(model)
    low, high = min(data.min(), model.min()), max(data.max(), model.max())
    axes.plot([low, high], [low, high], color=GREY, linewidth=1.2, zorder=1)
    shades = LinearSegmentedColormap.from_list("shades", ["#c9dbec", BLUE, INK])
    low, high = (edge + 0.02 * (high - low) * side for edge, side in ((low, -1), (high, 1)))
    shape: Any = {"gridsize": (70, 40), "extent": (low, high, low, high)}
    found = axes.hexbin(data, model, **shape, bins="log", mincnt=1, cmap=shades, linewidths=0, zorder=2)
    axes.figure.colorbar(found, ax=axes, label="pairs of states", fraction=0.04)
    axes.set_title(f"{title}: Pearson {signed(pearson(data, model), 3)}")


def contacts(axes: Axes, scores: Array) -> None:
    """Scores of pairs of sites above the diagonal; below it those that are the highest, as many as there are sites."""
    sites = len(scores)
    above = np.where(
        np.triu(np.ones((sites, sites), bool), 4), scores, np.nan
    )  # neighbours along the chain are coupled
    order = np.argsort(np.where(np.isnan(above), -np.inf, above), axis=None)[::-1]
    first, second = np.divmod(order[: min(sites, int(np.isfinite(above).sum()))], sites)
    shades = LinearSegmentedColormap.from_list("shades", ["white", BLUE, INK])
    found = axes.imshow(above, cmap=shades, vmin=0.0, interpolation="nearest", origin="upper")
    axes.plot(first, second, "s", color=ORANGE, markersize=3)
    axes.figure.colorbar(found, ax=axes, label="score", fraction=0.04)
    axes.set(
        title=f"Coupled sites: Frobenius norm, APC; below, the {len(first)} strongest", xlabel="site", ylabel="site"
    )
    axes.grid(visible=False)


def convergence(axes: Axes, found: Sequence[Mapping[str, float]], title: str, exact: float | None = None) -> None:
    """Estimates of log Z, with their bounds, over how many temperatures the annealing went through."""
    lengths = [estimate["n_temperatures"] for estimate in found]
    middle = np.array([estimate["log_z"] for estimate in found], float)
    above = np.array([_number(estimate["log_z_high"], math.inf) for estimate in found]) - middle
    # Where three standard errors exceed the estimate there is no lower bound: the bar goes down twice as far as up.
    below = np.array([_number(estimate["log_z_low"], -math.inf) for estimate in found])
    below = np.where(np.isfinite(below), middle - below, 2 * above)
    label = "AIS, ± 3 standard errors"
    axes.errorbar(lengths, middle, yerr=(below, above), fmt="o", color=BLUE, capsize=5, markersize=6, label=label)
    if exact is not None:
        axes.axhline(exact, color=ORANGE, linewidth=1.8, label=f"exact: {exact:.2f}", zorder=0)
    if len(set(lengths)) > 1:
        axes.set_xscale("log")
    whole_numbers(axes)
    axes.set(xlabel="temperatures in the annealing", ylabel="log Z", title=title)
    axes.legend(loc="best")


def _number(value: float | None, missing: float) -> float:
    """A number as JSON gives it back, where those that are not finite are null."""
    return missing if value is None else float(value)


def weights(axes: Axes, estimate: AISEstimate, exact: float | None = None) -> None:
    """The weights of the chains, each as the log Z that it alone would give."""
    shift = estimate.log_z - np.log(np.mean(np.exp(estimate.log_weights - estimate.log_weights.max())))
    alone = estimate.log_weights - estimate.log_weights.max() + shift
    axes.hist(alone, bins=max(8, min(40, len(alone) // 8)), color=BLUE, alpha=0.85)
    bounds = f"{estimate.log_z_low:.2f} to {estimate.log_z_high:.2f}"
    axes.axvline(estimate.log_z, color=ORANGE, linewidth=1.8, label=f"log Z: {estimate.log_z:.2f} ({bounds})")
    if exact is not None:
        axes.axvline(exact, color=INK, linewidth=1.4, linestyle=(0, (4, 3)), label=f"exact: {exact:.2f}")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    effective = f"effective sample size {estimate.effective_runs:.0f} of {len(alone):,} chains"
    axes.set(xlabel="log Z by one chain alone", ylabel="chains", title=f"Partition function, {effective}")
    axes.legend(loc="best")


def traces(axes: Axes, draws: Array, values: Array, name: str) -> None:
    """A quantity of some chains along their draws, and its mean over all; of a unit of 0 and 1, each chain as a row."""
    if np.isin(values, (0, 1)).all():
        shown = values[:_ROWS]
        edges = (draws[0], draws[-1], len(shown), 0)
        axes.imshow(shown, cmap="Greys", vmin=0, vmax=1.25, aspect="auto", interpolation="nearest", extent=edges)
        axes.grid(False)
        axes.set_ylabel(f"{name}\n{len(shown)} chains")
        axes.set_yticks([])
        return
    for colour, chain in zip(_PALETTE, values, strict=False):
        axes.plot(draws, chain, color=colour, linewidth=0.8, alpha=0.55)
    axes.plot(draws, values.mean(axis=0), color=INK, linewidth=2.4)
    axes.set_ylabel(f"{name}\n{min(len(values), len(_PALETTE))} chains; black: mean")
    axes.margins(x=0)


def whole_numbers(axes: Axes) -> None:
    """Name whole numbers alone along the horizontal axis."""
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
