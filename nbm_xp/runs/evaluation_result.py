"""What an evaluation found, computed from the arrays that its tasks have written, and as JSON."""

from __future__ import annotations

import math
import os
import pathlib
from dataclasses import dataclass
from typing import Any

from nbm_xp.boltzmann import AISEstimate, LadderEstimate
from nbm_xp.boltzmann.chains import Machine
from nbm_xp.boltzmann.ladder import estimate as ladder_estimate
from nbm_xp.boltzmann.partition import base_log_partition, estimate, is_enumerable
from nbm_xp.files import read_record, unsealed

from . import store
from .directory import RunDirectory, finite_json
from .evaluation_jobs import LADDER_LOOKS
from .execution import finished

__all__ = ["ARRAYS", "RESULT", "Evaluation", "document_of", "evaluation_of", "read_evaluation", "result_of"]

RESULT = "evaluation.json"
ARRAYS = "evaluation.zarr"


@dataclass(frozen=True)
class Evaluation:
    """What a run of `evaluate` found.

    Attributes
    ----------
    log_z, log_z_low, log_z_high : float
        Log Z as it is known best: as it was given, exactly, by the ladder, or by annealing; and three standard errors
        below and above, of an estimate.
    given : float or None
        Log Z, where it was given.
    exact : float or None
        Log Z by enumeration, of a model that is small enough.
    ais, reverse : AISEstimate or None
        Log Z by annealing, which on average is too small, and in reverse, which on average is too large.
    ladder : LadderEstimate or None
        Log Z by the ladder that the model learnt on.
    n_rows : int
    mean_log_likelihood : float or None
        None where there were no rows. Where `lower_bound` is True, the mean of a lower bound on it.
    mean_log_likelihood_low, mean_log_likelihood_high : float or None
        By the bounds of log Z. Where `lower_bound` is True, the log-likelihood may lie above both.
    standard_error : float or None
        Of the mean over the rows, were they drawn anew.
    lower_bound : bool
        Whether log-likelihoods are lower bounds, in mean-field approximation, as those of machines whose hidden units
        depend on one another are.
    """

    log_z: float
    log_z_low: float
    log_z_high: float
    given: float | None
    exact: float | None
    ais: AISEstimate | None
    reverse: AISEstimate | None
    ladder: LadderEstimate | None
    n_rows: int
    mean_log_likelihood: float | None
    mean_log_likelihood_low: float | None
    mean_log_likelihood_high: float | None
    standard_error: float | None
    lower_bound: bool


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
    return evaluation_of(run, run.path / ARRAYS, result_of(run)["exact"])


def result_of(run: RunDirectory) -> dict[str, Any]:
    """The JSON document of a finished evaluation.

    Raises
    ------
    ValueError
        If it is damaged, or of another run.
    """
    about = unsealed(read_record(run.path / RESULT), run.path / RESULT)
    if about.pop("identity", None) != run.result_identity:
        raise ValueError(f"{run.path / RESULT} is of another run than {run.path}")
    return about


def document_of(found: Evaluation) -> dict[str, Any]:
    """An evaluation for JSON; the weights of its chains are in an array."""
    document = dict(vars(found))
    for name in ("ais", "reverse", "ladder"):
        if document[name] is not None:
            bounds = {bound: getattr(document[name], bound) for bound in ("log_z_low", "log_z_high")}
            document[name] = bounds | {key: x for key, x in vars(document[name]).items() if key != "log_weights"}
    found_json: dict[str, Any] = finite_json(document)
    return found_json


def exact_log_z(model: Any) -> float | None:
    """Log Z by enumeration, of a model that is small enough."""
    return float(model.log_partition()) if is_enumerable(model.state_.topology) else None


def evaluation_of(run: RunDirectory, place: pathlib.Path, exact: float | None) -> Evaluation:
    """What the tasks have found, from the arrays that they have written, and log Z by enumeration."""
    asked, arrays, model = run.configuration, store.open_arrays(place, run.result_identity), run.load_model()
    ais = reverse = ladder = None
    if asked["betas"]:
        base, count = base_log_partition(model.state_.topology, model.state_.base_bias()), len(asked["betas"])
        ais = estimate(arrays["log_weight"][:], base, count)
        if asked["reverse"]:
            reverse = estimate(arrays["reverse_log_weight"][:], base, count, reverse=True)
        if asked["ladder"]:
            ladder = ladder_estimate(Machine.of(model), *(arrays[name][:] for name in LADDER_LOOKS))
    known: Any = asked["log_z"] if asked["log_z"] is not None else exact
    best = ladder or ais
    log_z = low = high = known
    if known is None and best is not None:
        log_z, low, high = best.log_z, best.log_z_low, best.log_z_high
    mean = spread = None
    if asked["n_rows"]:
        energies = arrays["free_energy"][:].astype("float64")
        mean = -float(energies.mean())
        spread = float(energies.std(ddof=1)) / math.sqrt(len(energies)) if len(energies) > 1 else None
    return Evaluation(
        log_z=log_z,
        log_z_low=low,
        log_z_high=high,
        given=asked["log_z"],
        exact=exact,
        ais=ais,
        reverse=reverse,
        ladder=ladder,
        n_rows=asked["n_rows"],
        mean_log_likelihood=None if mean is None else mean - log_z,
        mean_log_likelihood_low=None if mean is None else mean - high,
        mean_log_likelihood_high=None if mean is None else mean - low,
        standard_error=spread,
        lower_bound=not model.state_.topology.is_factorial,
    )
