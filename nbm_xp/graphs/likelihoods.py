"""How likely rows of states are: their pseudo-likelihood or likelihood by couplings and fields, and the gradients.

Contract: rows have any library and may be computed later, some at a time, in memory in proportion to the rows, not to
rows times edges; what comes to host memory is of the size of couplings and fields, which lie there.

The pseudo-likelihood of a state is the product, over its units, of the probability of the unit's value given all
others. Its logarithm is concave, and its gradient needs no chains: with the residuals r = s - <s | others> of units
that is r_i for a field and ``r_i s_j + s_i r_j`` for a coupling. The gradient of the mean log-likelihood is the mean
that a coupling or field is multiplied with in the data, less that in the machine.

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
from nbm_xp.machines.minibatches import minibatches
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
from .graph import Graph
from .layout import neighbour_rows

__all__ = ["MOST_STATES", "Objective", "fields_of", "joined"]

AT_ONCE: Final = 2**22
"""So many numbers of rows are worked with at a time."""
MOST_STATES: Final = 2**18
"""So many states are gone through in each step."""
TURNS: Final = 12
"""How often the direction of the largest curvature is looked for."""
FEW_UNITS = 2048
"""So many have a table of all pairs, for one product of matrices is quicker than many sums."""
MOST_ENTRIES = 2**28

Moments = tuple[Array, Array]
"""The sums of what couplings and fields are multiplied with in the energy, but for the sign."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A table of each unit's neighbours, in one library.

    Parameters
    ----------
    xp : namespace
    kind : Units
        What a unit can be.
    units, n_edges : int
        How many there are.
    values : array of shape (values, 1)
        All that it can be.
    neighbours : array or None
        Of shape (units, width); None where a table has a column for each unit.
    edges : array
        Of shape (units * width,): the edge that leads there; `n_edges` where there is none.
    """

    xp: Namespace
    kind: Units
    units: int
    n_edges: int
    values: Array
    neighbours: Array | None
    edges: Array

    def channels(self, rows: Array) -> Array:
        """States as float64 numbers of shape (rows, channels, units): values, or for each Potts value a 0 or 1."""
        xp, states = array_namespace(rows), rows[:, None, :]
        return xp.astype(states == self.values if self.kind.is_categorical else states, dtype_of(xp, "float64"))

    def sums(self, states: Array, couplings: Array) -> Array:
        """The sums over all neighbours of couplings times channels, of the shape of `states`."""
        xp = array_namespace(couplings)
        weights = xp.concat([couplings, xp.zeros((1,), dtype=couplings.dtype)])
        table = xp.reshape(xp.take(weights, self.edges), (self.units, -1))
        flat = xp.reshape(states, (-1, self.units))
        if self.neighbours is None:
            return xp.reshape(xp.matmul(flat, table), states.shape)  # the table is symmetric
        total = flat * 0.0
        for column in range(self.neighbours.shape[1]):
            total = total + xp.take(flat, self.neighbours[:, column], axis=1) * table[:, column]
        return xp.reshape(total, states.shape)

    def shares(self, rows: Array, couplings: Array, fields: Array) -> Array:
        """The sum of couplings and fields times what they are multiplied with in each row: minus its energy.

        Parameters
        ----------
        rows : array of shape (rows, units)
        couplings : array of shape (edges,)
        fields : array of shape (channels, units)
        """
        states = self.channels(rows)
        return B.sum(states * (self.sums(states, couplings) / 2.0 + fields), axis=(1, 2))

    def pseudo(self, rows: Array, couplings: Array, fields: Array) -> Array:
        """The logarithm of the pseudo-likelihood of each row; see `shares`."""
        states = self.channels(rows)
        local = self.sums(states, couplings) + fields
        if self.kind.is_categorical:
            return B.sum(B.sum(states * local, axis=1) - B.logsumexp(local, axis=1), axis=1)
        upwards = 2.0 * (states - float(self.kind.least)) / self.kind.step - 1.0
        return -B.sum(softplus(-self.kind.step * upwards * local), axis=(1, 2))

    def summed(self, score: Score, rows: Array, counts: Array, couplings: Array, fields: Array) -> tuple[Array, ...]:
        """The sum over rows of what each counts times its score, and its gradients by couplings and fields."""

        def total(rows: Array, counts: Array, couplings: Array, fields: Array) -> Array:
            return B.sum(score(self, rows, couplings, fields) * counts)

        with wide_dtypes(self.xp):
            given = (asarray(x, self.xp, "float64") for x in (counts, couplings, fields))
            value, slopes = value_and_grad(total, (2, 3))(rows, *given)
        return value, *slopes

    def moments(self, rows: Array, counts: Array) -> Moments:
        """The sums over rows of what couplings and fields are multiplied with in the energy, but for the sign."""
        host, channels = host_namespace(), self.values.shape[0] if self.kind.is_categorical else 1
        nothing = host.zeros((self.n_edges,)), host.zeros((channels, self.units))
        return self.summed(Neighbourhood.shares, rows, counts, *nothing)[1:]

    def scores(self, score: Score, rows: Array, couplings: Array, fields: Array) -> Array:
        """The score of each row, in the host's memory."""
        with wide_dtypes(self.xp):
            given = (asarray(x, self.xp, "float64") for x in (couplings, fields))
            return to_numpy(score(self, rows, *given))


Score = Callable[[Neighbourhood, Array, Array, Array], Array]


def neighbourhood(graph: Graph, values: Units, xp: Namespace) -> Neighbourhood:
    """The table of a graph in a library.

    Raises
    ------
    ValueError
        If some units have so many neighbours that it would be too large.
    """
    host, n = host_namespace(), graph.units
    begins, others, edges = neighbour_rows(n, graph.first, graph.second)
    degrees = begins[1:] - begins[:-1]
    width = int(host.max(degrees))
    whole = n <= FEW_UNITS or 4 * width >= n
    width = n if whole else width
    if n * width > MOST_ENTRIES:
        raise ValueError(
            f"graph must have fewer neighbours of a unit to be learned, got {n} units and one with "
            f"{int(host.max(degrees))} neighbours"
        )
    owner = host.repeat(host.arange(n), degrees)
    column = host.astype(others, host.int64) if whole else host.arange(owner.shape[0]) - begins[owner]
    entries = owner * width + column
    table = host.full((n * width,), graph.edges, dtype=host.int64)
    table[entries] = edges
    there = None
    if not whole:
        there = host.zeros((n * width,), dtype=host.int64)
        there[entries] = others
        there = host.reshape(there, (n, width))
    with wide_dtypes(xp):
        return Neighbourhood(
            xp, values, n, graph.edges, asarray([[value] for value in values.values], xp, "int64"),
            None if there is None else asarray(there, xp, "int64"), asarray(table, xp, "int64"),
        )  # fmt: skip


def fields_of(machine: EnergyModel) -> Array:
    """The fields of a machine, of shape (channels, units)."""
    return machine.unit_fields.T if machine.kind.is_categorical else machine.unit_fields[None, :]


def joined(couplings: Array, fields: Array) -> Array:
    """Couplings and fields as one vector."""
    host = host_namespace()
    return host.concat([couplings, host.reshape(fields, (-1,))])


class Objective:
    """Rows that a machine learns from, what each counts, and how likely they are by couplings and fields.

    Parameters
    ----------
    machine : EnergyModel
        It stays as it is.
    X : array of shape (rows, units)
    sample_weight : array of shape (rows,), optional
    weight_decay : float, optional
        Half of it times the squares of all couplings and fields is taken from what is climbed.

    Raises
    ------
    ValueError
        If rows are no states of the machine.

    Attributes
    ----------
    wanted : tuple of arrays
        What the data shows of pairs and units: see `Neighbourhood.moments`.
    """

    def __init__(self, machine: EnergyModel, X: Any, sample_weight: Any = None, weight_decay: float = 0.0) -> None:
        self.machine, self.weight_decay = machine, weight_decay
        self.rows = checked_rows(X, machine.n_units, within=None, owner=type(machine).__name__)
        self.count = known_length(self.rows)
        self.weights = checked_weights(sample_weight, self.rows)
        self._tables: dict[Any, Neighbourhood] = {}
        self.wanted: Moments = self._mean(self._checked_moments)

    def library(self) -> Array:
        """Where chains run beside these rows."""
        xp = array_namespace(self.rows)
        return default_namespace() if is_lazy(xp) else xp

    def table(self, xp: Namespace) -> Neighbourhood:
        """The neighbours in a library."""
        if xp not in self._tables:
            self._tables[xp] = neighbourhood(self.machine.graph, self.machine.kind, xp)
        return self._tables[xp]

    def split(self, place: Array) -> Moments:
        """Couplings, and fields of shape (channels, units), of a vector."""
        edges = self.machine.graph.edges
        return place[:edges], host_namespace().reshape(place[edges:], (-1, self.machine.n_units))

    def give(self, machine: EnergyModel, place: Array) -> None:
        """Give a machine these couplings and fields."""
        couplings, fields = self.split(place)
        machine.set_parameters(couplings, fields.T if machine.kind.is_categorical else fields[0])

    def machine_at(self, place: Array) -> EnergyModel:
        """A machine with these couplings and fields."""
        found = copy.copy(self.machine)
        self.give(found, place)
        return found

    def pseudo(self, place: Array) -> tuple[float, Any]:
        """The mean log-pseudo-likelihood, and its gradient."""

        def measure(table: Neighbourhood, rows: Array, counts: Array) -> tuple[Array, ...]:
            return table.summed(Neighbourhood.pseudo, rows, counts, *self.split(place))

        value, *slope = self._mean(measure)
        return self._decayed(place, float(value), joined(*slope))

    def scores(self, score: Score, place: Array) -> Array:
        """The log-pseudo-likelihood of each row, or minus its energy: one of the scores of `Neighbourhood`."""
        found = [table.scores(score, rows, *self.split(place)) for table, rows, _ in self._parts()]
        return host_namespace().concat(found)

    def likelihood(self, place: Array) -> tuple[float, Any]:
        """The mean log-likelihood, and its gradient, by all states."""
        host = host_namespace()
        machine = self.machine_at(place)
        states = enumerated(machine)
        value = float(host.vecdot(place, joined(*self.wanted))) - states.log_partition()
        return self._decayed(place, value, self._slope(self.exactly(states)))

    def exactly(self, states: Enumeration) -> Moments:
        """What a machine has in place of `wanted`, by all of its states."""
        chances = states.probabilities()
        return Objective(self.machine, states_of(self.machine, 0, chances.shape[0]), chances).wanted

    def beside(self, place: Array, of_model: Moments) -> Array:
        """The gradient of the mean log-likelihood, where a machine has these in place of `wanted`."""
        return self._decayed(place, 0.0, self._slope(of_model))[1]

    def largest_curvature(self) -> float:
        """How much the log-likelihood bends, at most, along one direction: steps must be shorter than two over it.

        It is the largest variance of a sum of couplings and fields times what they are multiplied with, in the data.
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
        """Some rows at a time, with what they count, and the neighbours in their library."""
        values, host = self.machine.kind, host_namespace()
        channels = values.count if values.is_categorical else 1
        size = max(1, AT_ONCE // (channels * self.machine.n_units))
        for rows, weights in minibatches(self.rows, size, weights=self.weights):
            counts = host.ones((rows.shape[0],)) if weights is None else weights
            yield self.table(array_namespace(rows)), rows, counts

    def _mean(self, measure: Callable[[Neighbourhood, Any, Any], tuple[Array, ...]]) -> Array:
        """The means, in the host's memory, of what is summed over some rows at a time."""
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
            raise ValueError(f"X must hold {', '.join(map(str, allowed))}, got {float(rows[~known][0]):g}")
        return table.moments(rows, counts)
