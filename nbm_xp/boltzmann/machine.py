"""What a restricted Boltzmann machine with given parameters computes: row by row, along chains, and of itself, Z.

Rows go in and come out in the library that they are of, and on Dask nothing is computed before it is asked for. Every
computation is a compiled function of recorded formulas, kept for the next call.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.namespace import (
    array_namespace,
    from_blocks,
    get_namespace,
    to_numpy,
    use_backend,
)

from . import partition, sampling
from .energy import free_energy, hidden_probability
from .model import Model, variable
from .partition import AISEstimate
from .randomness import entropy_of, stream
from .rows import checked_rows, known_length, positive_int

__all__ = ["Machine"]


class Machine(Model):
    """A restricted Boltzmann machine in use; `RBM` adds how it learns."""

    def transform(self, X: Any) -> Any:
        """The probability that each hidden unit is 1, given rows of visible units.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows, n_components)
        """
        X = self._rows(X)
        return self._function("transform", self._compile_transform)(X)

    def _compile_transform(self) -> Any:
        visible = sampling.placeholder(self._parameters, None)
        return B.function([visible], hidden_probability(self._parameters, visible), name="transform")

    def free_energy(self, X: Any) -> Any:
        """F(v) of each row: exp(-F(v)) / Z is its probability.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows,)
        """
        X = self._rows(X)
        return self._function("free_energy", self._compile_free_energy)(X)

    def _compile_free_energy(self) -> Any:
        visible = sampling.placeholder(self._parameters, None)
        return B.function([visible], free_energy(self._parameters, visible), name="free_energy")

    def score_samples(self, X: Any) -> Any:
        """An estimate of each row's log-pseudo-likelihood: how well each unit is told by the others.

        One unit of each row, chosen at random, is flipped; the logarithm of the probability of the row against the
        flipped one, times the number of units, has the pseudo-likelihood for its mean. The choice is the same in
        every call, and disturbs no other random numbers of the model.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows,)
        """
        X = self._rows(X)
        rows = known_length(X)
        score, rng = self._function(("score", rows), lambda: self._compile_score(rows))
        rng.seed()
        return score(X)

    def _compile_score(self, rows: int) -> tuple[Any, Any]:
        rng = stream(self._entropy, "score")
        visible = sampling.placeholder(self._parameters, rows)
        return B.function(
            [visible], sampling.pseudo_likelihood(self._parameters, visible, rows, rng), name="score"
        ), rng

    def gibbs(self, v: Any) -> Any:
        """One sweep of Gibbs sampling: hidden units given the rows, then visible units given those.

        Parameters
        ----------
        v : array of shape (rows, n_features_in_)
            Values in [0, 1].

        Returns
        -------
        array of shape (rows, n_features_in_)
            New visible states, 0 and 1, in the model's dtype. Each call draws anew.
        """
        v = self._rows(v, "v")
        rows = known_length(v, "v")
        return self._function(("gibbs", rows), lambda: sampling.compile_gibbs(self._parameters, rows, self._rng))(v)

    def sample(
        self,
        n_chains: int = 100,
        n_steps: int = 1000,
        *,
        start: Any = None,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> Any:
        """States of the visible units at the end of Markov chains.

        Parameters
        ----------
        n_chains : int, optional
        n_steps : int, optional
            Sweeps of Gibbs sampling in each chain.
        start : array of shape (n_chains, n_features_in_), optional
            States to start from, or probabilities to draw them with; `base_rate_` by default.
        probabilities : bool, optional
            Whether to return the probabilities that the last states were drawn with, which look smoother.
        library : str, optional
            The library to compute in: that of `start`, or the model's, by default.
        chunks : optional
            With Dask, how the chains are split: a number of chains in each block, or whatever Dask takes.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

        Returns
        -------
        array of shape (n_chains, n_features_in_)
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
        self._fitted()
        rows = positive_int(n_chains, "n_chains")
        steps = positive_int(n_steps, "n_steps", 0)
        if start is None:
            start = self._base_rows(rows, library, chunks)
        else:
            start = self._rows(start, "start")
            if start.shape[0] != rows:
                raise ValueError(f"start must have a row for each of {rows} chains, got {start.shape[0]} rows")
        if random_state is None:
            build = partial(sampling.compile_chain, self._parameters, rows, steps, self._rng)
            chain = self._function(("chain", rows, steps), build)
        else:
            chain = sampling.compile_chain(self._parameters, rows, steps, stream(entropy_of(random_state)))
        states, drawn_with = chain(start)
        return drawn_with if probabilities else states

    def log_partition(self) -> float:
        """Log Z, exactly, for a model with at most 20 hidden or visible units.

        Raises
        ------
        ValueError
            If both layers are larger.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.array([[1.0]]), np.zeros(1), np.zeros(1))
        >>> rbm.log_partition(), float(np.log(3 + np.e))
        (1.743668..., 1.743668...)
        """
        with use_backend(self._fitted()._home):
            return partition.exact_log_partition(self._parameters)

    def ais(
        self,
        n_runs: int = 100,
        n_temperatures: int = 1000,
        *,
        betas: Sequence[float] | None = None,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> AISEstimate:
        """Log Z estimated by annealed importance sampling, with error bars.

        Parameters
        ----------
        n_runs : int, optional
            Independent chains: the error bars come from how their weights differ.
        n_temperatures : int, optional
            How many models each chain goes through, evenly from the base-rate model to this one. More make the
            weights more even, and the error bars honest.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        library, chunks : optional
            As in `sample`.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

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

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
        >>> found = rbm.ais(200, 100)
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        self._fitted()
        rows = positive_int(n_runs, "n_runs")
        ladder = _ladder(n_temperatures, betas)
        rate = to_numpy(self.base_rate_)
        base = variable(B.log(rate) - B.log(1 - rate))
        rng = self._rng if random_state is None else stream(entropy_of(random_state))
        with use_backend(self._home):
            anneal = partition.compile_ais(self._parameters, base, ladder, rows, rng)
        log_weights = to_numpy(anneal(self._base_rows(rows, library, chunks)))
        base_log_z = partition.base_log_partition(base.value, self._parameters.hidden.shape[0])
        return partition.estimate(log_weights, base_log_z, len(ladder))

    def log_likelihood(self, X: Any, log_z: float | AISEstimate | None = None) -> Any:
        """The log-probability of each row.

        Parameters
        ----------
        X : array of shape (rows, n_features_in_)
            Values in [0, 1].
        log_z : float or AISEstimate, optional
            The logarithm of the partition function. Without it, it is found exactly, for models small enough.

        Returns
        -------
        array of shape (rows,)
        """
        X = self._rows(X)
        known = self.log_partition() if log_z is None else log_z
        return -self.free_energy(X) - float(known.log_z if isinstance(known, AISEstimate) else known)

    def _rows(self, X: Any, name: str = "X") -> Any:
        """Rows checked against the model."""
        return self._same_library(checked_rows(X, self._fitted().n_features_in_, name=name))

    def _base_rows(self, rows: int, library: str | None, chunks: Any) -> Any:
        """The base rate for each chain, in the library that the chains are to be computed in."""
        xp = array_namespace(self.components_) if library is None else get_namespace(library)
        rate = to_numpy(self.base_rate_)
        split = chunks if isinstance(chunks, tuple) else ("auto" if chunks is None else chunks, -1)
        shape = (rows, self.n_features_in_)
        return from_blocks(xp, _repeated, shape, rate.dtype, split, args=(rate,), name="base-rate")


def _repeated(offset: tuple[int, ...], shape: tuple[int, ...], row: Any) -> Any:
    """A block of rows that are all the same."""
    return array_namespace(row).broadcast_to(row[offset[1] : offset[1] + shape[1]], shape)


def _ladder(n_temperatures: int, betas: Sequence[float] | None) -> list[float]:
    if betas is None:
        steps = positive_int(n_temperatures, "n_temperatures", 2) - 1
        return [step / steps for step in range(steps + 1)]
    ladder = [float(beta) for beta in betas]
    rising = all(low <= high for low, high in itertools.pairwise(ladder))
    if len(ladder) < 2 or not rising or ladder[0] != 0.0 or ladder[-1] != 1.0:
        raise ValueError("betas must rise from 0 to 1")
    return ladder
