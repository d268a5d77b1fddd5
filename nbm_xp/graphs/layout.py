"""Layouts: a machine's units in the order of a sweep, colour after colour, with their neighbours and couplings.

Contract: sums of couplings and fields are exact, in any order of summation, so every library and every division of the
work gives the same bits. To this end couplings and fields are rounded to multiples of one power of two, the smallest
for which all of them together are less than 2**52 multiples. Integer couplings are not changed; others change by less
than 10**-15 of the sum of absolute values. The colouring is greedy: each unit, in the order of their numbers, gets the
first colour that none of its neighbours has.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

from nbm_xp.machines import Array, Namespace
from nbm_xp.namespace import array_namespace, asarray, convert, host_namespace, wide_dtypes
from nbm_xp.namespace.kernels import or_kernel

from .factors import factor_entries, joined_pairs
from .graph import Graph, uniform_value


@dataclass(frozen=True, eq=False)
class Layout:
    """Units by slot: slots are visited in increasing order, and the slots of a colour are contiguous.

    Parameters
    ----------
    order : array
        int64: unit of each slot.
    ends : tuple of ints
        End of each colour's slots.
    begins, neighbours, edges, couplings : arrays
        Adjacency in compressed rows: begin of each slot's row, and in the rows the neighbours' slots, the edges and the
        couplings: see `entry_couplings`.
    first, second, weights : arrays
        The two slots of each edge, and its coupling or matrix of couplings.
    fields : array
        float64, of shape (units,), or (units, values) for Potts units.
    factors, of_factors : array or None
        Slots of each factor, int64 of shape (factors, 4), the number of slots standing for none; and their couplings.
    kept : dict
        Cache of derived arrays.
    """

    order: Array
    ends: tuple[int, ...]
    begins: Array
    neighbours: Array
    edges: Array
    couplings: Array
    first: Array
    second: Array
    weights: Array
    fields: Array
    factors: Array = None
    of_factors: Array = None
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """Number of slots."""
        return int(self.order.shape[0])

    def on(self, xp: Namespace) -> LayoutArrays:
        """Return the layout as arrays of a library."""
        if xp not in self.kept:
            with wide_dtypes(xp):
                self.kept[xp] = _arrays_of(self, xp)
        found: LayoutArrays = self.kept[xp]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}}


@dataclass(frozen=True, eq=False)
class LayoutArrays:
    """A layout as arrays of a library: its colours, edges, couplings and fields, and factors with their couplings.

    Matrices of couplings are concatenated to one column; `tables` is the begin of each in it, of shape (edges, 1).
    """

    colours: tuple[Colour, ...]
    first: Array
    second: Array
    weights: Array
    fields: Array
    tables: Array
    factors: Any


@dataclass(frozen=True, eq=False)
class Colour:
    """The slots of one colour, as arrays of a library.

    Parameters
    ----------
    begin, end : int
        Range of slots.
    neighbours, couplings : arrays
        Neighbours of all slots in sequence, of shape (entries,), and couplings, of shape (entries, 1); or the rows of
        their matrices, of shape (entries * values, values).
    degree : int or None
        Number of neighbours of each slot, if they are equal.
    edges : array or None
        If not, the bounds of each slot's neighbours, of shape (slots + 1,).
    fields : array
        float64, of shape (slots, 1), or (slots, values).
    tables : array or None
        int64: the first row of each entry's matrix, of shape (entries, 1), if couplings are matrices.
    factors : Colour or None
        The factors of the slots, if there are any: `neighbours` are the other slots of an entry, of shape (entries, 3).
    """

    begin: int
    end: int
    neighbours: Array
    couplings: Array
    degree: int | None
    edges: Array
    fields: Array
    tables: Array = None
    factors: Colour | None = None

    def sums(self, xp: Namespace, terms: Array) -> Array:
        """Sum terms, float64 of shape (entries, chains), over each slot's neighbours; sums are exact."""
        chains = terms.shape[1]
        if self.degree == 0:
            return xp.zeros((self.end - self.begin, chains), dtype=terms.dtype)
        if self.degree is not None:
            return xp.sum(xp.reshape(terms, (-1, self.degree, chains)), axis=1)
        totals = xp.concat([terms[:1, :] * 0.0, xp.cumulative_sum(terms, axis=0)], axis=0)
        ends = xp.take(totals, self.edges, axis=0)
        return ends[1:, :] - ends[:-1, :]


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
    begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(counts)])
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


def entries_of(units: Array, begins: Array) -> tuple[Array, Array]:
    """Return the indices of all entries in the rows of `units`, and for each entry the index of its unit in `units`."""
    host = host_namespace()
    lengths = begins[units + 1] - begins[units]
    of = host.repeat(host.arange(units.shape[0], dtype=host.int64), lengths)
    within = host.arange(of.shape[0], dtype=host.int64) - (host.cumulative_sum(lengths) - lengths)[of]
    return begins[units][of] + within, of


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
    colours, rows = graph.colours, None
    if factors.shape[0]:
        colours = colours_of(neighbour_rows(n, *joined_pairs(graph, factors)))
    elif colours is None:
        rows = neighbour_rows(graph.units, graph.first, graph.second)
        colours = colours_of(rows)
    few = int(host.max(colours)) < 2**16  # NumPy sorts short integers in one pass for each byte
    order = host.argsort(host.astype(colours, host.uint16) if few else colours, stable=True)
    ends = tuple(host.cumulative_sum(host.bincount(colours)).tolist())
    slots = host.zeros((graph.units,), dtype=host.int32)
    slots[order] = host.arange(graph.units, dtype=host.int32)
    first, second = slots[graph.first], slots[graph.second]
    if rows is None:
        rows = neighbour_rows(graph.units, first, second)
    else:
        rows = reordered_rows(order, slots, rows, first, second)
    of_edges, of_factors = couplings[: graph.edges], couplings[graph.edges :]
    weights, of_entries = host.ascontiguousarray(of_edges), entry_couplings(of_edges, rows, first)
    made = Layout(order, ends, *rows, of_entries, first, second, weights, fields[order, ...])
    if not factors.shape[0]:
        return made
    members = host.concat([host.astype(slots, host.int64), host.asarray([n])])[factors]
    return replace(made, factors=members, of_factors=of_factors)


def reweighed(layout: Layout, couplings: Array, fields: Array) -> Layout:
    """Return a layout with other couplings and fields; see `laid_out`."""
    rows, count = (layout.begins, layout.neighbours, layout.edges), layout.first.shape[0]
    return replace(
        layout, couplings=entry_couplings(couplings, rows, layout.first), fields=fields[layout.order, ...],
        weights=host_namespace().ascontiguousarray(couplings[:count]), of_factors=couplings[count:], kept={},
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
    host, matrices, q = host_namespace(), layout.couplings.ndim == 3, layout.couplings.shape[-1]
    fields = layout.fields if layout.fields.ndim == 2 else layout.fields[:, None]

    def tables(count: int, apart: int) -> Array:
        return asarray(host.arange(count, dtype=host.int64)[:, None] * apart, xp) if matrices else None

    colours, begin, factors = [], 0, None
    if layout.factors is not None:
        factors = asarray(layout.factors, xp), asarray(layout.of_factors[:, None], xp)
        owners, others = factor_entries(layout.factors)
        by_owner = host.argsort(owners, stable=True)
        entries = owners[by_owner], others[by_owner, :], host.tile(layout.of_factors, 4)[by_owner, None]
    for end in layout.ends:
        edges = layout.begins[begin : end + 1]
        low, high = int(edges[0]), int(edges[-1])
        degrees = edges[1:] - edges[:-1]
        same = int(degrees[0]) if degrees.shape[0] and host.all(degrees == degrees[0]) else None
        colour = Colour(
            begin, end, asarray(host.astype(layout.neighbours[low:high], host.int64), xp),
            asarray(host.reshape(layout.couplings[low:high], (-1, q if matrices else 1)), xp), same,
            None if same is not None else asarray(edges - low, xp), asarray(fields[begin:end, :], xp),
            tables(high - low, q), None if factors is None else _factors_of(*entries, begin, end, xp),
        )  # fmt: skip
        colours.append(colour)
        begin = end
    first, second = (convert(host.astype(x, host.int64), xp) for x in (layout.first, layout.second))
    weights = asarray(host.reshape(layout.weights, (-1, 1)), xp)
    of_edges = tables(layout.weights.shape[0], q * q)
    return LayoutArrays(tuple(colours), first, second, weights, asarray(fields, xp), of_edges, factors)


def _factors_of(owners: Array, others: Array, couplings: Array, begin: int, end: int, xp: Namespace) -> Colour | None:
    """Return the entries of a colour's slots in factors; None if there are none."""
    bounds = host_namespace().searchsorted(owners, host_namespace().arange(begin, end + 1))
    low, high = int(bounds[0]), int(bounds[-1])
    own = asarray(others[low:high, :], xp), asarray(couplings[low:high, :], xp)
    return Colour(begin, end, *own, None, asarray(bounds - low, xp), None) if high > low else None


def components(layout: Layout) -> Array:
    """Return the first slot of each slot's connected component, of shape (units,)."""
    if "components" not in layout.kept:
        host = host_namespace()
        joined = host.ones((layout.first.shape[0], 1), dtype=host.bool)
        layout.kept["components"] = roots_of(joined, layout)[:, 0]
    return layout.kept["components"]


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
