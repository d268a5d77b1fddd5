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

from nbm_xp.machines.rows import checked_rows, checked_weights, known_length, minibatches
from nbm_xp.machines.units import Units
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

from .colouring import neighbour_rows
from .energy_model import EnergyModel
from .exact import Enumeration, enumerated
from .graph import Graph
from .layout import reweighed

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

Moments = tuple[Any, Any]
"""The sums of what couplings and fields are multiplied with in the energy, but for the sign."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A table of each unit's neighbours, in one library.

    Parameters
    ----------
    xp : namespace
    kind : Units
        What a unit can be.
    neighbours : array or None
        Of shape (units, width); None where a table has a column for each unit.
    edges : array
        Of shape (units * width,): the edge that leads there; the number of edges where there is none.
    one, other : arrays
        Of each edge, its two places in that table.
    """

    xp: Any
    kind: Units
    units: int
    neighbours: Any
    edges: Any
    one: Any
    other: Any

    def channels(self, rows: Any) -> Any:
        """States as float64 numbers of shape (rows, channels, units): values, or for each Potts value a 0 or 1."""
        xp = self.xp
        float64 = dtype_of(xp, "float64")
        if not self.kind.is_categorical:
            return xp.astype(rows, float64)[:, None, :]
        return xp.stack([xp.astype(rows == k, float64) for k in self.kind.values], axis=1)

    def sums(self, states: Any, couplings: Any) -> Any:
        """The sums over all neighbours of couplings times channels, of the shape of `states`."""
        xp = self.xp
        weights = xp.concat([couplings, xp.zeros((1,), dtype=couplings.dtype)])
        table = xp.reshape(xp.take(weights, self.edges), (self.units, -1))
        if self.neighbours is None:
            return xp.matmul(states, table)  # which is symmetric
        total = xp.zeros(states.shape, dtype=states.dtype)
        for column in range(table.shape[1]):
            total = total + xp.take(states, self.neighbours[:, column], axis=2) * table[:, column]
        return total

    def products(self, ours: Any, theirs: Any) -> Any:
        """The sums over rows and channels of one unit's numbers times those of each neighbour, along the table."""
        xp = self.xp
        if self.neighbours is None:
            ours, theirs = (xp.reshape(x, (-1, self.units)) for x in (ours, theirs))
            return xp.reshape(xp.matmul(xp.matrix_transpose(ours), theirs), (-1,))
        columns = [
            xp.sum(ours * xp.take(theirs, self.neighbours[:, column], axis=2), axis=(0, 1))
            for column in range(self.neighbours.shape[1])
        ]
        return xp.reshape(xp.stack(columns, axis=1), (-1,))

    def moments(self, rows: Any, counts: Any) -> tuple[Any, Any]:
        """The sums over rows of what couplings and fields are multiplied with in the energy, but for the sign.

        Parameters
        ----------
        rows : array of shape (rows, units)
        counts : array of shape (rows,)
            What each counts, float64.

        Returns
        -------
        pairs, units : arrays
            Of shape (edges,) and (channels, units).
        """
        with wide_dtypes(self.xp):
            states = self.channels(rows)
            counted = states * counts[:, None, None]
            pairs = self.xp.take(self.products(counted, states), self.one)
            return pairs, self.xp.sum(counted, axis=0)

    def shares(self, rows: Any, couplings: Any, fields: Any) -> Any:
        """The sums of couplings and fields times what they are multiplied with in each row: minus its energy."""
        with wide_dtypes(self.xp):
            states = self.channels(rows)
            return self.xp.sum(states * (self.sums(states, couplings) / 2.0 + fields), axis=(1, 2))

    def pseudo(self, rows: Any, couplings: Any, fields: Any) -> tuple[Any, Any, Any]:
        """The logarithm of the pseudo-likelihood of each row, its channels, and the residuals.

        Parameters
        ----------
        rows : array of shape (rows, units)
        couplings : array of shape (edges,)
        fields : array of shape (channels, units)
        """
        xp = self.xp
        states = self.channels(rows)
        local = self.sums(states, couplings) + fields
        if self.kind.is_categorical:
            largest = xp.max(local, axis=1, keepdims=True)
            powers = xp.exp(local - largest)
            sums = xp.sum(powers, axis=1, keepdims=True)
            found = xp.sum(states * local, axis=1, keepdims=True) - largest - xp.log(sums)
            return xp.sum(found, axis=(1, 2)), states, states - powers / sums
        odds = self.kind.step * local
        upper = (states - float(self.kind.least)) / self.kind.step
        towards = (2.0 * upper - 1.0) * odds
        found = xp.minimum(towards, xp.zeros_like(towards)) - xp.log1p(xp.exp(-xp.abs(towards)))
        means = 0.5 + 0.5 * xp.tanh(0.5 * odds)
        return xp.sum(found, axis=(1, 2)), states, self.kind.step * (upper - means)

    def pseudo_gradient(self, rows: Any, counts: Any, couplings: Any, fields: Any) -> tuple[Any, Any, Any]:
        """The sum over rows of the logarithms of their pseudo-likelihoods, and its gradients."""
        with wide_dtypes(self.xp):
            found, states, residuals = self.pseudo(rows, couplings, fields)
            residuals = residuals * counts[:, None, None]
            table = self.products(residuals, states)
            pairs = self.xp.take(table, self.one) + self.xp.take(table, self.other)
            return self.xp.sum(found * counts), pairs, self.xp.sum(residuals, axis=0)

    def on_side(self, couplings: Any, fields: Any) -> tuple[Any, Any]:
        """Couplings and fields from the host's memory, in this library."""
        with wide_dtypes(self.xp):
            return asarray(couplings, self.xp, "float64"), asarray(fields, self.xp, "float64")


def neighbourhood(graph: Graph, values: Units, xp: Any) -> Neighbourhood:
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
            f"graph must have fewer neighbours of a unit to be learnt, got {n} units and one with "
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
    places = host.reshape(entries[host.argsort(edges, stable=True)], (-1, 2))
    with wide_dtypes(xp):
        ours = None if there is None else asarray(there, xp, "int64")
        kept = (asarray(x, xp, "int64") for x in (table, places[:, 0], places[:, 1]))
        return Neighbourhood(xp, values, n, ours, *kept)


def fields_of(machine: EnergyModel) -> Any:
    """The fields of a machine, of shape (channels, units)."""
    host = host_namespace()
    found = machine.layout.fields[host.argsort(machine.layout.order), ...]
    return found.T if found.ndim == 2 else found[None, :]


def joined(couplings: Any, fields: Any) -> Any:
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

    def library(self) -> Any:
        """Where chains run beside these rows."""
        xp = array_namespace(self.rows)
        return default_namespace() if is_lazy(xp) else xp

    def table(self, xp: Any) -> Neighbourhood:
        """The neighbours in a library."""
        if xp not in self._tables:
            self._tables[xp] = neighbourhood(self.machine.graph, self.machine.kind, xp)
        return self._tables[xp]

    def split(self, place: Any) -> Moments:
        """Couplings, and fields of shape (channels, units), of a vector."""
        edges = self.machine.graph.edges
        return place[:edges], host_namespace().reshape(place[edges:], (-1, self.machine.n_units))

    def machine_at(self, place: Any) -> EnergyModel:
        """A machine with these couplings and fields."""
        couplings, fields = self.split(place)
        found = copy.copy(self.machine)
        found.layout = reweighed(found.layout, couplings, fields.T if found.kind.is_categorical else fields[0])
        return found

    def pseudo(self, place: Any) -> tuple[float, Any]:
        """The mean log-pseudo-likelihood, and its gradient."""

        def measure(table: Neighbourhood, rows: Any, counts: Any) -> tuple[Any, ...]:
            return table.pseudo_gradient(rows, counts, *table.on_side(*self.split(place)))

        value, *slope = self._mean(measure)
        return self._decayed(place, float(value), joined(*slope))

    def scores(self, place: Any) -> Any:
        """The log-pseudo-likelihood of each row."""
        found = []
        for table, rows, _ in self._parts():
            with wide_dtypes(table.xp):
                found.append(to_numpy(table.pseudo(rows, *table.on_side(*self.split(place)))[0]))
        return host_namespace().concat(found)

    def shares(self, place: Any) -> Any:
        """Minus the energy of each row."""
        parts = self._parts()
        found = [to_numpy(table.shares(rows, *table.on_side(*self.split(place)))) for table, rows, _ in parts]
        return host_namespace().concat(found)

    def likelihood(self, place: Any) -> tuple[float, Any]:
        """The mean log-likelihood, and its gradient, by all states."""
        host = host_namespace()
        machine = self.machine_at(place)
        states = enumerated(machine)
        value = float(host.vecdot(place, joined(*self.wanted))) - states.log_partition()
        return self._decayed(place, value, self._slope(self.exactly(states)))

    def exactly(self, states: Enumeration) -> Moments:
        """What a machine has in place of `wanted`, by all of its states."""
        host, values, n = host_namespace(), self.machine.kind, self.machine.n_units
        table, chances = self.table(host), states.probabilities()
        size = max(1, AT_ONCE // n)
        totals: list[Any] = [0.0, 0.0]
        powers = values.count ** host.arange(n)
        for first in range(0, chances.shape[0], size):
            part = chances[first : first + size]
            digits = host.arange(first, first + part.shape[0])[:, None] // powers % values.count
            found = table.moments(digits * int(values.step) + values.least, part)
            totals = [a + b for a, b in zip(totals, found, strict=True)]
        return totals[0], totals[1]

    def beside(self, place: Any, of_model: Moments) -> Any:
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

            def measure(table: Neighbourhood, rows: Any, counts: Any, way: Any = direction) -> tuple[Any, ...]:
                weights = counts * table.shares(rows, *table.on_side(*self.split(way)))
                return table.moments(rows, weights)

            turned = joined(*self._mean(measure)) - mean * float(host.vecdot(mean, direction))
            found = float(host.linalg.vector_norm(turned))
            if not found:
                break
            direction = turned
        return found + self.weight_decay

    def _slope(self, of_model: Moments) -> Any:
        return joined(*(a - b for a, b in zip(self.wanted, of_model, strict=True)))

    def _decayed(self, place: Any, value: float, slope: Any) -> tuple[float, Any]:
        squares = float(host_namespace().vecdot(place, place))
        return value - 0.5 * self.weight_decay * squares, slope - self.weight_decay * place

    def _parts(self) -> Iterator[tuple[Neighbourhood, Any, Any]]:
        """Some rows at a time, with what they count, and the neighbours in their library."""
        values, host = self.machine.kind, host_namespace()
        channels = values.count if values.is_categorical else 1
        size = max(1, AT_ONCE // (channels * self.machine.n_units))
        for rows, weights in minibatches(self.rows, size, weights=self.weights):
            table = self.table(array_namespace(rows))
            counts = host.ones((rows.shape[0],)) if weights is None else weights
            with wide_dtypes(table.xp):
                yield table, rows, asarray(counts, table.xp, "float64")

    def _mean(self, measure: Callable[[Neighbourhood, Any, Any], tuple[Any, ...]]) -> Any:
        """The means, in the host's memory, of what is summed over some rows at a time."""
        totals: tuple[Any, ...] = ()
        for part in self._parts():
            found = tuple(map(to_numpy, measure(*part)))
            totals = tuple(a + b for a, b in zip(totals, found, strict=True)) if totals else found
        return tuple(total / self.count for total in totals)

    def _checked_moments(self, table: Neighbourhood, rows: Any, counts: Any) -> Moments:
        allowed, xp = self.machine.kind.values, table.xp
        known = rows == allowed[0]
        for value in allowed[1:]:
            known = known | (rows == value)
        if not bool(xp.all(known)):
            raise ValueError(f"X must hold {', '.join(map(str, allowed))}, got {float(rows[~known][0]):g}")
        return table.moments(rows, counts)
