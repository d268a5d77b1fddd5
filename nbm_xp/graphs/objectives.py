"""What learning climbs: the mean log-pseudo-likelihood or log-likelihood of rows, and their gradients.

Contract: rows have any library and may be computed later, some at a time; what comes to the
host's memory is of the size of couplings and fields, which lie there.

The gradient of the mean log-likelihood is the mean that a coupling or field is multiplied with in the data, less that
in the machine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

from nbm_xp.machines.rows import checked_rows, checked_weights, known_length, minibatches
from nbm_xp.namespace import array_namespace, asarray, default_namespace, host_namespace, is_lazy, to_numpy, wide_dtypes

from .energy_model import EnergyModel
from .exact import Enumeration, enumerated
from .layout import reweighed
from .likelihoods import Neighbourhood, neighbourhood

__all__ = ["Objective", "fields_of", "joined"]

AT_ONCE: Final = 2**22
"""So many numbers of rows are worked with at a time."""
MOST_STATES: Final = 2**18
"""So many states are gone through in each step."""
TURNS: Final = 12
"""How often the direction of the largest curvature is looked for."""

Moments = tuple[Any, Any]


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
        self.rows = checked_rows(X, machine.units_count, within=None, owner=type(machine).__name__)
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
            self._tables[xp] = neighbourhood(self.machine.graph, self.machine.values, xp)
        return self._tables[xp]

    def split(self, place: Any) -> Moments:
        """Couplings, and fields of shape (channels, units), of a vector."""
        edges = self.machine.graph.edges
        return place[:edges], host_namespace().reshape(place[edges:], (-1, self.machine.units_count))

    def machine_at(self, place: Any) -> EnergyModel:
        """A machine with these couplings and fields."""
        couplings, fields = self.split(place)
        found = copy.copy(self.machine)
        found.layout = reweighed(found.layout, couplings, fields.T if found.values.kind == "potts" else fields[0])
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
        host, values, n = host_namespace(), self.machine.values, self.machine.units_count
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

    def beside(self, place: Any, made_up: Moments) -> Any:
        """The gradient of the mean log-likelihood, where a machine has these in place of `wanted`."""
        return self._decayed(place, 0.0, self._slope(made_up))[1]

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

    def _slope(self, made_up: Moments) -> Any:
        return joined(*(a - b for a, b in zip(self.wanted, made_up, strict=True)))

    def _decayed(self, place: Any, value: float, slope: Any) -> tuple[float, Any]:
        squares = float(host_namespace().vecdot(place, place))
        return value - 0.5 * self.weight_decay * squares, slope - self.weight_decay * place

    def _parts(self) -> Iterator[tuple[Neighbourhood, Any, Any]]:
        """Some rows at a time, with what they count, and the neighbours in their library."""
        values, host = self.machine.values, host_namespace()
        channels = values.count if values.kind == "potts" else 1
        size = max(1, AT_ONCE // (channels * self.machine.units_count))
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
        allowed, xp = self.machine.values.all, table.xp
        known = rows == allowed[0]
        for value in allowed[1:]:
            known = known | (rows == value)
        if not bool(xp.all(known)):
            raise ValueError(f"X must hold {', '.join(map(str, allowed))}, got {float(rows[~known][0]):g}")
        return table.moments(rows, counts)
