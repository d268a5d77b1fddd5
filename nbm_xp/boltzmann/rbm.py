"""The binary restricted Boltzmann machine as a scikit-learn estimator, on arrays of any library.

The model's Variables live in one library, that of the arrays it learnt from (host memory where those were Dask's).
Rows go in and come out in the library that they are of, and on Dask nothing is computed before it is asked for.
Every computation is a compiled function of recorded formulas, kept for the next call with as many rows.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    floatx,
    from_blocks,
    get_namespace,
    host_namespace,
    library_name,
    to_numpy,
)

from . import partition, sampling
from .energy import Parameters, free_energy, hidden_input, softplus
from .model import Model
from .partition import AISEstimate
from .randomness import entropy_of, stream
from .rows import checked_rows, minibatches, positive_int
from .training import Learner, compile_step

__all__ = ["RBM"]


class RBM(Model):
    """A restricted Boltzmann machine with binary units.

    Parameters
    ----------
    n_components : int, optional
        The number of hidden units.
    learning_rate : float, optional
        How far a step goes up the gradient of the mean log-likelihood.
    batch_size : int, optional
        Rows in a minibatch, and persistent chains.
    n_iter : int, optional
        How often `fit` goes through the data.
    verbose : int, optional
        Whether `fit` writes a line after each pass.
    random_state : int, None, or generator, optional
        The seed: the same one gives the same model and the same chains. None gives others each time.
    persistent : bool, optional
        Whether the chains that estimate the gradient go on from step to step (persistent contrastive divergence) or
        start at the minibatch in each (contrastive divergence).
    n_gibbs : int, optional
        Sweeps of the chains in each step.
    momentum : float, optional
        How much of the last step is repeated in the next, from 0 to less than 1.
    weight_decay : float, optional
        How strongly weights are pulled towards 0: twice the factor of their sum of squares in the objective.
    schedule : {"constant", "linear"}, optional
        Whether `fit` keeps the learning rate or lowers it, pass by pass, towards 0. Persistent chains follow the model
        the better, the less it moves: ``"linear"`` ends closer to the maximum.
    shuffle : bool, optional
        Whether each pass of `fit` takes the rows in another order, within windows of 16,384 rows.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features_in_)
        The weights.
    intercept_hidden_, intercept_visible_ : array
        The biases.
    h_samples_ : array of shape (batch_size, n_components)
        The hidden units of the persistent chains.
    base_rate_ : array of shape (n_features_in_,)
        How often each visible unit is 1 in the data, smoothed: where `sample` and `ais` start.
    n_features_in_, n_iter_, n_samples_seen_ : int
        Visible units; passes of `fit` that are done; rows learnt from.

    Notes
    -----
    The model has the dtype of the rows it first learns from if that is float32 or float64, else ``floatx``; other rows
    are cast to it. Visible biases start at the log-odds of the base rate (Hinton 2010, section 8.1), weights normally
    distributed with standard deviation 0.01, hidden biases at 0.

    The uniforms behind every draw follow from the seed and the order of the calls alone, to the last bit, on every
    library and for every chunking. Whether a unit is 1 follows from comparing one with a probability, whose last bits
    may differ between libraries; so chains agree except where the two are as close as rounding.

    References
    ----------
    T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
    G. E. Hinton, "A practical guide to training restricted Boltzmann machines", UTML TR 2010-003.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(4, dtype="float32"), 25, axis=0)  # one unit of four is on
    >>> rbm = RBM(8, n_iter=200, schedule="linear", random_state=0).fit(rows)
    >>> float(np.mean(rbm.log_likelihood(rows))) > -1.6  # -log 4 = -1.39 at best, -4 log 2 = -2.77 at first
    True
    >>> rbm.transform(rows).shape, rbm.gibbs(rows).shape
    ((100, 8), (100, 4))
    """

    def __init__(
        self,
        n_components: int = 256,
        learning_rate: float = 0.1,
        batch_size: int = 10,
        n_iter: int = 10,
        verbose: int = 0,
        random_state: Any = None,
        *,
        persistent: bool = True,
        n_gibbs: int = 1,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        schedule: str = "constant",
        shuffle: bool = True,
    ) -> None:
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.verbose = verbose
        self.random_state = random_state
        self.persistent = persistent
        self.n_gibbs = n_gibbs
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.shuffle = shuffle

    # Learning

    def fit(self, X: Any, y: Any = None, *, callback: Callable[[Self], object] | None = None) -> Self:
        """Learn from rows, from the beginning.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1]; those between 0 and 1 are taken for probabilities. A Dask array is computed window by
            window, in each pass anew.
        y : optional
            Ignored; scikit-learn passes it.
        callback : callable, optional
            Called with the model after each pass.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a hyperparameter or the data is not what it must be; nothing has changed then.
        """
        self._check_hyperparameters()
        X = checked_rows(X)
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        self._begin(X)
        uniforms = self._uniforms if self.shuffle else None
        self.n_samples_seen_ = int(X.shape[0])
        for done in range(self.n_iter):
            began = time.perf_counter()
            self._rate.set_value(self._rate_after(done))
            for rows in minibatches(X, self.batch_size, uniforms):
                self._step(rows.shape[0])(rows)
            self.n_iter_ = done + 1
            if self.verbose:
                self._report(X, time.perf_counter() - began)
            if callback is not None:
                callback(self)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows as one minibatch, going on from where the model is.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1].
        y : optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        self
        """
        self._check_hyperparameters()
        known = getattr(self, "n_features_in_", None)
        X = in_memory(checked_rows(X, known))
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        if known is None:
            self._begin(X)
        else:
            self._same_library(X)
            self._follow_base_rate(X)
        self.n_samples_seen_ += int(X.shape[0])
        self._rate.set_value(self.learning_rate)
        self._step(X.shape[0])(X)
        return self
