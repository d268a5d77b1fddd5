"""The style, figures and panels of all pictures; figures are written completely or not at all.

Blue is for the model, orange for test data and comparisons, grey for given values.
"""

from __future__ import annotations

import contextlib
import math
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
from nbm_xp.files import Place, replacing
from nbm_xp.machines import Array

from ..output import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    """Arrange rows of pixels as square images on one sheet, with gaps between them."""
    count = len(images)
    rows = math.ceil(count / columns)
    step = side + gap
    page = np.full((rows * step - gap, columns * step - gap), fill)
    for place, image in enumerate(images):
        top, left = divmod(place, columns)
        page[top * step : top * step + side, left * step : left * step + side] = image.reshape(side, side)
    return page


@contextlib.contextmanager
def drawn(path: Place, width: float, height: float, *, arranged: bool = True) -> Iterator[Figure]:
    """Context manager of a figure, with a size in inches at 100 dpi, which is written at the end of the body.

    `arranged` panels get margins that fit their labels; otherwise the body places the panels.
    """
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12) if arranged else None
        figure = Figure(figsize=(width, height), dpi=100, facecolor="white", layout=layout)
        yield figure
        with replacing(path) as part:
            figure.savefig(part, format="png", metadata={"Software": "nbm_xp"})


def draw_states(states: Array, pixels: int, path: Place) -> None:
    """Write states of visible units, or their probabilities, as a sheet of square images without title or axes."""
    page = sheet(states, pixels, math.ceil(math.sqrt(len(states))))
    scale = max(1, 1200 // page.shape[1]) / 100
    with drawn(path, page.shape[1] * scale, page.shape[0] * scale, arranged=False) as figure:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.imshow(page, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        axes.set_axis_off()


_PALETTE = (BLUE, ORANGE, "#3b8f6b", "#8a5aa8", "#b7862a", "#5b7fb8", "#c24d6a", "#6b7280")
_FEW = 25  # largest number of points of a curve that get markers

_COLUMNS = 10  # of images side by side
_ROWS = 40  # number of chains of a binary unit, one per row


def images(axes: Axes, rows: Array, side: int | None, title: str) -> None:
    """Draw rows of units as a sheet of square images, or as a matrix if `side` is None."""
    page = rows if side is None else sheet(rows, side, _COLUMNS, gap=2, fill=0.0)
    low, high = min(0.0, float(rows.min())), max(1.0, float(rows.max()))
    _show(axes, page, side is None, title, ("unit", "row"), cmap="Greys", vmin=low, vmax=high)


def filters(axes: Axes, weights: Array, side: int | None, words: str = "blue: positive, orange: negative") -> None:
    """Draw the weights of the 100 hidden units with the largest norms, each divided by its largest absolute value."""
    chosen = weights[np.argsort(-(weights**2).sum(axis=1), kind="stable")[:100]]
    largest = np.abs(chosen).max(axis=1, keepdims=True)
    shown = chosen / np.where(largest > 0, largest, 1.0)
    colours = LinearSegmentedColormap.from_list("filters", [ORANGE, "#ffffff", BLUE]).with_extremes(bad="white")
    page = shown if side is None else sheet(shown, side, _COLUMNS)
    labels = "visible unit", "hidden unit, the strongest first"
    _show(axes, page, side is None, f"{len(shown)} filters ({words})", labels, cmap=colours, vmin=-1, vmax=1)


def _show(axes: Axes, page: Array, is_matrix: bool, title: str, labels: tuple[str, str], **colours: Any) -> None:
    """Draw a sheet of images without axes, or a matrix with labelled axes."""
    axes.imshow(page, interpolation="nearest", aspect="auto" if is_matrix else "equal", **colours)
    axes.set_title(title)
    axes.grid(False)
    if is_matrix:
        axes.set(xlabel=labels[0], ylabel=labels[1])
    else:
        axes.set_anchor("W")
        axes.set_axis_off()


def markers(count: int) -> dict[str, Any]:
    """Return the style of a curve through some points; many markers would hide the line."""
    return {"marker": "o" if count <= _FEW else "", "markersize": 5}


def learning_curve(axes: Axes, epochs: Sequence[int], series: Mapping[str, Sequence[float]], value: str) -> None:
    """Draw series of values over epochs, with the last value of each in the legend."""
    for colour, (name, values) in zip(_PALETTE, series.items(), strict=False):
        label = f"{name}, at the end {signed(values[-1])}"
        axes.plot(epochs, values, "-", color=colour, label=label, clip_on=False, **markers(len(epochs)))
    along_epochs(axes, epochs, "Learning curve", value, "upper left")  # most curves rise


def along_epochs(axes: Axes, epochs: Sequence[int], title: str, value: str, legend: Any = "best") -> None:
    """Label a panel whose horizontal axis counts epochs; it is logarithmic if they span a decade."""
    if epochs[-1] >= 10 * max(epochs[0], 1):
        axes.set_xscale("log")
        axes.set_xlim(max(epochs[0], 1) * 0.9, epochs[-1] * 1.12)
    whole_numbers(axes)
    axes.set(xlabel="epochs", ylabel=value, title=title)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc=legend)


def agreement(axes: Axes, data: Array, model: Array, title: str) -> None:
    """Draw a 2-D histogram of values of the model over values of the data, with their Pearson correlation."""
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
    """Draw scores of pairs of sites above the diagonal, and below it the highest ones, as many as there are sites."""
    sites = len(scores)
    # neighbours along the chain are coupled
    above = np.where(np.triu(np.ones((sites, sites), bool), 4), scores, np.nan)
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
    """Draw estimates of log Z, with their bounds, over the number of temperatures of the annealing."""
    lengths = [estimate["n_temperatures"] for estimate in found]
    middle = np.array([estimate["log_z"] for estimate in found], float)
    above = np.array([_number(estimate["log_z_high"], math.inf) for estimate in found]) - middle
    # If three standard errors exceed the estimate, there is no lower bound: the lower bar is twice the upper one.
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
    """Return a number read from JSON, where non-finite numbers are null."""
    return missing if value is None else float(value)


def weights(axes: Axes, estimate: AISEstimate, exact: float | None = None, reverse: AISEstimate | None = None) -> None:
    """Draw a histogram of the chains' weights, each as the estimate of log Z by this chain alone."""
    shift = estimate.log_z - np.log(np.mean(np.exp(estimate.log_weights - estimate.log_weights.max())))
    alone = estimate.log_weights - estimate.log_weights.max() + shift
    axes.hist(alone, bins=max(8, min(40, len(alone) // 8)), color=BLUE, alpha=0.85)
    bounds = f"{estimate.log_z_low:.2f} to {estimate.log_z_high:.2f}"
    axes.axvline(estimate.log_z, color=ORANGE, linewidth=1.8, label=f"log Z: {estimate.log_z:.2f} ({bounds})")
    if reverse is not None and math.isfinite(reverse.log_z):
        bounds = f"{signed(reverse.log_z_low, 2)} to {signed(reverse.log_z_high, 2)}"
        axes.axvline(reverse.log_z, color=GREY, linewidth=1.8, label=f"in reverse: {reverse.log_z:.2f} ({bounds})")
    if exact is not None:
        axes.axvline(exact, color=INK, linewidth=1.4, linestyle=(0, (4, 3)), label=f"exact: {exact:.2f}")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    effective = f"effective sample size {estimate.effective_runs:.0f} of {len(alone):,} chains"
    axes.set(xlabel="log Z by one chain alone", ylabel="chains", title=f"Partition function, {effective}")
    axes.legend(loc="best")


def traces(axes: Axes, draws: Array, values: Array, name: str) -> None:
    """Draw a quantity of chains over their draws, with its mean; for binary values, each chain as a row of an image."""
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
    """Label integers only along the horizontal axis."""
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
