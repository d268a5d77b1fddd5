"""Terms of local fields: sums over the edges, and the factors, of the units of one colour.

Factors are products of three or four units in the energy; the number after the last unit's stands for no unit. No two
units of a factor have the same colour, so units of one colour are independent given the others.

Contract: an entry is the part of a unit in an edge or a factor. Its term is a coupling times the product of the states
of the other units, or, for Potts units, a row of the coupling's matrix, which the state of the other unit chooses. Sums
are exact in any order (see `layout`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from operator import index
from typing import Any

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.rows import shortened
from nbm_xp.namespace import array_namespace, asarray, dtype_of, host_namespace, is_array, to_numpy

from .graph import Graph


def products(states: Array, units: Array) -> Array:
    """Multiply the states of several units in each chain: float64 of shape (products, chains).

    Parameters
    ----------
    states : array of shape (units, chains)
    units : array of shape (products,) or (products, units of each)
        The number of units stands for none.
    """
    xp, found = array_namespace(states), 1
    if units.ndim == 1:
        found = xp.take(states, units, axis=0)
    else:
        padded = xp.concat([states, xp.ones_like(states[:1, :])])
        for column in range(units.shape[1]):
            found = found * xp.take(padded, units[:, column], axis=0)
    return xp.astype(found, dtype_of(xp, "float64"))


@dataclass(frozen=True, eq=False)
class Terms:
    """The entries of the slots of one colour, as arrays of a library.

    Parameters
    ----------
    slots : int
        Number of slots.
    others : array
        The other slot of each entry, of shape (entries,), or its other slots, of shape (entries, 3).
    couplings : array
        Couplings, of shape (entries, 1); or the rows of their matrices, of shape (entries * values, values).
    degree : int or None
        Number of entries of each slot, if they are equal.
    bounds : array or None
        If not, the bounds of each slot's entries, of shape (slots + 1,).
    """

    slots: int
    others: Array
    couplings: Array
    degree: int | None
    bounds: Array = None

    @classmethod
    def of(cls, xp: Namespace, bounds: Array, others: Array, couplings: Array) -> Terms:
        """Return the entries from ``bounds[0]`` to ``bounds[-1]`` of a layout, as arrays of a library."""
        host, degrees = host_namespace(), bounds[1:] - bounds[:-1]
        entries, columns = slice(int(bounds[0]), int(bounds[-1])), couplings.shape[2:] or (1,)
        degree = int(degrees[0]) if degrees.shape[0] and host.all(degrees == degrees[0]) else None
        return cls(
            degrees.shape[0], asarray(host.astype(others[entries, ...], host.int64), xp),
            asarray(host.reshape(couplings[entries, ...], (-1, *columns)), xp), degree,
            asarray(bounds - bounds[0], xp) if degree is None else None,
        )  # fmt: skip

    def sums(self, xp: Namespace, terms: Array) -> Array:
        """Sum terms, float64 of shape (entries, chains), over the entries of each slot."""
        if self.degree is not None:
            return xp.sum(xp.reshape(terms, (self.slots, self.degree, terms.shape[1])), axis=1)
        ends = xp.take(xp.cumulative_sum(terms, axis=0, include_initial=True), self.bounds, axis=0)
        return ends[1:, :] - ends[:-1, :]


@dataclass(frozen=True, eq=False)
class Colour:
    """The slots of one colour, as arrays of a library.

    Parameters
    ----------
    begin, end : int
        Range of slots.
    fields : array
        float64, of shape (slots, 1), or (slots, values).
    terms : tuple of Terms
        Entries in edges, and in factors if there are any.
    """

    begin: int
    end: int
    fields: Array
    terms: tuple[Terms, ...]

    def local_fields(self, xp: Namespace, states: Array) -> Array:
        """Compute the local fields of two-valued units, of shape (slots, chains)."""
        found = self.fields
        for each in self.terms:
            found = found + each.sums(xp, products(states, each.others) * each.couplings)
        return found

    def local_of_values(self, xp: Namespace, states: Array, count: int) -> Array:
        """Compute the local fields of Potts units for each value, of shape (values, slots, chains)."""
        (edges,) = self.terms
        around, weights = xp.take(states, edges.others, axis=0), edges.couplings
        if weights.shape[1] == 1:
            local = xp.stack([edges.sums(xp, xp.astype(around == k, weights.dtype) * weights) for k in range(count)])
        else:
            entries, chains = around.shape
            rows = xp.arange(entries, dtype=dtype_of(xp, "int64"))[:, None] * count
            rows = xp.reshape(rows + xp.astype(around, rows.dtype), (-1,))
            local = edges.sums(xp, xp.reshape(xp.take(weights, rows, axis=0), (entries, chains * count)))
            local = xp.permute_dims(xp.reshape(local, (edges.slots, chains, count)), (2, 0, 1))
        return local + xp.matrix_transpose(self.fields)[:, :, None]


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
