"""Diagnostics while a machine learns, where its pseudo-likelihood may tell something else.

A machine whose chains stay in one place for long learns from yesterday's shares of the places. Within each of them it
becomes right, and so does the pseudo-likelihood, which looks no further than one unit; between them it may be wrong by
tens of nats. So the diagnostics estimate log Z by a short annealing, for the log-likelihood of rows; send chains off
from rows far apart, many from each, to see whether they forget where they came from (nested R-hat); and compare how
much probability the machine gives either side of the data with how much of the data lies there.

They change nothing: they draw from streams of their own, which follow from the seed and the number of epochs alone.
They are as long, and as rare, as a small part of the steps of learning allows.

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
from nbm_xp.machines.minibatches import in_memory, is_sparse
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_lazy, to_numpy

from .annealing import AISEstimate, AnnealedChains, base_model, estimate, inverse_temperatures
from .bridging import LadderEstimate
from .chains import Chains, Machine
from .diagnostics import Diagnostics, Sides, warning_text
from .energy import expectation, marginalised_layer
from .partition import constant
from .training_methods import PTT, training_method

__all__ = ["TrainingDiagnostics"]

_SHARE = 50  # steps of learning for one of diagnostics
_SHORTEST, _LONGEST, _USUAL = 50, 600, 150  # steps of diagnostics: temperatures, then sweeps
_SWEEPS = 1 / 3  # of the steps of diagnostics
_MOST_TIMES = 20
_FEWEST, _MOST, _SMALL = 20, 100, 20_000  # chains; chains times weights whose products cost less than calls do
_PLACES = 5  # rows that chains are sent off from
_ROWS, _ALL_ROWS = 200, 10_000  # whose log-likelihood is followed: beside few steps, and where it costs little of them
_TOO_FEW, _EVEN = 2.5, 4.0  # effective chains that tell nothing, and whose standard error is to be believed
_UNLIKELY = 4.6  # nats: log 100
_MARGIN, _PART = 0.5, 0.05  # nats, and of the log-likelihood: less is no news


class TrainingDiagnostics:
    """The diagnostics of a machine in training.

    Parameters
    ----------
    model : Model
    X : array
        The rows that it learns from.
    held_out : array, optional
    weights : array of shape (rows,), optional
        What the rows that it learns from count, in host memory.
    """

    def __init__(self, model: Any, X: Array, held_out: Array = None, weights: Array = None) -> None:
        self.model = model
        self._X = X
        self._held_out = held_out
        self._all_weights = self._weights = weights
        self._rows: Array = None
        self._sides: Sides | None = None
        self._told = False
        self._doubts: str | None = None  # what speaks against log Z by the ladder
        self._in_trouble = False
        self._likeliest = -math.inf  # the log-probability of a row, of visible units with a list of states

    @property
    def _always(self) -> bool:
        """Whether there are diagnostics after each epoch, whatever they cost."""
        return not isinstance(self.model.diagnostics, str) and bool(self.model.diagnostics)

    @property
    def _by_ptt(self) -> bool:
        return isinstance(training_method(self.model.training), PTT)

    @property
    def _steps(self) -> int:
        """Steps of learning in all."""
        epochs: int = self.model.n_iter
        return epochs * -(-int(self._X.shape[0]) // int(self.model.batch_size))

    @property
    def _count(self) -> int:
        """After how many epochs there are to be diagnostics."""
        if self._always:
            return int(self.model.n_iter)
        if not self.model.diagnostics:
            return 0
        affordable = max(
            self._steps // (_SHARE * _SHORTEST), int(bool(self.model.verbose) or self._held_out is not None)
        )
        return min(affordable, _MOST_TIMES, int(self.model.n_iter))

    @property
    def _length(self) -> int:
        """The steps of a found."""
        if self._always:
            return _USUAL
        return min(max(self._steps // (_SHARE * self._count), _SHORTEST), _LONGEST)

    @property
    def _chains(self) -> int:
        """The chains of a found."""
        if self._always:
            return _MOST
        weights = sum(math.prod(part.value.shape) for part in self.model.state_.parameters.weights)
        chains = min(max(_FEWEST, 2 * self.model.batch_size, _SMALL // weights), _MOST)
        return int(chains - chains % _PLACES)

    def due(self, epoch: int) -> bool:
        """Whether diagnostics are due after an epoch: they are evenly spread, and the last epoch has some."""
        count, total = self._count, int(self.model.n_iter)
        return epoch * count // total > (epoch - 1) * count // total

    def after_epoch(self, epoch: int, weighed: LadderEstimate | None) -> Diagnostics | None:
        """Diagnose the machine, if it is time to, or log Z came along; warn of what is wrong."""
        due = self.due(epoch)
        if weighed is None and not due:
            return None
        if not self.model.state_.is_finite:
            return None
        rows = self._followed_rows()
        found = self._by_ladder(epoch, weighed, rows, due) if weighed is not None else self._by_annealing(epoch, rows)
        self.model.diagnostics_.append(found)
        if due and not self._told:
            trouble, before = self._trouble(), self._in_trouble
            self._in_trouble = trouble is not None
            # Machines that learn fast swing from place to place; what is not found the next time mended itself.
            if trouble is not None and (before or epoch >= self.model.n_iter):
                self._told = True
                warnings.warn(trouble, TrainingWarning, stacklevel=5)
        return found

    def _followed_rows(self) -> Array:
        """The rows whose log-likelihood is followed, in memory."""
        if self._rows is None:
            count, few = int(self._X.shape[0]), not self._by_ptt and not self._always
            wanted, apart = _ROWS if few else _ALL_ROWS, 1
            in_host = is_sparse(self._X) or not is_lazy(array_namespace(self._X))
            if not self._by_ptt and in_host:
                apart = max(1, count // wanted)
            last = min(apart * wanted, count)
            self._rows = in_memory(self._X[:last:apart, :])
            if self._all_weights is not None:
                self._weights = self._all_weights[:last:apart]
        return self._rows

    def _mean(self, rows: Array, log_z: Array) -> float:
        """The mean log-likelihood of rows: of those learned from, as they count."""
        found = self.model.log_likelihood(rows, log_z)
        if rows is self._rows and self.model.state_.topology.radices(0) is not None:
            self._likeliest = float(to_numpy(B.max(found)))
        if self._weights is None or rows is not self._rows:
            return float(to_numpy(B.mean(found)))
        return self._weighed(asarray(to_numpy(found), host_namespace(), "float64"))

    def _weighed(self, values: Array) -> float:
        """The mean of a number for each row that is followed, in host memory."""
        if self._weights is None:
            return float(B.mean(values))
        return float(B.sum(self._weights * values) / max(float(B.sum(self._weights)), 1e-300))

    def _held_out_mean(self, log_z: Array) -> float | None:
        return None if self._held_out is None else self._mean(self._held_out, log_z)

    def _by_ladder(self, epoch: int, weighed: LadderEstimate, rows: Array, due: bool) -> Diagnostics:
        """What the ladder that it learns on has told; now and then, whether a short annealing speaks against it.

        Annealing finds too little of Z, if anything: a hundred times too much once in a hundred times, no oftener. So
        if it finds more than the ladder does, the ladder's chains miss places that the machine has.
        """
        self._doubts, missed = weighed.doubts, 0.0
        if due:
            found, _ = self._annealed(epoch, rows)
            missed = found.log_z - weighed.log_z
            if missed > 3 * weighed.standard_error + _UNLIKELY:
                self._doubts = f"annealing finds {missed:.1f} nats more of Z than the chains on the ladder"
            else:
                missed = 0.0
        return Diagnostics(
            epoch,
            self._mean(rows, weighed),
            math.hypot(weighed.standard_error, missed),
            weighed.log_z,
            weighed.effective,
            held_out=self._held_out_mean(weighed),
            r_hat=weighed.r_hat,
            acceptance=weighed.acceptance,
        )

    @property
    def _sweeps(self) -> int:
        """How many steps are sweeps of chains sent off from rows."""
        return round(self._length * _SWEEPS)

    def _far_apart(self, rows: Array) -> Array:
        """Where chains are sent off from."""
        chosen = self._data_sides(rows).far_apart(_PLACES)
        return array_namespace(chosen).repeat(chosen, self._chains // _PLACES, axis=0)

    def _annealed(self, epoch: int, rows: Array) -> tuple[AISEstimate, Array]:
        """Log Z by a short annealing, and the visible states that it ends with."""
        state, temperatures = self.model.state_, self._length - self._sweeps
        betas = inverse_temperatures(temperatures, None) or ()
        chains = AnnealedChains(Machine.of(self.model), state.seed, betas, purpose=_purpose(epoch))
        visible, *_, log_weights = chains.advance(chains.start(0, self._chains), 0, 0, temperatures - 1)
        return estimate(to_numpy(log_weights), temperatures), self._states(visible.T)

    def _by_annealing(self, epoch: int, rows: Array) -> Diagnostics:
        """What a short annealing, and chains from rows far apart, tell."""
        model, sides = self.model, self._data_sides(rows)
        found, visible = self._annealed(epoch, rows)
        first = model.state_.topology.units[0].decoded(self._far_apart(rows))
        chains = Chains(Machine.of(model), model.state_.seed, initial={0: first}, purpose=f"rows, {_purpose(epoch)}")
        moved = self._states(chains.advance(chains.start(0, self._chains), 0, 0, self._sweeps)[0].T)
        measure, value = model.measure(rows)
        return Diagnostics(
            epoch,
            self._mean(rows, found),
            found.standard_error,
            found.log_z,
            found.effective_runs,
            held_out=self._held_out_mean(found),
            pseudo_likelihood=value if measure == "pseudo-likelihood" else None,
            r_hat=float(scale_reduction(B.reshape(sides.along(moved), (_PLACES, -1)))),
            share=sides.weighted_share(visible, found.log_weights),
            data_share=self._weighed(sides.above(self._states(rows))),
            chain_share=self._chain_share(sides),
        )

    def _data_sides(self, rows: Array) -> Sides:
        if self._sides is None:
            self._sides = Sides(self._states(rows))
        return self._sides

    def _states(self, rows: Array) -> Array:
        """The visible units that rows tell, in host memory."""
        host = asarray(to_numpy(rows), host_namespace(), "float64")
        return self.model.state_.topology.units[0].encoded(host, -1)

    def _chain_share(self, sides: Sides) -> float | None:
        """Where the chains are that the machine learns from, if it has any that go on."""
        parameters, topology = self.model.state_.parameters, self.model.state_.topology
        kept = {layer: self.model.state_.variables.get(f"chain.{layer}") for layer in topology.layers}
        state = [None if chain is None else chain.value for chain in kept.values()]
        if state[0] is not None:
            return sides.share(state[0])
        if any(state[high] is None for low, high in topology.connections if low == 0):
            return None
        return sides.share(expectation(parameters.like(part.value for part in parameters), 0, state))

    def _trouble(self) -> str | None:
        """What the diagnostics so far tell that is wrong, and what helps."""
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
        """What the log-likelihood is at most: uneven weights find e times too large a Z once in e times, no oftener."""
        return found.log_likelihood + (3 * found.standard_error if found.effective >= _EVEN else _UNLIKELY)

    def _at_least(self, found: Diagnostics) -> float:
        """What the log-likelihood was at least: too short an annealing, of uneven weights, finds too little Z."""
        if found.effective < _TOO_FEW or not math.isfinite(found.log_z):
            return -math.inf
        short = 0.0 if found.acceptance else 0.5 * math.log(max(self._chains / found.effective, 1.0))
        return found.log_likelihood - 3 * found.standard_error - short

    def _is_misplaced(self, now: Diagnostics) -> bool:
        """Whether the machine gives the sides of the data other shares than the data has, at a price in nats.

        That is the divergence of the shares. As few chains tell little, they count with one more of the data's, and
        their share is taken to be a standard error closer to the data's.
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
        """The mean log-likelihood of the rows under the machine without weights that is most like the data."""
        units = self.model.state_.topology.units[0]
        base = asarray(base_model(Machine.of(self.model)).bias, host_namespace(), "float64")
        rows = self._states(self._followed_rows())
        energies = B.sum(units.own_energy(rows), axis=1) - B.dot(rows, base)
        log_z = float(B.eval(marginalised_layer(self.model.state_.topology, 0, constant(base, "float64"))))
        return -self._weighed(energies) - log_z


def _purpose(epoch: int) -> str:
    """What random numbers of diagnostics are for."""
    return f"diagnostics of epoch {epoch}"


def _news(value: float) -> float:
    """What a log-likelihood must differ by to tell something."""
    return max(_MARGIN, _PART * abs(value)) if math.isfinite(value) else 0.0
