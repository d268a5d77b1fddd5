"""Colours of units such that joined ones differ, and the neighbours of each unit in rows.

Contract: millions of edges take seconds; the same colours with a compiled kernel and without:
unit after unit, in the order of their numbers, gets the first colour that none of its neighbours has.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace, kernel

__all__ = ["Rows", "colours_of", "entries_of", "neighbour_rows", "reordered_rows"]

Rows = tuple[Any, Any, Any]
"""Where each unit's neighbours begin (int64, of shape (units + 1,)), the neighbours (int32), and the edge of each."""


def neighbour_rows(units: int, first: Any, second: Any) -> Rows:
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


def reordered_rows(order: Any, slots: Any, rows: Rows) -> Rows:
    """Rows of units as those of their slots: what `neighbour_rows` would give for these, in less time.

    Parameters
    ----------
    order : array
        int64: the unit of each slot.
    slots : array
        int32: the slot of each unit.
    rows : Rows

    Examples
    --------
    >>> import numpy as np
    >>> rows = neighbour_rows(3, np.asarray([0, 2]), np.asarray([1, 1]))
    >>> begins, neighbours, edges = reordered_rows(np.asarray([1, 0, 2]), np.asarray([1, 0, 2], dtype=np.int32), rows)
    >>> begins.tolist(), neighbours.tolist(), edges.tolist()
    ([0, 2, 3, 4], [1, 2, 0, 0], [0, 1, 0, 1])
    """
    host = host_namespace()
    own = kernel("graphs.reordered", host)
    if own is not None:
        found: Rows = own(order, slots, *rows)
        return found
    begins, neighbours, edges = rows
    places, _ = entries_of(order, begins)
    degrees = begins[order + 1] - begins[order]
    moved = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(degrees)])
    return moved, slots[neighbours[places]], edges[places]


def colours_of(units: int, rows: Rows) -> Any:
    """A colour for each unit, int32, from 0 on.

    Raises
    ------
    ValueError
        If two units are joined twice.

    Examples
    --------
    >>> import numpy as np
    >>> colours_of(4, neighbour_rows(4, np.asarray([0, 1, 2]), np.asarray([1, 2, 3]))).tolist()
    [0, 1, 0, 1]
    """
    host = host_namespace()
    begins, neighbours, _ = rows
    own = kernel("graphs.colours", host)
    if own is not None:
        colours, twice = own(begins, neighbours)
    else:
        colours, twice = _in_rounds(units, begins, neighbours)
    if twice is not None:
        raise ValueError(f"edges must name each pair once, got {twice} twice")
    return colours


def _in_rounds(units: int, begins: Any, neighbours: Any) -> tuple[Any, tuple[int, int] | None]:
    """Colour all units at once whose lesser neighbours have colours, until all have.

    That gives each unit what it would get in its turn: a neighbour of a greater number has no colour yet.
    """
    host = host_namespace()
    degrees = begins[1:] - begins[:-1]
    owner = host.repeat(host.arange(units, dtype=host.int64), degrees)
    keys = host.sort(owner * units + neighbours)
    same = host.nonzero(keys[1:] == keys[:-1])[0]
    if same.shape[0]:
        i, j = divmod(int(keys[same[0]]), units)
        return None, (i, j)
    lesser = neighbours < owner
    waiting = host.bincount(owner[lesser], minlength=units)
    colours = host.full((units,), -1, dtype=host.int32)
    ready = host.nonzero(waiting == 0)[0]
    while ready.shape[0]:
        entries, of = entries_of(ready, begins)
        known = lesser[entries]
        taken, of_taken = colours[neighbours[entries[known]]], of[known]
        pairs = host.unique_values(of_taken * (units + 1) + taken)  # each colour of a unit once, in order
        who, taken = pairs // (units + 1), pairs % (units + 1)
        counts = host.bincount(who, minlength=ready.shape[0])
        before = host.cumulative_sum(counts) - counts
        rank = host.arange(who.shape[0]) - before[who]
        # colours 0, 1, … of a unit are taken as long as they stand in the place of their number
        fits = taken == rank
        colours[ready] = host.bincount(who[fits], minlength=ready.shape[0])
        later = neighbours[entries[~known]]
        waiting -= host.bincount(later, minlength=units) if later.shape[0] > units // 8 else 0
        if later.shape[0] <= units // 8:
            host.subtract.at(waiting, later, 1)
        later = host.unique_values(later)
        ready = host.astype(later[(waiting[later] == 0) & (colours[later] < 0)], host.int64)
    return colours, None


def entries_of(units: Any, begins: Any) -> tuple[Any, Any]:
    """The places of the rows of some units one after the other, and the place among these units of each."""
    host = host_namespace()
    lengths = begins[units + 1] - begins[units]
    of = host.repeat(host.arange(units.shape[0], dtype=host.int64), lengths)
    within = host.arange(of.shape[0], dtype=host.int64) - (host.cumulative_sum(lengths) - lengths)[of]
    return begins[units][of] + within, of
