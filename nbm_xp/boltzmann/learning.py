"""How a Boltzmann machine learns from rows, as a scikit-learn estimator does.

The model lives in the library of the arrays it learns from; where those are Dask's, in that of their blocks. Learning
changes Variables by a compiled step, one minibatch after the other.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Self

from nbm_xp import natural_bm as B
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    host_namespace,
    library_name,
    to_numpy,
)
from nbm_xp.namespace.sparse import SparseRows, is_sparse
from nbm_xp.rng import Generator

from . import storage
from .columns import check_names, column_names
from .energy import Parameters, gauged_weights
from .hyperparameters import Hyperparameters
from .looks import Look, TrainingWarning
from .model import float_dtype, transposed, variable
from .negative_phase import ContrastiveDivergence, NegativePhase, PersistentChains
from .optimising import Optimizer
from .randomness import entropy_of, stream
from .rows import (
    WINDOW,
    checked_rows,
    checked_weights,
    in_memory,
    minibatches,
    observed,
    sparse_rows,
)
from .schedules import rate_after
from .tempered import TemperedChains
from .topology import Topology
from .training import Learner, compile_step
from .units import Units
from .watching import Watch

__all__ = ["Learning"]


class Learning(Hyperparameters):
    """A Boltzmann machine that learns; `RBM` and `DBM` say which layers it has.

    Attributes
    ----------
    learning_rate, batch_size, n_iter, verbose, random_state, training, persistent, n_gibbs, momentum, weight_decay,
    schedule, shuffle, clip
        Hyperparameters, as `RBM` explains them.
    """

    def _layers(self, n_visible: int | None = None) -> Topology:
        """The layers that the hyperparameters tell of, for rows of so many units; refuses what makes no machine."""
        raise NotImplementedError

    def _measure(self, X: Any) -> tuple[str, float]:
        """What `verbose` reports about the model's fit to some rows: its name and value."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        held_out: Any = None,
        callback: Callable[[Self], object] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from rows, from the beginning or from where an earlier `fit` was left.

        Parameters
        ----------
        X : array, table or sparse matrix of shape (rows, features)
            Values in [0, 1], those between 0 and 1 being taken for probabilities; for Gaussian units any numbers, for
            spins values in [-1, 1], taken for means. A Dask array is computed window by window, in each pass anew;
            rows of a sparse one of SciPy's become dense minibatch by minibatch.
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion: a row of weight 2 counts as two. At least 0, and not all 0.
        held_out : array of shape (rows, features), optional
            Rows that the model does not learn from, whose log-likelihood the looks of `watch` follow too.
        callback : callable, optional
            Called with the model after each pass. It may save the model, and may set `n_iter`, which then says how
            many passes there will be in all.
        resume : bool, optional
            Whether to go on after the `n_iter_` passes that are done, in this process or before the model was saved.
            With the same rows and hyperparameters, the model ends as it would have ended without a break, to the
            last bit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a hyperparameter or the data is not what it must be; nothing has changed then.

        Warns
        -----
        TrainingWarning
            If the parameters grew beyond all bounds; or, once, if a look finds that the machine grows away from the
            data: its log-likelihood falls, or its chains do not mix and it gives places other shares than the data.
        """
        self._check_hyperparameters()
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, got {callback!r}")
        layers, known = self._layers(), self._fitted().n_features_in_ if resume else None
        X, names = self._training_rows(X, known, layers.units[0])
        if held_out is not None:
            held_out = checked_rows(held_out, X.shape[1], name="held_out", within=layers.units[0].within)
        weights = checked_weights(sample_weight, X)
        if resume:
            self._same_library(X[:1, :])
        else:
            self._begin(X, weights)
            self._name_features(names)
        uniforms = self._uniforms if self.shuffle else None
        steps: dict[int, tuple[Any, Any]] = {}
        self.n_samples_seen_ = int(X.shape[0])
        watch = Watch(self, X, held_out, weights)
        while self.n_iter_ < self.n_iter:
            began = time.perf_counter()
            rate = rate_after(self._schedule, self.learning_rate, self.n_iter_, self.n_iter)
            self._rate.set_value(rate)
            number = 0
            for number, (rows, counts) in enumerate(minibatches(X, self._batch, uniforms, weights)):
                count = rows.shape[0]
                step, share = steps.get(count) or steps.setdefault(count, self._step(count))
                if counts is not None:
                    share, part = self._weighted_sample_weights(counts)
                    self._rate.set_value(rate * part)
                step(rows, share)
                if self._followed(number):
                    steps.clear()
            self.n_iter_ += 1
            look = watch.look(self.n_iter_, self._negative_phase.weighed(self._function, number + 1, self._rng))
            if self.verbose:
                self._report(X, look, time.perf_counter() - began)
            if callback is not None:
                callback(self)
        self._warn_of_divergence()
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows as one minibatch, going on from where the model is.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1].
        y : optional
            Ignored; scikit-learn passes it.
        sample_weight : array of shape (rows,), optional
            How much each row counts, in proportion.

        Returns
        -------
        self
        """
        self._check_hyperparameters()
        known = getattr(self, "n_features_in_", None)
        X, names = self._training_rows(X, known, self._layers(known).units[0])
        X = X[:, :] if isinstance(X, SparseRows) else in_memory(X)
        weights = checked_weights(sample_weight, X)
        if known is None:
            self._begin(X, weights)
            self._name_features(names)
        else:
            self._same_library(X[:1, :])
            self._follow_base_rate(X, weights)
        self.n_samples_seen_ += int(X.shape[0])
        self._rate.set_value(self.learning_rate)
        step, share = self._step(int(X.shape[0]))
        step(X, share if weights is None else self._weighted_sample_weights(weights)[0])
        self._followed(0)
        return self

    def _training_rows(self, X: Any, known: int | None, units: Units) -> tuple[Any, list[str] | None]:
        """Rows to learn from, checked, and the names of their columns."""
        names, owner = column_names(X), type(self).__name__
        if known is not None:
            check_names(self._features_in, X)
        check = sparse_rows if is_sparse(X) else checked_rows
        X = check(X, known, within=units.within, clip=self.clip is True, owner=owner)
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        return X, names

    def _followed(self, number: int) -> bool:
        """Let the negative phase follow the model after a step of a pass; whether steps are to be compiled anew."""
        phase = self._negative_phase
        key = phase.key
        outgrown = phase.follow(number)
        if outgrown:
            self._forget(key)
        return outgrown

    @property
    def _batch(self) -> int:
        """Rows in a minibatch: no more than there are."""
        return min(self.batch_size, self.n_samples_seen_)

    def _begin(self, X: Any, weights: Any = None) -> None:
        """Start a model for rows like these."""
        first = in_memory(X[:1, :])
        topology, home, dtype = self._layers(int(X.shape[1])), array_namespace(first), float_dtype(dtype_name(first))
        units = topology.units[0]
        rate = units.base_rate(to_numpy(observed(units, X, weights)), X.shape[0])
        entropy = entropy_of(self.random_state)
        arrays: dict[str, Any] = {}
        seed = to_numpy(stream(entropy, "weights").rstate).tolist()
        random = Generator(seed, library_name(host_namespace()))
        for name, shape in storage.shapes(topology).items():
            if name.startswith("weights"):
                drawn = transposed(random.normal(0.0, 0.01, shape[::-1], dtype))
                low, high = topology.connections[len(arrays)]
                arrays[name] = gauged_weights(topology, low, high, drawn)
            else:
                arrays[name] = [0.0] * shape[0]
        arrays["biases.0"] = units.bias(rate)
        arrays["base_rate"] = rate
        self._install(topology, {name: asarray(value, home, dtype) for name, value in arrays.items()}, entropy)

    def _follow_base_rate(self, X: Any, weights: Any = None) -> None:
        """Let the base rate take further rows into account."""
        units = self._topology.units[0]
        mean = B.cast(observed(units, X, weights), self._parameters.dtype)
        self.base_rate_ = units.followed(self.base_rate_, self.n_samples_seen_, mean, X.shape[0])

    def _step(self, count: int) -> tuple[Any, Any]:
        """The compiled step for minibatches of so many rows, and what each state counts in it."""
        number = None if self._serves_any_number() else count
        self._negative_phase.begin(self._batch, self._base_bias)
        key: tuple[Any, ...] = (
            "step",
            number,
            self._negative_phase.key,
            *(getattr(self, name) for name in self._in_a_step()),
        )
        if self.optimizer != "sgd":  # plain steps go by the names that files of earlier releases know
            key = (*key, self.optimizer)
        step = self._function(key, lambda: self._compile_step(number))
        return step, self._function(("sample_weights", count, self._way), lambda: self._sample_weights(count))

    @property
    def _negative_phase(self) -> NegativePhase:
        """Where the model's own states come from."""
        if self._way == "persistent":
            return PersistentChains(self._parameters, self.n_gibbs, self._made_up)
        if self._way == "tempered":
            return TemperedChains(self._parameters, self.n_gibbs, self._made_up)
        return ContrastiveDivergence(self._parameters, self.n_gibbs, self._hidden_means)

    @property
    def _hidden_means(self) -> bool:
        """Whether hidden layers that are not summed out are given for the data as means."""
        return True

    def _serves_any_number(self) -> bool:
        """Whether one compiled step serves minibatches of any number of rows: nothing is drawn for each of them."""
        return not self._negative_phase.needs_rows

    @classmethod
    def _in_a_step(cls) -> tuple[str, ...]:
        """The hyperparameters that a compiled step depends on, besides how states are made up."""
        return ("n_gibbs", "_momentum", "weight_decay", "_centred")

    def _sample_weights(self, rows: int) -> Any:
        """What each state counts: the loss is the mean free energy of the rows less that of made-up states."""
        like = self._like
        counts = [*self._negative_phase.weights(rows), *([1.0 / rows] * rows)]
        return asarray(counts, array_namespace(like), like.dtype)

    def _weighted_sample_weights(self, weights: Any) -> tuple[Any, float]:
        """What each state counts beside rows of these weights, whose mean is 1 over all rows, and how far to step."""
        host = to_numpy(weights)
        rows, total = int(host.shape[0]), float(B.sum(host))
        parts = host / total if total else host * 0 + 1 / rows
        like = self._like
        counts = [*self._negative_phase.weights(rows), *parts.tolist()]
        return asarray(counts, array_namespace(like), like.dtype), total / rows

    def _compile_step(self, rows: int | None) -> Any:
        adaptive = self.optimizer == "adam"
        if adaptive and self._squares is None:
            self._velocities, self._squares = self._all_zeros(), self._all_zeros()
            self._count = variable(self._zeros(1))
        elif self._momentum and self._velocities is None:
            self._velocities = self._all_zeros()
        if self._centred and self._offsets is None:
            self._offsets = self._first_offsets()
        return compile_step(self._learner(), rows)

    def _all_zeros(self) -> Parameters:
        """As many zeros as there are parameters."""
        return self._parameters.like(variable(self._zeros(*parameter.shape)) for parameter in self._parameters)

    def _first_offsets(self) -> tuple[Any, ...]:
        """The means of the units of each layer, as far as the biases tell them."""
        pairs = zip(self._topology.units, self._parameters.biases, strict=True)
        means = [units.mean(biases.value) for units, biases in pairs]
        return tuple(variable(value, f"offset.{layer}") for layer, value in enumerate(means))

    def _learner(self) -> Learner:
        adaptive = self.optimizer == "adam"
        return Learner(
            parameters=self._parameters,
            optimizer=Optimizer(
                rate=self._rate,
                momentum=self._momentum,
                weight_decay=self.weight_decay,
                velocities=self._velocities if self._momentum or adaptive else None,
                squares=self._squares if adaptive else None,
                count=self._count if adaptive else None,
            ),
            negative_phase=self._negative_phase,
            rng=self._rng,
            offsets=self._offsets if self._centred else None,
        )

    def _zeros(self, *shape: int) -> Any:
        like = self._like
        return array_namespace(like).zeros(shape, dtype=like.dtype)

    def _uniforms(self, count: int) -> Any:
        """So many random numbers in host memory, others in each call."""
        draw = self._function(
            ("uniforms", count), lambda: B.function([], B.random_uniform((count,), rng=self._rng), name="uniforms")
        )
        return to_numpy(draw())

    def _report(self, X: Any, look: Look | None, seconds: float) -> None:
        if look is None:
            measure, value = self._measure(X[: min(X.shape[0], WINDOW), :] if isinstance(X, SparseRows) else X)
            told = f"{measure} {value:.2f}"
        else:
            told = str(look)
        sys.stdout.write(f"[{type(self).__name__}] pass {self.n_iter_} of {self.n_iter}: {told}, {seconds:.2f} s\n")

    def _warn_of_divergence(self) -> None:
        if not all(math.isfinite(float(B.max(B.abs(values.value)))) for values in self._parameters):
            told = f"the parameters are not finite after {self.n_iter_} passes: a lower learning_rate may help"
            warnings.warn(told, TrainingWarning, stacklevel=3)
