"""Sampling and evaluation of fitted machines: states of Markov chains, estimates of log Z, scores of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Chunks, RandomState, Rows
from nbm_xp.machines.rows import checked_weights, known_length
from nbm_xp.namespace import array_namespace, to_numpy
from nbm_xp.namespace.errors import positive_int

from .annealing import AISEstimate, AnnealedChains, ReverseChains, inverse_temperatures
from .bridging import LadderEstimate
from .chains import Chains, machine_and_seed
from .estimator import BoltzmannEstimator
from .ladder import STEPS, LadderChains, LadderMeasures
from .missing import MissingValuesMixin
from .partition import is_enumerable
from .quality import QualityMixin
from .tempering import TemperingChains, adaptive_replicas, adaptive_temperatures


class Model(QualityMixin, MissingValuesMixin, BoltzmannEstimator):
    """A Boltzmann machine of layers, with methods for sampling and evaluation."""

    def sample(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        initial: Rows = None,
        clamp: Mapping[int, Any] | None = None,
        given: Rows = None,
        layer: int | None = 0,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> Any:
        """Return the states at the end of Markov chains.

        A model trained with ``training="ptt"`` is sampled on the ladder of its training, unless `initial`, `clamp` or
        `given` is given: each step of a chain exchanges replicas of neighbouring machines and then sweeps all machines.

        The last states do not show whether the chains have mixed: `nbm_xp.runs.sample` stores draws, reports R-hat,
        effective sample sizes and Monte Carlo errors, and warns.

        Parameters
        ----------
        n_chains : int, optional
            Number of chains; with `given`, for each of its rows.
        n_sweeps : int, optional
            Number of Gibbs sweeps of each chain.
        initial : array of shape (n_chains, n_features_in_), optional
            Initial visible states, or means to draw them with; `base_rate_` by default. Other layers start from states
            of equal probability.
        clamp : mapping of layers to arrays of shape (n_chains, units), optional
            Fixed states of layers by layer number, 0 being the visible layer; the other layers are drawn given them.
        given : array of shape (rows, n_features_in_), optional
            Rows with missing values, NaN, which are drawn given the other values of their row. The chains of a row are
            independent, so an average of a function over them has the standard error ``std / sqrt(n_chains)``.
        layer : int or None, optional
            The layer whose states are returned, by default the visible one; None for a list of all layers.
        probabilities : bool, optional
            Whether to return the means of the distributions that the last states were drawn from: of binary units, the
            probabilities of 1; of categorical units, a column for each state of each site.
        library : str, optional
            Name of the library to compute in; by default the library of `initial` or `clamp`, else the model's.
        chunks : optional
            With Dask, the blocks of chains: a number of chains in each block, or any other value that Dask accepts.
        random_state : int, None, or generator, optional
            The seed; by default the next one of the model's random streams. `nbm_xp.runs.sample` draws the same states
            with the same seed.

        Returns
        -------
        array of shape (n_chains, units), or with `given` (n_chains, rows, units), or list of array
            Lazy on Dask.

        Raises
        ------
        ValueError
            If an argument is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.array([50.0, 0.0, -50.0]))
        >>> states = rbm.sample(4, 10, random_state=1)
        >>> states[:, 0], states[:, 2]
        (array([1., 1., 1., 1.]), array([0., 0., 0., 0.]))
        >>> blocks = rbm.sample(4, 10, random_state=1, library="dask", chunks=2)
        >>> bool((blocks == states).all())
        True
        >>> rbm.sample(2, 10, given=[[np.nan, 1.0, 1.0], [0.0, 0.0, np.nan]])
        array([[[1., 1., 1.],
                [0., 0., 0.]],
        <BLANKLINE>
               [[1., 1., 1.],
                [0., 0., 0.]]])
        """
        state, rows, sweeps = self.state_, positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 0)
        topology = state.topology
        wanted = tuple(topology.layers) if layer is None else (topology.checked_layer(layer),)
        if given is not None:
            if not (initial is None and clamp is None):
                raise ValueError("initial and clamp must be left out where rows are given")
            given = state.checked_rows(given, "given", missing=True)
            rows, given = rows * known_length(given, "given"), array_namespace(given).concat([given] * rows, axis=0)
        fixed = topology.checked_clamp(clamp, lambda k, part: state.checked_states(part, rows, k, f"clamp[{k}]"))
        if initial is not None and 0 in fixed:
            raise ValueError("initial must be left out where clamp holds the visible layer")
        first = {} if initial is None else {0: state.checked_states(initial, rows, 0, "initial")}
        known = [*first.values(), *fixed.values(), *([] if given is None else [given])]
        machine, seed, lazy = machine_and_seed(self, library, random_state, *known)
        if machine.ladder and sweeps and not known:
            chains: Chains = LadderChains(machine, seed, layers=wanted, means=probabilities)
        else:
            chains = Chains(machine, seed, layers=wanted, means=probabilities, clamp=fixed, initial=first)
            chains = chains if given is None else chains.observing(given)
        found = chains.last(rows, sweeps, lazy, chunks)
        if given is not None:
            found = [B.reshape(part, (n_chains, -1, part.shape[1])) for part in found]
        return found if layer is None else found[0]

    def parallel_tempering(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        n_temperatures: int | str = 10,
        betas: Any = None,
        layer: int | None = 0,
        exchanges: bool = False,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> Any:
        """Return the states at the end of Markov chains with parallel tempering.

        Each chain has replicas at several inverse temperatures, which exchange states: they cross between modes that
        chains of `sample` hardly leave.

        Parameters
        ----------
        n_chains : int, optional
            Number of chains.
        n_sweeps : int, optional
            Number of Gibbs sweeps, each preceded by exchanges.
        n_temperatures : int or "adaptive", optional
            Number of replicas of each chain, at evenly spaced inverse temperatures from 0, the base-rate model, to 1,
            this model. With ``"adaptive"``, a pilot run chooses number and temperatures such that all neighbours have
            an acceptance rate of about 0.3; it depends on the model alone.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        layer : int or None, optional
            As in `sample`.
        exchanges : bool, optional
            Whether to return the acceptance rates of exchanges as well, of shape (n_chains, n_temperatures - 1), a
            column for each pair of neighbours. Near 0, temperatures are too far apart.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        array of shape (n_chains, units), or list of array
            With `exchanges`, a tuple of this and the acceptance rates.

        References
        ----------
        G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of
        restricted Boltzmann machines", AISTATS 2010.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> two_modes = np.full((1, 12), 8.0)  # all units are 0, or all are 1
        >>> rbm = RBM.from_parameters(two_modes, [-48.0], np.full(12, -4.0), random_state=0)
        >>> bool(0.3 < rbm.parallel_tempering(100, 100, n_temperatures=6).mean() < 0.7)
        True
        """
        rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps")
        topology, known = self.state_.topology, inverse_temperatures(n_temperatures, betas)
        wanted = tuple(topology.layers) if layer is None else (topology.checked_layer(layer),)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        temperatures = adaptive_replicas(machine) if known is None else known
        *found, shares = TemperingChains(machine, seed, temperatures, layers=wanted).last(rows, sweeps, lazy, chunks)
        states = found if layer is None else found[0]
        return (states, shares) if exchanges else states

    def score(self, X: Rows, y: object = None, sample_weight: Rows = None) -> float:
        """Return the mean log-likelihood of rows, or for large machines with two layers their log-pseudo-likelihood.

        Log Z is computed by `log_partition` for small models, by `ladder_log_partition` for models trained with
        ``training="ptt"``, and by `ais` for deep machines and for visible units without a finite list of states. For
        all other models the score is the mean of `score_samples`, which must not be compared with a likelihood. For
        deep machines it is a lower bound.

        Parameters
        ----------
        X : array or table of shape (rows, n_features_in_)
            Values in [0, 1], or in the range of the kind of visible units; others are clipped, with a warning.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            Weights of the rows.

        Returns
        -------
        float
            In nats; the same in each call. The random streams of the model stay where they are.

        Raises
        ------
        ValueError
            If the rows are invalid, or there are none.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rows = np.asarray([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3))
        >>> round(rbm.score(rows), 4), round(float(np.log(1 / 8)), 4)  # eight rows of equal probability
        (-2.0794, -2.0794)
        """
        topology, X = self.state_.topology, self.state_.checked_rows(X, missing=True)
        known_length(X)
        weights = checked_weights(sample_weight, X)
        log_z: AISEstimate | LadderEstimate | float | None = None
        if is_enumerable(topology):
            log_z = self.log_partition()
        elif self.state_.n_pairs:
            machine, seed, lazy = machine_and_seed(self, None, 0)
            log_z = LadderMeasures(machine, seed).log_partition(100, STEPS, lazy)
            log_z.warn(stacklevel=3)
        elif not topology.is_factorial or topology.radices(0) is None:
            log_z = self.ais(100, 1000, random_state=0)
        found = self.score_samples(X) if log_z is None else self.log_likelihood(X, log_z)
        return float(to_numpy(B.mean(found))) if weights is None else float(B.mean(weights * to_numpy(found)))

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
        """Estimate log Z by annealed importance sampling, with error bars.

        Parameters
        ----------
        n_chains : int, optional
            Number of independent chains; the spread of their weights gives the error bars.
        n_temperatures : int or "adaptive", optional
            Number of intermediate models, both ends included, at evenly spaced inverse temperatures from the base-rate
            model to this one. More of them lower the variance of the weights. With ``"adaptive"``, a pilot run places
            them such that all stages have about the same effective sample size (Zhou, Johansen and Aston 2016); it
            depends on the model alone, and the estimate of Z remains unbiased.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        AISEstimate

        Raises
        ------
        ValueError
            If an argument is invalid.

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
        """Estimate log Z along the ladder of the training by Bennett's acceptance ratio.

        Parameters
        ----------
        n_chains : int, optional
            Number of chains of each machine; the spread between them gives the standard error.
        n_sweeps : int, optional
            Number of steps of each chain: exchanges with its neighbours, and a sweep. The first half is burn-in.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        LadderEstimate

        Warns
        -----
        LadderWarning
            If the error of log Z may exceed the standard error: the states of two neighbouring machines give different
            ratios, or a machine has states that are very improbable in the machine below.

        Raises
        ------
        ValueError
            If an argument is invalid, or the model was not trained with ``training="ptt"``.

        Notes
        -----
        A state needs at least as many steps as there are machines to move from the first machine, where states are
        independent draws, to the last, and several times as many where exchanges are rejected. With fewer steps the
        weights of the modes remain those of the initial states, and the standard error is too small.

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
        rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 4)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        if not machine.ladder:
            raise ValueError('ladder_log_partition is for models trained with training="ptt": ais() is for all models')
        found = LadderMeasures(machine, seed).log_partition(rows, sweeps, lazy, chunks)
        found.warn(stacklevel=3)
        return found

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
        """Estimate log Z by reverse annealed importance sampling, from states of the model to the base-rate model.

        `ais` underestimates log Z on average, and `reverse_ais` overestimates it: together they bracket log Z.

        Parameters
        ----------
        n_chains, n_temperatures, betas
            As in `ais`; the chains pass through the temperatures in reverse order.
        initial : sequence with an array of shape (n_chains, units) for each layer, optional
            States of the model to start from; layers that a sweep draws first may be None. By default they are drawn
            on the ladder of the training, if there is one, else along Markov chains. The bound holds only if these
            chains have mixed.
        n_sweeps : int, optional
            Number of steps on the ladder, by default 400, or of Gibbs sweeps, by default 1000, that draw these states;
            unused with `initial`.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        AISEstimate

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
