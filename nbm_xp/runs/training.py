"""Training as a run: rows and hyperparameters are in the directory, so that it is resumed without further arguments."""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from nbm_xp import boltzmann
from nbm_xp.boltzmann.model import Model
from nbm_xp.machines.estimators import check_names, column_names
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length, positive_int
from nbm_xp.namespace import array_namespace, asarray, get_namespace, host_namespace, is_lazy, library_name, to_numpy
from nbm_xp.storage.chunked import open_array

from .directory import RunDirectory
from .errors import RunError
from .execution import Kind, Progress, begin, check_begin
from .inputs import digest_of, rows_of, save_rows
from .learning import CURVE, MODEL, RESULT, Learning, checked_checkpoint, read_lines, result_of
from .workers import Pool

__all__ = ["TrainingRun", "read_curve", "train", "trained_model"]

_ARRAYS = ("rows", "held_out", "sample_weight")


def train(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any,
    *,
    held_out: Any = None,
    sample_weight: Any = None,
    hours: float | None = None,
    score_every: int | None = None,
    checkpoint_every: int | None = None,
    notes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    on_score: Callable[[Mapping[str, Any]], object] | None = None,
) -> RunDirectory:
    """Train a model in a directory, where it survives whatever ends the process.

    Parameters
    ----------
    model : RBM or DBM
        Its class and hyperparameters count, not what it has learnt; it is left as it is. `random_state` is the run's
        seed.
    directory : path-like
        The run's directory, which must not exist or be empty.
    X : array of shape (rows, features)
        As for `fit`; copied into the run's directory, a Dask array block by block, until the training is finished.
    held_out : array of shape (rows, features), optional
        Rows whose log-likelihood is estimated at each score.
    sample_weight : array of shape (rows,), optional
        How much each row counts, as for `fit`.
    hours : float, optional
        How long to learn, in place of the model's `n_iter`; the model then depends on the clock.
    score_every : int, optional
        Epochs between scores of the model, a line of ``curve.jsonl`` each; about 50 in all by default.
    checkpoint_every : int, optional
        Epochs between checkpoints; one a minute by default. The model does not depend on them.
    notes : mapping, optional
        Names, and values that JSON can hold, to keep in the run's configuration: where the rows come from, say.
    progress : callable, optional
        ``progress(done, total)`` is called after each epoch.
    on_score : callable, optional
        Called with each line of ``curve.jsonl``, a mapping.

    Returns
    -------
    RunDirectory
        `trained_model` reads the model, which is in ``model.safetensors``; ``result.json`` says what it came to.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it must be.
    FileExistsError
        If something is in the directory already.
    RunError
        If the run cannot go on: the disk is full.

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
    if not isinstance(model, Model):
        raise TypeError(f"model must be a model of nbm_xp.boltzmann, got {type(model).__name__}")
    if callable(model.schedule):
        raise ValueError("schedule must be a name in a run, which another process may resume, got a function")
    model.check_hyperparameters()
    within, names = model.layers_for().units[0].within, column_names(X)
    if held_out is not None:
        check_names(names, held_out)
    X = checked_rows(X, within=within)
    known_length(X)
    model.layers_for(X.shape[1])
    arrays: dict[str, Any] = {"rows": X, "held_out": None, "sample_weight": None}
    if held_out is not None:
        arrays["held_out"] = checked_rows(held_out, X.shape[1], name="held_out", within=within)
        known_length(arrays["held_out"], "held_out")
    if checked_weights(sample_weight, X) is not None:  # kept as they were given: `fit` scales them, once
        arrays["sample_weight"] = asarray(to_numpy(sample_weight), host_namespace(), "float64")
    duration: Any = hours
    if hours is not None and (isinstance(duration, bool) or not isinstance(duration, Real) or not 0 < hours < 1e6):
        raise ValueError(f"hours must be a number above 0, got {hours!r}")
    for name, value in {"score_every": score_every, "checkpoint_every": checkpoint_every}.items():
        if value is not None:
            positive_int(value, name)
    params = {name: value for name, value in model.plain_params().items() if name not in ("random_state", "verbose")}
    configuration = {
        "model": type(model).__name__,
        "params": params,
        "hours": hours,
        "score_every": score_every,
        "checkpoint_every": checkpoint_every,
        "feature_names": names,
        **{name: None if array is None else _described(array) for name, array in arrays.items()},
        "notes": notes or {},
    }
    return begin(
        TrainingRun, directory, configuration, random_state=model.random_state, progress=progress,
        save=functools.partial(_save, arrays), on_score=on_score,
    )  # fmt: skip


def _described(array: Any) -> dict[str, Any]:
    """How an array that is copied is read again, in its library and chunks."""
    chunks = [list(map(int, part)) for part in array.chunks] if is_lazy(array_namespace(array)) else None
    return {"digest": digest_of(array), "library": library_name(array), "chunks": chunks}


def _save(arrays: Mapping[str, Any], folder: pathlib.Path) -> None:
    """Write what is learnt from into a new run's directory; it is removed when the training is finished."""
    place = folder / "checkpoints"
    place.mkdir()
    for name, array in arrays.items():
        if array is not None:
            save_rows(array, place, f"{name}.npy")


class TrainingRun(Kind):
    """Runs of `train`."""

    name = "train"
    results = (MODEL, RESULT)
    in_tasks = False

    def __init__(self, run: RunDirectory, on_score: Callable[[Mapping[str, Any]], object] | None = None) -> None:
        super().__init__(run)
        self._on_score = on_score

    def complete(self, pool: Pool | None, progress: Progress | None) -> None:
        """Learn what is left to learn."""
        asked, on_score = self.run.configuration, self._on_score
        if asked["model"] not in boltzmann.__all__:
            raise ValueError(f"{self.run.path}: nbm_xp.boltzmann has no model {asked['model']!r}")
        model = getattr(boltzmann, asked["model"]).of_params(asked["params"] | {"random_state": self.run.seed})

        def after_epoch(done: int, line: Mapping[str, Any] | None, total: int) -> None:
            if line is not None and on_score is not None:
                on_score(line)
            if progress is not None:
                progress(done, total)

        rows, held_out, weights = map(self._array, _ARRAYS)
        settings = {name: asked[name] for name in ("hours", "score_every", "checkpoint_every", "feature_names")}
        Learning(self.run, model, rows, held_out, weights, after_epoch=after_epoch, **settings).complete()

    def result(self) -> dict[str, Any]:
        """What the last epoch came to."""
        return result_of(self.run)

    def _array(self, name: str) -> Any:
        """An array to learn from, in the library that it came in; None where there is none."""
        about, place = self.run.configuration[name], self.run.path / "checkpoints" / f"{name}.npy"
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


def trained_model(directory: str | os.PathLike[str], library: str | None = None) -> Any:
    """The model of a training's run: what it ended with or, before its end, that of its last checkpoint.

    Parameters
    ----------
    directory : path-like
        The run's.
    library : str, optional
        The library of its arrays; NumPy by default.

    Raises
    ------
    RunError
        If there is no checkpoint yet.
    ValueError
        If it is damaged, or of another run; if the directory is not a training's.
    """
    run = RunDirectory.open(directory, "train")
    if TrainingRun(run).is_finished:
        result_of(run)
        return boltzmann.load(run.path / MODEL, library)
    found = checked_checkpoint(run)
    if found is None:
        raise RunError(f"the training in {run.path} has kept no model yet: resume it by runs.resume")
    return boltzmann.load(found, library)


def read_curve(directory: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The learning curve of a training's run, as far as it has come.

    Parameters
    ----------
    directory : path-like
        The run's.

    Returns
    -------
    list of dict
        Of each epoch that was scored ``epoch``, ``seconds`` of learning, and a score of the training rows:
        ``pseudo_likelihood``, ``free_energy`` or, of a model with a ladder, ``train_log_likelihood``. Of some
        ``log_likelihood``, the mean of the held-out rows, ``train_log_likelihood``, that of training rows, and log Z
        behind both; ``lower_bound`` says that they are one.
        Where `fit` has diagnosed the model, ``diagnostics`` has the fields of `nbm_xp.boltzmann.Diagnostics`.

    Raises
    ------
    ValueError
        If a line is damaged, or the directory is not a training's.
    """
    return read_lines(RunDirectory.open(directory, "train").path / CURVE)


KINDS = {"train": TrainingRun}
