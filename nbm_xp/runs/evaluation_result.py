"""What an evaluation found: from the blocks that are on disk, to JSON, and read again."""

from __future__ import annotations

import math
import os
import pathlib
from dataclasses import dataclass
from typing import Any

from nbm_xp.boltzmann import AISEstimate, LadderEstimate
from nbm_xp.boltzmann.equilibrium import of_turns
from nbm_xp.boltzmann.partition import base_log_partition, estimate
from nbm_xp.files import read_record, unsealed

from . import store
from .directory import RunDirectory, finite_json
from .evaluation_jobs import LADDER_LOOKS
from .execution import Warn, finished

__all__ = ["ARRAYS", "RESULT", "Evaluation", "bounded", "read_evaluation", "result_of"]

RESULT = "evaluation.json"
ARRAYS = "evaluation.zarr"
_NOT_FINITE = {"standard_error": math.inf, "r_hat": math.inf, "effective": math.nan}
_WEIGHTS = {"ais": "log_weight", "reverse": "reverse_log_weight"}


@dataclass(frozen=True)
class Evaluation:
    """What a run of `evaluate` found.

    Attributes
    ----------
    log_z : float
    ais : AISEstimate or None
        How log Z was found; None where it was given.
    n_rows : int
    mean_log_likelihood : float or None
        None where there were no rows. Where `lower_bound` is True, the mean of a lower bound on it.
    mean_log_likelihood_low, mean_log_likelihood_high : float or None
        By the bounds of log Z: three of its standard errors. Where `lower_bound` is True, the log-likelihood may lie
        above both.
    standard_error : float or None
        Of the mean over the rows, were they drawn anew.
    lower_bound : bool
        Whether rows were weighed by a lower bound on their log-likelihood, in mean-field approximation, as those of
        machines whose hidden units depend on one another are.
    reverse : AISEstimate or None
        Log Z by annealing in reverse, where that was asked for: on average it is too large, where that of `ais` is too
        small.
    ladder : LadderEstimate or None
        Log Z by the ladder that the model learnt on, where it has one: then it is `log_z`.
    """

    log_z: float
    ais: AISEstimate | None
    n_rows: int
    mean_log_likelihood: float | None
    mean_log_likelihood_low: float | None
    mean_log_likelihood_high: float | None
    standard_error: float | None
    lower_bound: bool = False
    reverse: AISEstimate | None = None
    ladder: LadderEstimate | None = None


def read_evaluation(directory: str | os.PathLike[str]) -> Evaluation:
    """What a run of `evaluate` found.

    Parameters
    ----------
    directory : path-like
        The run's.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If what it found is damaged.
    """
    run = finished(directory, "evaluate")
    about = unsealed(read_record(run.path / RESULT), run.path / RESULT)
    if about.pop("run", None) != run.result_identity:
        raise ValueError(f"{run.path / RESULT} is of another run than {run.path}")
    arrays = store.open_arrays(run.path / ARRAYS, run.result_identity)
    try:
        for name, weights in _WEIGHTS.items():
            told = about.get(name)
            if told is not None:
                low = -math.inf if told["log_z_low"] is None else told["log_z_low"]
                high = math.inf if told["log_z_high"] is None else told["log_z_high"]
                found = {"log_z_low": low, "log_z_high": high, "log_weights": arrays[weights][:]}
                found["standard_error"] = math.inf if told["standard_error"] is None else told["standard_error"]
                about[name] = AISEstimate(**told | found)
        if about.get("ladder") is not None:
            told = about["ladder"]
            missing = {name: value for name, value in _NOT_FINITE.items() if told[name] is None}
            about["ladder"] = LadderEstimate(**told | missing | {"acceptance": tuple(told["acceptance"])})
        return Evaluation(**about)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{run.path / RESULT} is damaged: {error!r}") from error


def bounded(model: Any) -> dict[str, bool]:
    """Says of a machine's log-likelihoods, where it is so, that they are lower bounds, by mean field."""
    return {} if model.state_.topology.is_factorial else {"lower_bound": True}


def result_of(run: RunDirectory, place: pathlib.Path) -> tuple[dict[str, Any], Warn | None]:
    """The result for JSON, from what the blocks have written, and what warns of it."""
    asked, arrays = run.configuration, store.open_arrays(place, run.result_identity)
    model = run.load_model()
    low = high = known = asked["log_z"]
    found: dict[str, AISEstimate] = {}
    climbed: LadderEstimate | None = None
    if asked["betas"]:
        base = base_log_partition(model.state_.topology, model.state_.base_bias())
        for name in ("ais", "reverse") if asked["reverse"] else ("ais",):
            weights = arrays[_WEIGHTS[name]][:]
            found[name] = estimate(weights, base, len(asked["betas"]), reverse=name == "reverse")
        best: AISEstimate | LadderEstimate = found["ais"]
        if asked["ladder"]:
            up, down = (arrays[name][:].astype("float64") for name in LADDER_LOOKS)
            best = climbed = of_turns(model.state_.ladder, up, down)
        known, low, high = best.log_z, best.log_z_low, best.log_z_high
    mean = spread = None
    if asked["n_rows"]:
        energies = arrays["free_energy"][:].astype("float64")
        mean = -float(energies.mean())
        spread = float(energies.std(ddof=1)) / math.sqrt(len(energies)) if len(energies) > 1 else None
    told = {
        "log_z": known,
        "ais": _told(found.get("ais")),
        "reverse": _told(found.get("reverse")),
        "ladder": None if climbed is None else finite_json(vars(climbed)),
        "n_rows": asked["n_rows"],
        "lower_bound": bool(asked["n_rows"]) and not model.state_.topology.is_factorial,
        "mean_log_likelihood": None if mean is None else mean - known,
        "mean_log_likelihood_low": None if mean is None else _or_none(mean - high),
        "mean_log_likelihood_high": None if mean is None else _or_none(mean - low),
        "standard_error": spread,
    }
    return told, None if climbed is None else climbed.warn


def _told(found: AISEstimate | None) -> dict[str, Any] | None:
    """An estimate for JSON; the weights of its chains are in an array."""
    if found is None:
        return None
    return {
        "log_z": found.log_z,
        "log_z_low": _or_none(found.log_z_low),
        "log_z_high": _or_none(found.log_z_high),
        "standard_error": _or_none(found.standard_error),
        "effective_runs": found.effective_runs,
        "n_temperatures": found.n_temperatures,
    }


def _or_none(value: float) -> float | None:
    """A number for JSON, which has no infinities."""
    return value if math.isfinite(value) else None
