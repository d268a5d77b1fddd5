"""The pictures that the command draws: each a function that writes one file."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from nbm_xp.boltzmann.sequences import connected_correlations, site_pairs
from nbm_xp.graphs import onsager

from ..errors import InputError
from ..inputs import side
from ..results import SCORES
from . import panels
from .panels import BLUE, GREY, INK, ORANGE, SUBTLE, drawn, sheet, write

__all__ = [
    "draw_contacts", "draw_convergence", "draw_curve", "draw_filters", "draw_frequencies", "draw_samples", "draw_spins",
    "draw_states", "draw_traces", "draw_transition", "draw_weights", "has_spins", "is_lattice",
]  # fmt: skip

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


def draw_curve(lines: Sequence[Mapping[str, Any]], path: pathlib.Path) -> None:
    """A learning curve: what training tells of its rows, and the log-likelihood of held-out rows if it was followed."""
    held_out = [line for line in lines if line.get("log_likelihood") is not None]
    measure, words = next((name, words) for name, words in SCORES.items() if name in lines[0])
    kinds = [(measure, words, "Learning curve: training rows", lines)]
    if held_out:
        how = "the ladder" if measure == "train_log_likelihood" else "AIS"
        kinds.append(("log_likelihood", f"log-likelihood by {how}", "Learning curve: held-out rows", held_out))
    with drawn(path, 7.6 * len(kinds), 5.4) as figure:
        for axes, (key, name, title, shown) in zip(
            figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True
        ):
            epochs = [line["epoch"] for line in shown]
            values = [math.nan if line[key] is None else line[key] for line in shown]  # not finite, in JSON
            panels.learning_curve(axes, epochs, {name: values}, f"mean {name} (nats a row)", title)


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


_LATTICE, _SPINS = "lattice.json", "spins.npy"
_POINTS = 300
_DOWN = "#e8eaee"
_ARRAYS = ("temperature", "energy", "energy_error", "specific_heat", "specific_heat_error", "magnetisation", "binder")


def is_lattice(path: pathlib.Path) -> bool:
    """Whether a folder holds what the command lattice wrote."""
    return (path / _LATTICE).is_file()


def has_spins(path: pathlib.Path) -> bool:
    """Whether there are spins beside it, of a lattice that can be seen."""
    return (path / _SPINS).is_file() and len(_read(path)[0]["size"]) == 2


def _read(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the command wrote, and what it measured by name."""
    file = path / _LATTICE
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        found = {name: np.asarray([float(at[name]) for at in document["measured"]]) for name in _ARRAYS}
        document |= {"size": tuple(map(int, document["size"])), "coupling": float(document["coupling"])}
        document["exact"] = document["measured"][0]["exact_energy"] is not None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{file}: not what nbm-xp lattice writes") from error
    return document, found


def draw_spins(path: pathlib.Path, out: pathlib.Path) -> None:
    """Draw the last spins at the lowest temperature, where the specific heat is largest, and at the highest."""
    document, found = _read(path)
    t, file = found["temperature"], path / _SPINS
    try:
        spins = np.load(file)
    except (ValueError, OSError) as error:
        raise InputError(f"{file}: not what nbm-xp lattice writes") from error
    if spins.shape != (t.size, *document["size"]):
        raise InputError(f"{file}: not the spins of {path / _LATTICE}")
    middle = int(np.argmax(found["specific_heat"]))
    shown = list(dict.fromkeys((int(np.argmin(t)), middle, int(np.argmax(t)))))
    with drawn(out, 4.5 * len(shown), 4.6) as figure:
        rooms = np.atleast_1d(figure.subplots(1, len(shown)))
        for axes, k in zip(rooms, shown, strict=True):
            axes.imshow(spins[k], cmap=ListedColormap([_DOWN, BLUE]), vmin=-1, vmax=1, interpolation="nearest")
            axes.set_title(f"temperature {t[k]:.4g}")
            axes.set_xticks([])
            axes.set_yticks([])


def draw_transition(path: pathlib.Path, out: pathlib.Path) -> None:
    """Draw what was measured."""
    document, found = _read(path)
    size, coupling, exact, t = document["size"], document["coupling"], document["exact"], found["temperature"]
    with drawn(out, 13.5, 4.6) as figure:
        energy, heat, order = figure.subplots(1, 3)
        points: Any = {"fmt": "o", "color": BLUE, "markersize": 5, "zorder": 3, "label": "measured"}
        energy.errorbar(t, found["energy"], found["energy_error"], **points)
        heat.errorbar(t, found["specific_heat"], found["specific_heat_error"], **points)
        if exact:
            line = np.linspace(t.min(), t.max(), _POINTS)
            curves = [onsager(size, 1 / x, coupling) for x in line.tolist()]
            energy.plot(line, [at.energy for at in curves], color=ORANGE, label="Onsager and Kaufman")
            heat.plot(line, [at.specific_heat for at in curves], color=ORANGE, label="Onsager and Kaufman")
            for axes in (energy, heat, order):
                axes.axvline(2 * coupling / np.log(1 + np.sqrt(2)), color=GREY, linestyle=(0, (4, 3)), linewidth=1.4)
        order.plot(t, found["magnetisation"], "o-", color=BLUE, markersize=5, label="size of the magnetisation")
        order.plot(t, found["binder"], "s-", color=INK, markersize=4, linewidth=1.4, label="Binder's cumulant")
        names = ("Energy a spin", "Specific heat a spin", " × ".join(map(str, size)) + " spins")
        for axes, name in zip((energy, heat, order), names, strict=True):
            axes.set_title(name)
            axes.set_xlabel("temperature")
            axes.legend(loc="best", fontsize=10)
