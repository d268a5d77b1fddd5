"""Training runs: the directory holds rows and hyperparameters, so that resuming needs no further arguments."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from nbm_xp import boltzmann
from nbm_xp.boltzmann import storage
from nbm_xp.boltzmann.blocks import BLOCK, block_count
from nbm_xp.boltzmann.model import Model
from nbm_xp.boltzmann.trainer import Trainer, TrainingSize
from nbm_xp.files import Place, replacing, write_json
from nbm_xp.machines import Array
from nbm_xp.machines.estimators import check_names, column_names
from nbm_xp.machines.minibatches import in_memory
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    to_numpy,
)
from nbm_xp.namespace.errors import checked_number, positive_int
from nbm_xp.records import read_record, sealed, unsealed
from nbm_xp.storage.chunked import open_array

from .directory import RunDirectory, RunError
from .execution import Kind, Progress, begin, check_begin
from .inputs import digest_of, rows_of, save_rows
from .job import Demand
from .training_blocks import computed_by, stored_rows
from .training_job import TrainingInput, TrainingJob
from .workers import Pool, Workers

MODEL, RESULT, CLOCK = "model.safetensors", "result.json", "clock.json"
_PATIENCE = 60.0  # seconds between checkpoints, unless a number of epochs is given


def train(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any,
    *,
    held_out: Any = None,
    sample_weight: Any = None,
    hours: float | None = None,
    checkpoint_every: int | None = None,
    notes: Mapping[str, Any] | None = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
    callback: Callable[[Any], object] | None = None,
) -> RunDirectory:
    """Train a model with checkpoints in a directory, from which an interrupted training is resumed.

    Parameters
    ----------
    model : RBM or DBM
        Defines the class and the hyperparameters; learned parameters are ignored, and the object is not modified. Its
        `random_state` is the run's seed.
    directory : path-like
        The run's directory, or its address in an object store, which must not exist or be empty.
    X : array of shape (rows, features)
        Training rows, as in `fit`. They are copied into the run's directory, a Dask array block by block, and removed
        at the end of the training.
    held_out : array of shape (rows, features), optional
        Held-out rows, whose log-likelihood is part of the diagnostics, as in `fit`.
    sample_weight : array of shape (rows,), optional
        Weights of the rows, as in `fit`.
    hours : float, optional
        Duration of the training in hours, in place of the model's `n_iter`; the result then depends on the clock.
    checkpoint_every : int, optional
        Number of epochs between checkpoints, which do not affect the model. Defaults to a checkpoint per minute.
    notes : mapping, optional
        Further values to store in the run's configuration, by name, for instance the source of the rows. They must be
        representable in JSON.
    scheduler : str or Workers, optional
        Where the blocks of training steps are computed: see `sample`, and the notes.
    progress : callable, optional
        ``progress(done, total)`` is called after each epoch; both count epochs.
    callback : callable, optional
        ``callback(model)`` is called after each epoch, for instance to read the model's `diagnostics_`.

    Returns
    -------
    RunDirectory
        Read the model, in ``model.safetensors``, with `trained_model`; its `diagnostics_` are the learning curve.
        ``result.json`` holds the last entry.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    FileExistsError
        If the directory is not empty.
    RunError
        If the run cannot continue because the disk is full, or a cluster is gone.

    Notes
    -----
    A minibatch of more than 500 rows is divided into blocks of at most 500, with a part of the chains each, and so it
    is in `fit`. Workers compute the gradients of blocks; this process adds them in a fixed order, updates the
    parameters, and sends them on. So the model is the same, bit for bit, for any number of workers and any scheduler.
    Workers read the rows of their blocks from the run's directory, at most two windows of 16,384 rows at a time. This
    process keeps the chains, and diagnoses the model. Minibatches of at most 500 rows are computed in this process.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import train, trained_model
    >>> rows = np.eye(6, dtype="float32")
    >>> run = train(RBM(4, n_iter=3, random_state=0), pathlib.Path(tempfile.mkdtemp()) / "run", rows)
    >>> bool((trained_model(run.path).components_ == RBM(4, n_iter=3, random_state=0).fit(rows).components_).all())
    True
    """
    check_begin(directory, progress)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {callback!r}")
    if not isinstance(model, Model):
        raise TypeError(f"model must be a model of nbm_xp.boltzmann, got {type(model).__name__}")
    if callable(model.schedule):
        raise ValueError("schedule must be a name in a run, which another process may resume, got a function")
    model.check_hyperparameters()
    within, names = model.layers_for().units[0].within, column_names(X)
    X = checked_rows(X, within=within, missing=True)
    known_length(X)
    model.layers_for(X.shape[1])
    arrays: dict[str, Array] = {"rows": X}
    if held_out is not None:
        check_names(names, held_out)
        arrays["held_out"] = checked_rows(held_out, X.shape[1], name="held_out", within=within, missing=True)
        known_length(arrays["held_out"], "held_out")
    if checked_weights(sample_weight, X) is not None:  # stored unscaled: `fit` scales them, once
        weights = to_numpy(sample_weight) if is_array(sample_weight) else list(sample_weight)
        arrays["sample_weight"] = asarray(weights, host_namespace(), "float64")
    if hours is not None:
        checked_number(hours, "hours", 1_000_000, positive=True)
    if checkpoint_every is not None:
        positive_int(checkpoint_every, "checkpoint_every")
    params = {name: value for name, value in model.plain_params().items() if name not in ("random_state", "verbose")}
    configuration = {
        "model": type(model).__name__,
        "params": params,
        "hours": hours,
        "checkpoint_every": checkpoint_every,
        "batch_size": min(int(model.batch_size), int(X.shape[0])),
        "feature_names": names,
        "arrays": {name: _described(array) for name, array in arrays.items()},
        "notes": notes or {},
    }
    known = TrainingInput(model, X, arrays.get("held_out"), 1 if hours else model.n_iter)
    return begin(
        TrainingRun, directory, configuration, random_state=model.random_state, progress=progress,
        scheduler=scheduler, save=functools.partial(_save, arrays), callback=callback, known=known, held=known.held,
    )  # fmt: skip


def _described(array: Any) -> dict[str, Any]:
    """Describe an array that is copied: its digest, library and chunks, to restore it."""
    chunks = [list(map(int, part)) for part in array.chunks] if is_lazy(array_namespace(array)) else None
    return {"digest": functools.partial(digest_of, array), "library": library_name(array), "chunks": chunks}


def _save(arrays: Mapping[str, Any], folder: Place) -> None:
    """Write the training data into the checkpoints of a new run, which are removed when the training is finished."""
    place = folder / "checkpoints"
    place.mkdir()
    for name, array in arrays.items():
        save_rows(array, place, f"{name}.npy")


class TrainingRun(Kind):
    """Runs of `train`.

    A run that is killed at any time resumes from its last checkpoint and ends with the same model, bit for bit.
    """

    name = "train"
    results, document, job_kinds = (MODEL, RESULT), RESULT, (TrainingJob,)
    in_tasks, smaller = False, "fewer rows"

    @property
    def _size(self) -> TrainingSize:
        """The memory of the arrays of a training that is projected."""
        (job,) = self.jobs
        return job.known.size(job.batch_size)  # type: ignore[no-any-return]

    def client(self, n_workers: int) -> int:
        """See `Kind`: rows, read and copied; then a step, with sums of workers and messages, or diagnostics."""
        known: TrainingInput = self.jobs[0].known
        copied = max(known.held, 2 * self._size.window if is_lazy(array_namespace(known.rows)) else 0)
        sent = 3 * min(n_workers, len(self.jobs[0].blocks)) * self._size.message
        return known.held + max(copied, self._size.step + sent, self._size.diagnosed(known.held_out))

    @property
    def closing(self) -> Demand:
        """See `Kind`: the model is written."""
        return Demand(checkpoints=self._size.stored, reads=1, writes=1)

    def kept(self, seconds: float) -> int:
        """See `Kind`."""
        every = self.run.configuration["checkpoint_every"]
        return int(seconds / _PATIENCE) if every is None else (self.jobs[0].known.n_epochs - 1) // int(every)

    @classmethod
    def check_scheduler(cls, configuration: Mapping[str, Any], scheduler: str | Workers) -> None:
        """Raise `ValueError` if minibatches are too small to be divided among workers of a cluster."""
        batch = configuration.get("batch_size", 1)
        if Workers.of(scheduler).scheduler != "threads" and block_count(batch) == 1:
            raise ValueError(
                f"scheduler must be left out: a minibatch of {batch} rows is computed in this process, and workers "
                f"compute blocks of larger ones. Set batch_size above {BLOCK}"
            )

    def __init__(self, run: RunDirectory, callback: Callable[[Any], object] | None = None) -> None:
        super().__init__(run)
        self._callback = callback
        self._began = self._kept_at = 0.0  # a time of the clock, and seconds since then
        self._first: tuple[int, float] | None = None  # number of this process's first epoch, and its end

    def complete(self, pool: Pool, progress: Progress) -> None:
        """Train from the start or from the last checkpoint, and write the model and the results."""
        run, asked = self.run, self.run.configuration
        rows, held_out, weights = map(self._array, ("rows", "held_out", "sample_weight"))
        checkpoint, done = checked_checkpoint(run), 0
        if checkpoint is None:
            if asked["model"] not in boltzmann.__all__:
                raise ValueError(f"{run.path}: nbm_xp.boltzmann has no model {asked['model']!r}")
            model = getattr(boltzmann, asked["model"]).of_params(asked["params"] | {"random_state": run.seed})
        else:
            model = boltzmann.load(checkpoint, library_name(in_memory(rows[:1, :])))
            done = model.n_iter_
            run.log(f"the checkpoint of epoch {done} is there")
            self._kept_at = unsealed(read_record(run.checkpoints / CLOCK), run.checkpoints / CLOCK)["seconds"]
        self._began = time.perf_counter() - self._kept_at
        progress(done, model.n_iter)
        trainer, count = Trainer(model), int(rows.shape[0])
        if block_count(min(model.batch_size, count)) > 1:
            pool.check(run.path)
            library = library_name(in_memory(rows[:1, :]))
            trainer.stored = stored_rows(run, asked["arrays"]["rows"]["digest"], count, library)
            trainer.compute = computed_by(pool, run, library)
        try:
            trainer.fit(
                rows,
                weights,
                held_out=held_out,
                callback=functools.partial(self._after_epoch, progress),
                resume=checkpoint is not None,
            )
        except BaseException as error:
            run.log(f"ended after epoch {getattr(model, 'n_iter_', 0)}: {type(error).__name__} {error}")
            raise
        seconds = time.perf_counter() - self._began
        model.state_.feature_names = asked["feature_names"]
        run.check_lock()
        with replacing(run.path / MODEL) as part:
            model.save(part)
        last = next((dataclasses.asdict(at) for at in model.diagnostics_ if at.epoch == model.n_iter_), None)
        found = {
            "epochs": model.n_iter_,
            "seconds": round(seconds, 3),
            "n_rows": count,
            "n_features": int(rows.shape[1]),
            "library": library_name(rows),
            "lower_bound": not model.state_.topology.is_factorial,
            "diagnostics": last,
        }
        self.write_document(found)

    def _array(self, name: str) -> Array:
        """Return an array of the training data in its original library, or None if there is none."""
        about, place = self.run.configuration["arrays"].get(name), self.run.path / "checkpoints" / f"{name}.npy"
        if about is None:
            return None
        if not place.is_file():
            raise RunError(f"{self.run.path} lacks {place.name}, which a training needs until it is finished")
        if about["chunks"] is not None:
            array = open_array(place, chunks=tuple(map(tuple, about["chunks"])))
        else:
            array = asarray(rows_of(place.parent, name=place.name), get_namespace(about["library"]))
        if digest_of(array) != about["digest"]:
            raise ValueError(f"{place} is not the file that the run began with: it is damaged or exchanged")
        return array

    def _after_epoch(self, progress: Progress, model: Any) -> None:
        """Write a checkpoint if one is due, and call the callbacks."""
        self.run.check_lock()
        run, seconds, every = self.run, time.perf_counter() - self._began, self.run.configuration["checkpoint_every"]
        model.state_.feature_names = run.configuration["feature_names"]
        if run.configuration["hours"] is not None:
            self._fit_into_the_hours(model, seconds)
        epoch, due = model.n_iter_, seconds - self._kept_at >= _PATIENCE
        if epoch < model.n_iter and (due if every is None else epoch % every == 0):
            write_json(run.checkpoints / CLOCK, sealed({"seconds": seconds}))
            with replacing(run.checkpoints / MODEL) as part:
                model.state_.save(part, model.plain_params(), run.identity)
            run.log(f"epoch {epoch} of {model.n_iter} is kept")
            self._kept_at = seconds
        if self._callback is not None:
            self._callback(model)
        progress(epoch, model.n_iter)

    def _fit_into_the_hours(self, model: Any, seconds: float) -> None:
        """Set the number of epochs from their mean duration, except that of the first, which includes the start-up.

        The number is final before the last epoch begins, since `fit` ends the last epoch differently from others.
        """
        if self._first is None:
            self._first = (model.n_iter_, seconds)
        epochs = model.n_iter_ - self._first[0]
        each = (seconds - self._first[1]) / epochs if epochs else seconds
        left = round((self.run.configuration["hours"] * 3600 - seconds) / max(each, 1e-9))
        model.n_iter = model.n_iter_ + max(int(model.n_iter_ < model.n_iter), left)


def checked_checkpoint(run: RunDirectory) -> Place | None:
    """Return the file of a training's last checkpoint, or None.

    Raises
    ------
    ValueError
        If it is damaged or of another run.
    """
    place = run.path / "checkpoints" / MODEL
    if not place.exists():
        return None
    if storage.metadata_of(place).get("run") != run.identity:
        raise ValueError(f"{place} is a checkpoint of another run than {run.path}")
    return place


def trained_model(directory: str | os.PathLike[str], library: str | None = None) -> Any:
    """Return the model of a training run: the final one or, before the end, that of the last checkpoint.

    Parameters
    ----------
    directory : path-like
        The run's directory.
    library : str, optional
        Library of its arrays. Defaults to NumPy.

    Raises
    ------
    RunError
        If there is no checkpoint yet.
    ValueError
        If the model is damaged or of another run, or the directory is not that of a training.
    """
    run = RunDirectory.open(directory, "train")
    if (training := TrainingRun(run)).is_finished:
        training.result()
        return boltzmann.load(run.path / MODEL, library)
    found = checked_checkpoint(run)
    if found is None:
        raise RunError(f"the training in {run.path} has kept no model yet: resume it by runs.resume")
    return boltzmann.load(found, library)
