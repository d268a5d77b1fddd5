"""Training as a run: what is to be learnt is in the directory, so that it goes on without being told anything.

While a training is not finished, its directory holds its rows besides its last checkpoint; ``training.json`` says what
they are, what model learns them, and how it is watched.
"""

from __future__ import annotations

import functools
import os
import pathlib
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from nbm_xp import boltzmann
from nbm_xp.boltzmann.faces import Learning
from nbm_xp.files import digest_of_file, local_path, read_record, sealed, unsealed, write_json
from nbm_xp.machines.columns import check_names, column_names
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length, positive_int
from nbm_xp.namespace import array_namespace, asarray, get_namespace, host_namespace, is_lazy, library_name, to_numpy
from nbm_xp.storage.chunked import open_array

from .asked import as_json
from .carrying_out import Progress, check_progress, interruptible
from .copies import digest_of, rows_of, save_rows
from .directory import RunDirectory
from .failing import RunError, needing_room
from .learner import Training, Watch, model_file

__all__ = ["carry_on", "keep", "train", "trained_model"]

LEARNT = "training.json"
_ROWS = {"rows": "rows.npy", "held_out": "held_out.npy", "sample_weight": "sample_weight.npy"}


def train(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any,
    *,
    held_out: Any = None,
    sample_weight: Any = None,
    hours: float | None = None,
    look_every: int | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> RunDirectory:
    """Train a model in a directory, where it survives whatever ends the process.

    Parameters
    ----------
    model : RBM or DBM
        Its class and hyperparameters count, not what it has learnt; it is left as it is. `random_state` is the run's
        seed.
    directory : path-like
        The run's directory: one that does not exist, or, with `resume`, may.
    X : array of shape (rows, features)
        As for `fit`; copied into the run's directory, a Dask array block by block, until the training is finished.
    held_out : array of shape (rows, features), optional
        Rows whose log-likelihood is followed.
    sample_weight : array of shape (rows,), optional
        How much each row counts, as for `fit`.
    hours : float, optional
        How long to learn, in place of the model's `n_iter`; the model then depends on the clock.
    look_every : int, optional
        Passes between looks at the model, a line of ``curve.jsonl`` each; about 50 in all by default.
    checkpoint_every : int, optional
        Passes between checkpoints; one a minute by default. The model does not depend on them.
    resume : bool, optional
        Go on with the training in the directory if there is one. `runs.resume` does so without being told the rest.
    progress : callable, optional
        ``progress(done, total)`` is called after each pass.

    Returns
    -------
    RunDirectory
        `trained_model` reads the model, which is in ``model.safetensors``; ``result.json`` says what it came to.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it must be, or the directory holds another run.
    FileExistsError
        If something is there already and `resume` is False.
    RunError
        If the run cannot go on: the disk is full, another process works on it.

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
    local_path(directory, "directory")
    if not isinstance(model, Learning):
        raise TypeError(f"model must be a model of nbm_xp.boltzmann, got {type(model).__name__}")
    if callable(model.get_params().get("schedule")):
        raise ValueError("schedule must be a name in a run, which another process may go on with, got a function")
    model._check_hyperparameters()
    check_progress(progress)
    within, names = model._layers().units[0].within, column_names(X)
    if held_out is not None:
        check_names(names, held_out)
    X = checked_rows(X, within=within)
    known_length(X)
    held = None
    if held_out is not None:
        held = checked_rows(held_out, X.shape[1], name="held_out", within=within)
        known_length(held, "held_out")
    weights = None
    if checked_weights(sample_weight, X) is not None:  # kept as they were given: `fit` scales them, once
        weights = asarray(to_numpy(sample_weight), host_namespace(), "float64")
    duration: Any = hours
    if hours is not None and (isinstance(duration, bool) or not isinstance(duration, Real) or not 0 < hours < 1e6):
        raise ValueError(f"hours must be a number above 0, got {hours!r}")
    watching: dict[str, Any] = {"look_every": look_every, "checkpoint_every": checkpoint_every}
    for name, value in watching.items():
        if value is not None:
            positive_int(value, name)
    seed, place = _seed(model.random_state, directory, resume), pathlib.Path(directory)
    learner = type(model)(**model.get_params() | {"random_state": seed})
    params = {name: value for name, value in learner.get_params().items() if name not in ("random_state", "verbose")}
    configuration = {
        "model": type(model).__name__,
        "params": as_json(params, "model"),
        "hours": hours,
        "look_every": look_every,
        "library": library_name(X),
        "rows": digest_of(X),
        "held_out": None if held is None else digest_of(held),
    }
    if weights is not None:
        configuration["sample_weight"] = digest_of(weights)
    also = functools.partial(keep, learner, X, held, weights, hours=hours, feature_names=names, **watching)
    with (
        interruptible(),
        needing_room(place),
        RunDirectory.begin(directory, "train", configuration, seed=seed, resume=resume, also=also) as run,
    ):
        if checkpoint_every is None:
            watching["checkpoint_every"] = _learnt(run).get("checkpoint_every")
        task = Training(run, learner, X, held, weights, hours, **watching, feature_names=names, watch=_watch(progress))
        task.prepare()
        task.complete()
    return run


def keep(
    model: Any,
    rows: Any,
    held_out: Any,
    sample_weight: Any,
    folder: pathlib.Path,
    *,
    hours: float | None = None,
    look_every: int | None = None,
    checkpoint_every: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write into a new run's directory what a training is to learn, and how it is watched."""
    place = folder / "checkpoints"
    place.mkdir()
    files = {}
    for name, given in zip(_ROWS, (rows, held_out, sample_weight), strict=True):
        if given is not None:
            save_rows(given, place, _ROWS[name])
            chunks = [list(map(int, part)) for part in given.chunks] if is_lazy(array_namespace(given)) else None
            digest = digest_of_file(place / _ROWS[name])
            files[name] = {"digest": digest, "library": library_name(given), "chunks": chunks}
    about = {
        "model": type(model).__name__,
        "params": as_json(model.get_params(), "model"),
        "hours": hours,
        "look_every": look_every,
        "checkpoint_every": checkpoint_every,
        "files": files,
    }
    if feature_names is not None:
        about["feature_names"] = list(feature_names)
    write_json(folder / LEARNT, sealed(about))


def carry_on(run: RunDirectory, progress: Progress | None = None) -> None:
    """Do what is left to do of a training, by what its directory says alone."""
    about = _learnt(run)
    name = about.get("model")
    if name not in boltzmann.__all__ or not isinstance(about.get("params"), Mapping):
        raise ValueError(f"{run.path / LEARNT} tells of a model {name!r}, which nbm_xp.boltzmann does not have")
    model = getattr(boltzmann, name)(**about["params"])
    watching = {name: about[name] for name in ("hours", "look_every", "checkpoint_every")}
    names = about.get("feature_names")
    task = Training(run, model, None, **watching, feature_names=names, watch=_watch(progress))
    if not task.is_finished:
        task.rows, task.held_out, task.sample_weight = (_rows(run, about["files"], name) for name in _ROWS)
    with needing_room(run.path):
        task.prepare()
        task.complete()


def _watch(progress: Progress | None) -> Watch | None:
    return None if progress is None else lambda done, _, total: progress(done, total)


def _learnt(run: RunDirectory) -> dict[str, Any]:
    """What a training's directory says of what is learnt."""
    place = run.path / LEARNT
    if not place.is_file():
        raise RunError(f"{run.path} does not say what is learnt in it: an older release began it. {_BY_COMMAND}")
    return unsealed(read_record(place), place)


_BY_COMMAND = "`nbm-xp train --resume` goes on with it, where its data are as they were"


def _rows(run: RunDirectory, files: Mapping[str, Any], name: str) -> Any:
    """The rows that a training's directory holds, in the library that they came in."""
    if name not in files:
        return None
    place, about = run.path / "checkpoints" / _ROWS[name], files[name]
    if not place.exists():
        raise RunError(f"{run.path} lacks {place.name}, which a finished training removes: {_BY_COMMAND}")
    if digest_of_file(place) != about["digest"]:
        raise ValueError(f"{place} is not the file that the run began with: it is damaged or exchanged")
    if about["chunks"] is not None:
        return open_array(place, chunks=tuple(map(tuple, about["chunks"])))
    return asarray(rows_of(place.parent, name=place.name), get_namespace(about["library"]))


def _seed(random_state: Any, directory: str | os.PathLike[str], resume: bool) -> int:
    """The run's seed: the model's, or that of the run to go on with, where the model leaves it open."""
    place = pathlib.Path(directory)
    if random_state is None and resume and place.is_dir() and any(place.iterdir()):
        return RunDirectory.read(place).seed
    return entropy_of(random_state)


def trained_model(directory: str | os.PathLike[str], library: str | None = None) -> Any:
    """The model of a training's run: what it ended with or, before its end, that of its last checkpoint.

    Parameters
    ----------
    directory : path-like
        The run's.
    library : str, optional
        Where its arrays are to live; host memory by default.

    Raises
    ------
    RunError
        If there is no checkpoint yet.
    ValueError
        If it is damaged, or of another run; if the directory is not a training's.
    """
    run = RunDirectory.open(directory, "train")
    found = model_file(run)
    if found is None:
        raise RunError(f"the training in {run.path} has kept no model yet: go on with it by runs.resume")
    return boltzmann.load(found, library)
