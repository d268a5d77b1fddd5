"""Machines of layers once they have parameters: states along chains, log Z, the likelihood of rows; models in files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Chunks, RandomState, Rows
from nbm_xp.machines.rows import checked_weights, known_length, positive_int
from nbm_xp.namespace import to_numpy

from . import storage
from .annealing import AnnealedChains, ReverseChains, adaptive_temperatures, inverse_temperatures
from .bridging import LadderEstimate
from .chains import Chains
from .estimator import BoltzmannEstimator
from .ladder import STEPS, LadderChains, LadderMeasures
from .partition import AISEstimate, is_enumerable, log_partition, log_z_of
from .state import machine_and_seed
from .tempering import TemperingChains, adaptive_replicas

__all__ = ["Model", "load"]

_SEED = 0  # of what `score` estimates


class Model(BoltzmannEstimator):
    """A Boltzmann machine of layers, which can be sampled and evaluated."""

    def sample(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        initial: Rows = None,
        clamp: Mapping[int, Any] | None = None,
        layer: int | None = 0,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> Any:
        """States at the end of Markov chains.

        A model that was trained with ``training="ptt"`` is sampled on the ladder that it learned on, unless `initial`
        or `clamp` is given: each step of a chain is an exchange with its neighbours and a sweep of all machines.

        Nothing is measured on the way, and the last states do not tell whether the chains have mixed:
        `nbm_xp.runs.sample` keeps draws, reports R-hat, effective sample sizes and Monte Carlo errors, and warns.

        Parameters
        ----------
        n_chains : int, optional
        n_sweeps : int, optional
            Sweeps of Gibbs sampling in each chain.
        initial : array of shape (n_chains, n_features_in_), optional
            Visible states to start from, or, between them, means to draw them with; `base_rate_` by default. In other
            layers that a chain starts with every state is as likely.
        clamp : mapping of layers to arrays of shape (n_chains, units), optional
            Layers, 0 being the visible one, that keep these states: the others are drawn given them.
        layer : int or None, optional
            The layer whose states are wanted, by default the visible one; None for all of them, as a list.
        probabilities : bool, optional
            Whether to return the probabilities that the last states were drawn with, which look smoother, or, of units
            other than 0 and 1, the means; of categorical ones, a column for each state of each site.
        library : str, optional
            The library to compute in: that of `initial` or `clamp`, or the model's, by default. Arrays of Dask stay as
            they are.
        chunks : optional
            With Dask, how the chains are split: a number of chains in each block, or whatever Dask takes.
        random_state : int, None, or generator, optional
            The seed; None takes the next one of the model's streams. `nbm_xp.runs.sample` draws the same with it.

        Returns
        -------
        array of shape (n_chains, units), or list of array
            On Dask not computed yet.

        Raises
        ------
        ValueError
            If an argument is not what it must be.

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
        """
        state, rows, sweeps = self.state_, positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 0)
        wanted = state.topology.checked_layers(layer)
        fixed = state.topology.checked_clamp(clamp, lambda k, part: state.checked_states(part, rows, k, f"clamp[{k}]"))
        if initial is not None and 0 in fixed:
            raise ValueError("initial must be left out where clamp holds the visible layer")
        first = {} if initial is None else {0: state.checked_states(initial, rows, 0, "initial")}
        machine, seed, lazy = machine_and_seed(self, library, random_state, *first.values(), *fixed.values())
        if machine.ladder and sweeps and not first and not fixed:
            chains: Chains = LadderChains(machine, seed, layers=wanted, means=probabilities)
        else:
            chains = Chains(machine, seed, layers=wanted, means=probabilities, clamp=fixed, initial=first)
        found = chains.last(rows, sweeps, lazy, chunks)
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
        """States at the end of chains whose replicas at other temperatures exchange states with them.

        They reach states that are far apart for chains of `sample`.

        Parameters
        ----------
        n_chains : int, optional
        n_sweeps : int, optional
            Sweeps of Gibbs sampling, each followed by exchanges.
        n_temperatures : int or "adaptive", optional
            Replicas of each chain, their inverse temperatures evenly from the base-rate model, 0, to this one, 1.
            ``"adaptive"``: as many as it takes for all neighbours to exchange states in about 0.3 of their turns, by a
            pilot that follows from the model alone.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        layer : int or None, optional
            The layer whose states are wanted, by default the visible one; None for all of them, as a list.
        exchanges : bool, optional
            Whether to return also the share of exchanges made, of shape (n_chains, n_temperatures - 1), a column for
            each pair of neighbours, of which every other one has its turn in each step: where it is near 0,
            temperatures are too far apart.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        array of shape (n_chains, units), or list of array
            With `exchanges`, a tuple of this and the shares.

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of
        restricted Boltzmann machines", AISTATS 2010.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> two_ends = np.full((1, 12), 8.0)  # all units are 0 or all are 1, and a chain hardly gets to the other end
        >>> rbm = RBM.from_parameters(two_ends, [-48.0], np.full(12, -4.0), random_state=0)
        >>> bool(0.3 < rbm.parallel_tempering(100, 100, n_temperatures=6).mean() < 0.7)
        True
        """
        rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps")
        wanted, known = self.state_.topology.checked_layers(layer), inverse_temperatures(n_temperatures, betas)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        temperatures = adaptive_replicas(machine) if known is None else known
        *found, shares = TemperingChains(machine, seed, temperatures, layers=wanted).last(rows, sweeps, lazy, chunks)
        states = found if layer is None else found[0]
        return (states, shares) if exchanges else states

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

        Log Z is exact where `log_partition` can tell it, that of `ladder_log_partition` for a model trained with
        ``training="ptt"``, and that of `ais` for deep machines and visible units without a list of states. Of all other
        models the score is the mean of `score_samples`, an estimate of the log-pseudo-likelihood, which is not to be
        compared with a likelihood. Deep machines have a lower bound in place of the likelihood.

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
        """Log Z estimated along the ladder of machines that a model learned on, by Bennett's acceptance ratio.

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
        are drawn anew, and several times as many where exchanges are rejected. In fewer steps, chains have the shares
        of modes that they began with, and the standard error is too small.

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
            on the ladder that the model learned on, if it has one, else along Markov chains. Chains too short for the
            model void the bound.
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


def load(path: str | os.PathLike[str], library: str | None = None) -> Model:
    """Read a model that `save` wrote, of the kind that it was; nothing in the file is run.

    Parameters
    ----------
    path : path-like
    library : str, optional
        Where its arrays are to live; host memory by default.

    Returns
    -------
    RBM or DBM

    Raises
    ------
    ValueError
        If the file holds no model, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, load
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).save(file)
    >>> load(file)
    RBM(n_components=2)
    """
    kind = storage.kind_of(path)
    known = {each.__name__: each for each in Model.__subclasses__()}
    if kind not in known:
        raise ValueError(f"{os.fspath(path)} holds a model of the kind {kind!r}, which this release does not know")
    found: Model = known[kind].load(path, library)
    return found
