"""A Boltzmann machine that weighs itself: its partition function Z, exactly and estimated."""

from __future__ import annotations

from typing import Any

from ..annealing import ais
from ..bridging import LadderEstimate
from ..ladder import ladder_log_partition
from ..model import Model
from ..partition import AISEstimate, log_partition

__all__ = ["Evaluating"]


class Evaluating(Model):
    """A Boltzmann machine that tells its partition function."""

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
