"""Layouts: a machine's units in the order of a sweep, colour after colour, with their neighbours and couplings.

Contract: sums of couplings and fields are exact, in any order of summation, so every library and every division of the
work gives the same bits. To this end couplings and fields are rounded to multiples of one power of two, the smallest
for which all of them together are less than 2**52 multiples. Integer couplings are not changed; others change by less
than 10**-15 of the sum of absolute values.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, asarray, convert, dtype_of, host_namespace, wide_dtypes
from nbm_xp.namespace.kernels import or_kernel

from .adjacency import Rows, colours_of, neighbour_rows, reordered_rows
from .graph import Graph, uniform_value
from .terms import Colour, Terms, factor_entries, joined_pairs, products


@dataclass(frozen=True, eq=False)
class Layout:
    """Units by slot: slots are visited in increasing order, and the slots of a colour are contiguous.

    Parameters
    ----------
    order : array
        int64: unit of each slot.
    ends : tuple of ints
        End of each colour's slots.
    begins, neighbours, edges : arrays
        Adjacency in compressed rows: begin of each slot's row, and in the rows the neighbours' slots and the edges.
    first, second : arrays
        The two slots of each edge.
    factors : array or None
        Slots of each factor, int64 of shape (factors, 4), the number of slots standing for none.
    couplings : array
        Couplings in the rows: see `entry_couplings`.
    weights, of_factors : arrays
        The coupling, or matrix of couplings, of each edge, and the coupling of each factor.
    fields : array
        float64, of shape (units,), or (units, values) for Potts units.
    kept : dict
        Cache of derived arrays.
    """

    order: Array
    ends: tuple[int, ...]
    begins: Array
    neighbours: Array
    edges: Array
    first: Array
    second: Array
    factors: Array = None
    couplings: Array = None
    weights: Array = None
    of_factors: Array = None
    fields: Array = None
    kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def units(self) -> int:
        """Number of slots."""
        return int(self.order.shape[0])

    def on(self, xp: Namespace) -> LayoutArrays:
        """Return the layout as arrays of a library."""
        if xp not in self.kept:
            with wide_dtypes(xp):
                self.kept[xp] = _arrays_of(self, xp)
        return self.kept[xp]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}}


@dataclass(frozen=True, eq=False)
class LayoutArrays:
    """A layout as arrays of a library: its colours, edges, couplings, fields, and factors with their couplings.

    `weights` are of shape (edges, 1), or matrices of couplings concatenated to one column. `bonds` are the same, or of
    shape (1, 1) if all couplings are equal.
    """

    colours: tuple[Colour, ...]
    first: Array
    second: Array
    weights: Array
    bonds: Array
    fields: Array
    factors: Any


def entry_couplings(couplings: Array, rows: Rows, first: Array) -> Array:
    """Return the coupling of each entry of rows; a matrix has a row for each value of the neighbour.

    Parameters
    ----------
    couplings : array of shape (edges,), or (edges, values, values)
        A matrix has a row for each value of the first unit of the edge.
    rows : Rows
    first : array
        First unit of each edge.
    """
    (begins, _, edges), host = rows, host_namespace()
    found = couplings[edges]
    if found.ndim == 1:
        return found
    owner = host.repeat(host.arange(begins.shape[0] - 1), begins[1:] - begins[:-1])
    return host.where((owner == first[edges])[:, None, None], host.matrix_transpose(found), found)


def laid_out(graph: Graph, couplings: Array, fields: Array, factors: Array) -> Layout:
    """Return the layout of a graph.

    Parameters
    ----------
    graph : Graph
    couplings : array
        float64, of shape (edges + factors,) or (edges, values, values).
    fields : array
        float64, of shape (units,) or (units, values).
    factors : array
        int64: units of each factor; see `Layout`. No two units of a factor have the same colour.
    """
    host, n = host_namespace(), graph.units
    colours, rows, members = graph.colours, None, None
    if factors.shape[0]:
        colours = colours_of(neighbour_rows(n, *joined_pairs(graph, factors)))
    elif colours is None:
        rows = neighbour_rows(n, graph.first, graph.second)
        colours = colours_of(rows)
    few = int(host.max(colours)) < 2**16  # NumPy sorts short integers in one pass for each byte
    order = host.argsort(host.astype(colours, host.uint16) if few else colours, stable=True)
    ends = tuple(host.cumulative_sum(host.bincount(colours)).tolist())
    slots = host.zeros((n,), dtype=host.int32)
    slots[order] = host.arange(n, dtype=host.int32)
    first, second = slots[graph.first], slots[graph.second]
    if rows is None:
        rows = neighbour_rows(n, first, second)
    else:
        rows = reordered_rows(order, slots, rows, first, second)
    if factors.shape[0]:
        members = host.concat([host.astype(slots, host.int64), host.asarray([n])])[factors]
    return reweighed(Layout(order, ends, *rows, first, second, members), couplings, fields)


def reweighed(layout: Layout, couplings: Array, fields: Array) -> Layout:
    """Return a layout with other couplings and fields; see `laid_out`."""
    rows, count = (layout.begins, layout.neighbours, layout.edges), layout.first.shape[0]
    of_edges = couplings[:count]
    return replace(
        layout, couplings=entry_couplings(of_edges, rows, layout.first), of_factors=couplings[count:],
        weights=host_namespace().ascontiguousarray(of_edges), fields=fields[layout.order, ...],
    )  # fmt: skip


def resolution_of(couplings: Array, fields: Array, terms: int = 2) -> float:
    """Return the power of two to whose multiples couplings and fields are rounded; 0 if all are 0.

    A coupling is in the local fields of `terms` units at most.

    Raises
    ------
    ValueError
        If their sums are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> resolution_of(np.ones(3), np.zeros(3)) == 2.0**-49
    True
    """
    host, total = host_namespace(), 0.0
    if couplings.ndim == 3:  # a sum has one entry of each matrix
        couplings = host.max(host.abs(couplings), axis=(1, 2))
    for name, values, times in (("couplings", couplings, terms), ("fields", fields, 1)):
        one = uniform_value(values)  # no pass over a broadcast number
        with host.errstate(over="ignore"):
            total += times * (float(host.sum(host.abs(values))) if one is None else abs(one) * values.size)
        if 2 * total == math.inf:
            raise ValueError(f"{name} must be so small that their sum is finite, got {float(host.max(values)):g}")
    return math.ldexp(1.0, math.frexp(total)[1] - 52) if total else 0.0


def multiples_of(weights: Array) -> tuple[float, Array | None]:
    """Return the smallest non-zero absolute weight and the weights as int8 multiples of it, or 1 and None.

    Examples
    --------
    >>> import numpy as np
    >>> multiples_of(np.asarray([0.5, -1.5]))
    (0.5, array([ 1, -3], dtype=int8))
    """
    host = host_namespace()
    sizes = host.abs(weights)
    if not host.any(sizes > 0):
        return 1.0, None
    unit = float(host.min(sizes[sizes > 0]))
    whole = host.round(weights / unit)
    if float(host.max(sizes)) > 127 * unit or not host.all(whole * unit == weights):
        return 1.0, None
    return unit, host.astype(whole, host.int8)


def rounded(numbers: Array, resolution: float) -> Array:
    """Round numbers to multiples of a resolution; a broadcast number stays broadcast."""
    host, one = host_namespace(), uniform_value(numbers)
    if not resolution:
        return numbers
    if one is not None:
        return host.broadcast_to(host.asarray(round(one / resolution) * resolution), numbers.shape)
    return host.round(numbers / resolution) * resolution


def _arrays_of(layout: Layout, xp: Namespace) -> LayoutArrays:
    host, factors = host_namespace(), None
    fields = layout.fields if layout.fields.ndim == 2 else layout.fields[:, None]
    entries = [(layout.begins, layout.neighbours, layout.couplings)]
    if layout.factors is not None:
        factors = asarray(layout.factors, xp), asarray(layout.of_factors[:, None], xp)
        owners, others = factor_entries(layout.factors)
        order = host.argsort(owners, stable=True)
        bounds = host.searchsorted(owners[order], host.arange(layout.units + 1))
        entries.append((bounds, others[order, :], host.tile(layout.of_factors, 4)[order]))
    colours = tuple(
        Colour(
            begin, end, asarray(fields[begin:end, :], xp),
            tuple(Terms.of(xp, bounds[begin : end + 1], *rest) for bounds, *rest in entries),
        )
        for begin, end in itertools.pairwise((0, *layout.ends))
    )  # fmt: skip
    first, second = (convert(host.astype(x, host.int64), xp) for x in (layout.first, layout.second))
    weights = asarray(host.reshape(layout.weights, (-1, 1)), xp)
    equal = layout.weights.shape[0] > 0 and bool(host.all(layout.weights == layout.weights[0]))
    bonds = weights[:1, :] if equal else weights
    return LayoutArrays(colours, first, second, weights, bonds, asarray(fields, xp), factors)


def energies(states: Array, layout: Layout, values: Units) -> Array:
    """Compute the energy of each chain, float64 of shape (chains,); sums are exact."""
    found = _pair_energies(states, layout, values)
    if layout.factors is None:
        return found
    xp = array_namespace(states)
    with wide_dtypes(xp):
        factors, couplings = layout.on(xp).factors
        return found - xp.sum(products(states, factors) * couplings, axis=0)


@or_kernel("graphs.energies")
def _pair_energies(states: Array, layout: Layout, values: Units) -> Array:
    """Compute the energy of each chain without factors."""
    xp = array_namespace(states)
    placed = layout.on(xp)
    with wide_dtypes(xp):
        float64, int64, count = dtype_of(xp, "float64"), dtype_of(xp, "int64"), values.count
        a, b = (xp.take(states, ends, axis=0) for ends in (placed.first, placed.second))
        if layout.weights.ndim == 1:
            pairs = xp.astype(a == b if values.is_categorical else a * b, float64) * placed.weights
        else:
            rows = xp.arange(a.shape[0], dtype=int64)[:, None] * count**2
            rows = rows + xp.astype(a, int64) * count + xp.astype(b, int64)
            pairs = xp.reshape(xp.take(placed.weights[:, 0], xp.reshape(rows, (-1,))), rows.shape)
        if values.is_categorical:
            alone = xp.take_along_axis(placed.fields, xp.astype(states, int64), axis=1)
        else:
            alone = xp.astype(states, float64) * placed.fields
        return -(xp.sum(pairs, axis=0) + xp.sum(alone, axis=0))


@or_kernel("graphs.roots")
def roots_of(joined: Array, layout: Layout) -> Array:
    """Return the first slot of each unit's cluster in each chain, an integer array of shape (units, chains).

    This is a union-find on arrays: while edges join different trees, each root is linked to the least smaller root that
    an edge joins it with, and paths are then compressed until each unit points to its root. Array shapes do not depend
    on `joined`, so a library that compiles for each shape compiles once.
    """
    xp, chains = array_namespace(joined), int(joined.shape[1])
    placed, count = layout.on(xp), layout.units * chains
    roots = each = asarray(host_namespace().arange(count), xp, "int64")
    none = asarray(host_namespace().asarray([count * count]), xp, "int64")
    a, b = (
        xp.reshape(xp.where(joined, ends[:, None] * chains + each[:chains], 0), (-1,))
        for ends in (placed.first, placed.second)
    )
    while True:
        a, b = xp.take(roots, a), xp.take(roots, b)
        apart = a != b
        if not bool(xp.any(apart)):
            return xp.reshape(roots // chains, (layout.units, chains))
        # sorted by the greater root, then by the lesser
        pairs = xp.where(apart, xp.maximum(a, b) * count + xp.minimum(a, b), none)
        pairs = xp.concat([xp.sort(pairs), none])
        found = xp.take(pairs, xp.searchsorted(pairs, each * count))
        roots = xp.where(found // count == each, found % count, roots)
        while True:
            above = xp.take(roots, roots)
            if bool(xp.all(above == roots)):
                break
            roots = above
