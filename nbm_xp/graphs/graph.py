"""Undirected graphs of units, and lattices, whose edges follow from their shape.

Contract: a graph is validated once, when it is constructed. Its arrays are in host memory. A lattice computes its edges
and colours lazily; its colours equal those of a `Graph` with the same edges, and its slots those of `layout`: ordered
by colour, and within a colour in C order.

Greedy colouring in the order of the units gives along a single axis the colours 0, 1, 0, 1, …, and a 2 at the end of a
ring of odd length. On a lattice the colour of a unit is the exclusive or of the colours of its coordinates: the least
free colour is the Grundy value of a sum of games, whose moves lead to the neighbours coloured before.

References
----------
P. M. Grundy, "Mathematics and games", Eureka 2 (1939), 6-8.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.rows import numbers
from nbm_xp.namespace import host_namespace, is_array, to_numpy
from nbm_xp.namespace.errors import positive_int
from nbm_xp.package import need

MOST_UNITS = 2**31 - 1  # of a graph in memory, whose units have numbers of 32 bits
MOST_IN_BLOCKS = 2**53


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph of units.

    Parameters
    ----------
    units : int
        Number of units; they are numbered from 0.
    first, second : array of int
        The two units of each edge, of shape (edges,). Each pair appears once, in either order.
    weights : array of float, optional
        Weight of each edge; None if all are 1.
    colours : array of int, optional
        A proper colouring: the colour of each unit, from 0. Computed greedily by default.
    name : str
        Name shown in the representation.

    Raises
    ------
    ValueError
        If an edge is a loop or has an end that is not a unit, or a weight is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Graph(3, np.asarray([0, 1, 2]), np.asarray([1, 2, 0]))
    >>> triangle.units, triangle.edges
    (3, 3)
    >>> Graph(2, np.asarray([0]), np.asarray([0]))
    Traceback (most recent call last):
        ...
    ValueError: edges must join different units, got the edge (0, 0)
    """

    units: int
    first: Any
    second: Array
    weights: Array = None
    colours: Array = None
    name: str = "graph"

    def __post_init__(self) -> None:
        host = host_namespace()
        if not 0 < self.units <= MOST_UNITS:
            raise ValueError(f"units must be from 1 to {MOST_UNITS}, got {self.units}")
        if self.first.shape != self.second.shape or self.first.ndim != 1:
            raise ValueError(f"edges must be pairs, got arrays of shape {self.first.shape} and {self.second.shape}")
        if self.edges:
            low = int(min(host.min(self.first), host.min(self.second)))
            high = int(max(host.max(self.first), host.max(self.second)))
            if low < 0 or high >= self.units:
                raise ValueError(f"edges must join units from 0 to {self.units - 1}, got {low if low < 0 else high}")
            loops = self.first == self.second
            if host.any(loops):
                unit = int(self.first[host.argmax(loops)])
                raise ValueError(f"edges must join different units, got the edge ({unit}, {unit})")
        if self.weights is not None:
            object.__setattr__(self, "weights", finite(self.weights, "weights", (self.edges,)))
        for name in ("first", "second"):
            object.__setattr__(self, name, host.astype(getattr(self, name), host.int32, copy=False))

    @property
    def edges(self) -> int:
        """Number of edges."""
        return int(self.first.shape[0])

    def __repr__(self) -> str:
        return f"<{self.name}: {self.units} units, {self.edges} edges>"


def on_host(values: Any, name: str, dtype: str | None = None) -> Array:
    """Return an array of any library, or nested lists of numbers, as an array in host memory.

    Raises
    ------
    ValueError
        If it contains anything but numbers.
    """
    return numbers(to_numpy(values) if is_array(values) else values, name, host_namespace(), dtype)


def finite(values: Any, name: str, shape: tuple[int, ...], *others: tuple[int, ...]) -> Array:
    """Return finite numbers as a float64 array of a shape, or of one of others; a single number is broadcast to it.

    Raises
    ------
    ValueError
        If a number is not finite, or the array has another shape.
    """
    host = host_namespace()
    array = on_host(values, name, "float64")
    if array.shape not in ((), shape, *others):
        allowed = " or ".join(map(str, (shape, *others)))
        raise ValueError(f"{name} must be one number or of shape {allowed}, got shape {array.shape}")
    wrong = ~host.isfinite(array)
    if host.any(wrong):
        raise ValueError(f"{name} must be finite, got {float(array[wrong].reshape(-1)[0])}")
    return array if array.shape in others else host.broadcast_to(array, shape)


def uniform_value(array: Array) -> float | None:
    """Return the number that `finite` broadcast to an array; None if the array is not a broadcast number.

    Examples
    --------
    >>> uniform_value(finite(0.5, "couplings", (3,))), uniform_value(finite([1.0, 1.0], "couplings", (2,)))
    (0.5, None)
    """
    broadcast = array.size and not any(array.strides)
    return float(array[(0,) * array.ndim]) if broadcast else None


def as_graph(graph: Any, units: int | None = None) -> Graph:
    """Convert an object that represents a graph to a `Graph`.

    Parameters
    ----------
    graph : Graph, sparse or dense matrix, array of edges, or networkx graph
        A matrix, dense or sparse, has the weight of edge (i, j) in entries (i, j) and (j, i). An integer array of
        shape (edges, 2) has an edge in each row. The nodes of a networkx graph are the units, in their order, and its
        weights are the edges' attribute ``weight``, if any edge has one.
    units : int, optional
        Number of units of an array of edges, including units without edges; by default the largest number plus 1.

    Raises
    ------
    ValueError
        If the graph is invalid, or a matrix is not symmetric or has a non-zero diagonal.
    TypeError
        If `graph` is of another type.

    Examples
    --------
    >>> as_graph([[0, 1], [1, 2]])
    <graph: 3 units, 2 edges>
    >>> as_graph([[0.0, 0.5], [0.4, 0.0]])
    Traceback (most recent call last):
        ...
    ValueError: couplings must be symmetric, got 0.5 at (0, 1) and 0.4 at (1, 0)
    """
    host = host_namespace()
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "tocsr") and hasattr(graph, "shape"):
        return _from_matrix(graph)
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return _from_networkx(graph)
    if not (is_array(graph) or isinstance(graph, (list, tuple))):
        kinds = "a Graph, a matrix, an array of edges or a networkx graph"
        file = ": read_gset reads files" if isinstance(graph, (str, os.PathLike)) else ""
        raise TypeError(f"graph must be {kinds}, got {type(graph).__name__}{file}")
    array = on_host(graph, "graph")
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    if square and (host.isdtype(array.dtype, "real floating") or array.shape[0] > 2):  # two rows of ints are two edges
        return _from_matrix(array)
    if not host.isdtype(array.dtype, "integral") or array.ndim != 2 or array.shape[1] != 2:
        kinds = "a square matrix, or ints of shape (edges, 2), whose weights are the argument couplings"
        raise ValueError(f"graph must be {kinds}; got {array.dtype} of shape {array.shape}")
    count = positive_int(units, "units") if units is not None else (int(host.max(array)) + 1 if array.shape[0] else 0)
    return Graph(count, array[:, 0], array[:, 1])


def _from_matrix(matrix: Any) -> Graph:
    """Return the graph of the non-zero entries of a dense or sparse matrix; duplicate entries are summed."""
    scipy_sparse, host = need("scipy.sparse"), host_namespace()
    found = scipy_sparse.csr_array(matrix, copy=True)
    if len(found.shape) != 2 or found.shape[0] != found.shape[1]:
        raise ValueError(f"couplings must be a square matrix, got one of shape {tuple(found.shape)}")
    found.sum_duplicates()
    found.data = host.asarray(finite(found.data, "couplings", found.data.shape), copy=True)
    found.eliminate_zeros()
    loops = host.nonzero(found.diagonal())[0]
    if loops.shape[0]:
        raise ValueError(f"couplings must have no diagonal, got an entry at ({loops[0]}, {loops[0]})")
    apart = (found != found.T).tocoo()
    if apart.nnz:
        i, j = min(zip(apart.row.tolist(), apart.col.tolist(), strict=True))
        one, other = (f"{found[a, b]:g} at ({a}, {b})" for a, b in ((i, j), (j, i)))
        raise ValueError(f"couplings must be symmetric, got {one} and {other}")
    upper = scipy_sparse.triu(found, 1).tocoo()
    return Graph(found.shape[0], upper.row, upper.col, upper.data)


def _from_networkx(graph: Any) -> Graph:
    """Return the graph of a networkx graph, or of an object with the same ``nodes`` and ``edges``."""
    host = host_namespace()
    if getattr(graph, "is_directed", bool)() or getattr(graph, "is_multigraph", bool)():
        raise ValueError("graph must be undirected, with one edge for a pair at most")
    number = {node: k for k, node in enumerate(graph.nodes)}
    found = [(number[a], number[b], data.get("weight", 1.0)) for a, b, data in graph.edges(data=True)]
    ends = host.reshape(host.asarray([(a, b) for a, b, _ in found], dtype=host.int64), (-1, 2))
    weighted = any("weight" in data for _, _, data in graph.edges(data=True))
    weights = [weight for *_, weight in found] if weighted else None
    return Graph(len(number), ends[:, 0], ends[:, 1], weights)


class Lattice(Graph):
    """A hypercubic lattice with edges between nearest neighbours; with more than 2**31 units in blocks only.

    Parameters
    ----------
    shape : tuple of ints
        Number of units along each axis; units are numbered in C order.
    periodic : tuple of bool
        Whether each axis is periodic.
    weights : array of float, optional
        Weight of each edge: the edges along the first axis, by their first units in C order, then along the next axis.
    name : str, optional

    Examples
    --------
    >>> found = Lattice((4, 6), (True, False))
    >>> found.edges, found.colour_count, found.first.shape
    (44, 2, (44,))
    >>> Lattice((5,), (True,)).colour_count, Lattice((4, 5), (True, True)).colour_count  # rings of odd length
    (3, 4)
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]

    def __init__(
        self, shape: tuple[int, ...], periodic: tuple[bool, ...], weights: Array = None, name: str | None = None
    ) -> None:
        units = math.prod(shape)
        if not 0 < units <= MOST_IN_BLOCKS:
            raise ValueError(f"units must be from 1 to {MOST_IN_BLOCKS}, got {units}")
        self.__dict__.update(
            units=units, shape=shape, periodic=periodic, weights=None,
            name=name or "lattice " + " × ".join(map(str, shape)),
        )  # fmt: skip
        if weights is not None:
            self.__dict__["weights"] = finite(weights, "weights", (self.edges,))

    @property
    def edge_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the arrays of edges along each axis, by their first units: one shorter along an open axis."""
        axes = range(len(self.shape))
        return [tuple(n - (k == axis and not self.periodic[k]) for k, n in enumerate(self.shape)) for axis in axes]

    @property
    def edges(self) -> int:
        """Number of edges."""
        return sum(map(math.prod, self.edge_shapes))

    def check_in_memory(self) -> None:
        """Raise `ValueError` if there are too many units for arrays of all of them."""
        if self.units > MOST_UNITS:
            raise ValueError(f"chunks must be given for a lattice of more than {MOST_UNITS} units, got {self.units}")

    @property
    def colour_count(self) -> int:
        """Number of colours."""
        return sum(count > 0 for count in _counts(self.shape, odd_rings(self.shape, self.periodic))[0])

    @property
    def reach(self) -> int:
        """Largest distance at which a unit depends on others in a sweep: the number of colours, rounded up to even."""
        return -(-self.colour_count // 2) * 2

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        self.check_in_memory()
        host = host_namespace()
        place = host.reshape(host.arange(self.units, dtype=host.int32), self.shape)
        first, second = [], []
        for axis, ends in enumerate(self.periodic):
            head = (slice(None),) * axis
            there = host.roll(place, -1, axis=axis) if ends else place[(*head, slice(1, None))]
            first.append(host.reshape(place if ends else place[(*head, slice(-1))], (-1,)))
            second.append(host.reshape(there, (-1,)))
        return host.concat(first), host.concat(second)

    @property
    def first(self) -> Array:
        """First unit of each edge."""
        return self._ends[0]

    @property
    def second(self) -> Array:
        """Second unit of each edge."""
        return self._ends[1]

    @cached_property
    def colours(self) -> Array:
        """Colour of each unit."""
        self.check_in_memory()
        host = host_namespace()
        found = host.zeros((), dtype=host.uint8)
        for n, odd in zip(self.shape, odd_rings(self.shape, self.periodic), strict=True):
            places = host.arange(n)
            found = found[..., None] ^ host.astype((places & 1) + 2 * (odd & (places == n - 1)), host.uint8)
        return host.reshape(found, (-1,))


def odd_rings(shape: tuple[int, ...], periodic: tuple[bool, ...]) -> tuple[bool, ...]:
    """Return whether each axis is periodic and of odd length."""
    return tuple(bool(ends and n % 2) for n, ends in zip(shape, periodic, strict=True))


@lru_cache(maxsize=256)
def _counts(shape: tuple[int, ...], odd: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the number of units of each of four colours on all axes, on all but the first axis, …, on none."""
    found: list[tuple[int, ...]] = [(1, 0, 0, 0)]
    for n, ring in zip(reversed(shape), reversed(odd), strict=True):
        along, rest = ((n - ring + 1) // 2, (n - ring) // 2, int(ring), 0), found[0]
        found.insert(0, tuple(sum(along[g] * rest[colour ^ g] for g in range(4)) for colour in range(4)))
    return tuple(found)


def row_starts(shape: tuple[int, ...], odd: tuple[bool, ...], rows: Array, colour: int) -> tuple[Array, Array]:
    """Return the first slots of the units of a colour in rows along the last axis.

    Parameters
    ----------
    shape : tuple of ints
        Shape of the lattice.
    odd : tuple of bool
        Whether each axis is periodic and of odd length.
    rows : array of int64
        Row numbers.
    colour : int

    Returns
    -------
    slots, along : arrays of int64
        Slot of the first unit of the colour in each row, which the row's other units of the colour follow; and their
        colour along the row: 0 at even positions, 1 at odd positions, 2 at the last position of a ring of odd length,
        3 if the row has no such unit.

    Examples
    --------
    >>> import numpy as np
    >>> for colour in (0, 1):
    ...     slots, along = row_starts((3, 3), (False, False), np.asarray([0, 1, 2]), colour)
    ...     print(slots.tolist(), along.tolist())
    [0, 2, 3] [0, 1, 0]
    [5, 6, 8] [1, 0, 1]
    """
    host, (whole, *later) = host_namespace(), _counts(shape, odd)
    slots, along = sum(whole[:colour]), colour
    if len(shape) == 1:
        return slots + 0 * rows, along + 0 * rows
    for axis, n in enumerate(shape[:-1]):
        size = math.prod(shape[axis + 1 : -1])
        place, rows = (rows // size, rows % size) if size > 1 else (rows, 0 * rows)
        rest, half, last = host.asarray(later[axis]), place >> 1, place & 1
        # units before this one along the axis: half at even positions and half at odd ones, none at the last position
        slots = slots + (half + last) * rest[along] + half * rest[along ^ 1]
        along = along ^ last ^ (2 * (place == n - 1) if odd[axis] else 0)
    return slots, along
