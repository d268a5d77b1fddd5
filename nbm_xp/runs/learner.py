"""A training in a run's directory: its checkpoints, its learning curve, its end, however often it is interrupted.

Contract: a training that was killed at any moment goes on from its last checkpoint and ends with
the model that it would have ended with, to the last bit; looking at the model changes nothing.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import storage
from nbm_xp.files import digest_of_file, read_record, replacing, sealed, unsealed, write_json
from nbm_xp.machines.rows import in_memory
from nbm_xp.namespace import library_name, to_numpy

from .curve import Curve
from .directory import RunDirectory, finite_json

__all__ = [
    "CURVE_FILE",
    "MODEL_FILE",
    "RESULT_FILE",
    "Training",
    "Watch",
    "checked_checkpoint",
    "measures",
    "model_file",
    "result_of",
]

Watch = Callable[[int, Mapping[str, Any] | None, int], object]
"""Called after each pass: how many are done, what was seen of the model if it was looked at, how many there will be."""

MODEL_FILE, CURVE_FILE, RESULT_FILE = "model.safetensors", "curve.jsonl", "result.json"

_MEASURES = {
    "pseudo_likelihood": "pseudo-likelihood",
    "free_energy": "free energy",
    "train_log_likelihood": "log-likelihood of the training rows",
}
_WATCHED_ROWS = 1000
_PATIENCE = 60.0  # seconds between checkpoints, where nobody says how many passes
_HELD_OUT_RUNS, _HELD_OUT_TEMPERATURES = 100, 1000


@dataclass
class Training:
    """What is to be learnt, and how it is watched.

    Attributes
    ----------
    run : RunDirectory
    model : model of `nbm_xp.boltzmann`
        With its hyperparameters; a checkpoint in the run's directory takes its place.
    rows : array
    held_out : array or None
        Rows whose log-likelihood is to be followed.
    sample_weight : array or None
        How much each row counts.
    hours : float or None
        How long to learn: `n_iter` follows from how fast it goes, and so does the schedule of the learning rate.
    look_every : int or None
        Passes between two looks; None for 50 looks in all, and for weighing the model, which takes longer, after
        1, 2, 5, 10, 20, … passes and at the end.
    checkpoint_every : int or None
        Passes between two checkpoints; None for one a minute.
    feature_names : sequence of str or None
        The names of the columns of the table that rows came in.
    watch : callable or None
        See `Watch`; also called before the first pass of a process.
    """

    run: RunDirectory
    model: Any
    rows: Any
    held_out: Any = None
    sample_weight: Any = None
    hours: float | None = None
    look_every: int | None = None
    checkpoint_every: int | None = None
    feature_names: Sequence[str] | None = None
    watch: Watch | None = None

    def __post_init__(self) -> None:
        self._checkpoint = self.run.path / "checkpoints" / MODEL_FILE
        self._curve = Curve(self.run.path / CURVE_FILE)
        self._before = 0.0  # seconds of learning in earlier processes
        self._looking = 0.0
        self._resuming = False
        self._began = self._kept_at = time.perf_counter()
        self._first: tuple[int, float] | None = None

    def complete(self) -> None:
        """Learn, from the beginning or from the last checkpoint, and write what it came to."""
        if self._checkpoint.is_file():
            checked_checkpoint(self.run)
            home = library_name(in_memory(self.rows[:1, :]))
            self.model, self._resuming = type(self.model).load(self._checkpoint, home), True
            self.run.log(f"the checkpoint of epoch {self.model.n_iter_} is there")
        done = self.model.n_iter_ if self._resuming else 0
        self._curve.back_to(done)
        self._before = self._curve.seconds
        self._began = self._kept_at = time.perf_counter()
        self._tell(done, None)
        try:
            self.model.fit(
                self.rows, sample_weight=self.sample_weight, callback=self._after_a_pass, resume=self._resuming
            )
        except BaseException as error:
            passes = getattr(self.model, "n_iter_", 0)
            self.run.log(f"ended after epoch {passes}: {type(error).__name__} {error}")
            raise
        self._finish()

    def _tell(self, done: int, look: Mapping[str, Any] | None) -> None:
        if self.watch is not None:
            self.watch(done, look, self.model.n_iter)

    @property
    def seconds(self) -> float:
        """Seconds of learning so far, those of looking left out."""
        return self._before + time.perf_counter() - self._began - self._looking

    def _after_a_pass(self, model: Any) -> None:
        seconds = self.seconds
        self._name_features()
        if self.hours is not None:
            self._fit_into_the_hours(model, seconds)
        passes, last = model.n_iter_, model.n_iter_ >= model.n_iter
        began = time.perf_counter()
        keeping = not last and (
            began - self._kept_at >= _PATIENCE if self.checkpoint_every is None else not passes % self.checkpoint_every
        )
        every = self.look_every or max(1, model.n_iter // 50)
        watched = _watched(model)
        looking = last or passes % every == 0 or _is_round(passes) or (bool(watched) and model.state_.ladder is None)
        look = None
        if looking or keeping:
            weighing = last or (looking and bool(self.look_every)) or _is_round(passes)
            look = {"epoch": passes, "seconds": round(seconds, 3), **self._scores(model, weighing), **watched}
            self._curve.add(look)
        if keeping:
            self._keep(model)
        self._looking += time.perf_counter() - began
        self._tell(passes, look)

    def _fit_into_the_hours(self, model: Any, seconds: float) -> None:
        """Set how many passes there will be by how long they take; the first one, slow to begin, does not count.

        While there is time the last pass is said to be that before it begins: `fit` ends it otherwise than others.
        """
        left = (self.hours or 0.0) * 3600 - seconds
        if self._first is None:
            self._first = (model.n_iter_, seconds)
        passes = model.n_iter_ - self._first[0]
        each = (seconds - self._first[1]) / passes if passes else seconds
        least = 1 if left > 0 and model.n_iter_ < model.n_iter else 0
        model.n_iter = model.n_iter_ + max(least, round(left / max(each, 1e-9)))

    def _scores(self, model: Any, whole: bool) -> dict[str, float]:
        if model.log_likelihoods_ and model.state_.ladder is not None:
            _, value, error = model.log_likelihoods_[-1]
            found = {"train_log_likelihood": value, "train_log_likelihood_standard_error": error}
        else:
            measure, value = model.measure(self.rows[:_WATCHED_ROWS])
            found = {name: value for name, words in _MEASURES.items() if words == measure}
        if whole and self.held_out is not None:
            weighed = (
                model.ais(_HELD_OUT_RUNS, _HELD_OUT_TEMPERATURES, random_state=0)
                if model.state_.ladder is None
                else model.ladder_log_partition(random_state=0)
            )
            known = math.isfinite(weighed.log_z)  # else learning has diverged
            told = B.mean(model.log_likelihood(self.held_out, weighed.log_z)) if known else math.nan
            found["log_likelihood"] = float(to_numpy(told))
            found |= {"log_z": weighed.log_z, "log_z_low": weighed.log_z_low, "log_z_high": weighed.log_z_high}
            found["lower_bound"] = not model.state_.topology.is_factorial
        return found

    def _keep(self, model: Any) -> None:
        folder = self.run.checkpoints
        with replacing(folder / MODEL_FILE) as part:
            model.state_.save(part, model.plain_params(), self.run.identity)
        self._kept_at = time.perf_counter()
        self.run.log(f"epoch {model.n_iter_} of {model.n_iter} is kept")

    def _name_features(self) -> None:
        if self.feature_names is not None:
            self.model.state_.feature_names = list(self.feature_names)

    def _finish(self) -> None:
        self._name_features()
        with replacing(self.run.path / MODEL_FILE) as part:
            self.model.save(part)
        last = (
            self._curve.looks[-1]
            if self._curve.looks
            else {"epoch": 0, "seconds": 0.0, **self._scores(self.model, True)}
        )
        found: dict[str, Any] = finite_json(
            {
                "n_rows": int(self.rows.shape[0]),
                "n_features": int(self.rows.shape[1]),
                "library": library_name(self.rows),
                "epochs": self.model.n_iter_,
                **{name: value for name, value in last.items() if name != "epoch"},
            }
        )
        found |= {"identity": self.run.identity, "model_digest": digest_of_file(self.run.path / MODEL_FILE)}
        write_json(self.run.path / RESULT_FILE, sealed(found))
        self.run.log(f"finished after epoch {self.model.n_iter_}")


def _watched(model: Any) -> dict[str, Any]:
    """What `fit` found at its own look at the model after the last pass, if it took one, as a line of the curve."""
    if not model.diagnostics_ or model.diagnostics_[-1].epoch != model.n_iter_:
        return {}
    return {"watched": dataclasses.asdict(model.diagnostics_[-1])}


def result_of(run: RunDirectory) -> dict[str, Any]:
    """What a training that is finished came to.

    Raises
    ------
    ValueError
        If that is damaged or of another run, or the model is not the one that it ended with.
    """
    place, model = run.path / RESULT_FILE, run.path / MODEL_FILE
    found = read_record(place)
    about = unsealed(found, place)
    if about.get("identity") != run.identity:
        raise ValueError(f"{place} is of another run than {run.path}")
    if model.exists() and about.get("model_digest") != digest_of_file(model):
        raise ValueError(f"{model} is not the model that the run ended with: it is damaged or exchanged")
    return about


def checked_checkpoint(run: RunDirectory) -> pathlib.Path:
    """The file of a training's last checkpoint.

    Raises
    ------
    ValueError
        If it is damaged or of another run.
    """
    place = run.path / "checkpoints" / MODEL_FILE
    if storage.run_of(place) != run.identity:
        raise ValueError(f"{place} is a checkpoint of another run than {run.path}")
    return place


def model_file(run: RunDirectory) -> pathlib.Path | None:
    """The model that a training ended with or, before its end, the one of its last checkpoint, if there is one.

    Raises
    ------
    ValueError
        If it is damaged, or of another run.
    """
    last, kept = run.path / MODEL_FILE, run.path / "checkpoints" / MODEL_FILE
    if last.exists():
        if (run.path / RESULT_FILE).is_file():
            result_of(run)
        return last
    return checked_checkpoint(run) if kept.exists() else None


def _is_round(passes: int) -> bool:
    """Whether a number is 1, 2 or 5, or such a one with zeros behind it."""
    return f"{passes}".rstrip("0") in ("1", "2", "5")


def measures(look: Mapping[str, Any]) -> dict[str, str]:
    """What a look tells besides the log-likelihood of held-out rows: its name, and as people call it."""
    return {name: words for name, words in _MEASURES.items() if name in look}
