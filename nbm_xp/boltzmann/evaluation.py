"""Log Z of machines of layers, exact and estimated, and the likelihood of rows."""

from __future__ import annotations

from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, RandomState, Rows
from nbm_xp.machines.rows import checked_weights, known_length, positive_int
from nbm_xp.namespace import to_numpy

from .annealing import AnnealedChains, ReverseChains, adaptive_temperatures, inverse_temperatures
from .bridging import LadderEstimate
from .estimator import BoltzmannEstimator
from .ladder import STEPS, LadderMeasures
from .machine import machine_and_seed
from .partition import AISEstimate, is_enumerable, log_partition, log_z_of

__all__ = ["EvaluatedEstimator"]

_SEED = 0  # of what `score` estimates


class EvaluatedEstimator(BoltzmannEstimator):
    """A Boltzmann machine of layers, whose likelihood can be estimated."""

    def log_likelihood(self, X: Rows, log_z: float | AISEstimate | LadderEstimate | None = None) -> Array:
        """The log-probability of each row; where hidden layers are connected with one another, a lower bound on it.

        The bound is that of the mean-field approximation.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1], or what the visible units have in its place.
        log_z : float or AISEstimate or LadderEstimate, optional
            The logarithm of the partition function. Without it, it is found exactly, for models small enough.

        Returns
        -------
        array of shape (rows,)
        """
        X = self.state_.checked_rows(X)
        known = log_partition(self) if log_z is None else log_z_of(log_z)
        return -self.free_energy(X) - known

    def score(self, X: Rows, y: object = None, sample_weight: Rows = None) -> float:
        """The mean log-likelihood of rows where it is known; else the pseudo-likelihood: the higher, the better.

        It is known where `log_partition` can tell Z exactly, and where the model was trained with ``training="ptt"``,
        whose ladder tells Z (`ladder_log_partition`). Of other models with visible units that have a list of states, it
        is the mean of `score_samples`, an estimate of the log-pseudo-likelihood. Of all others, as deep ones and those
        with Gaussian units, annealed importance sampling estimates Z (`ais`). Deep machines have a bound in place of
        the likelihood.

        A likelihood and a pseudo-likelihood are not to be compared: where a search has models of both kinds, use
        ``training="ptt"`` for all of them, or give it `log_likelihood` with an estimate of Z as the scorer.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)
            Values in [0, 1], or what the visible units have in its place; others are clipped, with a warning.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion.

        Returns
        -------
        float
            In nats. The same in every call: it disturbs no random numbers of the model.

        Raises
        ------
        ValueError
            If the rows are not what they must be, or there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rows = np.asarray([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
        >>> round(rbm.score(rows), 4), round(float(np.log(1 / 8)), 4)  # all of eight rows are as likely
        (-2.0794, -2.0794)
        """
        topology, X = self.state_.topology, self.state_.checked_rows(X)
        known_length(X)
        weights = checked_weights(sample_weight, X)
        log_z: AISEstimate | LadderEstimate | float | None = None
        if is_enumerable(topology):
            log_z = log_partition(self)
        elif self.state_.n_pairs:
            log_z = self._log_partition_by_ladder(100, STEPS, random_state=_SEED)
            log_z.warn(stacklevel=3)
        elif not topology.is_factorial or topology.radices(0) is None:
            log_z = self.ais(100, 1000, random_state=_SEED)
        found = self.score_samples(X) if log_z is None else self.log_likelihood(X, log_z)
        return float(to_numpy(B.mean(found))) if weights is None else float(B.mean(weights * to_numpy(found)))

    def log_partition(self) -> float:
        """Log Z, exactly, for a model with at most 20 units outside of one group of unconnected layers.

        In a restricted Boltzmann machine that is a model with at most 20 hidden or 20 visible units.

        Raises
        ------
        ValueError
            If the model is larger.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.array([[1.0]]), np.zeros(1), np.zeros(1))
        >>> rbm.log_partition(), float(np.log(3 + np.e))
        (1.743668..., 1.743668...)
        """
        return log_partition(self)

    def ais(
        self,
        n_chains: int = 100,
        n_temperatures: int | str = 1000,
        *,
        betas: Any = None,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> AISEstimate:
        """Log Z estimated by annealed importance sampling, with error bars.

        Parameters
        ----------
        n_chains : int, optional
            Independent chains: the error bars come from how their weights differ.
        n_temperatures : int or "adaptive", optional
            How many models each chain goes through, evenly from the base-rate model to this one. More make the
            weights more even, and the error bars honest. ``"adaptive"``: as many as the model needs, close where its
            states change fast, so that each step leaves a pilot's chains the same effective sample size (Zhou,
            Johansen and Aston 2016). The pilot follows from the model alone, and the estimate remains unbiased.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        library, chunks : optional
            As in `sample`.
        random_state : int, None, or generator, optional
            The seed; None takes the next one of the model's streams.

        Returns
        -------
        AISEstimate

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
        Y. Zhou, A. M. Johansen and J. A. D. Aston, "Toward automatic model comparison: an adaptive sequential Monte
        Carlo approach", Journal of Computational and Graphical Statistics 25 (2016).

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
        >>> found = rbm.ais(200, "adaptive")
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        rows, known = positive_int(n_chains, "n_chains"), inverse_temperatures(n_temperatures, betas)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        temperatures = adaptive_temperatures(machine) if known is None else known
        return AnnealedChains(machine, seed, temperatures).log_partition(rows, lazy, chunks)

    def ladder_log_partition(
        self,
        n_chains: int = 100,
        n_sweeps: int = STEPS,
        *,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> LadderEstimate:
        """Log Z estimated along the ladder of machines that a model learnt on, by Bennett's acceptance ratio.

        Parameters
        ----------
        n_chains : int, optional
            Chains of each machine; the error bars come from how they differ.
        n_sweeps : int, optional
            Steps of each chain: exchanges with its neighbours, and a sweep. The first half of them does not count.
        library, chunks : optional
            As in `sample`.
        random_state : int, None, or generator, optional
            The seed; None takes the next one of the model's streams.

        Returns
        -------
        LadderEstimate

        Warns
        -----
        LadderWarning
            If the chains show that log Z may be off by more than the standard error tells: the states of two neighbours
            alone tell different ratios, or a machine has states that the one below it hardly ever has.

        Raises
        ------
        ValueError
            If an argument is not what it must be, or the model was not trained with ``training="ptt"``.

        Notes
        -----
        A state needs at least as many steps as there are machines to come up from the foot of the ladder, where states
        are drawn anew, and several times as many where exchanges are refused. In fewer steps, chains have the shares
        of places far apart that they began with, those of the training, all of them alike, and nothing in them tells
        how far these are from the machine's: the standard error is too small then, by any factor. Of chains that had
        all begun in one of two places 4 nats apart, on six machines, log Z was 11 standard errors off after 12 steps,
        with an R-hat of 1.05; after 400 steps it was 0.8 of them off.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rows = np.repeat(np.eye(2, 6, dtype="float32"), 50, axis=0)
        >>> rbm = RBM(4, n_iter=3, training="ptt", random_state=0).fit(rows)
        >>> found = rbm.ladder_log_partition()
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        found = self._log_partition_by_ladder(n_chains, n_sweeps, library, chunks, random_state)
        found.warn(stacklevel=3)
        return found

    def _log_partition_by_ladder(
        self,
        n_chains: int,
        n_sweeps: int,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> LadderEstimate:
        rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 4)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        if not machine.ladder:
            raise ValueError('ladder_log_partition is for models trained with training="ptt": ais() is for all models')
        return LadderMeasures(machine, seed).log_partition(rows, sweeps, lazy, chunks)

    def reverse_ais(
        self,
        n_chains: int = 100,
        n_temperatures: int | str = 1000,
        *,
        betas: Any = None,
        initial: Rows = None,
        n_sweeps: int | None = None,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> AISEstimate:
        """Log Z estimated by annealed importance sampling in reverse, from states of the model to the base-rate model.

        `ais` finds too little, if anything, and this too much: on average, log Z is between the two.

        Parameters
        ----------
        n_chains, n_temperatures, betas
            As in `ais`; the chains go through the temperatures backwards.
        initial : sequence with an array of shape (n_chains, units) for each layer, optional
            States of the model to start from; layers that a sweep draws first may be None. By default they are drawn
            exactly, where `log_partition` can tell Z exactly; else on the ladder that the model learnt on, if it has
            one; else along Markov chains. Chains too short for the model void the bound.
        n_sweeps : int, optional
            Steps on the ladder, by default 400, or sweeps of these chains, by default 1000; none beside `initial`.
        library, chunks : optional
            As in `ais`; without them, chains are computed as `initial` is, where it is given.
        random_state : int, None, or generator, optional
            The seed; None takes the next one of the model's streams.

        Returns
        -------
        AISEstimate

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using
        reverse annealing", AISTATS 2015.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
        >>> found = rbm.reverse_ais(200, 100)
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        rows, known = positive_int(n_chains, "n_chains"), inverse_temperatures(n_temperatures, betas)
        sweeps = None if n_sweeps is None else positive_int(n_sweeps, "n_sweeps", 0)
        given = {} if initial is None else self.state_.checked_whole(initial, "initial", rows)
        machine, seed, lazy = machine_and_seed(self, library, random_state, *given.values())
        temperatures = adaptive_temperatures(machine) if known is None else known
        chains = ReverseChains(machine, seed, temperatures[::-1], n_sweeps=sweeps, initial=given)
        return chains.log_partition(rows, lazy, chunks)
