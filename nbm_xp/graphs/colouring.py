"""Colours of units such that joined ones differ, and the neighbours of each unit in rows.

Contract: millions of edges take seconds; the same colours with a compiled kernel and without:
unit after unit, in the order of their numbers, gets the first colour that none of its neighbours has.
"""

from __future__ import annotations

import itertools

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace, kernel

__all__ = ["Rows", "colours_of", "entries_of", "neighbour_rows", "reordered_rows"]

Rows = tuple[Array, Array, Array]
"""Where each unit's neighbours begin (int64, of shape (units + 1,)), the neighbours (int32), and the edge of each."""


def neighbour_rows(units: int, first: Array, second: Array) -> Rows:
    """The neighbours of each unit: first those of edges that begin there, then of those that end there.

    Examples
    --------
    >>> import numpy as np
    >>> begins, neighbours, edges = neighbour_rows(3, np.asarray([0, 2]), np.asarray([1, 1]))
    >>> begins.tolist(), neighbours.tolist(), edges.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [0, 0, 1, 1])
    """
    host = host_namespace()
    own = kernel("graphs.rows", host)
    if own is not None:
        found: Rows = own(units, first, second)
        return found
    both = host.concat([first, second])
    order = host.argsort(both, stable=True)
    counts = host.bincount(both, minlength=units)
    begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(counts)])
    neighbours = host.concat([second, first])[order]
    edges = order % max(1, first.shape[0])
    return begins, host.astype(neighbours, host.int32), host.astype(edges, host.int32)


def reordered_rows(order: Array, slots: Array, rows: Rows, first: Array, second: Array) -> Rows:
    """Rows of units as those of their slots: what `neighbour_rows` gives for these, in less time.

    Parameters
    ----------
    order : array
        int64: the unit of each slot.
    slots : array
        int32: the slot of each unit.
    rows : Rows
        Of units.
    first, second : arrays
        The slots of each edge.
    """
    own = kernel("graphs.reordered", host_namespace())
    if own is None:
        return neighbour_rows(order.shape[0], first, second)
    found: Rows = own(order, slots, *rows)
    return found


def colours_of(rows: Rows) -> Array:
    """A colour for each unit, int32, from 0 on.

    Raises
    ------
    ValueError
        If two units are joined twice.

    Examples
    --------
    >>> import numpy as np
    >>> colours_of(neighbour_rows(4, np.asarray([0, 1, 2]), np.asarray([1, 2, 3]))).tolist()
    [0, 1, 0, 1]
    """
    begins, neighbours, _ = rows
    own = kernel("graphs.colours", host_namespace())
    colours, twice = (own or _in_turn)(begins, neighbours)
    if twice is not None:
        raise ValueError(f"edges must name each pair once, got {twice} twice")
    return colours


def _in_turn(begins: Array, neighbours: Array) -> tuple[Array, tuple[int, int] | None]:
    """Colour one unit after the other; and two units that are joined twice, if there are any."""
    host, ends = host_namespace(), begins.tolist()
    colours: list[int] = []
    for unit, (begin, end) in enumerate(itertools.pairwise(ends)):
        joined = neighbours[begin:end].tolist()
        if len(set(joined)) < len(joined):
            other = next(one for one in joined if joined.count(one) > 1)
            return None, (min(unit, other), max(unit, other))
        taken = {colours[other] for other in joined if other < unit}
        colours.append(next(colour for colour in itertools.count() if colour not in taken))
    return host.asarray(colours, dtype=host.int32), None


def entries_of(units: Array, begins: Array) -> tuple[Array, Array]:
    """The places of the rows of some units one after the other, and the place among these units of each."""
    host = host_namespace()
    lengths = begins[units + 1] - begins[units]
    of = host.repeat(host.arange(units.shape[0], dtype=host.int64), lengths)
    within = host.arange(of.shape[0], dtype=host.int64) - (host.cumulative_sum(lengths) - lengths)[of]
    return begins[units][of] + within, of
