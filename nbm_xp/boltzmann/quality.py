"""Quality of a machine: energy and entropy along inverse temperatures, and its draws beside data.

A machine at inverse temperature β has the distribution exp(-e(x) - β E(x)) / Z(β) of the states x of all layers, where
E is the energy of biases and weights, and e the own energy of real-valued units. Annealed importance sampling from
β = 0, where units are independent, gives weighted states at each β: their means are the moments of E, the mean weight
is Z(β), and the entropy is S(β) = β <E> + log Z(β).

The nearest-neighbour adversarial accuracy is the share of data and draws whose nearest neighbour is of their own kind:
1/2 if both have the same distribution, 1 if they are far apart, and less than 1/2 if draws repeat data.

References
----------
R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).
A. Yale, S. Dash, R. Dutta, I. Guyon, A. Pavao and K. P. Bennett, "Generation and evaluation of privacy preserving
synthetic health data", Neurocomputing 416 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, RandomState, Rows
from nbm_xp.machines.minibatches import in_memory
from nbm_xp.machines.rows import known_length
from nbm_xp.namespace import array_namespace, host_namespace, library_name, to_numpy
from nbm_xp.namespace.errors import positive_int

from .annealing import AnnealedChains, inverse_temperatures
from .chains import Machine, beside, machine_and_seed
from .state import MachineState, float_dtype
from .tempering import adaptive_temperatures

_AT_ONCE = 2**22  # distances computed at a time


@dataclass(frozen=True)
class Thermodynamics:
    """Energy and entropy of a machine along inverse temperatures, in nats; NumPy arrays of shape (temperatures,).

    Attributes
    ----------
    betas : array
        Inverse temperatures from 0 to 1, which is the machine itself.
    log_z, energy, energy_variance, entropy : array
        The logarithm of the partition function, mean and variance of the energy, and the entropy, of all layers.
    effective_runs : array
        Effective number of chains by the weights.
    log_z_error, energy_error, energy_variance_error, entropy_error : array
        Standard errors.
    """

    betas: Array
    log_z: Array
    energy: Array
    energy_variance: Array
    entropy: Array
    effective_runs: Array
    log_z_error: Array
    energy_error: Array
    energy_variance_error: Array
    entropy_error: Array


def moments(betas: Sequence[float], log_weights: Array, energies: Array) -> Thermodynamics:
    """Return the averages over weighted chains from arrays of shape (chains, temperatures) in host memory."""
    host, count, beta = host_namespace(), log_weights.shape[0], host_namespace().asarray(betas)
    log_z = B.logsumexp(log_weights, axis=0) - math.log(count)
    weights = host.exp(log_weights - log_z)
    energy = host.mean(weights * energies, axis=0)
    away = energies - energy
    variance = host.mean(weights * away**2, axis=0)
    # the influence of each chain on log Z, the mean, the variance and the entropy
    influences = weights - 1, weights * away, weights * (away**2 - variance), weights * (beta * away + 1) - 1
    errors = host.sqrt(host.sum(host.stack(influences) ** 2, axis=1) / (count * (count - 1)))
    effective = count / host.mean(weights**2, axis=0)
    return Thermodynamics(beta, log_z, energy, variance, beta * energy + log_z, effective, *errors)


class ThermalChains(AnnealedChains):
    """Chains of annealed importance sampling from a model of equally probable states, which measure the energy.

    A sweep is a step to the next inverse temperature of `betas`, the first of which is 0. `collect` returns the
    log-weights at all of them, then the energies.

    Parameters
    ----------
    machine, seed, betas
        See `AnnealedChains`.
    """

    default_purpose = "thermodynamics"
    measures_energy = True

    def __init__(self, machine: Machine, seed: int, betas: Sequence[float]) -> None:
        neutral = machine.topology.units[0].neutral_rates(machine.topology.sizes[0])
        start = replace(machine, base_rate=host_namespace().asarray(neutral, dtype=machine.dtype))
        super().__init__(start, seed, (0.0, *betas))

    def widths(self, n_sweeps: int) -> list[int]:
        """See `Chains`."""
        return [n_sweeps, n_sweeps]

    def collect(self, offset: int, rows: int, n_sweeps: int) -> Array:
        """See `Chains`."""
        draws = self.walk(self.start(offset, rows), offset, 0, n_sweeps)
        pairs = zip(*((draw.states[-1], draw.measured[0]) for draw in draws), strict=True)
        return beside([self.xp.stack(part, axis=1) for part in pairs])


@dataclass(frozen=True)
class AdversarialAccuracy:
    """Nearest-neighbour adversarial accuracy of draws beside data.

    Attributes
    ----------
    accuracy : float
        The mean of the other two: 1/2 for draws of the distribution of the data.
    standard_error : float
    of_data, of_draws : float
        Shares of the rows, and of the draws, whose nearest neighbour is of their own kind; ties count half.
    """

    accuracy: float
    standard_error: float
    of_data: float
    of_draws: float


def _nearest(pool: Array, count: int) -> Array:
    """Return squared distances to the nearest of the first `count` and of the other rows, and the nearest row.

    Each row leaves out itself; the result has shape (rows, 3), and distances lack the square of the row.
    """
    xp, total, found = array_namespace(pool), 2 * count, []
    squares, at, each = xp.sum(pool * pool, axis=1), xp.arange(total), max(_AT_ONCE // total, 1)
    for first in range(0, total, each):
        block = slice(first, min(first + each, total))
        apart = squares[None, :] - 2 * (pool[block, :] @ pool.T)
        apart = xp.where(at[block, None] == at[None, :], xp.inf, apart)
        parts = xp.min(apart[:, :count], axis=1), xp.min(apart[:, count:], axis=1), xp.argmin(apart, axis=1)
        found.append(xp.stack([xp.astype(part, pool.dtype) for part in parts], axis=1))
    return xp.concat(found, axis=0)


class QualityMixin:
    """Methods of fitted machines that measure their quality."""

    state_: MachineState
    sample: Callable[..., Any]

    def thermodynamics(
        self, n_chains: int = 100, n_temperatures: int | str = 1000, *, betas: Any = None, library: str | None = None,
        chunks: Chunks = None, random_state: RandomState = None,
    ) -> Thermodynamics:  # fmt: skip
        """Estimate the moments of the energy and the entropy along inverse temperatures, with standard errors.

        A machine at inverse temperature β has all weights and biases multiplied by β. The entropy at β = 1, in nats, is
        that of the machine itself, of visible and hidden units together.

        Parameters
        ----------
        n_chains : int, optional
            Number of independent chains, at least 2; the spread of their weights gives the standard errors.
        n_temperatures, betas
            As in `ais`; but chains start from equally probable states, not from the base rate.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        Thermodynamics

        Notes
        -----
        Real-valued units keep their own energy ½ x² at each β, normal units with precision 1 at β = 0; the entropy is
        then relative to the weights of that energy.

        References
        ----------
        R. M. Neal, "Annealed importance sampling", Statistics and Computing 11 (2001).

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
        >>> found = rbm.thermodynamics(10, 5)
        >>> found.entropy.round(4).tolist(), round(float(np.log(32)), 4)  # 32 states of equal probability
        ([3.4657, 3.4657, 3.4657, 3.4657, 3.4657], 3.4657)
        """
        rows, known = positive_int(n_chains, "n_chains", 2), inverse_temperatures(n_temperatures, betas)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        temperatures = adaptive_temperatures(machine) if known is None else known
        chains = ThermalChains(machine, seed, temperatures)
        return moments(temperatures, *chains.computed(rows, len(temperatures), lazy, chunks))

    def adversarial_accuracy(
        self, X: Rows, draws: Rows = None, *, n_sweeps: int = 1000, random_state: RandomState = None
    ) -> AdversarialAccuracy:
        """Compute the nearest-neighbour adversarial accuracy of draws of the model beside as many rows of data.

        It is the share of rows and draws whose nearest neighbour is of their own kind: 1/2 if both have the same
        distribution, near 1 if they are far apart. If it is below 1/2 for the training data, draws repeat them.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, n_features_in_)
            At least two rows, with values in [0, 1], or in the range of the kind of visible units.
        draws : array of shape (rows, n_features_in_), optional
            Draws of the model, for example some that `nbm_xp.runs.sample` stored; by default those of `sample`.
        n_sweeps : int, optional
            Number of sweeps of each chain; unused with `draws`.
        random_state : int, None, or generator, optional
            As in `sample`; unused with `draws`.

        Returns
        -------
        AdversarialAccuracy

        Raises
        ------
        ValueError
            If an argument is invalid, or there are not as many draws as rows.

        Notes
        -----
        Distances are Euclidean; all states of a categorical site are equally far apart. They come from matrix products,
        in blocks of rows, and are exact for states that are whole numbers. The standard error includes the dependence
        of rows that are nearest neighbours, or have the same one.

        References
        ----------
        A. Yale, S. Dash, R. Dutta, I. Guyon, A. Pavao and K. P. Bennett, "Generation and evaluation of privacy
        preserving synthetic health data", Neurocomputing 416 (2020).

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.zeros((2, 20)), np.zeros(2), np.zeros(20))
        >>> rows = np.random.default_rng(0).integers(0, 2, size=(500, 20))
        >>> found = rbm.adversarial_accuracy(rows, random_state=0)
        >>> abs(found.accuracy - 0.5) < 4 * found.standard_error
        True
        >>> rbm.adversarial_accuracy(rows, np.zeros((500, 20))).accuracy > 0.9
        True
        """
        state, units = self.state_, self.state_.topology.units[0]
        X = state.checked_rows(X)
        count = known_length(X)
        if count < 2:
            raise ValueError("X must have at least two rows")
        if draws is None:
            draws = self.sample(count, n_sweeps, library=library_name(X), random_state=random_state)
        both, dtype = (X, state.checked_states(draws, count, 0, "draws")), float_dtype(X)
        pool = in_memory(B.concatenate([B.cast(part, dtype) for part in both], axis=0))
        host, is_data = host_namespace(), host_namespace().arange(2 * count) < count
        to_data, to_draws, nearest = to_numpy(_nearest(units.unweighted(units.encoded(pool)), count)).T
        own, other = host.where(is_data, to_data, to_draws), host.where(is_data, to_draws, to_data)
        right, nearest = (own < other) + 0.5 * (own == other), nearest.astype("int64")
        of_data, of_draws = float(host.mean(right[:count])), float(host.mean(right[count:]))
        away, mutual = right - host.where(is_data, of_data, of_draws), nearest[nearest] == host.arange(2 * count)
        sums = host.bincount(nearest, weights=away)  # over the rows that have the same nearest neighbour
        dependent = host.sum(sums**2) + host.sum((2 - mutual) * away * away[nearest])
        error = math.sqrt(max(dependent, host.sum(away**2))) / (2 * count)
        return AdversarialAccuracy((of_data + of_draws) / 2, error, of_data, of_draws)
