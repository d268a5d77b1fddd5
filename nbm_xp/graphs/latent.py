"""Rows without the values of some units: hidden units, which no row has, and missing values, NaN.

Contract: a row has the probability of the sum over all states that agree with it. Its logarithm is exact, by
enumeration; its gradient is the difference of the moments given the rows and of those of the machine, either exact or
estimated by chains that draw the other units given each row. Rows are in host memory.

References
----------
D. H. Ackley, G. E. Hinton and T. J. Sejnowski, "A learning algorithm for Boltzmann machines", Cognitive Science 9
(1985), 147-169.
L. Younes, "Estimation and annealing for Gibbsian fields", Annales de l'Institut Henri Poincaré B 24 (1988), 269-294.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.enumeration import Enumeration
from nbm_xp.machines.minibatches import in_memory
from nbm_xp.machines.randomness import next_seed, stream
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length
from nbm_xp.machines.units import Units
from nbm_xp.namespace import host_namespace
from nbm_xp.rng import Generator

from .chains import Chains, started
from .energy_model import EnergyModel, checked_given
from .exact import enumerated
from .likelihoods import AT_ONCE, Decays, MissingValuesError, Objective, joined


def objective(machine: EnergyModel, X: Any, sample_weight: Any = None, decays: Decays = (0.0, 0.0)) -> Objective:
    """Return the objective of learning from rows; of another class if the values of some units are missing."""
    if not machine.hidden_units.shape[0]:
        with suppress(MissingValuesError):
            return Objective(machine, X, sample_weight, decays)
    return IncompleteObjective(machine, X, sample_weight, decays)


def completions(rows: Array, kind: Units) -> Iterator[tuple[Array, Array]]:
    """Yield batches of rows, and the numbers of all states that agree with each of them, of shape (rows, states).

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.graphs.energy_model import units_of
    >>> [(which.tolist(), found.tolist()) for which, found in completions(np.array([[1, np.nan]]), units_of("spin"))]
    [([0], [[1, 3]])]
    """
    host, count = host_namespace(), kind.count
    missing, places = host.isnan(rows), count ** host.arange(rows.shape[1], dtype=host.int64)
    digits = host.astype(host.where(missing, 0.0, (rows - kind.least) / kind.step), host.int64)
    first, n_missing = digits @ places, host.sum(missing, axis=1)
    for lacking in host.unique_values(n_missing).tolist():
        alike, size = host.nonzero(n_missing == lacking)[0], max(1, AT_ONCE // count**lacking)
        for begin in range(0, alike.shape[0], size):
            which = alike[begin : begin + size]
            units = host.reshape(host.nonzero(missing[which])[1], (which.shape[0], lacking))
            found = first[which][:, None]
            for k in range(lacking):  # each value of one more unit with all values of those before it
                values = places[units[:, k]][:, None, None] * host.arange(count)
                found = host.reshape(found[:, :, None] + values, (which.shape[0], -1))
            yield which, found


class IncompleteObjective(Objective):
    """Rows without the values of some units, and the objective functions of learning: see `Objective`.

    Attributes
    ----------
    given : array of shape (rows, units)
        Values of all units, NaN where they are missing.
    wanted : tuple of arrays
        Moments of the rows completed last: see `complete`.
    """

    incomplete = True
    _chains: Chains | None

    def __init__(self, machine: EnergyModel, X: Any, sample_weight: Any, decays: Decays) -> None:
        self.machine, self.decays, self._tables = machine, decays, {}
        self.rows = checked_rows(X, machine.n_visible, within=None, missing=True, owner=type(machine).__name__)
        self.count, self.weights = known_length(self.rows), checked_weights(sample_weight, self.rows)
        self.given, self._chains = checked_given(machine, in_memory(self.rows), "X"), None
        self._counts = host_namespace().ones((self.count,)) if self.weights is None else self.weights

    def first_place(self, seed: int) -> Array:
        """Return couplings and fields to begin from, and set `wanted` to the means of units, without those of pairs.

        The fields are those of independent units, hidden ones of equal probabilities. Couplings of hidden units are
        random, since learning cannot tell equal hidden units apart; other couplings are 0.

        Raises
        ------
        ValueError
            If a visible unit has no value in any row.
        """
        host, kind, graph, hidden = host_namespace(), self.machine.kind, self.machine.graph, self.machine.hidden_units
        sums = host.stack([self._counts @ (self.given == value) for value in kind.values])
        total = host.sum(sums, axis=0)
        never = host.nonzero(total[self.machine.visible_units] == 0)[0]
        if never.shape[0]:
            raise ValueError(f"X must have a value in each column, got only NaN in column {never[0]}")
        shares = host.where(total > 0, sums / host.where(total > 0, total, 1.0), 1.0 / kind.count)
        means = shares if kind.is_categorical else host.asarray([kind.values]) @ shares
        self.wanted = host.zeros((graph.edges,)), means
        logs = host.log(host.maximum(shares, 0.5 / self.count))
        fields = logs - host.mean(logs, axis=0) if kind.is_categorical else (logs[1:] - logs[:1]) / kind.step
        drawn = Generator(next_seed(stream(seed, "couplings")), library=host).normal(
            0.0, 2.0 / kind.step / graph.units**0.5, self.machine.coupling_parameters.shape
        )
        ends = host.isin(graph.first, hidden) | host.isin(graph.second, hidden)
        ends = host.concat([ends, host.any(host.isin(self.machine.factor_units, hidden), axis=1)])
        return joined(host.where(host.reshape(ends, (-1,) + (1,) * (drawn.ndim - 1)), drawn, 0.0), fields)

    def complete(self, machine: EnergyModel, seed: int, burn_in: int, n_sweeps: int) -> None:
        """Draw the values that rows do not have, and set the moments to those of the completed rows.

        Each row has a chain, which makes `burn_in` sweeps first, and `n_sweeps` sweeps in each call.
        """
        if self._chains is None:
            own = next_seed(stream(seed, "missing values"))
            self._chains = Chains(machine, started(machine, 1, 1.0, own, given=self.given), self.library())
            self._chains.step(burn_in)
        self._chains.machine = machine
        self._chains.step(n_sweeps)
        self.rows = self._chains.xp.matrix_transpose(self._chains.by_unit())
        self.wanted = self._mean(lambda table, some, counts: table.moments(some, counts))

    def pseudo_likelihoods(self) -> Array:
        """See `Objective`; the probability of a value is given the other values that are there, by enumeration."""
        host, n, states = host_namespace(), self.machine.n_units, enumerated(self.machine)
        without = (host.where(host.arange(n) == unit, host.nan, self.given) for unit in range(n))
        return n * self._log_sums(self.given, states) - sum(self._log_sums(rows, states) for rows in without)

    def log_likelihoods(self) -> Array:
        """See `Objective`."""
        states = enumerated(self.machine)
        return self._log_sums(self.given, states) - states.log_partition()

    def likelihood(self, place: Array) -> tuple[float, Any]:
        """See `Objective`; the gradient is exact, too."""
        host, states = host_namespace(), enumerated(self.machine_at(place))
        sums, total = self._log_sums(self.given, states), host.zeros(states.energies.shape)
        for which, found in completions(self.given, self.machine.kind):
            chances = host.exp(-states.energies[found] - sums[which][:, None]) * self._counts[which][:, None]
            total = total + host.bincount(host.reshape(found, (-1,)), host.reshape(chances, (-1,)), total.shape[0])
        self.wanted = self.moments_of(total)
        value = float(host.mean(self._counts * sums)) - states.log_partition()
        return self._decayed(place, value, self._slope(self.moments_of(states.probabilities())))

    def _log_sums(self, rows: Array, states: Enumeration) -> Array:
        """Return for each row the logarithm of the sum of ``exp(-E)`` over all states that agree with it."""
        result = host_namespace().zeros((rows.shape[0],))
        for which, found in completions(rows, self.machine.kind):
            result[which] = B.logsumexp(-states.energies[found], axis=1)
        return result
