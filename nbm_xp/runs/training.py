"""Training as a run: rows and hyperparameters are in the directory, so that it is resumed without further arguments."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pathlib
import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, TypeAlias

from nbm_xp import boltzmann
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import storage
from nbm_xp.boltzmann.model import Model
from nbm_xp.files import parsed, replacing, sealed, unsealed, write_whole
from nbm_xp.machines import Array
from nbm_xp.machines.estimators import check_names, column_names
from nbm_xp.machines.minibatches import in_memory
from nbm_xp.machines.rows import checked_rows, checked_weights, known_length, positive_int
from nbm_xp.namespace import array_namespace, asarray, get_namespace, host_namespace, is_lazy, library_name, to_numpy
from nbm_xp.storage.chunked import open_array

from .directory import RunDirectory, RunError
from .execution import Kind, Progress, begin, check_begin
from .inputs import digest_of, rows_of, save_rows
from .workers import Pool

__all__ = ["CURVE", "MODEL", "RESULT", "TrainingRun", "read_curve", "train", "trained_model"]

MODEL, CURVE, RESULT = "model.safetensors", "curve.jsonl", "result.json"
OnScore: TypeAlias = Callable[[Mapping[str, Any]], object]

_SCORED_ROWS = 1000
_PATIENCE = 60.0  # seconds between checkpoints, where nobody says how many epochs
_HELD_OUT = 100, 1000  # chains, temperatures


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
    on_score: OnScore | None = None,
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
    arrays: dict[str, Array] = {"rows": X}
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
        "arrays": {name: _described(array) for name, array in arrays.items()},
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
        save_rows(array, place, f"{name}.npy")


class TrainingRun(Kind):
    """Runs of `train`.

    One that was killed at any moment goes on from its last checkpoint and ends with the model that it would have ended
    with, to the last bit; scoring the model changes nothing.
    """

    name = "train"
    results, document = (MODEL, RESULT), RESULT
    in_tasks = False

    def __init__(self, run: RunDirectory, on_score: OnScore | None = None) -> None:
        super().__init__(run)
        self._on_score = on_score
        self._progress: Progress | None = None
        self._last: dict[str, Any] = {"seconds": 0.0}  # line of the curve
        self._began = self._kept_at = 0.0  # on the clock, which stands still while the model is scored
        self._first: tuple[int, float] | None = None  # epoch of this process, and when it ended

    def complete(self, pool: Pool, progress: Progress | None) -> None:
        """Learn, from the beginning or from the last checkpoint, and write what it came to."""
        run, asked, self._progress = self.run, self.run.configuration, progress
        if asked["model"] not in boltzmann.__all__:
            raise ValueError(f"{run.path}: nbm_xp.boltzmann has no model {asked['model']!r}")
        kind: type[Model] = getattr(boltzmann, asked["model"])
        self._rows, self._held_out, weights = map(self._array, ("rows", "held_out", "sample_weight"))
        checkpoint, done = checked_checkpoint(run), 0
        if checkpoint is None:
            model = kind.of_params(asked["params"] | {"random_state": run.seed})
        else:
            model = kind.load(checkpoint, library_name(in_memory(self._rows[:1, :])))
            done = model.n_iter_
            run.log(f"the checkpoint of epoch {done} is there")
        lines = [line for line in read_lines(run.path / CURVE) if line["epoch"] <= done]  # later ones come again
        write_whole(run.path / CURVE, "".join(map(_as_line, lines)).encode())
        self._last = lines[-1] if lines else self._last
        self._kept_at = time.perf_counter()
        self._began = self._kept_at - self._last["seconds"]
        if progress is not None:
            progress(done, model.n_iter)
        try:
            model.fit(
                self._rows, sample_weight=weights, held_out=self._held_out, callback=self._after_epoch,
                resume=checkpoint is not None,
            )  # fmt: skip
        except BaseException as error:
            run.log(f"ended after epoch {getattr(model, 'n_iter_', 0)}: {type(error).__name__} {error}")
            raise
        self._finish(model)

    def _array(self, name: str) -> Array:
        """An array to learn from, in the library that it came in; None where there is none."""
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

    def _after_epoch(self, model: Any) -> None:
        """Score the model, and keep it, where one or the other is due."""
        now, asked, line = time.perf_counter(), self.run.configuration, None
        model.state_.feature_names = asked["feature_names"]
        if asked["hours"] is not None:
            self._fit_into_the_hours(model, now - self._began)
        epoch, last = model.n_iter_, model.n_iter_ >= model.n_iter
        every, diagnosed = asked["checkpoint_every"], _diagnosed(model)
        keeping = not last and (now - self._kept_at >= _PATIENCE if every is None else not epoch % every)
        thorough = last or _is_round(epoch)
        due = epoch % (asked["score_every"] or max(1, model.n_iter // 50)) == 0
        if due or thorough or keeping or (diagnosed and not model.state_.n_pairs):
            scores = self._scores(model, thorough or (due and asked["score_every"] is not None))
            line = {"epoch": epoch, "seconds": round(now - self._began, 3), **scores, **diagnosed}
            with open(self.run.path / CURVE, "a", encoding="utf-8") as file:
                file.write(_as_line(line))
            self._last = line
        if keeping:
            with replacing(self.run.checkpoints / MODEL) as part:
                model.state_.save(part, model.plain_params(), self.run.identity)
            self.run.log(f"epoch {epoch} of {model.n_iter} is kept")
        passed = time.perf_counter() - now
        self._began += passed
        self._kept_at = now + passed if keeping else self._kept_at
        if line is not None and self._on_score is not None:
            self._on_score(line)
        if self._progress is not None:
            self._progress(epoch, model.n_iter)

    def _fit_into_the_hours(self, model: Any, seconds: float) -> None:
        """Set how many epochs there will be by how long they take; the first one, slow to begin, does not count.

        While there is time the last epoch is said to be that before it begins: `fit` ends it otherwise than others.
        """
        left = self.run.configuration["hours"] * 3600 - seconds
        if self._first is None:
            self._first = (model.n_iter_, seconds)
        epochs = model.n_iter_ - self._first[0]
        each = (seconds - self._first[1]) / epochs if epochs else seconds
        least = 1 if left > 0 and model.n_iter_ < model.n_iter else 0
        model.n_iter = model.n_iter_ + max(least, round(left / max(each, 1e-9)))

    def _scores(self, model: Any, thorough: bool) -> dict[str, Any]:
        """What is known of the model: on training rows and, where it is to be thorough, on held-out rows."""
        laddered = model.state_.n_pairs > 0
        if laddered and model.diagnostics_:
            found = {"train_mean_log_likelihood": model.diagnostics_[-1].log_likelihood}
        else:
            measure, value = model.measure(self._rows[:_SCORED_ROWS])
            found = {measure.replace("-", "_").replace(" ", "_"): value}
        if thorough and self._held_out is not None:
            estimate = model.ladder_log_partition(random_state=0) if laddered else model.ais(*_HELD_OUT, random_state=0)
            known = math.isfinite(estimate.log_z)  # else learning has diverged
            rows = {"train_mean_log_likelihood": self._rows[:_SCORED_ROWS], "mean_log_likelihood": self._held_out}
            for name, X in rows.items():
                mean = float(to_numpy(B.mean(model.log_likelihood(X, estimate)))) if known else math.nan
                found.setdefault(name, mean)
            found["lower_bound"] = not model.state_.topology.is_factorial
            found |= {name: getattr(estimate, name) for name in ("log_z", "log_z_low", "log_z_high")}
        return found

    def _finish(self, model: Any) -> None:
        model.state_.feature_names = self.run.configuration["feature_names"]
        with replacing(self.run.path / MODEL) as part:
            model.save(part)
        last = self._last if "epoch" in self._last else {**self._last, **self._scores(model, True)}
        about = {
            "n_rows": int(self._rows.shape[0]),
            "n_features": int(self._rows.shape[1]),
            "library": library_name(self._rows),
            "epochs": model.n_iter_,
        }
        self.write_document({name: value for name, value in last.items() if name != "epoch"} | about)


def _diagnosed(model: Any) -> dict[str, Any]:
    """What `fit` diagnosed itself after the last epoch, as a part of a line of the curve."""
    if not model.diagnostics_ or model.diagnostics_[-1].epoch != model.n_iter_:
        return {}
    return {"diagnostics": dataclasses.asdict(model.diagnostics_[-1])}


def _is_round(epoch: int) -> bool:
    """Whether a number is 1, 2 or 5, or such a one with zeros behind it."""
    return f"{epoch}".rstrip("0") in ("1", "2", "5")


def _as_line(line: Mapping[str, Any]) -> str:
    return json.dumps(sealed(line)) + "\n"


def read_lines(path: pathlib.Path) -> list[dict[str, Any]]:
    """The lines of a learning curve, each of which has a digest; none where there is no file.

    Raises
    ------
    ValueError
        If one is damaged.
    """
    lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
    # A process that was killed may have left a part of a last line.
    return [unsealed(parsed(line, path), path) for line in lines if line.endswith(b"\n")]


def checked_checkpoint(run: RunDirectory) -> pathlib.Path | None:
    """The file of a training's last checkpoint, if there is one.

    Raises
    ------
    ValueError
        If it is damaged or of another run.
    """
    place = run.path / "checkpoints" / MODEL
    if not place.exists():
        return None
    if storage.run_of(place) != run.identity:
        raise ValueError(f"{place} is a checkpoint of another run than {run.path}")
    return place


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
    if (training := TrainingRun(run)).is_finished:
        training.result()
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
        ``pseudo_likelihood``, ``free_energy`` or, of a model with a ladder, ``train_mean_log_likelihood``. Of some
        ``mean_log_likelihood``, of the held-out rows, beside it ``train_mean_log_likelihood``, and log Z behind both;
        ``lower_bound`` says that they are bounds. Where `fit` has diagnosed the model, ``diagnostics`` has the fields
        of `nbm_xp.boltzmann.Diagnostics`.

    Raises
    ------
    ValueError
        If a line is damaged, or the directory is not a training's.
    """
    return read_lines(RunDirectory.open(directory, "train").path / CURVE)
