"""Factors: products of three or four units in the energy. The number after the last unit's stands for no unit.

Contract: no two units of a factor have the same colour, so units of one colour are independent given the others.
"""

from __future__ import annotations

import itertools
from operator import index
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.rows import shortened
from nbm_xp.namespace import host_namespace, is_array, to_numpy

from .graph import Graph


def checked_factors(factors: Any, units: int) -> Array:
    """Validate factors; return the units of each, int64 of shape (factors, 4), where `units` stands for none.

    Raises
    ------
    ValueError
        If a factor has not three or four different units.

    Examples
    --------
    >>> checked_factors([[0, 1, 2], [4, 3, 1, 0]], 5).tolist()
    [[0, 1, 2, 5], [4, 3, 1, 0]]
    """
    host, given = host_namespace(), to_numpy(factors).tolist() if is_array(factors) else factors or []
    try:
        rows = [[index(unit) for unit in row] for row in given]
        if any({len(row), len(set(row))} not in ({3}, {4}) or min(row) < 0 or max(row) >= units for row in rows):
            raise ValueError
    except (TypeError, ValueError):
        wanted = f"rows of three or four different units from 0 to {units - 1}"
        raise ValueError(f"factors must be {wanted}, got {shortened(repr(given))}") from None
    padded = [row + [units] * (4 - len(row)) for row in rows]
    return host.reshape(host.asarray(padded, dtype=host.int64), (-1, 4))


def joined_pairs(graph: Graph, factors: Array) -> tuple[Array, Array]:
    """Return the two units of all pairs that an edge or a factor joins, each pair once."""
    host, n = host_namespace(), graph.units
    columns = [(graph.first, graph.second), *itertools.combinations(factors.T, 2)]
    pairs = host.sort(host.concat([host.stack(pair, axis=1) for pair in columns]), axis=1)
    pairs = host.unique_values(pairs[pairs[:, 1] < n] @ host.asarray([n, 1]))
    return pairs // n, pairs % n


def factor_entries(factors: Array) -> tuple[Array, Array]:
    """Return for each unit of each factor the unit, and the factor's other units, of shape (entries, 3).

    The first units of all factors come first, then their second units, and so on.
    """
    host = host_namespace()
    others = host.concat([host.roll(factors, -k, axis=1)[:, 1:] for k in range(factors.shape[1])])
    return host.reshape(factors.T, (-1,)), others
