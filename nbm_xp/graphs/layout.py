"""A machine's units in the order in which a sweep visits them, colour after colour, with what each needs of others.

Contract: sums of couplings and fields are exact, in whatever order a library takes them, so that
every library and every division of the work gives the same bits. So all are rounded to multiples of one power of two,
the smallest for which all of them together are less than 2**52 multiples: of couplings that are whole numbers nothing
changes, others are off by less than one part in 10**15 of their sum. Colours are such that joined units differ: unit
after unit, in the order of their numbers, gets the first colour that none of its neighbours has.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

from nbm_xp.machines import Array, Namespace
from nbm_xp.namespace import asarray, convert, host_namespace, kernel, wide_dtypes

from .graph import Graph, uniform_value

__all__ = [
    "Colour", "Layout", "LayoutArrays", "colours_of", "components", "entries_of", "laid_out", "multiples_of",
    "neighbour_rows", "reordered_rows", "resolution_of", "reweighed", "roots_of", "rounded",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layout:
    """Units by their slots: slot s is visited before slot s + 1, and the slots of a colour follow one another.

    Parameters
    ----------
    order : array
        int64: the unit of each slot.
    ends : tuple of ints
        Where each colour ends.
    begins, neighbours, edges, couplings : arrays
        Of each slot, where its neighbours begin; these, by their slots; the edges that lead there, and their couplings.
    first, second, weights : arrays
        The two slots of each edge, and its coupling.
    fields : array
        float64, of shape (units,); of shape (units, values) for Potts units.
    kept : dict
        What was made of all this for single libraries.
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
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """How many slots there are."""
        return int(self.order.shape[0])

    def on(self, xp: Namespace) -> LayoutArrays:
        """What the sweeps of a library need, as its arrays."""
        if xp not in self.kept:
            with wide_dtypes(xp):
                self.kept[xp] = _arrays_of(self, xp)
        found: LayoutArrays = self.kept[xp]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"kept": {}}


@dataclass(frozen=True, eq=False)
class LayoutArrays:
    """A layout in a library: of each colour its slots, and sums over the neighbours of each of these."""

    colours: tuple[Colour, ...]
    first: Array
    second: Array
    weights: Array
    fields: Array


@dataclass(frozen=True, eq=False)
class Colour:
    """One colour's slots in a library.

    Parameters
    ----------
    begin, end : int
        The slots.
    neighbours, couplings : arrays
        Of all its slots, one after the other; couplings of shape (entries, 1).
    degree : int or None
        How many neighbours each has, where they have as many.
    edges : array or None
        Else where the neighbours of each begin, and where those of the last end.
    fields : array
        Of shape (slots, 1), or (slots, values).
    """

    begin: int
    end: int
    neighbours: Array
    couplings: Array
    degree: int | None
    edges: Array
    fields: Array

    def sums(self, xp: Namespace, values: Array) -> Array:
        """The sums, over the neighbours of each slot, of couplings times float64 values of all neighbours.

        Parameters
        ----------
        values : array
            Of shape (entries, chains).

        Returns
        -------
        array
            Of shape (slots, chains). No sum is rounded.
        """
        terms, chains = values * self.couplings, values.shape[1]
        if self.degree == 0:
            return xp.zeros((self.end - self.begin, chains), dtype=values.dtype)
        if self.degree is not None:
            return xp.sum(xp.reshape(terms, (-1, self.degree, chains)), axis=1)
        totals = xp.concat([terms[:1, :] * 0.0, xp.cumulative_sum(terms, axis=0)], axis=0)
        ends = xp.take(totals, self.edges, axis=0)
        return ends[1:, :] - ends[:-1, :]


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


def laid_out(graph: Graph, couplings: Array, fields: Array) -> Layout:
    """Lay a graph out.

    Parameters
    ----------
    graph : Graph
    couplings : array
        float64, of shape (edges,).
    fields : array
        float64, with the units along the first axis.
    """
    host = host_namespace()
    colours, rows = graph.colours, None
    if colours is None:
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
    weights = host.ascontiguousarray(couplings)
    return Layout(order, ends, *rows, couplings[rows[2]], first, second, weights, fields[order, ...])


def reweighed(layout: Layout, couplings: Array, fields: Array) -> Layout:
    """The same graph, laid out in the same way, with other couplings and fields; see `laid_out`."""
    return replace(
        layout, couplings=couplings[layout.edges], weights=host_namespace().ascontiguousarray(couplings),
        fields=fields[layout.order, ...], kept={},
    )  # fmt: skip


def resolution_of(couplings: Array, fields: Array) -> float:
    """The power of two of which all couplings and fields become multiples.

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
    for name, values, times in (("couplings", couplings, 2), ("fields", fields, 1)):
        one = uniform_value(values)  # of one number that was stretched, no array is gone through
        with host.errstate(over="ignore"):
            total += times * (float(host.sum(host.abs(values))) if one is None else abs(one) * values.size)
        if 2 * total == math.inf:
            raise ValueError(f"{name} must be so small that their sum is finite, got {float(host.max(values)):g}")
    return math.ldexp(1.0, math.frexp(total)[1] - 52) if total else 0.0


def multiples_of(weights: Array) -> tuple[float, Array | None]:
    """The least size of weights, and the weights as int8 multiples of it; or 1 and None.

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
    """Numbers as multiples of a resolution; one number that was stretched stays so."""
    host, one = host_namespace(), uniform_value(numbers)
    if not resolution:
        return numbers
    if one is not None:
        return host.broadcast_to(host.asarray(round(one / resolution) * resolution), numbers.shape)
    return host.round(numbers / resolution) * resolution


def _arrays_of(layout: Layout, xp: Namespace) -> LayoutArrays:
    host = host_namespace()
    fields = layout.fields if layout.fields.ndim == 2 else layout.fields[:, None]
    colours, begin = [], 0
    for end in layout.ends:
        edges = layout.begins[begin : end + 1]
        low, high = int(edges[0]), int(edges[-1])
        degrees = edges[1:] - edges[:-1]
        same = int(degrees[0]) if degrees.shape[0] and host.all(degrees == degrees[0]) else None
        colours.append(
            Colour(
                begin,
                end,
                asarray(host.astype(layout.neighbours[low:high], host.int64), xp),
                asarray(layout.couplings[low:high, None], xp),
                same,
                None if same is not None else asarray(edges - low, xp),
                asarray(fields[begin:end, :], xp),
            )
        )
        begin = end
    first, second = (convert(host.astype(x, host.int64), xp) for x in (layout.first, layout.second))
    return LayoutArrays(tuple(colours), first, second, asarray(layout.weights[:, None], xp), asarray(fields, xp))


def components(layout: Layout) -> Array:
    """The first slot of the connected component of each slot, of shape (units,)."""
    if "components" not in layout.kept:
        host = host_namespace()
        joined = host.ones((layout.first.shape[0], 1), dtype=host.bool)
        layout.kept["components"] = roots_of(host, layout, joined)[:, 0]
    return layout.kept["components"]


def roots_of(xp: Namespace, layout: Layout, joined: Array) -> Array:
    """The first slot of each unit's cluster in each chain, int64 of shape (units, chains).

    Trees of units, at first one of each, grow together: as long as edges lead from one tree to another, each tree is
    hung below the least that one of these leads it to, and all units are then hung below their tree's root itself.
    No shape depends on what is joined, so a library that compiles for each shape does so once.
    """
    own = kernel("graphs.roots", xp)
    if own is not None:
        return own(layout, joined)
    chains, placed = int(joined.shape[1]), layout.on(xp)
    count = layout.units * chains
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
        # by the greater root, and of each first the least that it is joined with
        pairs = xp.where(apart, xp.maximum(a, b) * count + xp.minimum(a, b), none)
        pairs = xp.concat([xp.sort(pairs), none])
        found = xp.take(pairs, xp.searchsorted(pairs, each * count))
        roots = xp.where(found // count == each, found % count, roots)
        while True:
            above = xp.take(roots, roots)
            if bool(xp.all(above == roots)):
                break
            roots = above
