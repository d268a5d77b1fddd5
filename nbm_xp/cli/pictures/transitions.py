"""Pictures of a lattice's transition: energy, specific heat and magnetisation beside Onsager's curves, and spins."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from nbm_xp.graphs import onsager

from ..commands.lattice import LATTICE_FILE, SPINS_FILE
from ..failing import InputError
from .look import BLUE, GREY, INK, ORANGE, drawn

__all__ = ["draw_spins", "draw_transition", "has_spins", "is_lattice"]

_POINTS = 300
_DOWN = "#e8eaee"
_ARRAYS = ("temperature", "energy", "energy_error", "specific_heat", "specific_heat_error", "magnetisation", "binder")


def is_lattice(path: pathlib.Path) -> bool:
    """Whether a folder holds what the command lattice wrote."""
    return (path / LATTICE_FILE).is_file()


def has_spins(path: pathlib.Path) -> bool:
    """Whether there are spins beside it, of a lattice that can be seen."""
    return (path / SPINS_FILE).is_file() and len(_read(path)[0]["size"]) == 2


def _read(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the command wrote, and what it measured by name."""
    file = path / LATTICE_FILE
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
    t, file = found["temperature"], path / SPINS_FILE
    try:
        spins = np.load(file)
    except (ValueError, OSError) as error:
        raise InputError(f"{file}: not what nbm-xp lattice writes") from error
    if spins.shape != (t.size, *document["size"]):
        raise InputError(f"{file}: not the spins of {path / LATTICE_FILE}")
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
