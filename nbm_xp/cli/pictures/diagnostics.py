"""A picture of the training diagnostics of a machine.

Its panels show the log-likelihood with error bars; the mixing between modes (acceptance along the ladder, or the share
of one side of the data); the effective sample size and R-hat; the data and samples of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from nbm_xp.files import Place
from nbm_xp.machines import Array

from ..inputs import side
from ..output import signed
from ..results import Found
from . import panels
from .panels import BLUE, GREY, ORANGE, SUBTLE, along_epochs, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GREEN = "#3b8f6b"
_BAR = 3  # standard errors
_WANTED, _MIXED = 0.25, 1.2  # acceptance of exchanges; R-hat of chains that are independent of their first states


def draw_diagnostics(lines: Sequence[Found], data: Array | None, samples: Array, about: str, path: Place) -> None:
    """Draw the diagnostics of a training.

    Parameters
    ----------
    lines : sequence of mapping
        Fields of `nbm_xp.boltzmann.Diagnostics` by name, in increasing order of epochs; None for non-finite values.
    data, samples : array of shape (rows, sites), or None
        Training rows, if available, and states of the machine.
    about : str
        Title of the panel of samples.
    path : path-like
        The .png file to write.
    """
    sheets = [(name, rows) for name, rows in (("The data", data), (about, samples)) if rows is not None]
    with drawn(path, 13 + 5.2 * bool(sheets), 10.4) as figure:
        grid = figure.add_gridspec(2, 2 + bool(sheets), width_ratios=(1.25, 1.25, 1)[: 2 + bool(sheets)])
        likelihood, moving, effective, forgotten = (figure.add_subplot(grid[at // 2, at % 2]) for at in range(4))
        _likelihood(likelihood, lines)
        if any(line.get("acceptance") for line in lines):
            _acceptance(moving, lines)
        else:
            _shares(moving, lines)
        _effective(effective, lines)
        _mixing(forgotten, lines)
        for at, (name, rows) in enumerate(sheets):
            place = grid[:, 2] if len(sheets) == 1 else grid[at, 2]
            panels.images(figure.add_subplot(place), rows, side(rows.shape[1]), name)


def _line(axes: Axes, lines: Sequence[Found], name: str, **style: Any) -> bool:
    """Plot a field of the diagnostics over epochs, where it is known; return whether it is known anywhere."""
    known = [(line["epoch"], line[name]) for line in lines if line.get(name) is not None]
    if known:
        axes.plot(*zip(*known, strict=True), **panels.markers(len(known)), **style)
    return bool(known)


def _likelihood(axes: Axes, lines: Sequence[Found]) -> None:
    """Plot the mean log-likelihoods of training and held-out rows, and the pseudo-likelihood."""
    known = [line for line in lines if line.get("log_likelihood") is not None]
    if known:
        epochs, middle = [line["epoch"] for line in known], [line["log_likelihood"] for line in known]
        # An unknown error, of too uneven weights, has no bar.
        bars = [_BAR * (line.get("standard_error") or 0.0) for line in known]
        label = f"training rows, ± {_BAR} standard errors: {signed(middle[-1])} at the end"
        style = panels.markers(len(known))
        axes.errorbar(epochs, middle, yerr=bars, fmt="-", color=BLUE, capsize=3, elinewidth=1.4, label=label, **style)
        _line(axes, lines, "held_out", color=ORANGE, label="held-out rows")
        _line(axes, lines, "pseudo_likelihood", color=GREY, linestyle=(0, (4, 3)), label="pseudo-likelihood")
    along_epochs(
        axes, [line["epoch"] for line in lines], "Log-likelihood", "mean log-likelihood (nats a row)", "lower right"
    )


def _acceptance(axes: Axes, lines: Sequence[Found]) -> None:
    """Plot the acceptance of exchanges between neighbours on the ladder, at the middle and the end of training."""
    laddered = [line for line in lines if line.get("acceptance")]
    middle, last = laddered[(len(laddered) - 1) // 2], laddered[-1]
    for line, colour in ([(middle, GREY)] if middle is not last else []) + [(last, BLUE)]:
        shares = line["acceptance"]
        label = f"after epoch {line['epoch']:,}: {len(shares) + 1:,} machines"
        pairs = range(1, len(shares) + 1)
        axes.plot(pairs, shares, "-", color=colour, label=label, **panels.markers(len(shares)))
    axes.axhline(_WANTED, color=ORANGE, linestyle=(0, (4, 3)), linewidth=1.4, label="a new rung below", zorder=0)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panels.whole_numbers(axes)
    axes.set(
        xlabel="pair of neighbours, from the machine without weights up",
        ylabel="exchanges accepted (% of those tried)",
        title="Acceptance along the ladder",
    )
    axes.legend(loc="best")


def _shares(axes: Axes, lines: Sequence[Found]) -> None:
    """Plot the shares of the machine's probability, of its chains and of the data on one side of the data."""
    _line(axes, lines, "data_share", color=ORANGE, linestyle=(0, (4, 3)), label="of the data")
    _line(axes, lines, "chain_share", color=GREY, label="of the chains that it learns from")
    _line(axes, lines, "share", color=BLUE, label="of the machine's probability")
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    along_epochs(axes, [line["epoch"] for line in lines], "Shares of one side of the data", "share on that side (%)")


def _effective(axes: Axes, lines: Sequence[Found]) -> None:
    """Plot the effective sample size of the estimate of log Z, in independent chains."""
    _line(axes, lines, "effective", color=BLUE)
    axes.set_ylim(0, 1.1 * max((line["effective"] for line in lines if line.get("effective")), default=1.0))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    along_epochs(
        axes, [line["epoch"] for line in lines], "What log Z rests on", "effective sample size (independent chains)"
    )


def _mixing(axes: Axes, lines: Sequence[Found]) -> None:
    """Plot R-hat of the chains, near 1 if they are independent of their first states."""
    shown = _line(axes, lines, "r_hat", color=_GREEN)
    axes.axhline(_MIXED, color=ORANGE, linestyle=(0, (4, 3)), linewidth=1.4, label="mixed below", zorder=0)
    values = [line["r_hat"] for line in lines if line.get("r_hat") is not None]
    if max(values, default=1.0) > 10 * _MIXED:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0.95, max(1.3, 1.05 * max(values, default=1.0)))
    if not shown:
        axes.annotate("not known of these epochs", (0.5, 0.5), xycoords="axes fraction", ha="center", color=SUBTLE)
    along_epochs(axes, [line["epoch"] for line in lines], "Whether chains mix", "R-hat (1: they tell the same)")
