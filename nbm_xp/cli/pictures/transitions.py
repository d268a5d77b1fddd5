"""The picture of a lattice's transition: energy and specific heat, Onsager's curves beside, and the magnetisation."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

from nbm_xp.graphs import onsager

from ..commands.lattice import LATTICE_FILE
from ..failing import InputError
from .look import BLUE, GREY, INK, ORANGE, drawn

__all__ = ["draw_transition", "is_lattice"]

_POINTS = 300
_ARRAYS = ("temperature", "energy", "energy_error", "specific_heat", "specific_heat_error", "magnetisation", "binder")


def is_lattice(path: pathlib.Path) -> bool:
    """Whether a folder holds what the command lattice wrote."""
    return (path / LATTICE_FILE).is_file()


def draw_transition(path: pathlib.Path, out: pathlib.Path) -> None:
    """Draw what the command lattice wrote."""
    file = path / LATTICE_FILE
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        found = {name: np.asarray([float(at[name]) for at in document["measured"]]) for name in _ARRAYS}
        size, coupling = tuple(document["size"]), float(document["coupling"])
        exact = document["measured"][0]["exact_energy"] is not None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{file}: not what nbm-xp lattice writes") from error
    t = found["temperature"]
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
