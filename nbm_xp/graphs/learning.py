"""Learning couplings and fields from states (the inverse Ising problem), with scikit-learn's estimator interface.

Contract: the machine does not change until learning is done. Chains persist from step to step, with plain sweeps
("pcd") or parallel tempering ("ptt").

References
----------
H. C. Nguyen, R. Zecchina and J. Berg, "Inverse statistical problems: from the inverse Ising problem to data science",
Advances in Physics 66 (2017), 197-261.
B. T. Polyak and A. B. Juditsky, "Acceleration of stochastic approximation by averaging", SIAM Journal on Control and
Optimization 30 (1992), 838-855.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, Self

from sklearn.base import BaseEstimator

from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import TrainingWarning
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace import host_namespace, to_numpy
from nbm_xp.namespace.errors import check_choice, check_flag, checked_number, positive_int
from nbm_xp.package import need

from .energy_model import EnergyModel
from .latent import IncompleteObjective, objective
from .likelihoods import MOST_STATES, Decays, Objective, place_of
from .tempering import Tempering, placed_ladder

TRAININGS: Final = ("pseudo_likelihood", "pcd", "ptt", "exact")  # values of `training`

# Least iteration limit of the maximisation of the pseudo-likelihood from which training with chains starts
LEAST_STEPS: Final = 200
TINY: Final = 1e-12  # frequencies below this value are rounding errors of 0
SETTLING: Final = 20  # sweeps before the first step
# Settings of metadata requests and of `set_output`, which scikit-learn's `clone` copies, too
REQUESTED: Final = ("_metadata_request", "_sklearn_output_config")


class Learning(EnergyModel, BaseEstimator):  # type: ignore[misc]
    """A machine that learns its couplings and fields from states; see `GraphMachine` for the parameters."""

    def __init__(
        self, graph: Any, units: Any = "spin", fields: Any = 0.0, couplings: Array = None, *, hidden: Any = None,
        factors: Any = None, factor_couplings: Any = 1.0, training: str = "pseudo_likelihood", n_iter: int = 500,
        learning_rate: float = 0.5, schedule: str = "constant", momentum: float = 0.0, weight_decay: float = 0.0,
        field_decay: float | None = None, n_chains: int = 256, n_sweeps: int = 1, tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(graph, units, fields, couplings, hidden, factors, factor_couplings)
        self.training, self.n_iter, self.n_chains, self.n_sweeps = training, n_iter, n_chains, n_sweeps
        self.learning_rate, self.schedule, self.momentum = learning_rate, schedule, momentum
        self.weight_decay, self.field_decay = weight_decay, field_decay
        self.tol, self.random_state = tol, random_state

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; this discards learned couplings and fields.

        Raises
        ------
        ValueError
            If a name is unknown or a value is invalid.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> GraphMachine([[0, 1]]).set_params(couplings=0.5).energy([1, 1])
        array([-0.5])
        """
        known = self.get_params()
        unknown = sorted(params.keys() - known)
        if unknown:
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r}: it has {list(known)}")
        requested = {name: value for name, value in vars(self).items() if name in REQUESTED}
        self.__dict__ = type(self)(**(known | params)).__dict__ | requested
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: bool = False) -> Self:
        """Learn couplings and fields from states.

        Parameters
        ----------
        X : array of shape (rows, visible units)
            States, an array of any library, without columns for hidden units; NaN where a value is missing. Unless all
            values are there, rows are loaded into memory.
        y : optional
            Ignored; present for compatibility with scikit-learn.
        sample_weight : array of shape (rows,), optional
            Relative weight of each row; 1 by default.
        resume : bool, optional
            Whether to start from the present couplings and fields, such as those of independent units or of an earlier
            training; by default learning does not depend on them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows are not states of the machine; if `training` is "pseudo_likelihood" and values of some units are not
            there; or if the maximum is infinite: a unit never has one of its values, and a decay is 0, or couplings
            are matrices, an edge never has a pair of values, and `weight_decay` is 0.

        Warns
        -----
        TrainingWarning
            If learning without chains did not converge within `n_iter` steps.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine, lattice
        >>> truth = GraphMachine(lattice((4, 4)), couplings=0.3, fields=0.1)
        >>> states = truth.sample(2000, 50, observe=(), random_state=1)["state"].values
        >>> learned = GraphMachine(lattice((4, 4))).fit(states)
        >>> bool(abs(learned.couplings_ - 0.3).max() < 0.1), round(float(learned.couplings_.mean()), 1)
        (True, 0.3)
        """
        self._check_learning()
        check_flag("resume", resume)
        aim = self._objective(X, sample_weight)
        by_chains, place = self.training in ("pcd", "ptt"), host_namespace().zeros(place_of(self).shape)
        if isinstance(aim, IncompleteObjective):
            place = aim.first_place(entropy_of(self.random_state))
        if not all(self._decays):
            self._check_maximum(*aim.wanted)
        if resume:
            place = place_of(self)
        if self.training == "pseudo_likelihood" or not (aim.incomplete or resume):
            most = max(self.n_iter, LEAST_STEPS) if by_chains else self.n_iter
            found = _climbed(aim.pseudo, place, most, self.tol)
            place = found.x
        if self.training == "exact":
            found = _climbed(aim.likelihood, place, self.n_iter, self.tol)
        if by_chains:
            self._take(aim, self._followed(aim, place), self.n_iter)
            return self
        if found.status == 1:  # at the iteration limit; 2 is SciPy's where rounding prevents further progress
            stopped = f"learning stopped after {found.nit} steps, before the gradient was below {self.tol:g}"
            warnings.warn(f"{stopped}: more n_iter or weight_decay lead there", TrainingWarning, stacklevel=2)
        self._take(aim, found.x, found.nit)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Make one gradient step of size `learning_rate` from the present couplings and fields.

        Chains of the machine persist from call to call. Those that draw hidden units and missing values start anew.

        Parameters
        ----------
        X, y, sample_weight
            See `fit`.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> machine = GraphMachine([[0, 1]], couplings=0.0, training="exact", learning_rate=1.0)
        >>> machine.partial_fit([[1, 1], [1, 1], [-1, -1], [1, -1]]).couplings_.tolist()
        [0.5]
        """
        self._check_learning()
        aim, place = self._objective(X, sample_weight), place_of(self)
        if self.training == "pseudo_likelihood":
            _, slope = aim.pseudo(place)
        elif self.training == "exact":
            _, slope = aim.likelihood(place)
        else:
            if isinstance(aim, IncompleteObjective):
                own = entropy_of(self.random_state) + getattr(self, "n_iter_", 0)
                aim.complete(self, own, SETTLING, self.n_sweeps)
            chains = getattr(self, "_model_chains", None) or ModelChains(self, aim, self, entropy_of(self.random_state))
            slope = aim.beside(place, chains.moments(self))
            self._model_chains = chains
        self._take(aim, place + self.learning_rate * slope, getattr(self, "n_iter_", 0) + 1)
        return self

    def score_samples(self, X: Any) -> Array:
        """Compute the log-pseudo-likelihood of each row: the sum of each unit's log-probability given all other units.

        With hidden units or missing values, the sum is over the values that are there, each given the others, and is
        computed by enumeration of all states.

        Parameters
        ----------
        X : array of shape (rows, visible units)
            NaN where a value is missing.

        Returns
        -------
        numpy.ndarray
            float64, of shape (rows,), in nats.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> GraphMachine([[0, 1]], couplings=0.0).score_samples([[1, 1]])
        array([-1.38629436])
        """
        return objective(self, X).pseudo_likelihoods()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) mean of `score_samples`, in nats; higher is better.

        Parameters
        ----------
        X, y, sample_weight
            See `fit`.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> round(GraphMachine([[0, 1]], couplings=0.5).score([[1, 1], [1, -1]]), 3)
        -1.627
        """
        aim = objective(self, X, sample_weight)
        found = aim.pseudo_likelihoods()
        return float(host_namespace().mean(found if aim.weights is None else found * aim.weights))

    def log_likelihood(self, X: Any) -> Array:
        """Compute the log-probability of each row by enumeration of all states: see `enumerated`.

        Hidden units and missing values are summed out.

        Parameters
        ----------
        X : array of shape (rows, visible units)
            NaN where a value is missing.

        Returns
        -------
        numpy.ndarray
            float64, of shape (rows,), in nats.

        Raises
        ------
        ValueError
            If the machine has too many states.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine
        >>> GraphMachine([[0, 1]], couplings=0.0).log_likelihood([[1, 1]])
        array([-1.38629436])
        """
        return objective(self, X).log_likelihoods()

    def _objective(self, X: Any, sample_weight: Any) -> Objective:
        """Return the objective of learning from rows, if the training can use them."""
        aim = objective(self, X, sample_weight, self._decays)
        if aim.incomplete and self.training == "pseudo_likelihood":
            what = "hidden units" if self.hidden_units.shape[0] else "missing values, NaN, in X"
            raise ValueError(f"training must be 'exact', 'pcd' or 'ptt' with {what}, got 'pseudo_likelihood'")
        return aim

    @property
    def _decays(self) -> Decays:
        """L2 penalties of couplings and of fields."""
        return self.weight_decay, self.weight_decay if self.field_decay is None else self.field_decay

    def _check_learning(self) -> None:
        """Raise `ValueError` if a learning parameter is invalid."""
        check_choice("training", self.training, TRAININGS)
        check_choice("schedule", self.schedule, ("constant", "linear"))
        for name in ("n_iter", "n_chains", "n_sweeps"):
            positive_int(getattr(self, name), name)
        for name in ("learning_rate", "tol"):
            checked_number(getattr(self, name), name, positive=True)
        for name, value in zip(("weight_decay", "field_decay"), self._decays, strict=True):
            checked_number(value, name)
        checked_number(self.momentum, "momentum", 1)
        states = self.kind.count**self.n_units
        if self.training == "exact" and states > MOST_STATES:
            raise ValueError(f"training 'exact' goes through all states, and {states:.3g} are more than {MOST_STATES}")

    def _check_maximum(self, pairs: Array, means: Array) -> None:
        """Raise `ValueError` for data whose likelihood has no finite maximum: a unit never has one of its values."""
        host, values, shares = host_namespace(), self.kind, means
        if not values.is_categorical:
            upper = (means[0] - values.least) / values.step
            shares = host.stack([1.0 - upper, upper])
        never, unit = (int(k) for k in host.unravel_index(int(host.argmin(shares)), shares.shape))
        if shares[never, unit] < TINY:
            raise ValueError(
                f"X must have each value of each unit in some row, but unit {unit} is never {values.values[never]}, to "
                "which no field is large enough: decays above 0 hold it"
            )
        if not self.weight_decay and pairs.ndim > 1 and host.any(pairs < TINY):
            raise ValueError(
                f"X must have each pair of values of each edge's units in some row, but {int(host.sum(pairs < TINY))} "
                f"of {pairs.size} never occur: a weight_decay above 0 holds their couplings"
            )

    def _take(self, aim: Objective, place: Array, steps: int) -> None:
        """Set the couplings and fields to the learned values."""
        aim.give(self, place)
        self.couplings_, self.fields_ = self.edge_couplings, self.unit_fields
        if self.has_factors:
            self.factor_couplings_ = self.coupling_parameters[self.graph.edges :]
        self.n_features_in_, self.n_iter_ = self.n_visible, steps

    def _followed(self, aim: Objective, place: Array) -> Array:
        """Ascend the gradient estimated by chains; return the parameters averaged over the second half of the steps."""
        seed = entropy_of(self.random_state)
        # incomplete rows: learning starts far from a maximum, so step size and temperatures are adapted again
        again = {0, *(self.n_iter // k for k in (16, 8, 4, 2) if aim.incomplete)}
        total = move = 0.0 * place
        later = 0
        for step in range(self.n_iter):
            machine = aim.machine_at(place)
            if isinstance(aim, IncompleteObjective):
                aim.complete(machine, seed, SETTLING, self.n_sweeps)
            if step in again:
                rate = self.learning_rate / max(aim.largest_curvature(), 1e-300)
                if not step or self.training == "ptt":
                    chains = ModelChains(machine, aim, self, seed + step)
            factor = rate * (1.0 - step / self.n_iter) if self.schedule == "linear" else rate
            move = self.momentum * move + factor * aim.centred(aim.beside(place, chains.moments(machine)))
            place = place + move
            if 2 * step >= self.n_iter:
                total, later = total + place, later + 1
        return total / later


def _climbed(value_and_gradient: Callable[[Any], tuple[float, Any]], start: Any, most: int, tolerance: float) -> Any:
    """Maximise a concave function; return SciPy's `OptimizeResult`."""

    def downwards(place: Array) -> tuple[float, Any]:
        value, slope = value_and_gradient(place)
        return -value, -slope

    options = {"maxiter": most, "maxfun": 20 * most, "gtol": tolerance, "ftol": 0.0}
    return need("scipy.optimize").minimize(downwards, start, method="L-BFGS-B", jac=True, options=options)


class ModelChains:
    """Persistent chains of a machine that is learning.

    Parameters
    ----------
    machine : EnergyModel
        Machine with the initial couplings and fields.
    aim : Objective
        Training data and objective.
    how : Learning
        Machine whose learning parameters are used.
    seed : int
    """

    def __init__(self, machine: EnergyModel, aim: Objective, how: Learning, seed: int) -> None:
        self.table, self.sweeps = aim.table(aim.library()), how.n_sweeps
        library, betas = self.table.xp, host_namespace().ones((1,))
        if how.training == "ptt":
            betas = placed_ladder(machine, 0.0, 1.0, n_sweeps=100, rounds=3, random_state=seed, library=library)
        self.tempering = Tempering(machine, betas, how.n_chains, seed, library=library)
        for _ in range(SETTLING):
            self.tempering.step()

    def moments(self, machine: EnergyModel) -> tuple[Array, Array]:
        """Sweep the chains of a machine with new parameters; return their moments: see `Neighbourhood.moments`."""
        chains, xp = self.tempering.running, self.table.xp
        chains.machine = machine
        for _ in range(self.sweeps):
            self.tempering.step()
        rows = xp.matrix_transpose(chains.by_unit(self.tempering.order[:, -1]))
        pairs, units = self.table.moments(rows, host_namespace().full((rows.shape[0],), 1.0 / rows.shape[0]))
        return to_numpy(pairs), to_numpy(units)
