"""Units that are held: which, and at what.

Contract: what could not be drawn is refused, and what is drawn as if nothing were held is told, before anything is
drawn.
"""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

from nbm_xp.namespace import host_namespace

from .clusters import separate_parts
from .energy_model import EnergyModel
from .lattice_graph import Lattice

__all__ = ["ClampWarning", "Held", "checked_clamp"]

Held = tuple[Any, Any]
"""The units that are held, int64, by rising numbers, and their values, int8."""


class ClampWarning(UserWarning):
    """A graph has parts, joined with no other, in which no unit is held while some are in others."""


def checked_clamp(machine: EnergyModel, clamp: Any) -> Held:
    """Units and the values that they keep.

    Raises
    ------
    ValueError
        If there is no such unit, or it cannot have that value, or none is left to draw: in all, or in a part of the
        graph that is joined with no other.

    Warns
    -----
    ClampWarning
        Where other parts have no unit that is held: these are drawn as if there were none.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine
    >>> checked_clamp(GraphMachine([[0, 1], [1, 2]]), {2: 1, 0: -1})
    (array([0, 2]), array([-1,  1], dtype=int8))
    """
    host, allowed = host_namespace(), machine.values.all
    if not isinstance(clamp, dict):
        raise ValueError(f"clamp must be a dict of units and values, got {type(clamp).__name__}")
    found = {}
    for unit, value in clamp.items():
        try:
            found[index(unit)] = index(value)
        except TypeError as error:
            raise ValueError(f"clamp must name units and values by whole numbers, got {unit!r}: {value!r}") from error
    for unit, value in found.items():
        if not 0 <= unit < machine.units_count:
            raise ValueError(f"clamp must name units from 0 to {machine.units_count - 1}, got {unit}")
        if value not in allowed:
            raise ValueError(f"clamp must give values of {', '.join(map(str, allowed))}, got {value} for unit {unit}")
    if len(found) == machine.units_count:
        raise ValueError("clamp must leave a unit to draw")
    units = sorted(found)
    held = host.asarray(units, dtype=host.int64), host.asarray([found[unit] for unit in units], dtype=host.int8)
    if not isinstance(machine.graph, Lattice):  # which is one part
        _check_parts(machine, held[0])
    return held


def _check_parts(machine: EnergyModel, units: Any) -> None:
    """Look at the parts of a graph that are joined with no other: which of them have units that are held."""
    host, layout = host_namespace(), machine.layout
    parts = separate_parts(layout)
    slots = host.argsort(layout.order)[units]
    free = host.ones((layout.units,), dtype=host.bool)
    free[slots] = False
    left = host.bincount(parts[free], minlength=layout.units)
    full = left[parts[slots]] == 0
    if host.any(full):
        unit = int(units[host.argmax(full)])
        raise ValueError(
            f"clamp must leave a unit to draw in each part of the graph that it holds units of, but holds all of the "
            f"part that unit {unit} is in, which is joined with no other"
        )
    reached = host.zeros((layout.units,), dtype=host.bool)
    reached[parts[slots]] = True
    beyond = layout.order[~reached[parts]]
    if beyond.shape[0]:
        warnings.warn(
            f"clamp holds no unit of some parts of the graph, which are joined with no other: {beyond.shape[0]} units, "
            f"such as {int(host.min(beyond))}, are drawn as if none were held",
            ClampWarning,
            stacklevel=2,
        )
