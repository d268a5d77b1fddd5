"""The likelihood and pseudo-likelihood of rows of states, and their gradients by couplings and fields.

Contract: rows are arrays of any library, also lazy ones, and are processed in batches. Memory is proportional to the
rows of a batch, not to rows times edges. Couplings, fields and gradients are in host memory.

The pseudo-likelihood of a state is the product over units of the probability of the unit's value given all other units.
Its logarithm is concave, and its gradient needs no chains: with the residuals r = s - <s | others> of units it is
r_i for a field and ``r_i s_j + s_i r_j`` for a coupling. The gradient of the mean log-likelihood is the difference of
the moments (the mean factors of couplings and fields in the negative energy) in the data and in the machine.

References
----------
J. Besag, "Statistical analysis of non-lattice data", The Statistician 24 (1975), 179-195.
E. Aurell and M. Ekeberg, "Inverse Ising inference using all the data", Physical Review Letters 108 (2012), 090201.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.enumeration import Enumeration
from nbm_xp.machines.minibatches import any_missing, minibatches
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length
from nbm_xp.machines.units import Units, softplus
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    default_namespace,
    dtype_of,
    host_namespace,
    is_lazy,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.tape import value_and_grad

from .energy_model import EnergyModel
from .exact import enumerated, states_of
from .factors import factor_entries, products
from .graph import Graph
from .layout import neighbour_rows

AT_ONCE: Final = 2**22  # number of float64 values per batch of rows
MOST_STATES: Final = 2**18  # largest number of states for training by enumeration
TURNS: Final = 12  # number of power iterations for the largest curvature
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
    values : array of shape (values, 1)
        Values of a unit.
    neighbours : array or None
        Neighbours of each unit, of shape (units, width); None if the table is dense, with a column for each unit.
    edges : array
        Edge of each entry, of shape (units * width,); `n_edges` for entries without an edge. If couplings are matrices,
        `n_edges` is added to the number of an edge whose second unit is the entry's, and is there twice for none.
    matrices : bool
        Whether couplings are matrices, of shape (edges, values, values).
    factors, others, owners : arrays or None
        Units of each factor, of shape (factors, 4), and for each entry, a unit of a factor, the other units and the
        one-hot unit, of shapes (entries, 3) and (entries, units). The number of units stands for none.
    """

    xp: Namespace
    kind: Units
    units: int
    n_edges: int
    values: Array
    neighbours: Array | None
    edges: Array
    matrices: bool
    factors: Array | None = None
    others: Array | None = None
    owners: Array | None = None

    def channels(self, rows: Array) -> Array:
        """Return states as float64 of shape (rows, channels, units): one channel of values, or one-hot Potts values."""
        xp, states = array_namespace(rows), rows[:, None, :]
        return xp.astype(states == self.values if self.kind.is_categorical else states, dtype_of(xp, "float64"))

    def sums(self, states: Array, couplings: Array) -> Array:
        """Sum couplings times channels over the neighbours of each unit; the shape is that of `states`."""
        xp = array_namespace(couplings)
        if self.matrices:
            return self._sums_of_matrices(states, couplings)
        weights = xp.concat([couplings[: self.n_edges], xp.zeros((1,), dtype=couplings.dtype)])
        table = xp.reshape(xp.take(weights, self.edges), (self.units, -1))
        flat = xp.reshape(states, (-1, self.units))
        if self.neighbours is None:
            return xp.reshape(xp.matmul(flat, table), states.shape)  # the table is symmetric
        total = flat * 0.0
        for column in range(self.neighbours.shape[1]):
            total = total + xp.take(flat, self.neighbours[:, column], axis=1) * table[:, column]
        return xp.reshape(total, states.shape)

    def _sums_of_matrices(self, states: Array, couplings: Array) -> Array:
        """Sum the columns of matrices that the values of the neighbours choose."""
        xp, n, q = array_namespace(couplings), self.units, self.values.shape[0]
        none = xp.zeros((1, q, q), dtype=couplings.dtype)
        both = xp.concat([couplings, xp.matrix_transpose(couplings), none])
        table = xp.reshape(xp.take(both, self.edges, axis=0), (n, -1, q, q))  # own value, neighbour's value
        if self.neighbours is None:
            table = xp.reshape(xp.permute_dims(table, (0, 2, 1, 3)), (n * q, n * q))  # symmetric
            flat = xp.reshape(xp.permute_dims(states, (0, 2, 1)), (-1, n * q))
            return xp.permute_dims(xp.reshape(xp.matmul(flat, table), (-1, n, q)), (0, 2, 1))
        by_unit = xp.permute_dims(states, (2, 1, 0))
        total = by_unit * 0.0
        for column in range(self.neighbours.shape[1]):
            total = total + xp.matmul(table[:, column, :, :], xp.take(by_unit, self.neighbours[:, column], axis=0))
        return xp.permute_dims(total, (2, 1, 0))

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
        host, channels = host_namespace(), self.values.shape[0] if self.kind.is_categorical else 1
        n_factors = 0 if self.factors is None else self.factors.shape[0]
        shape = (self.n_edges + n_factors, channels, channels)[: 3 if self.matrices else 1]
        nothing = host.zeros(shape), host.zeros((channels, self.units))
        return self.summed(Neighbourhood.shares, rows, counts, *nothing)[1:]

    def scores(self, score: Score, rows: Array, couplings: Array, fields: Array) -> Array:
        """Return the score of each row, in host memory."""
        with wide_dtypes(self.xp):
            given = (asarray(x, self.xp, "float64") for x in (couplings, fields))
            return to_numpy(score(self, rows, *given))


class MissingValuesError(ValueError):
    """Rows do not have the values of all units."""


Score = Callable[[Neighbourhood, Array, Array, Array], Array]


def neighbourhood(
    graph: Graph, values: Units, xp: Namespace, matrices: bool = False, factors: Array = None
) -> Neighbourhood:
    """Return the table of a graph's neighbours as arrays of a library.

    Raises
    ------
    ValueError
        If a table would have more than `MOST_ENTRIES` entries.
    """
    host, n = host_namespace(), graph.units
    begins, others, edges = neighbour_rows(n, graph.first, graph.second)
    degrees = begins[1:] - begins[:-1]
    width = int(host.max(degrees))
    whole = n * (values.count if matrices else 1) <= FEW_UNITS or 4 * width >= n
    width = n if whole else width
    if n * width > MOST_ENTRIES:
        raise ValueError(
            f"graph must have fewer neighbours of a unit to be learned, got {n} units and one with "
            f"{int(host.max(degrees))} neighbours"
        )
    owner = host.repeat(host.arange(n), degrees)
    column = host.astype(others, host.int64) if whole else host.arange(owner.shape[0]) - begins[owner]
    entries = owner * width + column
    table = host.full((n * width,), (1 + matrices) * graph.edges, dtype=host.int64)
    table[entries] = edges + graph.edges * (matrices & (owner != graph.first[edges]))
    there = None
    if not whole:
        there = host.zeros((n * width,), dtype=host.int64)
        there[entries] = others
        there = host.reshape(there, (n, width))
    more: list[Array] = []
    if factors is not None and factors.shape[0]:
        owners, others = factor_entries(factors)
        if owners.shape[0] * n > MOST_ENTRIES:
            raise ValueError(f"factors must be fewer to be learned, got {factors.shape[0]} of {n} units")
        more = [factors, others, owners[:, None] == host.arange(n)]
    with wide_dtypes(xp):
        return Neighbourhood(
            xp, values, n, graph.edges, asarray([[value] for value in values.values], xp, "int64"),
            None if there is None else asarray(there, xp, "int64"), asarray(table, xp, "int64"), matrices,
            *(asarray(x, xp, kind) for x, kind in zip(more, ("int64", "int64", "float64"), strict=False)),
        )  # fmt: skip


def fields_of(machine: EnergyModel) -> Array:
    """Return the fields of a machine, of shape (channels, units)."""
    return machine.unit_fields.T if machine.kind.is_categorical else machine.unit_fields[None, :]


def place_of(machine: EnergyModel) -> Array:
    """Return couplings and fields of a machine as one vector."""
    return joined(machine.coupling_parameters, fields_of(machine))


def joined(couplings: Array, fields: Array) -> Array:
    """Concatenate couplings and fields to one vector."""
    host = host_namespace()
    return host.concat([host.reshape(each, (-1,)) for each in (couplings, fields)])


class Objective:
    """Training data with weights, and the objective functions of learning.

    Couplings and fields are concatenated to one vector, `place`: see `joined`.

    Parameters
    ----------
    machine : EnergyModel
        Not changed.
    X : array of shape (rows, units)
    sample_weight : array of shape (rows,), optional
    weight_decay : float, optional
        L2 penalty: ``weight_decay / 2`` times the sum of squared couplings and fields is subtracted from the objective.

    Raises
    ------
    ValueError
        If rows are not states of the machine.

    Attributes
    ----------
    wanted : tuple of arrays
        Mean moments of the data: see `Neighbourhood.moments`.
    incomplete : bool
        Whether rows do not have the values of all units.
    """

    incomplete = False

    def __init__(self, machine: EnergyModel, X: Any, sample_weight: Any = None, weight_decay: float = 0.0) -> None:
        self.machine, self.weight_decay = machine, weight_decay
        self.rows = checked_rows(X, machine.n_units, within=None, missing=True, owner=type(machine).__name__)
        self.count = known_length(self.rows)
        self.weights = checked_weights(sample_weight, self.rows)
        self._tables: dict[Any, Neighbourhood] = {}
        self.wanted: Moments = self._mean(self._checked_moments)

    def library(self) -> Array:
        """Return the namespace for the chains: that of the rows, or the default one if the rows are lazy."""
        xp = array_namespace(self.rows)
        return default_namespace() if is_lazy(xp) else xp

    def table(self, xp: Namespace) -> Neighbourhood:
        """Return the table of neighbours as arrays of a library; it is cached."""
        if xp not in self._tables:
            machine, matrices = self.machine, self.machine.edge_couplings.ndim > 1
            self._tables[xp] = neighbourhood(machine.graph, machine.kind, xp, matrices, machine.factor_units)
        return self._tables[xp]

    def split(self, place: Array) -> Moments:
        """Split a vector into couplings and fields, of shape (channels, units)."""
        host, couplings = host_namespace(), self.machine.coupling_parameters
        of_edges = host.reshape(place[: couplings.size], couplings.shape)
        return of_edges, host.reshape(place[couplings.size :], (-1, self.machine.n_units))

    def give(self, machine: EnergyModel, place: Array) -> None:
        """Set the couplings and fields of a machine from a vector."""
        couplings, fields = self.split(place)
        machine.set_parameters(couplings, fields.T if machine.kind.is_categorical else fields[0])

    def machine_at(self, place: Array) -> EnergyModel:
        """Return a copy of the machine with the couplings and fields of a vector."""
        found = copy.copy(self.machine)
        self.give(found, place)
        return found

    def pseudo(self, place: Array) -> tuple[float, Any]:
        """Compute the penalised mean log-pseudo-likelihood and its gradient."""

        def measure(table: Neighbourhood, rows: Array, counts: Array) -> tuple[Array, ...]:
            return table.summed(Neighbourhood.pseudo, rows, counts, *self.split(place))

        value, *slope = self._mean(measure)
        return self._decayed(place, float(value), joined(*slope))

    def scores(self, score: Score, place: Array) -> Array:
        """Compute a score of each row: `Neighbourhood.pseudo` or `Neighbourhood.shares`."""
        found = [table.scores(score, rows, *self.split(place)) for table, rows, _ in self._parts()]
        return host_namespace().concat(found)

    def pseudo_likelihoods(self) -> Array:
        """Compute the log-pseudo-likelihood of each row."""
        return self.scores(Neighbourhood.pseudo, place_of(self.machine))

    def log_likelihoods(self) -> Array:
        """Compute the log-likelihood of each row, by enumeration of all states."""
        return self.scores(Neighbourhood.shares, place_of(self.machine)) - enumerated(self.machine).log_partition()

    def likelihood(self, place: Array) -> tuple[float, Any]:
        """Compute the penalised mean log-likelihood and its gradient, by enumeration of all states."""
        host = host_namespace()
        machine = self.machine_at(place)
        states = enumerated(machine)
        value = float(host.vecdot(place, joined(*self.wanted))) - states.log_partition()
        return self._decayed(place, value, self._slope(self.exactly(states)))

    def exactly(self, states: Enumeration) -> Moments:
        """Compute the mean moments of a machine from all of its states."""
        return self.moments_of(states.probabilities())

    def moments_of(self, chances: Array) -> Moments:
        """Compute the mean moments of all states with the given probabilities."""
        return Objective(self.machine, states_of(self.machine, 0, chances.shape[0]), chances).wanted

    def beside(self, place: Array, of_model: Moments) -> Array:
        """Compute the gradient of the penalised mean log-likelihood, given the mean moments of the machine."""
        return self._decayed(place, 0.0, self._slope(of_model))[1]

    def largest_curvature(self) -> float:
        """Estimate the largest curvature of the log-likelihood; gradient ascent needs steps below 2 divided by it.

        It is the largest eigenvalue of the covariance matrix of the moments in the data, by power iteration, plus
        `weight_decay`.
        """
        host = host_namespace()
        mean = joined(*self.wanted)
        direction, found = mean + 1.0, 0.0
        for _ in range(TURNS):
            direction = direction / float(host.linalg.vector_norm(direction))

            def measure(table: Neighbourhood, rows: Array, counts: Array, way: Any = direction) -> tuple[Array, ...]:
                shares = table.scores(Neighbourhood.shares, rows, *self.split(way))
                return table.moments(rows, counts * shares)

            turned = joined(*self._mean(measure)) - mean * float(host.vecdot(mean, direction))
            found = float(host.linalg.vector_norm(turned))
            if not found:
                break
            direction = turned
        return found + self.weight_decay

    def _slope(self, of_model: Moments) -> Array:
        return joined(*(a - b for a, b in zip(self.wanted, of_model, strict=True)))

    def _decayed(self, place: Array, value: float, slope: Array) -> tuple[float, Any]:
        squares = float(host_namespace().vecdot(place, place))
        return value - 0.5 * self.weight_decay * squares, slope - self.weight_decay * place

    def _parts(self) -> Iterator[tuple[Neighbourhood, Any, Any]]:
        """Yield batches of rows with their weights, and the table of neighbours in their library."""
        values, host = self.machine.kind, host_namespace()
        channels = values.count if values.is_categorical else 1
        width = channels * self.machine.n_units
        size = max(width if self.machine.edge_couplings.ndim > 1 else 1, AT_ONCE // width)
        for rows, weights in minibatches(self.rows, size, weights=self.weights):
            counts = host.ones((rows.shape[0],)) if weights is None else weights
            yield self.table(array_namespace(rows)), rows, counts

    def _mean(self, measure: Callable[[Neighbourhood, Any, Any], tuple[Array, ...]]) -> Array:
        """Return means over all rows, in host memory, of sums that `measure` computes for each batch."""
        totals: tuple[Array, ...] = ()
        for part in self._parts():
            found = tuple(map(to_numpy, measure(*part)))
            totals = tuple(a + b for a, b in zip(totals, found, strict=True)) if totals else found
        return tuple(total / self.count for total in totals)

    def _checked_moments(self, table: Neighbourhood, rows: Array, counts: Array) -> Moments:
        allowed, xp = self.machine.kind.values, table.xp
        known = rows == allowed[0]
        for value in allowed[1:]:
            known = known | (rows == value)
        if not bool(xp.all(known)):
            if any_missing(rows):
                raise MissingValuesError("X must not have missing values, NaN")
            raise ValueError(f"X must hold {', '.join(map(str, allowed))}, got {float(rows[~known][0]):g}")
        return table.moments(rows, counts)
