"""Learning in a run's directory: checkpoints, the learning curve, the end, however often it is interrupted.

Contract: a training that was killed at any moment goes on from its last checkpoint and ends with the model that it
would have ended with, to the last bit; scoring the model changes nothing.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import storage
from nbm_xp.files import digest_of_file, read_record, replacing, sealed, unsealed, write_json, write_whole
from nbm_xp.machines.rows import in_memory
from nbm_xp.namespace import library_name, to_numpy

from .directory import RunDirectory, finite_json

__all__ = ["CURVE", "MODEL", "RESULT", "Learning", "checked_checkpoint", "read_lines", "result_of"]

MODEL, CURVE, RESULT = "model.safetensors", "curve.jsonl", "result.json"

_SCORED_ROWS = 1000
_PATIENCE = 60.0  # seconds between checkpoints, where nobody says how many epochs
_HELD_OUT = 100, 1000  # chains, temperatures


@dataclass
class Learning:
    """What is to be learnt, and how it is scored; for the fields see `train`.

    Attributes
    ----------
    run : RunDirectory
    model : model of `nbm_xp.boltzmann`
        With its hyperparameters; a checkpoint in the run's directory takes its place.
    rows, held_out, sample_weight : array or None
    hours, score_every, checkpoint_every, feature_names
    after_epoch : callable
        Called after each epoch, and before the first one of a process, with how many are done, a line of the learning
        curve or None, and how many there will be.
    """

    run: RunDirectory
    model: Any
    rows: Any
    held_out: Any
    sample_weight: Any
    hours: float | None
    score_every: int | None
    checkpoint_every: int | None
    feature_names: Sequence[str] | None
    after_epoch: Callable[[int, Mapping[str, Any] | None, int], object]

    def __post_init__(self) -> None:
        self._curve = self.run.path / CURVE
        self._last: Mapping[str, Any] | None = None  # line of the curve
        self._before = 0.0  # seconds of learning in earlier processes
        self._scoring = 0.0
        self._began = self._kept_at = time.perf_counter()
        self._first: tuple[int, float] | None = None

    def complete(self) -> None:
        """Learn, from the beginning or from the last checkpoint, and write what it came to."""
        resumed, done = checked_checkpoint(self.run), 0
        if resumed is not None:
            self.model = type(self.model).load(resumed, library_name(in_memory(self.rows[:1, :])))
            done = self.model.n_iter_
            self.run.log(f"the checkpoint of epoch {done} is there")
        lines = [line for line in read_lines(self._curve) if line["epoch"] <= done]  # later ones come again
        write_whole(self._curve, "".join(map(_as_line, lines)).encode())
        self._before = float(lines[-1]["seconds"]) if lines else 0.0
        self._last = lines[-1] if lines else None
        self._began = self._kept_at = time.perf_counter()
        self.after_epoch(done, None, self.model.n_iter)
        try:
            self.model.fit(
                self.rows, sample_weight=self.sample_weight, callback=self._after_epoch, resume=resumed is not None
            )
        except BaseException as error:
            epochs = getattr(self.model, "n_iter_", 0)
            self.run.log(f"ended after epoch {epochs}: {type(error).__name__} {error}")
            raise
        self._finish()

    @property
    def seconds(self) -> float:
        """Seconds of learning so far, those of scoring left out."""
        return self._before + time.perf_counter() - self._began - self._scoring

    def _after_epoch(self, model: Any) -> None:
        seconds = self.seconds
        self._name_features()
        if self.hours is not None:
            self._fit_into_the_hours(model, seconds)
        epoch, last = model.n_iter_, model.n_iter_ >= model.n_iter
        began = time.perf_counter()
        keeping = not last and (
            began - self._kept_at >= _PATIENCE if self.checkpoint_every is None else not epoch % self.checkpoint_every
        )
        every = self.score_every or max(1, model.n_iter // 50)
        diagnosed = _diagnostics(model)
        scoring = last or epoch % every == 0 or _is_round(epoch) or (bool(diagnosed) and model.state_.ladder is None)
        line = None
        if scoring or keeping:
            annealing = last or (scoring and bool(self.score_every)) or _is_round(epoch)
            line = {"epoch": epoch, "seconds": round(seconds, 3), **self._scores(model, annealing), **diagnosed}
            with open(self._curve, "a", encoding="utf-8") as file:
                file.write(_as_line(line))
            self._last = line
        if keeping:
            with replacing(self.run.checkpoints / MODEL) as part:
                model.state_.save(part, model.plain_params(), self.run.identity)
            self._kept_at = time.perf_counter()
            self.run.log(f"epoch {epoch} of {model.n_iter} is kept")
        self._scoring += time.perf_counter() - began
        self.after_epoch(epoch, line, model.n_iter)

    def _fit_into_the_hours(self, model: Any, seconds: float) -> None:
        """Set how many epochs there will be by how long they take; the first one, slow to begin, does not count.

        While there is time the last epoch is said to be that before it begins: `fit` ends it otherwise than others.
        """
        left = (self.hours or 0.0) * 3600 - seconds
        if self._first is None:
            self._first = (model.n_iter_, seconds)
        epochs = model.n_iter_ - self._first[0]
        each = (seconds - self._first[1]) / epochs if epochs else seconds
        least = 1 if left > 0 and model.n_iter_ < model.n_iter else 0
        model.n_iter = model.n_iter_ + max(least, round(left / max(each, 1e-9)))

    def _scores(self, model: Any, annealing: bool) -> dict[str, Any]:
        """What is known of the model: on training rows, and on held-out rows, whose score takes annealing."""
        laddered = model.state_.ladder is not None
        if laddered and model.diagnostics_:
            now = model.diagnostics_[-1]
            found = {
                "train_log_likelihood": now.log_likelihood,
                "train_log_likelihood_standard_error": now.standard_error,
            }
        else:
            measure, value = model.measure(self.rows[:_SCORED_ROWS])
            found = {measure.replace("-", "_").replace(" ", "_"): value}
        if annealing and self.held_out is not None:
            estimate = model.ladder_log_partition(random_state=0) if laddered else model.ais(*_HELD_OUT, random_state=0)
            known = math.isfinite(estimate.log_z)  # else learning has diverged
            rows = {"train_log_likelihood": self.rows[:_SCORED_ROWS], "log_likelihood": self.held_out}
            for name, X in rows.items():
                mean = float(to_numpy(B.mean(model.log_likelihood(X, estimate.log_z)))) if known else math.nan
                found.setdefault(name, mean)
            found["lower_bound"] = not model.state_.topology.is_factorial
            found |= {name: getattr(estimate, name) for name in ("log_z", "log_z_low", "log_z_high")}
        return found

    def _name_features(self) -> None:
        if self.feature_names is not None:
            self.model.state_.feature_names = list(self.feature_names)

    def _finish(self) -> None:
        self._name_features()
        with replacing(self.run.path / MODEL) as part:
            self.model.save(part)
        last = self._last or {"seconds": 0.0, **self._scores(self.model, True)}
        found: dict[str, Any] = finite_json(
            {
                "n_rows": int(self.rows.shape[0]),
                "n_features": int(self.rows.shape[1]),
                "library": library_name(self.rows),
                **last,
                "epochs": self.model.n_iter_,
            }
        )
        found.pop("epoch", None)
        found |= {"identity": self.run.identity, "model_digest": digest_of_file(self.run.path / MODEL)}
        write_json(self.run.path / RESULT, sealed(found))


def _diagnostics(model: Any) -> dict[str, Any]:
    """What `fit` diagnosed itself after the last epoch, as a part of a line of the curve."""
    if not model.diagnostics_ or model.diagnostics_[-1].epoch != model.n_iter_:
        return {}
    return {"diagnostics": dataclasses.asdict(model.diagnostics_[-1])}


def _is_round(epoch: int) -> bool:
    """Whether a number is 1, 2 or 5, or such a one with zeros behind it."""
    return f"{epoch}".rstrip("0") in ("1", "2", "5")


def _as_line(line: Mapping[str, Any]) -> str:
    return json.dumps(sealed(finite_json(line))) + "\n"


def read_lines(path: pathlib.Path) -> list[dict[str, Any]]:
    """The lines of a learning curve, each of which has a digest; none where there is no file.

    Raises
    ------
    ValueError
        If one is damaged.
    """
    if not path.is_file():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        # A process that was killed may have left a part of a last line.
        return [unsealed(json.loads(line), path) for line in lines if line[-1:] == "\n"]
    except (RecursionError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error


def result_of(run: RunDirectory) -> dict[str, Any]:
    """What a training that is finished came to.

    Raises
    ------
    ValueError
        If that is damaged or of another run, or the model is not the one that it ended with.
    """
    place, model = run.path / RESULT, run.path / MODEL
    about = unsealed(read_record(place), place)
    if about.pop("identity", None) != run.identity:
        raise ValueError(f"{place} is of another run than {run.path}")
    if about.pop("model_digest", None) != digest_of_file(model):
        raise ValueError(f"{model} is not the model that the run ended with: it is damaged or exchanged")
    return about


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
