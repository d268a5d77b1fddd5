"""What machines of layers do once they have parameters: states along chains, and log Z; and models read from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import storage
from .annealing import ais
from .bridging import LadderEstimate
from .estimator import BoltzmannEstimator
from .ladder import ladder_log_partition
from .partition import AISEstimate, log_partition
from .sampling import sample
from .tempering import parallel_tempering

__all__ = ["Model", "load"]


class Model(BoltzmannEstimator):
    """A Boltzmann machine of layers, which can be sampled and evaluated."""

    def sample(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        initial: Any = None,
        clamp: Mapping[int, Any] | None = None,
        layer: int | None = 0,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> Any:
        """States at the end of Markov chains.

        A model that was trained with ``training="ptt"`` is sampled on the ladder that it learnt on, unless `initial`
        or `clamp` is given: each step of a chain is an exchange with its neighbours and a sweep of all machines, so
        that places far apart have their share, and far fewer steps will do.

        Nothing is measured on the way, and the last states do not tell whether the chains have mixed:
        `nbm_xp.runs.sample` keeps draws, reports R-hat, effective sample sizes and Monte Carlo errors, and warns.

        Parameters
        ----------
        n_chains : int, optional
        n_sweeps : int, optional
            Sweeps of Gibbs sampling in each chain.
        initial : array of shape (n_chains, n_features_in_), optional
            Visible states to start from, or, between them, means to draw them with; `base_rate_` by default. In other
            layers that a chain starts with every state is as likely, in the visible one too where layers are clamped.
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
        return sample(
            self, n_chains, n_sweeps, initial=initial, clamp=clamp, layer=layer, probabilities=probabilities,
            library=library, chunks=chunks, random_state=random_state,
        )  # fmt: skip

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
        chunks: Any = None,
        random_state: Any = None,
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
        return parallel_tempering(
            self, n_chains, n_sweeps, n_temperatures=n_temperatures, betas=betas, layer=layer, exchanges=exchanges,
            library=library, chunks=chunks, random_state=random_state,
        )  # fmt: skip

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
        chunks: Any = None,
        random_state: Any = None,
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
        return ais(self, n_chains, n_temperatures, betas, library, chunks, random_state)

    def ladder_log_partition(
        self,
        n_chains: int = 100,
        n_sweeps: int = 400,
        *,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
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
        return ladder_log_partition(self, n_chains, n_sweeps, library, chunks, random_state)

    def reverse_ais(
        self,
        n_chains: int = 100,
        n_temperatures: int | str = 1000,
        *,
        betas: Any = None,
        initial: Any = None,
        n_sweeps: int | None = None,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
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
        options: dict[str, Any] = {"reverse": True, "initial": initial, "n_sweeps": n_sweeps}
        return ais(self, n_chains, n_temperatures, betas, library, chunks, random_state, **options)


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
