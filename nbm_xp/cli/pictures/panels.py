"""Panels that pictures are made of: images, filters, learning curves, estimates of log Z, traces of chains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ..answering import signed
from .look import BLUE, GREY, ORANGE, SUBTLE, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence", "filters", "images", "learning_curve", "level", "strongest", "traces"]

_PALETTE = (BLUE, ORANGE, "#3b8f6b", "#8a5aa8", "#b7862a", "#5b7fb8", "#c24d6a", "#6b7280")


def images(axes: Axes, rows: Any, side: int | None, title: str, *, columns: int = 10, gap: int = 2) -> None:
    """Rows of units as a sheet of square images, or, where they make none, as the rows that they are."""
    page = rows if side is None else sheet(rows, side, columns, gap=gap, fill=0.0)
    shape: Any = "auto" if side is None else "equal"
    axes.imshow(page, cmap="Greys", vmin=0, vmax=1, interpolation="nearest", aspect=shape)
    _titled(axes, title, side)
    if side is None:
        axes.set_xlabel("unit")
        axes.set_ylabel("row")


def strongest(weights: Any, count: int = 100) -> Any:
    """The weights of the hidden units that matter most, each scaled to its largest; a row each."""
    chosen = weights[np.argsort(-(weights**2).sum(axis=1), kind="stable")[:count]]
    largest = np.abs(chosen).max(axis=1, keepdims=True)
    return chosen / np.where(largest > 0, largest, 1.0)


def filters(axes: Axes, weights: Any, side: int | None, *, columns: int = 10) -> None:
    """The weights of the hidden units that matter most; blue adds ink, orange takes it away."""
    shown = strongest(weights)
    colours = LinearSegmentedColormap.from_list("filters", [ORANGE, "#ffffff", BLUE]).with_extremes(bad="white")
    page = shown if side is None else sheet(shown, side, columns, gap=1)
    shape: Any = "auto" if side is None else "equal"
    axes.imshow(page, cmap=colours, vmin=-1, vmax=1, interpolation="nearest", aspect=shape)
    _titled(axes, f"{len(shown)} filters (blue: ink, orange: none)", side)
    if side is None:
        axes.set_xlabel("visible unit")
        axes.set_ylabel("hidden unit, the strongest first")


def _titled(axes: Axes, title: str, side: int | None) -> None:
    axes.set_title(title)
    axes.grid(False)
    if side is not None:
        axes.set_anchor("W")
        axes.set_axis_off()


def learning_curve(
    axes: Axes, passes: Sequence[int], series: Mapping[str, Sequence[float]], value: str, title: str = "Learning curve"
) -> None:
    """What a model in training reached, pass by pass; each series' last value stands in the legend."""
    for colour, (name, values) in zip(_PALETTE, series.items(), strict=False):
        label = f"{name}, at the end {signed(values[-1])}"
        axes.plot(passes, values, "o-", color=colour, markersize=5, label=label, clip_on=False)
    axes.legend(loc="best")
    if passes[-1] > passes[0]:
        axes.set_xscale("log")
        axes.set_xlim(max(passes[0], 1) * 0.9, passes[-1] * 1.12)
    _whole_numbers(axes)
    axes.set_xlabel("passes over the training rows")
    axes.set_ylabel(value)
    axes.set_title(title)


def level(axes: Axes, value: float, name: str, at: float) -> None:
    """A value to compare with, as a broken line with its name."""
    axes.axhline(value, color=GREY, linestyle=(0, (4, 3)), linewidth=1.8)
    text = f"{name} {signed(value)}"
    axes.annotate(text, (at, value), (0, -16), textcoords="offset points", ha="right", color="#666b74")


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
    _whole_numbers(axes)
    axes.set_xlabel("temperatures in the annealing")
    axes.set_ylabel("log Z")
    axes.set_title(title)
    axes.legend(loc="best")


def _number(value: float | None, missing: float) -> float:
    """A number as JSON gives it back, where those that are not finite are null."""
    return missing if value is None else float(value)


def traces(axes: Axes, draws: Any, values: Any, name: str) -> None:
    """A quantity of each chain along its draws, and its mean over the chains."""
    for colour, chain in zip(_PALETTE, values, strict=False):
        axes.plot(draws, chain, color=colour, linewidth=0.9, alpha=0.75)
    axes.plot(draws, values.mean(axis=0), color=SUBTLE, linewidth=2.2, label=f"mean of {len(values):,} chains")
    axes.set_ylabel(name)
    axes.margins(x=0.01)
    axes.legend(loc="upper right")


def _whole_numbers(axes: Axes) -> None:
    axes.xaxis.set_major_formatter("{x:,.0f}")
