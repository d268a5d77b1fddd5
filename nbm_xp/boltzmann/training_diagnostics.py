"""Diagnostics of training, which detect failures that the pseudo-likelihood does not show.

Chains that stay in one mode for long give the negative phase outdated probabilities of the modes. Within each mode the
machine becomes correct, and the pseudo-likelihood, which depends on single units, becomes high; the probabilities of
the modes may still be wrong by tens of nats. So the diagnostics estimate log Z by a short annealing, for the
log-likelihood of rows; run many chains from each of a few distant rows, to test whether they forget their start (nested
R-hat); and compare the probabilities of the two sides of the data in the machine and in the data.

The rows are complete ones of the training data. If these are too few, rows with missing values take their place, at
most 200 of them, and so they do among held-out rows: the log-likelihood of their values is estimated by annealing two
clamped machines for each row, with as many temperatures as for log Z, and chains start from draws of the missing
values.

They do not change training: they have their own random streams, which depend on the seed and the number of epochs
alone. Their number and length are limited to a small fraction of the training steps.

References
----------
C. C. Margossian, M. D. Hoffman, P. Sountsov, L. Riou-Durand, A. Vehtari and A. Gelman, "Nested R-hat: assessing the
convergence of Markov chain Monte Carlo when running many short chains", Bayesian Analysis (2024).
R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import TrainingWarning, scale_reduction
from nbm_xp.machines.minibatches import any_missing, in_memory, is_missing, is_sparse, taken
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_lazy, to_numpy

from .annealing import AISEstimate, AnnealedChains, base_model, estimate, inverse_temperatures
from .bridging import LadderEstimate
from .chains import Chains, Machine
from .diagnostics import Diagnostics, Sides, warning_text
from .energy import expectation, observed_log_density
from .training_methods import PTT, training_method

_SHARE = 50  # training steps for each step of the diagnostics
_SHORTEST, _LONGEST, _USUAL = 50, 600, 150  # steps of one diagnosis: temperatures, then sweeps
_SWEEPS = 1 / 3  # fraction of the steps of a diagnosis that are sweeps
_MOST_TIMES = 20
_FEWEST, _MOST, _SMALL = 20, 100, 20_000  # chains; chains times weights, below which products cost less than calls
_PLACES = 5  # rows that chains start from
_ROWS, _ALL_ROWS = 200, 10_000  # rows whose log-likelihood is computed: beside few steps, and where the cost is small
_ROW_CHAINS, _COMPLETION = 2, 10  # of a row with missing values: annealed chains, and sweeps that draw the values
_TOO_FEW, _EVEN = 2.5, 4.0  # effective chains: below the first no information, from the second reliable errors
_UNLIKELY = 4.6  # nats: log 100
_MARGIN, _PART = 0.5, 0.05  # smallest significant difference: in nats, and as a fraction of the log-likelihood


class TrainingDiagnostics:
    """The diagnostics of a machine in training.

    Parameters
    ----------
    model : Model
    X : array
        Rows of the training data.
    held_out : array, optional
        Rows of a validation set, of which an even selection is used if values are missing.
    weights : array of shape (rows,), optional
        Weights of the rows of `X`, in host memory.
    """

    def __init__(self, model: Any, X: Array, held_out: Array = None, weights: Array = None) -> None:
        self.model, self._by_ptt = model, isinstance(training_method(model.training), PTT)
        self._X = X
        self._held_out, self._few_held_out = held_out, held_out is not None and any_missing(held_out)
        if self._few_held_out:
            self._held_out = in_memory(held_out[:: -(-int(held_out.shape[0]) // _ROWS), :])
        self._weights = weights
        self._rows: Array = None
        self._told = self._in_trouble = False
        self._doubts: str | None = None  # reason why log Z along the ladder may be wrong
        self._likeliest = -math.inf  # largest log-probability of a row, if visible units have a list of states

    @property
    def _always(self) -> bool:
        """Whether each epoch is diagnosed, whatever the cost."""
        return not isinstance(self.model.diagnostics, str) and bool(self.model.diagnostics)

    @property
    def _steps(self) -> int:
        """Number of training steps of all epochs."""
        return int(self.model.n_iter) * -(-int(self._X.shape[0]) // int(self.model.batch_size))

    @property
    def _count(self) -> int:
        """Number of epochs that are diagnosed."""
        if self._always:
            return int(self.model.n_iter)
        if not self.model.diagnostics:
            return 0
        once = bool(self.model.verbose) or self._held_out is not None  # at least
        affordable = max(self._steps // (_SHARE * _SHORTEST), int(once))
        return min(affordable, _MOST_TIMES, int(self.model.n_iter))

    @property
    def _length(self) -> int:
        """Number of steps of one diagnosis."""
        if self._always:
            return _USUAL
        return min(max(self._steps // (_SHARE * max(self._count, 1)), _SHORTEST), _LONGEST)

    @property
    def _chains(self) -> int:
        """Number of chains of one diagnosis."""
        if self._always:
            return _MOST
        weights = sum(math.prod(part.value.shape) for part in self.model.state_.parameters.weights)
        chains = min(max(_FEWEST, 2 * self.model.batch_size, _SMALL // weights), _MOST)
        return int(chains - chains % _PLACES)

    def due(self, epoch: int) -> bool:
        """Return whether an epoch is diagnosed: such epochs are evenly spaced and include the last one."""
        count, total = self._count, int(self.model.n_iter)
        return epoch * count // total > (epoch - 1) * count // total

    def after_epoch(self, epoch: int, known: LadderEstimate | None) -> Diagnostics | None:
        """Diagnose the machine if the epoch is due or log Z is already estimated; warn of failures."""
        due, rows = self.due(epoch), self._rows
        if not (due or known is not None) or not self.model.state_.is_finite:
            return None
        rows = self._rows = self._followed_rows() if rows is None else rows
        if not due and any_missing(rows):
            return None
        found = self._by_ladder(epoch, known, rows, due) if known is not None else self._by_annealing(epoch, rows)
        self.model.diagnostics_.append(found)
        if due and not self._told:
            trouble, before = self._trouble(), self._in_trouble
            self._in_trouble = trouble is not None
            # Fast training oscillates between modes: warn if the failure persists, or after the last epoch.
            if trouble is not None and (before or epoch >= self.model.n_iter):
                self._told = True
                warnings.warn(trouble, TrainingWarning, stacklevel=5)
        return found

    def _followed_rows(self) -> Array:
        """Return the rows whose log-likelihood is computed, in memory: complete ones, unless these are too few."""
        count, few = int(self._X.shape[0]), not self._by_ptt and not self._always
        wanted = _ROWS if few else _ALL_ROWS
        in_host = is_sparse(self._X) or not is_lazy(array_namespace(self._X))
        apart = max(1, count // wanted) if in_host and not self._by_ptt else 1
        last = min(apart * wanted, count)
        rows, weights = in_memory(self._X[:last:apart, :]), self._weights
        self._weights = None if weights is None else weights[:last:apart]
        if not any_missing(rows):
            return rows
        places = (~to_numpy(B.any(is_missing(rows), axis=1))).nonzero()[0]
        if len(places) < _PLACES:
            places = host_namespace().arange(0, rows.shape[0], -(-int(rows.shape[0]) // _ROWS))
        self._weights = None if weights is None else taken(self._weights, places)
        return taken(rows, places)

    def _mean(self, rows: Array, log_z: AISEstimate | LadderEstimate) -> tuple[float, float]:
        """Return the mean log-likelihood of rows, weighted for rows of the training data, and its standard error."""
        found = B.stack(self.model._free_energies(rows, _ROW_CHAINS, self._temperatures), axis=0)
        values, errors = asarray(to_numpy(found), host_namespace(), "float64")
        if rows is self._rows and self.model.state_.topology.radices(0) is not None and not any_missing(rows):
            self._likeliest = -float(B.min(values)) - log_z.log_z
        shares = self._shares(values.shape[0], self._weights if rows is self._rows else None)
        own = math.sqrt(float(B.sum(B.square(shares * errors))))
        return -float(B.sum(shares * values)) - log_z.log_z, math.hypot(log_z.standard_error, own)

    @staticmethod
    def _shares(count: int, weights: Array) -> Array:
        """Return the weights of rows with sum 1, in host memory."""
        weights = host_namespace().ones(count) if weights is None else weights
        return weights / max(float(B.sum(weights)), 1e-300)

    def _weighted_mean(self, values: Array) -> float:
        """Return the weighted mean of one number for each of `_followed_rows`, in host memory."""
        return float(B.sum(self._shares(values.shape[0], self._weights) * values))

    def _held_out_mean(self, log_z: AISEstimate | LadderEstimate, due: bool = True) -> float | None:
        without = self._held_out is None or (self._few_held_out and not due)
        return None if without else self._mean(self._held_out, log_z)[0]

    def _by_ladder(self, epoch: int, known: LadderEstimate, rows: Array, due: bool) -> Diagnostics:
        """Return diagnostics from the ladder of the training; if due, compare its log Z with a short annealing.

        Annealing is unbiased for Z, so it overestimates Z a hundredfold with a probability of at most 1/100. If it
        finds more than the ladder does, the chains of the ladder miss modes of the machine.
        """
        self._doubts, missed = known.doubts, 0.0
        if due:
            found, _ = self._annealed(epoch)
            missed = found.log_z - known.log_z
            if missed > 3 * known.standard_error + _UNLIKELY:
                self._doubts = f"annealing finds {missed:.1f} nats more of Z than the chains on the ladder"
            else:
                missed = 0.0
        mean, error = self._mean(rows, known)
        return Diagnostics(
            epoch, mean, math.hypot(error, missed), known.log_z, known.effective,
            held_out=self._held_out_mean(known, due), r_hat=known.r_hat, acceptance=known.acceptance,
        )  # fmt: skip

    @property
    def _sweeps(self) -> int:
        """Number of sweeps of the chains that start from rows."""
        return round(self._length * _SWEEPS)

    @property
    def _temperatures(self) -> int:
        """Number of temperatures of a short annealing."""
        return self._length - self._sweeps

    def _annealed(self, epoch: int) -> tuple[AISEstimate, Array]:
        """Return log Z estimated by a short annealing, and the final visible states."""
        state, betas = self.model.state_, inverse_temperatures(self._temperatures, None) or ()
        chains = AnnealedChains(Machine.of(self.model.state_), state.seed, betas, purpose=_purpose(epoch))
        visible, *_, log_weights = chains.advance(chains.start(0, self._chains), 0, 0, len(betas) - 1)
        return estimate(to_numpy(log_weights), len(betas)), self._states(visible.T)

    def _moved(self, chains: Chains, count: int, n_sweeps: int) -> Array:
        """Return the visible states of chains after some sweeps, in the format of data."""
        return chains.advance(chains.start(0, count), 0, 0, n_sweeps)[0].T

    def _by_annealing(self, epoch: int, rows: Array) -> Diagnostics:
        """Return diagnostics from a short annealing and from chains that start from distant rows."""
        state, whole, pseudo = self.model.state_, rows, None
        machine, units, purpose, seed = Machine.of(state), state.topology.units[0], _purpose(epoch), state.seed
        if any_missing(rows):
            chains = Chains(machine, seed, purpose=f"missing values, {purpose}").observing(rows)
            whole = self._moved(chains, int(rows.shape[0]), _COMPLETION)
        else:
            pseudo = dict([self.model.measure(rows)]).get("pseudo-likelihood")
        sides = Sides(self._states(whole))
        found, visible = self._annealed(epoch)
        chosen = units.decoded(sides.far_apart(_PLACES))
        first = array_namespace(chosen).repeat(chosen, self._chains // _PLACES, axis=0)
        chains = Chains(machine, seed, initial={0: first}, purpose=f"rows, {purpose}")
        moved = self._states(self._moved(chains, self._chains, self._sweeps))
        r_hat = float(scale_reduction(B.reshape(sides.along(moved), (_PLACES, -1))))
        share, of_data = sides.weighted_share(visible, found.log_weights), sides.above(self._states(whole))
        return Diagnostics(
            epoch, *self._mean(rows, found), found.log_z, found.effective_runs, self._held_out_mean(found), pseudo,
            r_hat, share, self._weighted_mean(of_data), self._chain_share(sides),
        )  # fmt: skip

    def _states(self, rows: Array) -> Array:
        """Return rows as states of the visible units, in host memory."""
        host = asarray(to_numpy(rows), host_namespace(), "float64")
        return self.model.state_.topology.units[0].encoded(host, -1)

    def _chain_share(self, sides: Sides) -> float | None:
        """Return the fraction of the persistent chains on the upper side; None without such chains."""
        parameters, topology = self.model.state_.parameters, self.model.state_.topology
        kept = {layer: self.model.state_.variables.get(f"chain.{layer}") for layer in topology.layers}
        state = [None if chain is None else chain.value for chain in kept.values()]
        if state[0] is not None:
            return sides.share(state[0])
        if any(state[high] is None for low, high in topology.connections if low == 0):
            return None
        return sides.share(expectation(parameters.like(part.value for part in parameters), 0, state))

    def _trouble(self) -> str | None:
        """Return the text of a warning if the diagnostics show a failure, else None."""
        *before, now = self.model.diagnostics_
        if not math.isfinite(now.log_z):
            return None
        base, best = self._base_log_likelihood(), max(map(self._at_least, before), default=-math.inf)
        most = self._at_most(now)
        lost, fell = most < base - _news(base), most < best - _news(best)
        impossible = self._likeliest > 3 * now.standard_error + _MARGIN
        if not (lost or fell or impossible or self._doubts or self._is_misplaced(now)):
            return None
        return warning_text(
            now, base if lost else best if fell else None, impossible, self._doubts, self.model, self._by_ptt
        )

    def _at_most(self, found: Diagnostics) -> float:
        """Return an upper bound on the log-likelihood: 3 standard errors more, or log 100 for few effective chains."""
        return found.log_likelihood + (3 * found.standard_error if found.effective >= _EVEN else _UNLIKELY)

    def _at_least(self, found: Diagnostics) -> float:
        """Return a lower bound on the log-likelihood: a short annealing with uneven weights underestimates Z."""
        if found.effective < _TOO_FEW or not math.isfinite(found.log_z):
            return -math.inf
        short = 0.0 if found.acceptance else 0.5 * math.log(max(self._chains / found.effective, 1.0))
        return found.log_likelihood - 3 * found.standard_error - short

    def _is_misplaced(self, now: Diagnostics) -> bool:
        """Return whether the probabilities of the two sides diverge from the data's by a significant number of nats.

        Few chains give an imprecise share: one chain with the share of the data is added, and the share is moved
        towards that of the data by a standard error.
        """
        if now.share is None or now.data_share is None or now.effective < _EVEN:
            return False
        own = (now.share * now.effective + now.data_share) / (now.effective + 1)
        apart = now.data_share - own
        own += math.copysign(min(math.sqrt(own * (1 - own) / (now.effective + 1)), abs(apart)), apart)
        pairs = ((now.data_share, own), (1 - now.data_share, 1 - own))
        price = sum(there * math.log(there / here) for there, here in pairs if there > 0)
        return price > _news(now.log_likelihood)

    def _base_log_likelihood(self) -> float:
        """Return the mean log-likelihood of the rows under the base-rate model."""
        base = asarray(base_model(Machine.of(self.model.state_)).bias, host_namespace(), "float64")
        rows = asarray(to_numpy(self._rows), host_namespace(), "float64")
        values = observed_log_density(self.model.state_.topology.units[0], rows, base[None, :])
        return self._weighted_mean(values[:, 0])


def _purpose(epoch: int) -> str:
    """Return the purpose of the random streams of a diagnosis."""
    return f"diagnostics of epoch {epoch}"


def _news(value: float) -> float:
    """Return the smallest significant difference from a log-likelihood, in nats."""
    return max(_MARGIN, _PART * abs(value)) if math.isfinite(value) else 0.0
