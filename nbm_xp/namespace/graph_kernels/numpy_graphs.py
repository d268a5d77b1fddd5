"""Rows, colours, sweeps and energies for NumPy's arrays, by the compiled core.

What this chapter must satisfy: the bits of `nbm_xp.graphs`' portable forms. What the loops are not made for is left to
those, by giving None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions
from nbm_xp.namespace.mrg31k3p.numpy_draws import number_by_number

__all__ = ["colours", "energies", "rows", "sweeps"]

_RULES = {"heat_bath": 0, "metropolis": 1}
_ALL_FREE = np.empty(0, np.bool_)


def rows(units: int, first: Any, second: Any) -> Any:
    """See `nbm_xp.graphs.colouring.neighbour_rows`."""
    begins, neighbours = np.empty(units + 1, np.int64), np.empty(2 * first.size, np.int32)
    edges = np.empty_like(neighbours)
    ends = (np.require(x, np.int32, "C") for x in (first, second))
    functions["graph_rows"](*ends, begins, neighbours, edges)
    return begins, neighbours, edges


def colours(begins: Any, neighbours: Any) -> tuple[Any, tuple[int, int] | None]:
    """Give a colour to each unit, and two units that are joined twice, if there are any."""
    units = begins.size - 1
    found, seen, used = np.empty(units, np.int32), np.full(units, -1, np.int32), np.full(units + 1, -1, np.int32)
    place = functions["graph_colours"](begins, neighbours, found, seen, used)
    if place < 0:
        return found, None
    unit = int(np.searchsorted(begins, place, side="right")) - 1
    return found, (min(unit, int(neighbours[place])), max(unit, int(neighbours[place])))


def sweeps(
    layout: Any, values: Any, rule: str, states: Any, streams: Any, beta: Any, free: Any, count: int
) -> tuple[Any, Any] | None:
    """Make sweeps: the states after them, and those of the streams; None for what there is no loop for."""
    if values.kind == "potts" or rule not in _RULES or layout.units >= 2**31:
        return None
    spins = np.array(states, order="C")
    numbers = np.array(number_by_number(streams, streams.shape[0]))
    functions["graph_sweeps"](
        np.asarray(layout.ends, np.int64),
        layout.begins,
        layout.neighbours,
        layout.couplings,
        layout.fields,
        _ALL_FREE if free is None else free,
        beta.reshape(-1) * values.step,
        spins,
        numbers,
        count,
        _RULES[rule],
        values.least,
        int(values.step),
    )
    return spins, numbers.view(np.int32).T


def energies(layout: Any, values: Any, states: Any) -> Any:
    """See `nbm_xp.graphs.sweeps.energies`."""
    if values.kind == "potts":
        return None
    found = np.empty(states.shape[1])
    functions["graph_energies"](
        layout.begins, layout.neighbours, layout.couplings, layout.fields, np.ascontiguousarray(states), found
    )
    return found
