"""Adjacency of graphs in compressed rows, and greedy colouring.

Contract: each unit, in the order of their numbers, gets the first colour that none of its neighbours has.
"""

from __future__ import annotations

import itertools

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.kernels import or_kernel

# Adjacency in compressed rows: row bounds (int64, of shape (units + 1,)), neighbours (int32) and edges (int32)
Rows = tuple[Array, Array, Array]


@or_kernel("graphs.rows", 2)
def neighbour_rows(units: int, first: Array, second: Array) -> Rows:
    """Return the neighbours of each unit: first by the edges of which it is the first unit, then by the other edges.

    Examples
    --------
    >>> import numpy as np
    >>> begins, neighbours, edges = neighbour_rows(3, np.asarray([0, 2]), np.asarray([1, 1]))
    >>> begins.tolist(), neighbours.tolist(), edges.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [0, 0, 1, 1])
    """
    host = host_namespace()
    both = host.concat([first, second])
    order = host.argsort(both, stable=True)
    counts = host.bincount(both, minlength=units)
    begins = host.cumulative_sum(counts, include_initial=True)
    neighbours = host.concat([second, first])[order]
    edges = order % max(1, first.shape[0])
    return begins, host.astype(neighbours, host.int32), host.astype(edges, host.int32)


@or_kernel("graphs.reordered")
def reordered_rows(order: Array, slots: Array, rows: Rows, first: Array, second: Array) -> Rows:
    """Reorder rows of units to rows of slots; equal to `neighbour_rows` of the slots, but faster.

    Parameters
    ----------
    order : array
        int64: unit of each slot.
    slots : array
        int32: slot of each unit.
    rows : Rows
        Rows of units.
    first, second : arrays
        The two slots of each edge.
    """
    return neighbour_rows(order.shape[0], first, second)


def colours_of(rows: Rows) -> Array:
    """Return a greedy colouring: the colour of each unit, int32, from 0.

    Raises
    ------
    ValueError
        If an edge is repeated.

    Examples
    --------
    >>> import numpy as np
    >>> colours_of(neighbour_rows(4, np.asarray([0, 1, 2]), np.asarray([1, 2, 3]))).tolist()
    [0, 1, 0, 1]
    """
    colours, twice = _in_turn(*rows[:2])
    if twice is not None:
        raise ValueError(f"edges must name each pair once, got {twice} twice")
    return colours


@or_kernel("graphs.colours")
def _in_turn(begins: Array, neighbours: Array) -> tuple[Array, tuple[int, int] | None]:
    """Colour units greedily; return the colours, and the units of a repeated edge or None."""
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


def in_runs(begins: Array, counts: Array) -> Array:
    """Return the indices in runs of `counts` consecutive indices, from each of `begins`.

    Examples
    --------
    >>> import numpy as np
    >>> in_runs(np.asarray([4, 0]), np.asarray([2, 3])).tolist()
    [4, 5, 0, 1, 2]
    """
    host = host_namespace()
    return host.repeat(begins - host.cumulative_sum(counts) + counts, counts) + host.arange(int(host.sum(counts)))
