"""Units that are held: which, and at what.

Contract: what cannot be held is refused before anything is drawn. Whatever is held, the units that are left have a
distribution; but those of parts that no held unit is joined with know nothing of it, and that is told.
"""

from __future__ import annotations

import warnings
from operator import index
from typing import Any

from nbm_xp.namespace import host_namespace

from .clusters import separate_parts
from .energy_model import EnergyModel
from .lattice_graph import Lattice

__all__ = ["ClampWarning", "Held", "check_dict", "checked_clamp"]

Held = tuple[Any, Any]
"""The units that are held, int64, by rising numbers, and their values, int8."""


class ClampWarning(UserWarning):
    """Units are held, but none of some parts of the graph, which are joined with no other."""


def checked_clamp(machine: EnergyModel, clamp: Any) -> Held:
    """Units and the values that they keep.

    Raises
    ------
    ValueError
        If there is no such unit, or it cannot have that value, or none is left to draw.

    Warns
    -----
    ClampWarning
        Where the graph has parts, joined with no other, of which no unit is held: they are drawn as if none were.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine
    >>> checked_clamp(GraphMachine([[0, 1], [1, 2]]), {2: 1, 0: -1})
    (array([0, 2]), array([-1,  1], dtype=int8))
    """
    host, allowed = host_namespace(), machine.values.all
    check_dict(clamp)
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
    if found and not isinstance(machine.graph, Lattice):  # which is one part
        _check_parts(machine, held[0])
    return held


def check_dict(clamp: Any) -> None:
    """Refuse what names no units and values.

    Raises
    ------
    ValueError
        If it is no dict.
    """
    if not isinstance(clamp, dict):
        raise ValueError(f"clamp must be a dict of units and values, got {type(clamp).__name__}")


def _check_parts(machine: EnergyModel, units: Any) -> None:
    """Tell of the parts of a graph, joined with no other, that have no unit that is held."""
    host, layout = host_namespace(), machine.layout
    parts = separate_parts(layout)
    slots = host.argsort(layout.order)[units]
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
