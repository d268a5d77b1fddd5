"""Tables of neighbours: energies, pseudo-likelihoods and moments of rows of states, and their gradients.

Contract: a table's arrays are of the library of the rows. Memory is proportional to the rows of a batch, not to rows
times edges, unless the table is dense.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import mul

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units, softplus
from nbm_xp.namespace import array_namespace, asarray, dtype_of, host_namespace, to_numpy, wide_dtypes
from nbm_xp.tape import value_and_grad

from .adjacency import neighbour_rows
from .energy_model import EnergyModel
from .terms import factor_entries, products

FEW_UNITS = 2048  # largest number of units (of values, of matrices) with a dense table: a product is faster than sums
MOST_ENTRIES = 2**28

# Moments: sums of the factors in the negative energy of couplings, in their shape, and of fields, (channels, units)
Moments = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A table of each unit's neighbours, as arrays of one library.

    Parameters
    ----------
    xp : namespace
    kind : Units
        Kind of units.
    units, n_edges : int
        Numbers of units and of edges.
    shape : tuple of ints
        Shape of the couplings: (edges + factors,), or (edges, values, values) of matrices.
    values : array of shape (values, 1)
        Values of a unit.
    neighbours : array or None
        Neighbours of each unit, of shape (units, width); None if the table is dense, with a column for each unit.
    edges : array
        Edge of each entry, of shape (units * width,), plus `n_edges` if the second unit of the edge is the entry's;
        twice `n_edges` for entries without an edge.
    places : array or None
        Entry of each edge, if the table is dense.
    factors, others, owners : arrays or None
        Units of each factor, of shape (factors, 4), and for each entry, a unit of a factor, the other units and the
        one-hot unit, of shapes (entries, 3) and (entries, units). The number of units stands for none.
    """

    xp: Namespace
    kind: Units
    units: int
    n_edges: int
    shape: tuple[int, ...]
    values: Array
    neighbours: Array | None
    edges: Array
    places: Array | None = None
    factors: Array | None = None
    others: Array | None = None
    owners: Array | None = None

    def channels(self, rows: Array) -> Array:
        """Return states as float64 of shape (rows, channels, units): one channel of values, or one-hot Potts values."""
        xp, states = array_namespace(rows), rows[:, None, :]
        return xp.astype(states == self.values if self.kind.is_categorical else states, dtype_of(xp, "float64"))

    def sums(self, states: Array, couplings: Array) -> Array:
        """Sum couplings times channels over the neighbours of each unit; the shape is that of `states`."""
        xp, n, q = array_namespace(couplings), self.units, self.shape[-1] if len(self.shape) > 1 else 1
        weights = xp.reshape(couplings[: self.n_edges, ...], (-1, q, q))  # a number is a matrix for each channel alone
        both = xp.concat([weights, xp.matrix_transpose(weights), xp.zeros((1, q, q), dtype=weights.dtype)])
        table = xp.reshape(xp.take(both, self.edges, axis=0), (n, -1, q, q))  # own value, neighbour's value
        flat = xp.reshape(states, (-1, q, n))
        if self.neighbours is None:
            table = xp.reshape(xp.permute_dims(table, (0, 2, 1, 3)), (n * q, n * q))  # symmetric
            found = xp.matmul(xp.reshape(xp.permute_dims(flat, (0, 2, 1)), (-1, n * q)), table)
            return xp.reshape(xp.permute_dims(xp.reshape(found, (-1, n, q)), (0, 2, 1)), states.shape)
        turn, axis, product = (2, 1, 0), 0, xp.matmul
        if q == 1:  # numbers: rows stay first
            turn, axis, product, table = (0, 1, 2), 2, mul, xp.permute_dims(table, (2, 1, 3, 0))
        by_unit = xp.permute_dims(flat, turn)
        total = by_unit * 0.0
        for column in range(self.neighbours.shape[1]):
            near = xp.take(by_unit, self.neighbours[:, column], axis=axis)
            total = total + product(table[:, column, :, :], near)
        return xp.reshape(xp.permute_dims(total, turn), states.shape)

    def shares(self, rows: Array, couplings: Array, fields: Array) -> Array:
        """Compute the negative energy of each row.

        Parameters
        ----------
        rows : array of shape (rows, units)
        couplings : array of shape (edges + factors,), or (edges, values, values)
        fields : array of shape (channels, units)
        """
        states = self.channels(rows)
        found = B.sum(states * (self.sums(states, couplings) / 2.0 + fields), axis=(1, 2))
        if self.factors is None:
            return found
        return found + B.dot(couplings[self.n_edges :], products(states[:, 0, :].T, self.factors))

    def pseudo(self, rows: Array, couplings: Array, fields: Array) -> Array:
        """Compute the log-pseudo-likelihood of each row; see `shares` for the parameters."""
        states = self.channels(rows)
        local = self.sums(states, couplings) + fields
        if self.factors is not None:
            of_entries = array_namespace(couplings).concat([couplings[self.n_edges :]] * self.factors.shape[1])
            around = products(states[:, 0, :].T, self.others).T
            local = local + B.dot(around * of_entries, self.owners)[:, None, :]
        if self.kind.is_categorical:
            return B.sum(B.sum(states * local, axis=1) - B.logsumexp(local, axis=1), axis=1)
        upwards = 2.0 * (states - float(self.kind.least)) / self.kind.step - 1.0
        return -B.sum(softplus(-self.kind.step * upwards * local), axis=(1, 2))

    def summed(self, score: Score, rows: Array, counts: Array, couplings: Array, fields: Array) -> tuple[Array, ...]:
        """Return the weighted sum of the rows' scores, and its gradients by couplings and fields."""

        def total(rows: Array, counts: Array, couplings: Array, fields: Array) -> Array:
            return B.sum(score(self, rows, couplings, fields) * counts)

        with wide_dtypes(self.xp):
            given = (asarray(x, self.xp, "float64") for x in (counts, couplings, fields))
            value, slopes = value_and_grad(total, (2, 3))(rows, *given)
        return value, *slopes

    def moments(self, rows: Array, counts: Array) -> Moments:
        """Return the moments of rows: weighted sums of the factors of couplings and fields in the negative energy."""
        if self.places is not None and self.factors is None:
            return self._products(rows, counts)
        host, channels = host_namespace(), self.values.shape[0] if self.kind.is_categorical else 1
        nothing = host.zeros(self.shape), host.zeros((channels, self.units))
        return self.summed(Neighbourhood.shares, rows, counts, *nothing)[1:]

    def _products(self, rows: Array, counts: Array) -> Moments:
        """Return the moments of rows by one matrix product; of a matrix with itself unless a weight is negative."""
        xp, n, q = self.xp, self.units, self.shape[-1] if len(self.shape) > 1 else 1
        with wide_dtypes(xp):
            weights, states = asarray(counts, xp, "float64"), self.channels(rows)
            each = xp.repeat(weights, states.shape[1] // q)[:, None]
            left = xp.reshape(xp.permute_dims(xp.reshape(states, (-1, q, n)), (0, 2, 1)), (-1, n * q))
            alike, all_positive = bool(xp.all(each == each[:1, :])), bool(xp.all(each >= 0))
            # equal weights: products are numbers of rows, exact in float32
            left = xp.astype(left, dtype_of(xp, "float32")) if alike else left * xp.sqrt(xp.abs(each))
            right = left if alike or all_positive else left * xp.sign(each)
            pairs = xp.reshape(xp.matmul(xp.matrix_transpose(left), right), (n, q, n, q))
            pairs = xp.take(xp.reshape(xp.permute_dims(pairs, (0, 2, 1, 3)), (n * n, q, q)), self.places, axis=0)
            pairs = xp.astype(pairs, states.dtype) * (each[:1, :, None] if alike else 1.0)
            return xp.reshape(pairs, self.shape), xp.tensordot(weights, states, axes=1)

    def scores(self, score: Score, rows: Array, couplings: Array, fields: Array) -> Array:
        """Return the score of each row, in host memory."""
        with wide_dtypes(self.xp):
            given = (asarray(x, self.xp, "float64") for x in (couplings, fields))
            return to_numpy(score(self, rows, *given))


Score = Callable[[Neighbourhood, Array, Array, Array], Array]


def neighbourhood(machine: EnergyModel, xp: Namespace) -> Neighbourhood:
    """Return the table of a machine's neighbours as arrays of a library.

    Raises
    ------
    ValueError
        If a table would have more than `MOST_ENTRIES` entries.
    """
    host, graph, n, shape = host_namespace(), machine.graph, machine.n_units, machine.coupling_parameters.shape
    begins, others, edges = neighbour_rows(n, graph.first, graph.second)
    degrees = begins[1:] - begins[:-1]
    most = int(host.max(degrees))
    whole = n * (shape[-1] if len(shape) > 1 else 1) <= FEW_UNITS or 4 * most >= n
    width = n if whole else most
    if n * width > MOST_ENTRIES:
        raise ValueError(f"graph must have fewer neighbours of a unit to be learned, got {n} units and one with {most}")
    owner = host.repeat(host.arange(n), degrees)
    column = host.astype(others, host.int64) if whole else host.arange(owner.shape[0]) - begins[owner]
    table, there = host.full((n, width), 2 * graph.edges), host.zeros((n, width), dtype=host.int64)
    table[owner, column] = edges + graph.edges * (owner != graph.first[edges])
    there[owner, column] = others
    more: list[Array] = []
    if machine.has_factors:
        owners, others = factor_entries(machine.factor_units)
        if owners.shape[0] * n > MOST_ENTRIES:
            raise ValueError(f"factors must be fewer to be learned, got {machine.factor_units.shape[0]} of {n} units")
        more = [machine.factor_units, others, owners[:, None] == host.arange(n)]
    with wide_dtypes(xp):
        return Neighbourhood(
            xp, machine.kind, n, graph.edges, shape, asarray([[value] for value in machine.kind.values], xp, "int64"),
            None if whole else asarray(there, xp), asarray(host.reshape(table, (-1,)), xp, "int64"),
            asarray(graph.first * n + graph.second, xp, "int64") if whole else None,
            *(asarray(x, xp, kind) for x, kind in zip(more, ("int64", "int64", "float64"), strict=False)),
        )  # fmt: skip
