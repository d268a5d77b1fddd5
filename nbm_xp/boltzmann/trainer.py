"""Training of a Boltzmann machine: epochs and minibatches.

The model has the library of the rows that it is trained on; for Dask arrays, the library of their blocks. A compiled
step changes its Variables for each minibatch.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Rows
from nbm_xp.machines.diagnostics import TrainingWarning
from nbm_xp.machines.estimators import check_names, column_names
from nbm_xp.machines.minibatches import WINDOW, RowsAt, any_missing, in_memory, is_sparse, minibatches, observed
from nbm_xp.machines.randomness import entropy_of, stream
from nbm_xp.machines.rows import checked_rows, checked_weights, sparse_rows
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, asarray, host_namespace, is_array, is_lazy, library_name, to_numpy
from nbm_xp.rng import Generator
from nbm_xp.tape import Function

from . import storage
from .blocks import BlockMachine, Compute, StepSettings, block_count, compute_block, divided_step, joined
from .diagnostics import Diagnostics
from .energy import gauged_weights
from .learning_step import compile_step
from .negative_phase import NegativePhase
from .optimizers import averaging_step, end_averaging, first_averaged, optimizer_of, rate_after
from .state import MachineState, float_dtype, transposed
from .training_diagnostics import TrainingDiagnostics
from .training_methods import PTT, training_method
from .trajectory_tempering import CHAINS, EVERY


class TrainingSize(NamedTuple):
    """Memory of a training, in bytes, without that of its rows.

    Attributes
    ----------
    stored : int
        Arrays that are stored from step to step.
    step : int
        What a step needs in the process that updates the parameters.
    block, message : int
        What each block of a divided step needs, and a worker is sent; 0 if steps are not divided.
    window : int
        Windows of rows while one is read: as a file in memory, as an array, and the one before.
    units : int
        A state of all layers.
    measured : int
        Number of rows that diagnostics measure.
    """

    stored: int
    step: int
    block: int
    message: int
    window: int
    units: int
    measured: int

    def diagnosed(self, held_out: Array = None) -> int:
        """Return the memory of diagnostics."""
        rows = self.measured if held_out is None else max(self.measured, int(held_out.shape[0]))
        return self.stored + 2 * rows * self.units


class Trainer:
    """The training of a model.

    Parameters
    ----------
    model : BoltzmannEstimator
        The model; training changes its `state_`.
    **objective
        Further arguments of `Learner`.
    """

    def __init__(self, model: Any, **objective: Any) -> None:
        model.check_hyperparameters()
        self.model, self.objective = model, objective
        self.method = training_method(model.training)
        self.optimizer = optimizer_of(model.optimizer)
        self.stored: RowsAt | None = None  # the rows, if minibatches are not to be loaded here
        machines: dict[Hashable, BlockMachine] = {}
        self.compute: Compute = lambda shared, blocks: joined(compute_block(shared, x, machines) for x in blocks)

    @property
    def state(self) -> MachineState:
        """The state of the model."""
        state: MachineState = self.model.state_
        return state

    @property
    def settings(self) -> StepSettings:
        """The hyperparameters that a step depends on."""
        model, method = self.model, self.method
        centred = method.is_centred or model.is_centred if method.centred is None else bool(method.centred)
        return StepSettings(method, self.optimizer, model.n_gibbs, centred, self.objective)

    @property
    def negative_phase(self) -> NegativePhase:
        """The negative phase."""
        return self.settings.negative_phase(self.state)

    def size(self, X: Rows, n_iter: int, batch: int) -> TrainingSize:
        """Return the memory of a training on these rows in such minibatches, by counts of arrays that exist at once.

        A machine is added to the ladder of `PTT` each eighth step at most. The square root of the number of units,
        twice, is taken for the most machines: the distance between two of them falls with this root.
        """
        count, features, model, settings = int(X.shape[0]), int(X.shape[1]), self.model, self.settings
        topology, own = model.layers_for(features), self.optimizer
        itemsize, blocks = 4 if float_dtype(X) == "float32" else 8, block_count(batch)
        units, by_ladder = itemsize * sum(topology.sizes), isinstance(self.method, PTT)
        weights = itemsize * sum(map(math.prod, storage.shapes(topology).values()))
        momentum = self.method.momentum if own.momentum is None else own.momentum
        copies = 1 + (2 if own.name == "adam" else bool(momentum))
        mean = weights * (self.method.is_averaged if self.method.average is None else bool(self.method.average))
        chains, ladder, rungs = batch, 0, 0
        if by_ladder:
            chains, steps = max(batch, CHAINS), n_iter * -(-count // batch)
            rungs = min(1 + steps // EVERY, math.ceil(2 * math.sqrt(sum(topology.sizes))))
            ladder = (rungs + 1) * chains * units  # of states
        lazy = not is_sparse(X) and is_lazy(array_namespace(X))
        window = min(count, WINDOW) * features * itemsize
        states = 7 * (batch + chains) * units // 5
        stored = copies * weights + mean + rungs * weights + ladder + chains * units // 2
        update = max(2 * copies + 1, copies + 4 if settings.centred else 0) * weights
        base, block, message, loaded = rungs * weights + mean, 0, 0, (2 if lazy else 1) * window
        if blocks > 1:
            message, block = (1 + rungs) * weights, (2 + rungs) * weights + (states + 5 * ladder) // blocks
            update, states, loaded = update + 2 * weights, 2 * chains * units, 0
        step = base + loaded + max(update + states // 4, (copies + 2) * weights + states, update + 11 * ladder // 2)
        measured = min(count, 10_000 if by_ladder or model.diagnostics is True else 200)
        return TrainingSize(stored, step, block, message, (3 if count > WINDOW else 2) * window, units, measured)

    def fit(
        self,
        X: Rows,
        sample_weight: Rows,
        *,
        held_out: Rows = None,
        callback: Callable[[Any], object] | None = None,
        resume: bool = False,
    ) -> None:
        """Train the model on rows, epoch by epoch: see `RBM.fit`."""
        model = self.model
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable, got {callback!r}")
        units = model.layers_for().units[0]
        X, names = self._training_rows(X, self.state if resume else None, units)
        if held_out is not None:
            check_names(self.state.feature_names if resume else names, held_out)
            held_out = checked_rows(held_out, X.shape[1], name="held_out", within=units.within, missing=True)
        self.may_miss = (not is_sparse(X) and is_lazy(array_namespace(X))) or any_missing(X)
        weights = checked_weights(sample_weight, X)
        if resume:
            self.state.same_library(in_memory(X[:1, :]))
        else:
            self._begin(X, weights, names)
        state = self.state
        state.n_samples = int(X.shape[0])
        diagnostics = TrainingDiagnostics(model, X, held_out, weights)
        steps: dict[int, tuple[Function, Array]] = {}
        while state.n_iter < model.n_iter:
            began = time.perf_counter()
            done = self._epoch(X, weights, steps)
            state.n_iter += 1
            self._end()
            found = diagnostics.after_epoch(state.n_iter, self.negative_phase.estimate(done))
            if model.verbose:
                self._report(X, found, time.perf_counter() - began)
            if callback is not None:
                callback(model)
                self._end()  # if the callback made this epoch the last one
        if not state.is_finite:
            text = f"the parameters are not finite after {state.n_iter} epochs: a lower learning_rate may help"
            warnings.warn(text, TrainingWarning, stacklevel=4)

    def _epoch(self, X: Array, weights: Array, steps: dict[int, tuple[Function, Array]]) -> int:
        """Do an epoch, with the compiled steps in `steps`, to which new ones are added; return the number of steps."""
        model, state, number, averaging = self.model, self.state, 0, None
        first = self._first_averaged()
        if first:
            end_averaging(state, adopt=False)  # an unfinished mean of an earlier, smaller `n_iter`
        schedule = self.method.schedule if model.schedule == "auto" else model.schedule
        rate = rate_after(schedule, model.learning_rate, state.n_iter, model.n_iter)
        state.rate.set_value(rate)
        uniforms, phase = self._uniforms if model.shuffle else None, self.negative_phase
        blocks, source = block_count(self._batch), X if self.stored is None else self.stored
        phase.begin(self._batch)
        for number, (rows, counts) in enumerate(minibatches(source, self._batch, uniforms, weights)):
            count = rows.shape[0]
            shares, part = ([1.0 / count] * count, 1.0) if counts is None else _shares(counts)
            if counts is not None:
                state.rate.set_value(rate * part)
            if blocks > 1:
                divided_step(state, self.settings, rows, shares, rate * part, blocks, self.compute)
            else:
                step, sample_weights = steps.get(count) or steps.setdefault(count, self._step(count))
                sample_weights = sample_weights if counts is None else self._weights_of_states(shares)
                step(self._completed(rows) if self.may_miss else rows, sample_weights)
            if self._follow(phase, number):
                steps.clear()
            if number >= first:
                averaging = averaging or averaging_step(state)
                averaging()
        return number + 1

    def _end(self) -> None:
        """After the last epoch, set the parameters to their mean, if there is one."""
        if self.state.n_iter >= self.model.n_iter:
            end_averaging(self.state, adopt=True)

    def _first_averaged(self) -> float:
        """Return the first step of the next epoch that the final mean of parameters includes; inf if there is none."""
        steps = -(-self.state.n_samples // self._batch)
        first = first_averaged(self.state.n_iter, self.model.n_iter, steps)
        is_averaged = self.method.is_averaged if self.method.average is None else bool(self.method.average)
        return first if is_averaged and first < steps else math.inf

    def partial_fit(self, X: Rows, sample_weight: Rows) -> None:
        """Train the model on rows as one minibatch: see `RBM.partial_fit`."""
        model = self.model
        known = self.state if hasattr(model, "state_") else None
        X, names = self._training_rows(X, known, model.layers_for(None if known is None else known.n_features).units[0])
        X = in_memory(X)
        weights = checked_weights(sample_weight, X)
        if known is None:
            self._begin(X, weights, names)
        else:
            known.same_library(X)
            units = known.topology.units[0]
            mean, count = observed(units, X, weights)
            mean = B.cast(mean, known.parameters.dtype)
            known.base_rate = units.updated_rate(known.base_rate, known.n_samples, mean, count)
        state = self.state
        state.n_samples += int(X.shape[0])
        state.rate.set_value(model.learning_rate)
        step, sample_weights = self._step(int(X.shape[0]))
        step(self._completed(X), sample_weights if weights is None else self._weights_of_states(_shares(weights)[0]))
        self._follow(self.negative_phase, 0)

    def _training_rows(self, X: Rows, known: MachineState | None, units: Units) -> tuple[Any, list[str] | None]:
        """Return checked rows, and the names of their columns."""
        names = column_names(X)
        if known is not None:
            check_names(known.feature_names, X)
        check = sparse_rows if is_sparse(X) else partial(checked_rows, missing=True)
        X = check(X, None if known is None else known.n_features, within=units.within, owner=type(self.model).__name__)
        if not X.shape[0]:
            raise ValueError("X must have at least one row")
        return X, names

    def _follow(self, phase: NegativePhase, number: int) -> bool:
        """Let the negative phase adapt to the model after a step; return whether steps must be compiled again."""
        key = phase.key
        changed = phase.follow(number)
        if changed:
            self.state.forget(key)
        return changed

    @property
    def _batch(self) -> int:
        """Number of rows of a minibatch: `batch_size`, or the number of all rows if smaller."""
        return int(min(self.model.batch_size, self.state.n_samples))

    def _begin(self, X: Array, weights: Array, names: list[str] | None) -> None:
        """Initialise the model for these rows."""
        model, first = self.model, in_memory(X[:1, :])
        topology, home, dtype = model.layers_for(int(X.shape[1])), array_namespace(first), float_dtype(first)
        units = topology.units[0]
        mean, count = (to_numpy(part) if is_array(part) else part for part in observed(units, X, weights))
        if is_array(count) and not float(B.min(count)):
            column = int(units.per_unit(host_namespace().arange(X.shape[1]))[int(B.argmin(count))])
            raise ValueError(f"X must have a value in each column, got only NaN in column {column}")
        rate = units.base_rate(mean, count)
        unsuited = units.scaling_advice(rate)
        if unsuited and model.diagnostics:
            warnings.warn(f"X: {unsuited}", TrainingWarning, stacklevel=5)
        seed = entropy_of(model.random_state)
        words = to_numpy(stream(seed, "weights").rstate).tolist()
        random = Generator(words, library_name(host_namespace()))
        arrays: dict[str, Any] = {name: [0.0] * shape[0] for name, shape in storage.shapes(topology).items()}
        for low, high in topology.connections:
            drawn = random.normal(0.0, 0.01, (topology.sizes[high], topology.sizes[low]), dtype)
            arrays[f"weights.{low}-{high}"] = gauged_weights(topology, low, high, transposed(drawn))
        arrays |= {"biases.0": units.bias(rate), "base_rate": rate}
        arrays = {name: asarray(value, home, dtype) for name, value in arrays.items()}
        model.state_ = MachineState(type(model).__name__, topology, arrays, seed, feature_names=names)

    def _completed(self, rows: Array) -> Array:
        """Return rows in memory with values drawn in place of missing ones."""
        return self.settings.completed(self.state, rows, self.state.function)

    def _step(self, count: int) -> tuple[Function, Array]:
        """Return the compiled step for minibatches of `count` rows, and the weights of all states in it."""
        state, method, phase = self.state, self.method, self.negative_phase
        phase.begin(self._batch)
        # If nothing is drawn for each row, one compiled step is for minibatches of any size.
        number = count if phase.needs_rows or not method.hidden_means else None
        settings = self.settings
        key = ("step", number, phase.key, *settings.key)
        step = state.function(key, lambda: compile_step(settings.learner(state, phase), number))
        name = "sample_weights", count, method.name
        return step, state.function(name, lambda: self._weights_of_states([1.0 / count] * count))

    def _weights_of_states(self, shares: list[float]) -> Array:
        """Return the weights of all states in a step: those of the negative phase, with sum -1, then those of rows."""
        count = self.negative_phase.count(len(shares))
        return self.state.constant([*([-1.0 / count] * count), *shares])

    def _uniforms(self, count: int) -> Array:
        """Return the next `count` uniform numbers, in host memory."""
        rng = self.state.rng

        def build() -> Function:
            return B.function([], B.random_uniform((count,), rng=rng), name="uniforms")

        return to_numpy(self.state.function(("uniforms", count), build)())

    def _report(self, X: Array, found: Diagnostics | None, seconds: float) -> None:
        """Write a line about the last epoch."""
        model, text = self.model, str(found)
        if found is None:
            rows = in_memory(X[: min(X.shape[0], WINDOW), :]) if is_sparse(X) else X
            is_complete = not (self.may_miss and any_missing(rows))
            text = "{} {:.2f}".format(*model.measure(rows)) if is_complete else "rows have missing values"
        epoch = f"epoch {self.state.n_iter} of {model.n_iter}"
        sys.stdout.write(f"[{type(model).__name__}] {epoch}: {text}, {seconds:.2f} s\n")


def _shares(weights: Array) -> tuple[list[float], float]:
    """Return weights of rows with sum 1, and the mean of the given ones, a factor of the step."""
    host = to_numpy(weights)
    rows, total = int(host.shape[0]), float(B.sum(host))
    parts = host / total if total else host * 0 + 1 / rows
    return parts.tolist(), total / rows
