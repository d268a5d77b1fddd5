"""How a Boltzmann machine learns from rows: pass by pass, minibatch by minibatch.

The model lives in the library of the arrays it learns from; where those are Dask's, in that of their blocks. Learning
changes Variables by a compiled step, one minibatch after the other.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.machines.columns import check_names, column_names
from nbm_xp.machines.randomness import entropy_of, stream
from nbm_xp.machines.rows import WINDOW, checked_rows, checked_weights, in_memory, minibatches, observed, sparse_rows
from nbm_xp.machines.sparse import SparseRows, is_sparse
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, asarray, host_namespace, library_name, to_numpy
from nbm_xp.rng import Generator

from . import storage
from .averaging import Averaging, finish, first_averaged, forget
from .balancing import Balance
from .energy import Parameters, gauged_weights
from .hyperparameters import Settings
from .looks import Look, TrainingWarning
from .model import float_dtype, transposed, variable
from .negative_phase import ContrastiveDivergence, NegativePhase, PersistentChains
from .optimising import Optimizer
from .schedules import rate_after
from .tempered import TemperedChains
from .training import Learner, compile_step
from .watching import Watch

__all__ = ["Trainer"]


class Trainer:
    """The learning of a model.

    Parameters
    ----------
    model : Learning
        Whose hyperparameters count, and whose Variables change.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.settings = Settings(model)

    def fit(
        self,
        X: Any,
        sample_weight: Any,
        *,
        held_out: Any,
        callback: Callable[[Any], object] | None,
        resume: bool,
    ) -> None:
        """Learn from rows, pass by pass: see `RBM.fit`."""
        model = self.model
        model._check_hyperparameters()
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, got {callback!r}")
        layers, known = model._layers(), model._fitted().n_features_in_ if resume else None
        X, names = self._training_rows(X, known, layers.units[0])
        if held_out is not None:
            check_names(model._features_in if resume else names, held_out)
            held_out = checked_rows(held_out, X.shape[1], name="held_out", within=layers.units[0].within)
        weights = checked_weights(sample_weight, X)
        if resume:
            model._same_library(X[:1, :])
        else:
            self._begin(X, weights)
            model._name_features(names)
        model.n_samples_seen_ = int(X.shape[0])
        watch = Watch(model, X, held_out, weights)
        steps: dict[int, tuple[Any, Any]] = {}
        while model.n_iter_ < model.n_iter:
            began = time.perf_counter()
            done = self._pass(X, weights, steps)
            model.n_iter_ += 1
            self._end()
            look = watch.look(model.n_iter_, self.negative_phase.weighed(model._function, done, model._rng))
            if model.verbose:
                self._report(X, look, time.perf_counter() - began)
            if callback is not None:
                callback(model)
                self._end()  # if it said that this pass was the last one
        self._warn_of_divergence()

    def _pass(self, X: Any, weights: Any, steps: dict[int, tuple[Any, Any]]) -> int:
        """Go through all rows once, by steps compiled before or now; how many steps that were."""
        model, number, first, averaging = self.model, 0, self._first_averaged(), None
        if first:
            forget(model._made_up)  # a mean that was begun for fewer passes
        rate = rate_after(self.settings.schedule, model.learning_rate, model.n_iter_, model.n_iter)
        model._rate.set_value(rate)
        uniforms, phase = self._uniforms if model.shuffle else None, self.negative_phase
        for number, (rows, counts) in enumerate(minibatches(X, self._batch, uniforms, weights)):
            count = rows.shape[0]
            step, sample_weights = steps.get(count) or steps.setdefault(count, self._step(count))
            if counts is not None:
                sample_weights, part = self._weighted(counts)
                model._rate.set_value(rate * part)
            step(rows, sample_weights)
            if self._outgrown(phase, number):
                steps.clear()
            if number >= first:
                averaging = averaging or Averaging(model._parameters, model._made_up)
                averaging.add()
        return number + 1

    def _end(self) -> None:
        """After the last pass, take the mean of the parameters that was begun, if one was."""
        if self.model.n_iter_ >= self.model.n_iter:
            finish(self.model._parameters, self.model._made_up)

    def _first_averaged(self) -> float:
        """The first step of the next pass whose parameters count in the mean that `fit` ends with, if any does."""
        model = self.model
        steps = -(-model.n_samples_seen_ // self._batch)
        first = first_averaged(model.n_iter_, model.n_iter, steps)
        return float(first) if self.settings.average and first < steps else math.inf

    def partial_fit(self, X: Any, sample_weight: Any) -> None:
        """Learn from rows as one minibatch: see `RBM.partial_fit`."""
        model = self.model
        model._check_hyperparameters()
        known = getattr(model, "n_features_in_", None)
        X, names = self._training_rows(X, known, model._layers(known).units[0])
        X = X[:, :] if isinstance(X, SparseRows) else in_memory(X)
        weights = checked_weights(sample_weight, X)
        if known is None:
            self._begin(X, weights)
            model._name_features(names)
        else:
            model._same_library(X[:1, :])
            self._follow_base_rate(X, weights)
        model.n_samples_seen_ += int(X.shape[0])
        model._rate.set_value(model.learning_rate)
        step, sample_weights = self._step(int(X.shape[0]))
        step(X, sample_weights if weights is None else self._weighted(weights)[0])
        self._outgrown(self.negative_phase, 0)

    @property
    def negative_phase(self) -> NegativePhase:
        """Where the model's own states come from."""
        model, way = self.model, self.settings.way
        if way == "pcd":
            return PersistentChains(model._parameters, model.n_gibbs, model._made_up)
        if way == "ptt":
            return TemperedChains(model._parameters, model.n_gibbs, model._made_up)
        return ContrastiveDivergence(model._parameters, model.n_gibbs, self._hidden_means)

    @property
    def _hidden_means(self) -> bool:
        """Whether hidden layers that are not summed out are given for the data as means."""
        return bool(self.model._objective().get("positive", Learner.positive) == "mean_field")

    def _training_rows(self, X: Any, known: int | None, units: Units) -> tuple[Any, list[str] | None]:
        """Rows to learn from, checked, and the names of their columns."""
        model, names = self.model, column_names(X)
        if known is not None:
            check_names(model._features_in, X)
        check = sparse_rows if is_sparse(X) else checked_rows
        X = check(X, known, within=units.within, owner=type(model).__name__)
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        return X, names

    def _outgrown(self, phase: NegativePhase, number: int) -> bool:
        """Let the negative phase follow the model after a step of a pass; whether steps are to be compiled anew."""
        key = phase.key
        outgrown = phase.follow(number)
        if outgrown:
            self.model._forget(key)
        return outgrown

    @property
    def _batch(self) -> int:
        """Rows in a minibatch: no more than there are."""
        return int(min(self.model.batch_size, self.model.n_samples_seen_))

    def _begin(self, X: Any, weights: Any = None) -> None:
        """Start the model for rows like these."""
        model, first = self.model, in_memory(X[:1, :])
        topology, home, dtype = model._layers(int(X.shape[1])), array_namespace(first), float_dtype(first)
        units = topology.units[0]
        rate = units.base_rate(to_numpy(observed(units, X, weights)), X.shape[0])
        unsuited = units.unsuited(rate)
        if unsuited and model.watch:
            warnings.warn(f"X: {unsuited}", TrainingWarning, stacklevel=5)
        entropy = entropy_of(model.random_state)
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
        model._install(topology, {name: asarray(value, home, dtype) for name, value in arrays.items()}, entropy)

    def _follow_base_rate(self, X: Any, weights: Any = None) -> None:
        """Let the base rate take further rows into account."""
        model = self.model
        units = model._topology.units[0]
        mean = B.cast(observed(units, X, weights), model._parameters.dtype)
        model.base_rate_ = units.followed(model.base_rate_, model.n_samples_seen_, mean, X.shape[0])

    def _step(self, count: int) -> tuple[Any, Any]:
        """The compiled step for minibatches of so many rows, and what each state counts in it."""
        model, settings, phase = self.model, self.settings, self.negative_phase
        phase.begin(self._batch, model._base_bias)
        # One compiled step serves minibatches of any number of rows, where nothing is drawn for each of them.
        number = count if phase.needs_rows or not self._hidden_means else None
        key: tuple[Any, ...] = (
            "step",
            number,
            phase.key,
            model.n_gibbs,
            settings.momentum,
            model.weight_decay,
            settings.centred,
            model.optimizer,
            *model._of_objective,
        )
        step = model._function(key, lambda: self._compile_step(number))
        counts = [*phase.weights(count), *([1.0 / count] * count)]
        return step, model._function(("sample_weights", count, settings.way), lambda: self._array(counts))

    def _weighted(self, weights: Any) -> tuple[Any, float]:
        """What each state counts beside rows of these weights, whose mean is 1 over all rows, and how far to step."""
        host = to_numpy(weights)
        rows, total = int(host.shape[0]), float(B.sum(host))
        parts = host / total if total else host * 0 + 1 / rows
        return self._array([*self.negative_phase.weights(rows), *parts.tolist()]), total / rows

    def _compile_step(self, rows: int | None) -> Any:
        model, settings = self.model, self.settings
        if settings.adaptive and model._squares is None:
            model._velocities, model._squares = self._all_zeros(), self._all_zeros()
            model._count = variable(self._array([0.0]))
        elif settings.momentum and model._velocities is None:
            model._velocities = self._all_zeros()
        if settings.centred and model._offsets is None:
            model._offsets = self._first_offsets()
        return compile_step(self._learner(), rows)

    def _learner(self) -> Learner:
        model, settings, phase = self.model, self.settings, self.negative_phase
        pace, balance = phase.pace, None
        if settings.centred and settings.way == "ptt":
            balance = Balance(model._topology, model._offsets, model._made_up)
        optimizer = Optimizer(
            rate=model._rate if isinstance(pace, float) and pace == 1.0 else model._rate * pace,
            momentum=settings.momentum,
            weight_decay=model.weight_decay,
            velocities=model._velocities if settings.momentum or settings.adaptive else None,
            squares=model._squares if settings.adaptive else None,
            count=model._count if settings.adaptive else None,
        )
        return Learner(
            parameters=model._parameters,
            optimizer=optimizer,
            negative_phase=phase,
            rng=model._rng,
            offsets=model._offsets if settings.centred else None,
            balance=balance,
            **model._objective(),
        )

    def _first_offsets(self) -> tuple[Any, ...]:
        """The means of the units of each layer, as far as the biases tell them."""
        parameters = self.model._parameters
        pairs = zip(parameters.topology.units, parameters.biases, strict=True)
        means = [units.mean(biases.value) for units, biases in pairs]
        return tuple(variable(value, f"offset.{layer}") for layer, value in enumerate(means))

    def _all_zeros(self) -> Parameters:
        """As many zeros as there are parameters."""
        parameters: Parameters = self.model._parameters
        xp, dtype = array_namespace(self.model._like), self.model._like.dtype
        return parameters.like(variable(xp.zeros(parameter.shape, dtype=dtype)) for parameter in parameters)

    def _array(self, numbers: list[float]) -> Any:
        """Numbers of the model's library and dtype."""
        like = self.model._like
        return asarray(numbers, array_namespace(like), like.dtype)

    def _uniforms(self, count: int) -> Any:
        """So many random numbers in host memory, others in each call."""
        model = self.model
        draw = model._function(
            ("uniforms", count), lambda: B.function([], B.random_uniform((count,), rng=model._rng), name="uniforms")
        )
        return to_numpy(draw())

    def _report(self, X: Any, look: Look | None, seconds: float) -> None:
        """Write a line about the pass that is done."""
        model = self.model
        if look is None:
            measure, value = model._measure(X[: min(X.shape[0], WINDOW), :] if isinstance(X, SparseRows) else X)
            told = f"{measure} {value:.2f}"
        else:
            told = str(look)
        sys.stdout.write(f"[{type(model).__name__}] pass {model.n_iter_} of {model.n_iter}: {told}, {seconds:.2f} s\n")

    def _warn_of_divergence(self) -> None:
        model = self.model
        if not all(math.isfinite(float(B.max(B.abs(values.value)))) for values in model._parameters):
            told = f"the parameters are not finite after {model.n_iter_} passes: a lower learning_rate may help"
            warnings.warn(told, TrainingWarning, stacklevel=5)
