"""The pictures that the command draws: filters, samples, learning curves, traces of chains, estimates of log Z."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from nbm_xp.boltzmann.sequences import connected_correlations, site_pairs
from nbm_xp.runs.learner import measures

from ..reading import side
from . import panels
from .look import SUBTLE, drawn, sheet, write

__all__ = [
    "draw_contacts",
    "draw_convergence",
    "draw_curve",
    "draw_filters",
    "draw_frequencies",
    "draw_samples",
    "draw_states",
    "draw_traces",
    "draw_weights",
]

_SHOWN = 100


def draw_states(states: Any, pixels: int, path: pathlib.Path) -> None:
    """Write states of visible units, or their probabilities, as a sheet of square images and nothing else."""
    columns = math.ceil(math.sqrt(len(states)))
    page = sheet(states, pixels, columns)
    scale = max(1, 1200 // page.shape[1])
    inches = (page.shape[1] * scale / 100, page.shape[0] * scale / 100)
    figure = Figure(figsize=inches, dpi=100, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(page, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    axes.set_axis_off()
    write(figure, path)


def draw_filters(weights: Any, path: pathlib.Path) -> None:
    """The weights of a model, of shape (hidden units, visible units): the strongest 100 of them."""
    pixels = side(weights.shape[1])
    with drawn(path, *_size(min(len(weights), _SHOWN), pixels)) as figure:
        panels.filters(figure.subplots(), weights, pixels)


def draw_samples(states: Any, title: str, path: pathlib.Path) -> None:
    """The states of 100 chains, or their probabilities."""
    pixels = side(states.shape[1])
    with drawn(path, *_size(min(len(states), _SHOWN), pixels)) as figure:
        panels.images(figure.subplots(), states[:_SHOWN], pixels, title)


def _size(count: int, pixels: int | None) -> tuple[float, float]:
    """Inches for a sheet of so many images ten beside one another, or for a matrix."""
    if pixels is None:
        return (9.0, 6.5)
    return (7.6, 0.75 * math.ceil(count / 10) + 0.6)


def draw_curve(looks: Sequence[Mapping[str, Any]], path: pathlib.Path) -> None:
    """A learning curve: what training tells of its rows, and the log-likelihood of held-out rows if it was followed."""
    weighed = [look for look in looks if look.get("log_likelihood") is not None]
    ((measure, words),) = measures(looks[0]).items()
    kinds = [(measure, words, "Learning curve: training rows", looks)]
    if weighed:
        how = "the ladder" if measure == "train_log_likelihood" else "AIS"
        kinds.append(("log_likelihood", f"log-likelihood by {how}", "Learning curve: held-out rows", weighed))
    with drawn(path, 7.6 * len(kinds), 5.4) as figure:
        for axes, (key, name, title, shown) in zip(
            figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True
        ):
            passes = [look["pass"] for look in shown]
            values = [math.nan if look[key] is None else look[key] for look in shown]  # not finite, in JSON
            panels.learning_curve(axes, passes, {name: values}, f"mean {name} (nats a row)", title)


def draw_convergence(
    found: Sequence[Mapping[str, float]], hidden: int, exact: float | None, path: pathlib.Path
) -> None:
    """Estimates of log Z over the number of temperatures."""
    with drawn(path, 7.6, 5.4) as figure:
        panels.convergence(figure.subplots(), found, f"Partition function, {hidden:,} hidden units", exact)


def draw_weights(estimate: Any, title: str, exact: float | None, path: pathlib.Path) -> None:
    """How an estimate of log Z settles with the number of chains, and how even the weights of the chains are."""
    with drawn(path, 15.2, 5.4) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        panels.settling(left, estimate, title, exact)
        panels.weights(right, estimate)


def draw_frequencies(data: Any, model: Any, title: str, path: pathlib.Path) -> None:
    """How often two sites are in two states: in the data and in a model's sequences; and less what either tells alone.

    Parameters
    ----------
    data, model : array of shape (sites, n_states, sites, n_states)
        Frequencies.
    title : str
        What the model's sequences are.
    path : pathlib.Path
    """
    with drawn(path, 13.2, 6.2) as figure:
        left, right = figure.subplots(1, 2)
        panels.agreement(left, site_pairs(data), site_pairs(model), "Frequencies of two sites")
        given, found = (site_pairs(connected_correlations(pairs)) for pairs in (data, model))
        panels.agreement(right, given, found, "Connected correlations of two sites")
        for axes in (left, right):
            axes.set_xlabel("data")
            axes.set_ylabel(f"model: {title}")


def draw_contacts(scores: Any, path: pathlib.Path) -> None:
    """How strongly sites are coupled, and, marked, the pairs that are coupled most: as many as there are sites."""
    with drawn(path, 7.6, 6.8) as figure:
        panels.contacts(figure.subplots(), scores)


def draw_traces(
    draws: Any, quantities: Mapping[str, Any], notes: Mapping[str, str], about: str, path: pathlib.Path
) -> None:
    """Quantities of each chain along its draws, one below the other.

    Parameters
    ----------
    draws : array of shape (draws,)
        Sweeps at which they were taken.
    quantities : mapping of str to array of shape (chains, draws)
    notes : mapping of str to str
        What to say of each quantity, beside its name.
    about : str
        What the chains are.
    path : pathlib.Path
    """
    with drawn(path, 11, 0.9 + 2.9 * len(quantities)) as figure:
        places = figure.subplots(len(quantities), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, values) in zip(places, quantities.items(), strict=True):
            panels.traces(axes, draws, values, name)
            axes.set_title(notes.get(name, ""), loc="right", fontsize=12, fontweight="normal", color=SUBTLE)
        places[0].set_title(about)
        places[-1].set_xlabel("sweep")
        panels.whole_numbers(places[-1])
