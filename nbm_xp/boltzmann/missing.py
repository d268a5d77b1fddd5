"""Rows with missing values, NaN: likelihoods, and means given the values that are there.

Missing visible units are summed out like hidden ones. The free energy of the other values is -log Z of the machine in
which these values are clamped. If the layers outside of the group of the visible layer have few states, it is a sum
over these states: given one of them, visible units are independent. For other machines, annealed importance sampling
goes from the clamped base-rate model to the clamped machine.

Conditional means are averages over several Markov chains for each row, of the means that the units are drawn with. The
spread between the chains of a row gives their standard errors.

References
----------
R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Rows
from nbm_xp.machines.minibatches import any_missing, is_missing
from nbm_xp.machines.randomness import ChainStreams, compiled
from nbm_xp.machines.rows import known_length
from nbm_xp.namespace import array_namespace, asarray, dtype_of, is_bool, is_integer, is_lazy, wide_dtypes
from nbm_xp.namespace.errors import positive_int

from .annealing import AnnealedChains, inverse_temperatures
from .chains import Chains, machine_and_seed
from .energy import free_energy, local_field, observed_log_density
from .partition import blocks_of_states, log_partition, log_z_of, split
from .recording import Form, Recorded
from .state import MachineState
from .topology import Topology

_AT_ONCE = 2048  # chains of a block in memory, the rows of which are a power of two: equal in blocks of runs
_MOST_STATES, _STATES_AT_ONCE = 2**14, 2**8  # states that are enumerated for each row, and in one matrix product


class RowChains(Chains):
    """Chains that draw the missing values of rows, several for each row; `collect` takes rows, and returns averages.

    Attributes
    ----------
    per_row : int
        Number of chains for each row.
    """

    per_row, skips_complete = 1, True

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """Return averages, their standard errors, and whether rows have missing values; 0 for blocks without these."""
        xp, at_once, found = self.xp, 1 << max(1, _AT_ONCE // self.per_row).bit_length() - 1, []
        dtype = dtype_of(xp, self.result_dtype or self.machine.dtype)
        for first in range(offset, offset + rows, at_once):
            count = min(at_once, offset + rows - first)
            given = self.given[0][first - self.first : first - self.first + count, :]
            results = [xp.zeros((count, width), dtype=dtype) for width in self.widths(n_sweeps)]
            if is_lazy(array_namespace(given)) or any_missing(given):
                repeated = array_namespace(given).repeat(given, self.per_row, axis=0)
                chains = self.observing(repeated)
                chains.first, chains.chunks = first * self.per_row, getattr(repeated, "chunks", [self.chunks])[0]
                lacking = asarray(B.any(is_missing(given), axis=1, keepdims=True), xp, dtype)
                results = [*chains.averages(count, n_sweeps), lacking]
            found.append(xp.concat(results, axis=1))
        return xp.concat(found, axis=0)

    def averages(self, rows: int, n_sweeps: int) -> tuple[Array, Array]:
        """Return averages for rows, the first of which has the chains from number `first` on, and standard errors."""
        raise NotImplementedError

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [*super().widths(n_sweeps) * 2, 1]

    def of_rows(self, X: Array, first: int, per_row: int, n_sweeps: int, library: str | None) -> list[Array]:
        """Return the results of rows from number `first` on, three arrays; lazy with a lazy `library`."""
        chains = self.observing(X)
        chains.first, chains.per_row = first, per_row
        return chains.last(known_length(X), n_sweeps, library)


class ConditionalMeans(RowChains):
    """The means that a layer is drawn with; the first half of the sweeps is burn-in."""

    default_purpose = "conditional means"

    def averages(self, rows: int, n_sweeps: int) -> tuple[Array, Array]:
        """See `RowChains`."""
        burn_in, total = n_sweeps // 2, 0.0
        states = self.advance(self.start(self.first, rows * self.per_row), self.first, 0, burn_in)
        for draw in self.walk(states, self.first, burn_in, n_sweeps - burn_in):
            total = total + draw.shown[0] / (n_sweeps - burn_in)
        return _averages(self.xp.reshape(self.xp.matrix_transpose(total), (rows, self.per_row, -1)))


class ClampedWeights(RowChains, AnnealedChains):
    """Log-weights of annealing from the clamped base-rate model to the clamped machine."""

    default_purpose = "annealing of clamped machines"

    def averages(self, rows: int, n_sweeps: int) -> tuple[Array, Array]:
        """Return logarithms of averages of weights: see `RowChains`."""
        *_, log_weights = self.advance(self.start(self.first, rows * self.per_row), self.first, 0, n_sweeps)
        log_weights = self.xp.reshape(log_weights, (rows, self.per_row, 1))
        top = self.xp.max(log_weights, axis=1)
        mean, error = _averages(self.xp.exp(log_weights - top[:, None, :]))
        return top + self.xp.log(mean), error / mean


class ClampedSums(RowChains, AnnealedChains):
    """The same by exact sums, without sweeps, plus log Z of the clamped base-rate model."""

    def averages(self, rows: int, n_sweeps: int) -> tuple[Array, Array]:
        """See `RowChains`."""
        xp, sums = self.xp, compiled(self.machine.library, _record_sums, Form(self.topology, "float64", 0))
        states = blocks_of_states(self.topology, _enumerated(self.topology), _STATES_AT_ONCE)
        with wide_dtypes(xp):
            given = [asarray(array, xp, "float64") for array in (*self.machine.arrays, self.given[0])]
            found = [sums([*given, asarray(block, xp)], [])[0][0] for block in states]
            total = B.logsumexp(xp.stack(found, axis=1), axis=1, keepdims=True)
            return total, 0 * total


def _averages(values: Array) -> tuple[Array, Array]:
    """Return averages of values of shape (rows, chains, columns) over chains, and their standard errors."""
    xp = array_namespace(values)
    return xp.mean(values, axis=1), xp.std(values, axis=1, correction=1) / math.sqrt(values.shape[1])


def _record_sums(form: Form, streams: ChainStreams) -> Recorded:
    topology, (inputs, in_columns) = form.topology, form.parameters()
    parameters, layers = replace(in_columns, in_columns=False), _enumerated(topology)
    rows, states = (B.placeholder(ndim=2, dtype=form.dtype) for _ in range(2))
    whole = split(parameters, layers, states)
    weights = observed_log_density(topology.units[0], rows, local_field(parameters, 0, whole))
    weights = weights - free_energy(parameters, whole, topology.groups[0])
    return [*inputs, rows, states], [B.logsumexp(weights, axis=1)]


class MissingValuesMixin:
    """The methods of models for rows with missing values."""

    state_: MachineState
    _free_energy: Callable[[Array], Array]  # of complete rows
    _hidden_means: Callable[[Array], Array]  # the result of `transform` for complete rows

    def impute(
        self, X: Rows, *, n_chains: int = 10, n_sweeps: int = 100, probabilities: bool = False, errors: bool = False
    ) -> Any:
        """Return rows with conditional means, given the other values of a row, in place of missing values, NaN.

        Of categorical sites it is the most probable state. `sample` with `given` draws values. The random numbers are
        the same in each call, and the random streams of the model do not advance.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)
            A Dask array is completed block by block.
        n_chains : int, optional
            Number of independent Markov chains for each row, at least 2.
        n_sweeps : int, optional
            Number of Gibbs sweeps of each chain; the first half is burn-in. The result is the average over the others
            of the means that values were drawn with.
        probabilities : bool, optional
            Whether to return means of units, as `sample` does: of categorical sites, a column for each state.
        errors : bool, optional
            Whether to return the standard errors of the means of units as well, from the spread between chains; 0 for
            values that are not missing. They are too small if chains do not mix.

        Returns
        -------
        array of shape (rows, n_features_in_), or (rows, visible units) with `probabilities`
            With `errors`, a tuple of this and an array of shape (rows, visible units).

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.array([[20.0, 20.0, 0.0]]), [-20.0], [-10.0, -10.0, -5.0])  # two equal units
        >>> rbm.impute(np.array([[1.0, np.nan, np.nan], [np.nan, 0.0, 1.0]])).round()
        array([[1., 1., 0.],
               [0., 0., 1.]])
        """
        state, units, sweeps = self.state_, self.state_.topology.units[0], positive_int(n_sweeps, "n_sweeps", 2)
        rows = B.cast(state.checked_rows(X, missing=True, all_drawn=True), state.parameters.dtype)

        def drawn(X: Array, per_row: int) -> list[Array]:
            return self._conditional_means(X, 0, per_row, sweeps)

        means, spread = self._by_rows(rows, units.encoded, drawn, n_chains)
        if not probabilities:
            means = array_namespace(rows, means).where(is_missing(rows), units.decoded(means), rows)
        return (means, spread) if errors else means

    def log_likelihood(
        self,
        X: Rows,
        log_z: Any = None,
        *,
        n_chains: int | None = None,
        n_temperatures: int = 200,
        errors: bool = False,
    ) -> Any:
        """Return the log-likelihood of each row; with connected hidden layers, the mean-field lower bound on it.

        Of a row with missing values, NaN, it is the log-likelihood of the other values: exact if the layers outside of
        the group of the visible layer have at most 2^14 states, such as 14 hidden units of an `RBM`, otherwise
        estimated by annealed importance sampling of the machine in which the other values are clamped. The random
        numbers are the same in each call, and the random streams of the model do not advance.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1], or in the range of the kind of visible units; NaN where a value is missing.
        log_z : float or AISEstimate or LadderEstimate, optional
            The logarithm of the partition function; by default computed by `log_partition`.
        n_chains : int, optional
            Number of chains for each row with missing values, at least 2, by default 10. Lazy rows must be complete
            where parameters are in tiles, unless a number is given: then chains of all rows are computed.
        n_temperatures : int, optional
            Number of intermediate models: see `ais`.
        errors : bool, optional
            Whether to return the standard errors of the log-likelihoods as well: 0 where they are exact. They include
            that of `log_z`, if it is an estimate.

        Returns
        -------
        array of shape (rows,)
            With `errors`, a tuple of two such arrays.
        """
        X = self.state_.checked_rows(X, missing=True, all_drawn=n_chains is not None)
        known = log_partition(self) if log_z is None else log_z_of(log_z)
        found, spread = self._free_energies(X, n_chains, n_temperatures)
        spread = B.sqrt(B.square(spread) + getattr(log_z, "standard_error", 0.0) ** 2)
        return (-found - known, spread) if errors else -found - known

    def free_energy(self, X: Rows, *, n_chains: int | None = None, n_temperatures: int = 200) -> Array:
        """Return the free energy F(v) of each row, whose probability is exp(-F(v)) / Z.

        With connected hidden layers it is the mean-field upper bound on it.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1], or in the range of the kind of visible units. Missing ones, NaN, are summed out: see
            `log_likelihood`. Then it is no bound, but the free energy of the others.
        n_chains, n_temperatures : int, optional
            See `log_likelihood`.

        Returns
        -------
        array of shape (rows,)
        """
        X = self.state_.checked_rows(X, missing=True, all_drawn=n_chains is not None)
        return self._free_energies(X, n_chains, n_temperatures)[0]

    def _represent(self, X: Array, first: int = 0, n_chains: int | None = None) -> Array:
        """Return the result of `transform` for checked rows, from number `first` on."""
        last = self.state_.topology.layers[-1]

        def drawn(X: Array, per_row: int) -> list[Array]:
            return self._conditional_means(X, last, per_row, 100, first)

        return self._by_rows(X, self._hidden_means, drawn, n_chains)[0]

    def _free_energies(self, X: Array, n_chains: int | None = None, n_temperatures: int = 200, first: int = 0) -> Any:
        """Return the free energies of checked rows, from number `first` on, and their standard errors."""
        count = positive_int(n_temperatures, "n_temperatures", 2)

        def estimates(X: Array, per_row: int) -> list[Array]:
            machine, seed, lazy = machine_and_seed(self, None, 0, X)
            if _enumerated(machine.topology):
                found, clamped = ClampedSums(machine, seed, ()).of_rows(X, first, 1, 0, lazy), 0.0
            else:
                chains = ClampedWeights(machine, seed, inverse_temperatures(count, None) or [])
                found = chains.of_rows(X, first, per_row, count - 1, lazy)
                base = asarray(chains.base.bias, array_namespace(self.state_.like))
                rows, units = B.cast(X, B.dtype(base)), machine.topology.units[0]
                clamped = observed_log_density(units, rows, base[None, :])[:, 0]
            log_weights, errors, lacking = (part[:, 0] for part in found)
            return [-log_weights - clamped, errors, lacking]

        return self._by_rows(X, self._free_energy, estimates, n_chains)

    def _conditional_means(self, X: Array, layer: int, per_row: int, n_sweeps: int, first: int = 0) -> list[Array]:
        """Return the means of a layer's units given rows, from number `first` on: see `RowChains.collect`."""
        machine, seed, lazy = machine_and_seed(self, None, 0, X)
        return ConditionalMeans(machine, seed, layers=(layer,), means=True).of_rows(X, first, per_row, n_sweeps, lazy)

    def _by_rows(
        self,
        X: Array,
        complete: Callable[[Array], Array],
        incomplete: Callable[[Array, int], list[Array]],
        n_chains: int | None = None,
    ) -> tuple[Array, Array]:
        """Return values of rows and their standard errors: `complete` of complete rows, `incomplete` of the others.

        `incomplete` takes the number of chains for each row. See `log_likelihood` for `n_chains`.
        """
        per_row = 10 if n_chains is None else positive_int(n_chains, "n_chains", 2)
        lazy, usual = is_lazy(array_namespace(X)), complete(X)
        never = is_bool(X) or is_integer(X) or not X.shape[0] or X.shape[0] != X.shape[0]
        if never or (self.state_.is_tiled and n_chains is None if lazy else not any_missing(X)):
            return usual, B.zeros_like(usual)
        values, errors, lacking = incomplete(X, per_row)
        xp = array_namespace(usual, values)
        return xp.where(lacking > 0, B.cast(values, B.dtype(usual)), usual), B.cast(errors, B.dtype(usual))


def _enumerated(topology: Topology) -> list[int]:
    """Return the layers outside of the group of the visible layer; empty if they have too many states."""
    layers = [layer for layer in topology.layers if layer not in topology.groups[0]]
    radices = [topology.radices(layer) for layer in layers]
    few = None not in radices and math.prod(radix for each in radices for radix in each or ()) <= _MOST_STATES
    return layers if few else []
