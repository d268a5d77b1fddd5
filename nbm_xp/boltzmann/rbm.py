"""The binary restricted Boltzmann machine as a scikit-learn estimator: its hyperparameters, and how it learns.

The model lives in the library of the arrays it learns from; where those are Dask's, in that of their blocks. Learning
changes Variables by a compiled step, one minibatch after the other.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    floatx,
    host_namespace,
    library_name,
    to_numpy,
)
from nbm_xp.rng import Generator

from .energy import Parameters
from .machine import Machine
from .model import variable
from .randomness import entropy_of, stream
from .rows import checked_rows, in_memory, minibatches, positive_int
from .training import Learner, compile_step, shares

__all__ = ["RBM"]


class RBM(Machine):
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
    >>> pairs = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], dtype="float32")
    >>> rows = np.tile(pairs, (25, 1))
    >>> rbm = RBM(8, learning_rate=0.5, n_iter=200, schedule="linear", random_state=0).fit(rows)
    >>> bool(rbm.log_likelihood(rows).mean() > -1.7)  # -2 log 2 = -1.39 at best; -4 log 2 = -2.77 for single units
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
        steps: dict[int, tuple[Any, Any]] = {}
        self.n_samples_seen_ = int(X.shape[0])
        for done in range(self.n_iter):
            began = time.perf_counter()
            self._rate.set_value(self._rate_after(done))
            for rows in minibatches(X, self.batch_size, uniforms):
                count = rows.shape[0]
                step, share = steps.get(count) or steps.setdefault(count, self._step(count))
                step(rows, share)
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
        step, share = self._step(int(X.shape[0]))
        step(X, share)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from rows, then give the probabilities of their hidden units.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1].
        y : optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        array of shape (rows, n_components)
        """
        return self.fit(X, y).transform(X)

    def _begin(self, X: Any) -> None:
        """Start a model for rows like these."""
        n_visible, home = int(X.shape[1]), array_namespace(in_memory(X[:1, :]))
        given = dtype_name(X)
        dtype = given if given in ("float32", "float64") else "float32" if floatx() == "float16" else floatx()
        count = X.shape[0]
        rate = (count * to_numpy(B.mean(X, axis=0)) + 1.0) / (count + 2.0)
        entropy = entropy_of(self.random_state)
        shape = (self.n_components, n_visible)
        seed = to_numpy(stream(entropy, "weights").rstate).tolist()
        weights = Generator(seed, library_name(host_namespace())).normal(0.0, 0.01, shape, dtype)
        arrays = {
            "components": weights,
            "intercept_hidden": [0.0] * self.n_components,
            "intercept_visible": B.log(rate) - B.log(1.0 - rate),
            "base_rate": rate,
        }
        self._install({name: asarray(value, home, dtype) for name, value in arrays.items()}, entropy)

    def _follow_base_rate(self, X: Any) -> None:
        """Let the base rate take further rows into account."""
        seen, new = self.n_samples_seen_ + 2, X.shape[0]
        mean = B.cast(B.mean(X, axis=0), B.dtype(self._parameters.weights))
        self.base_rate_ = (self.base_rate_ * seen + mean * new) / (seen + new)

    def _rate_after(self, done: int) -> float:
        return self.learning_rate * (1.0 - done / self.n_iter if self.schedule == "linear" else 1.0)

    def _step(self, count: int) -> tuple[Any, Any]:
        """The compiled step for minibatches of so many rows, and what each state counts in it."""
        number = None if self.persistent else count  # chains that go on by themselves serve any number of rows
        key = ("step", number, self.persistent, self.n_gibbs, self.momentum, self.weight_decay)
        step = self._function(key, lambda: self._compile_step(number))
        return step, self._function(("shares", count, self.persistent), lambda: self._shares(count))

    def _shares(self, rows: int) -> Any:
        weights = self.components_
        chains = int(self._chains.value.shape[0]) if self.persistent else None
        return asarray(shares(chains, rows), array_namespace(weights), weights.dtype)

    def _compile_step(self, rows: int | None) -> Any:
        if self.persistent and self._chains is None:
            self._chains = variable(self._zeros(self.batch_size, self._parameters.weights.shape[1]), "h_samples")
        if self.momentum and self._velocities is None:
            self._velocities = Parameters(*(variable(self._zeros(*p.shape)) for p in self._parameters))
        learner = Learner(
            parameters=self._parameters,
            velocities=self._velocities if self.momentum else None,
            rate=self._rate,
            chains=self._chains if self.persistent else None,
            n_gibbs=self.n_gibbs,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            rng=self._rng,
        )
        return compile_step(learner, rows)

    def _zeros(self, *shape: int) -> Any:
        weights = self.components_
        return array_namespace(weights).zeros(shape, dtype=weights.dtype)

    def _uniforms(self, count: int) -> Any:
        """So many random numbers in host memory, others in each call."""
        draw = self._function(
            ("uniforms", count), lambda: B.function([], B.random_uniform((count,), rng=self._rng), name="uniforms")
        )
        return to_numpy(draw())

    def _report(self, X: Any, seconds: float) -> None:
        score = float(B.mean(self.score_samples(X)))
        sys.stdout.write(
            f"[RBM] pass {self.n_iter_} of {self.n_iter}: pseudo-likelihood {score:.2f}, {seconds:.2f} s\n"
        )

    def _check_hyperparameters(self) -> None:
        """Refuse, before any work, what learning could not go on with."""
        for name, least in (("n_components", 1), ("batch_size", 1), ("n_iter", 0), ("n_gibbs", 1)):
            positive_int(getattr(self, name), name, least)
        for name, low, high in (("learning_rate", 1e-300, math.inf), ("momentum", 0, 1), ("weight_decay", 0, math.inf)):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__float__") or not low <= value < high:
                above = "above 0" if low else "at least 0"
                raise ValueError(f"{name} must be a number, {above} and below {high}, got {value!r}")
        if self.schedule not in ("constant", "linear"):
            raise ValueError(f"schedule must be 'constant' or 'linear', got {self.schedule!r}")
