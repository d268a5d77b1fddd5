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
from numbers import Real
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
from nbm_xp.rng import Generator

from . import storage
from .columns import check_names, column_names
from .energy import gauged_weights
from .looks import Look, TrainingWarning
from .model import float_dtype, transposed, variable
from .negative import ContrastiveDivergence, NegativePhase, PersistentChains
from .randomness import entropy_of, stream
from .rows import checked_rows, in_memory, minibatches, positive_int
from .schedules import check_schedule, rate_after
from .tempered import TemperedChains
from .topology import Topology
from .training import Learner, compile_step
from .transformer import Transformer
from .units import Units
from .watching import Watch

__all__ = ["WAYS", "Learning"]

WAYS = ("persistent", "contrastive", "tempered")
"""What `training` can be."""


class Learning(Transformer):
    """A Boltzmann machine that learns; `RBM` and `DBM` say which layers it has.

    Attributes
    ----------
    learning_rate, batch_size, n_iter, verbose, random_state, training, persistent, n_gibbs, momentum, weight_decay,
    schedule, shuffle, clip
        Hyperparameters, as `RBM` explains them.
    """

    learning_rate: float
    batch_size: int
    n_iter: int
    verbose: int
    random_state: Any
    training: str
    persistent: bool | None
    n_gibbs: int
    centred: bool | str
    momentum: float
    weight_decay: float
    schedule: Any
    shuffle: bool
    watch: bool | str

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
        *,
        held_out: Any = None,
        callback: Callable[[Self], object] | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from rows, from the beginning or from where an earlier `fit` was left.

        Parameters
        ----------
        X : array of shape (rows, features)
            Values in [0, 1], those between 0 and 1 being taken for probabilities; for Gaussian units any numbers, for
            spins values in [-1, 1], taken for means. A Dask array is computed window by window, in each pass anew.
        y : optional
            Ignored; scikit-learn passes it.
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
        if resume:
            self._same_library(X)
        else:
            self._begin(X)
            self._name_features(names)
        uniforms = self._uniforms if self.shuffle else None
        steps: dict[int, tuple[Any, Any]] = {}
        self.n_samples_seen_ = int(X.shape[0])
        watch = Watch(self, X, held_out)
        while self.n_iter_ < self.n_iter:
            began = time.perf_counter()
            self._rate.set_value(rate_after(self._schedule, self.learning_rate, self.n_iter_, self.n_iter))
            number = 0
            for number, rows in enumerate(minibatches(X, self._batch, uniforms)):
                count = rows.shape[0]
                step, share = steps.get(count) or steps.setdefault(count, self._step(count))
                step(rows, share)
                if self._followed(number):
                    steps.clear()
            self.n_iter_ += 1
            look = watch.look(self.n_iter_, self._negative.weighed(self._function, number + 1, self._rng))
            if self.verbose:
                self._report(X, look, time.perf_counter() - began)
            if callback is not None:
                callback(self)
        self._warn_of_divergence()
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
        X, names = self._training_rows(X, known, self._layers(known).units[0])
        X = in_memory(X)
        if known is None:
            self._begin(X)
            self._name_features(names)
        else:
            self._same_library(X)
            self._follow_base_rate(X)
        self.n_samples_seen_ += int(X.shape[0])
        self._rate.set_value(self.learning_rate)
        step, share = self._step(int(X.shape[0]))
        step(X, share)
        self._followed(0)
        return self

    def _training_rows(self, X: Any, known: int | None, units: Units) -> tuple[Any, list[str] | None]:
        """Rows to learn from, checked, and the names of their columns."""
        names, owner = column_names(X), type(self).__name__
        if known is not None:
            check_names(self._features_in, X)
        X = checked_rows(X, known, within=units.within, clip=self.clip is True, owner=owner)
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        return X, names

    def _followed(self, number: int) -> bool:
        """Let the negative phase follow the model after a step of a pass; whether steps are to be compiled anew."""
        negative = self._negative
        key = negative.key
        outgrown = negative.follow(number)
        if outgrown:
            self._forget(key)
        return outgrown

    @property
    def _batch(self) -> int:
        """Rows in a minibatch: no more than there are."""
        return min(self.batch_size, self.n_samples_seen_)

    def _begin(self, X: Any) -> None:
        """Start a model for rows like these."""
        topology, home = self._layers(int(X.shape[1])), array_namespace(in_memory(X[:1, :]))
        dtype = float_dtype(dtype_name(X))
        units = topology.units[0]
        rate = units.base_rate(to_numpy(units.observed(X)), X.shape[0])
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

    def _follow_base_rate(self, X: Any) -> None:
        """Let the base rate take further rows into account."""
        units = self._topology.units[0]
        mean = B.cast(units.observed(X), self._parameters.dtype)
        self.base_rate_ = units.followed(self.base_rate_, self.n_samples_seen_, mean, X.shape[0])

    def _step(self, count: int) -> tuple[Any, Any]:
        """The compiled step for minibatches of so many rows, and what each state counts in it."""
        number = None if self._serves_any_number() else count
        self._negative.begin(self._batch, self._base_bias)
        key = ("step", number, self._negative.key, *(getattr(self, name) for name in self._in_a_step()))
        step = self._function(key, lambda: self._compile_step(number))
        return step, self._function(("shares", count, self._way), lambda: self._shares(count))

    @property
    def _way(self) -> str:
        """How the model is trained: `training`, or what its older name says."""
        return self.training if self.persistent is None else WAYS[not self.persistent]

    @property
    def _centred(self) -> bool:
        """Whether learning follows the gradient of centred units."""
        return self._way == "tempered" if _is_auto(self.centred) else bool(self.centred)

    @property
    def _schedule(self) -> Any:
        """How the learning rate changes."""
        usual = "linear" if self._way == "tempered" else "constant"
        return usual if _is_auto(self.schedule) else self.schedule

    @property
    def _negative(self) -> NegativePhase:
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
        return not self._negative.needs_rows

    @classmethod
    def _in_a_step(cls) -> tuple[str, ...]:
        """The hyperparameters that a compiled step depends on, besides how states are made up."""
        return ("n_gibbs", "momentum", "weight_decay", "_centred")

    def _shares(self, rows: int) -> Any:
        """What each state counts: the loss is the mean free energy of the rows less that of made-up states."""
        like = self._like
        counts = [*self._negative.weights(rows), *([1.0 / rows] * rows)]
        return asarray(counts, array_namespace(like), like.dtype)

    def _compile_step(self, rows: int | None) -> Any:
        if self.momentum and self._velocities is None:
            zeros = (variable(self._zeros(*parameter.shape)) for parameter in self._parameters)
            self._velocities = self._parameters.like(zeros)
        if self._centred and self._offsets is None:
            self._offsets = self._first_offsets()
        return compile_step(self._learner(), rows)

    def _first_offsets(self) -> tuple[Any, ...]:
        """The means of the units of each layer, as far as the biases tell them."""
        pairs = zip(self._topology.units, self._parameters.biases, strict=True)
        means = [units.mean(biases.value) for units, biases in pairs]
        return tuple(variable(value, f"offset.{layer}") for layer, value in enumerate(means))

    def _learner(self) -> Learner:
        return Learner(
            parameters=self._parameters,
            velocities=self._velocities if self.momentum else None,
            rate=self._rate,
            negative=self._negative,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
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
            measure, value = self._measure(X)
            told = f"{measure} {value:.2f}"
        else:
            told = str(look)
        sys.stdout.write(f"[{type(self).__name__}] pass {self.n_iter_} of {self.n_iter}: {told}, {seconds:.2f} s\n")

    def _warn_of_divergence(self) -> None:
        if not all(math.isfinite(float(B.max(B.abs(values.value)))) for values in self._parameters):
            told = f"the parameters are not finite after {self.n_iter_} passes: a lower learning_rate may help"
            warnings.warn(told, TrainingWarning, stacklevel=3)

    def _check_hyperparameters(self) -> None:
        """Refuse, before any work, what learning could not go on with."""
        for name, least in (("batch_size", 1), ("n_iter", 0), ("n_gibbs", 1)):
            positive_int(getattr(self, name), name, least)
        for name, low, high in (("learning_rate", 1e-300, math.inf), ("momentum", 0, 1), ("weight_decay", 0, math.inf)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < high:
                above = "above 0" if low else "at least 0"
                raise ValueError(f"{name} must be a number, {above} and below {high}, got {value!r}")
        if self.training not in WAYS:
            raise ValueError(f"training must be one of {list(WAYS)}, got {self.training!r}")
        for name in ("persistent", "centred", "shuffle"):
            value = getattr(self, name)
            if (name == "persistent" and value is None) or (name == "centred" and _is_auto(value)):
                continue
            if getattr(value, "shape", ()) or value not in (True, False):
                raise ValueError(f"{name} must be True or False, got {value!r}")
        if getattr(self.watch, "shape", ()) or self.watch not in ("auto", True, False):
            raise ValueError(f"watch must be 'auto', True or False, got {self.watch!r}")
        if not isinstance(self.clip, bool) and self.clip != "new":
            raise ValueError(f"clip must be True, False or 'new', got {self.clip!r}")
        check_schedule(self._schedule)


def _is_auto(value: Any) -> bool:
    """Whether a hyperparameter is left to what suits the way of training."""
    return isinstance(value, str) and value == "auto"
