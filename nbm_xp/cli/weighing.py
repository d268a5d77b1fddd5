"""A model weighed: its partition function, exactly where possible and estimated; the log-likelihood of rows."""

from __future__ import annotations

import math
import pathlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import AISEstimate, LadderEstimate
from nbm_xp.namespace import to_numpy
from nbm_xp.runs import RunDirectory, read_evaluation
from nbm_xp.runs.evaluation_result import bounded

from .answering import signed
from .running import steps

__all__ = ["Evaluator", "best", "lengths", "likelihood_words", "of_run", "table"]

_PART = 4096  # rows at a time


def lengths(temperatures: int, convergence: bool) -> list[int]:
    """How many temperatures the estimates go through: as asked for and, to see whether they settle, fewer before.

    Examples
    --------
    >>> lengths(1000, True), lengths(1000, False)
    ([30, 100, 300, 1000], [1000])
    """
    if not convergence:
        return [temperatures]
    fewer = (float(f"{temperatures * 10 ** (-step / 2):.1g}") for step in (3, 2, 1))
    return sorted({max(2, int(count)) for count in fewer} | {temperatures})


@dataclass
class Evaluator:
    """How a model is to be weighed.

    Attributes
    ----------
    runs : int
        Chains of each annealing.
    temperatures : list of int
        How many temperatures each estimate goes through.
    seed : int
    library : str or None
    chunks : int or None
        Chains in each block.
    reverse : bool or None
        Whether to anneal in reverse too, which finds too much, if anything, where the other finds too little; None for
        models with a ladder alone.
    sweeps : int or None
        Sweeps to the first states of that, or steps on the ladder, where they cannot be drawn exactly.
    """

    runs: int
    temperatures: list[int]
    seed: int
    library: str | None = None
    chunks: int | None = None
    reverse: bool | None = None
    sweeps: int | None = None

    def of(self, model: Any, rows: Any = None) -> dict[str, Any]:
        """What there is to know of a model, and of rows under it.

        Returns
        -------
        dict
            ``log_z`` and, where it is no exact one, its bounds; ``exact``; ``estimates``, one for each length of the
            annealing; ``log_likelihood`` of the rows, with the bounds that follow from those of log Z.
        """
        began = time.perf_counter()
        found: dict[str, Any] = {"runs": self.runs, "seed": self.seed, "exact": exact_log_z(model), "estimates": []}
        reverse = model.state_.ladder is not None if self.reverse is None else self.reverse
        last, where = self.temperatures[-1], {"library": self.library, "chunks": self.chunks}
        with steps("annealing", sum(self.temperatures) + last * reverse) as advance:
            for count in self.temperatures:
                found["estimates"].append(told(model.ais(self.runs, count, random_state=self.seed, **where)))
                advance(count)
            if reverse:
                back = model.reverse_ais(self.runs, last, n_steps=self.sweeps, random_state=self.seed + 1, **where)
                found["reverse"] = told(back)
        if model.state_.ladder is not None:
            found["ladder"] = told(model.ladder_log_partition(self.runs, random_state=self.seed + 2, **where))
        found |= best(found)
        if rows is not None:
            found |= _log_likelihood(model, rows, found)
        return found | {"seconds": round(time.perf_counter() - began, 3)}


def exact_log_z(model: Any) -> float | None:
    """Log Z by enumeration, of a model small enough; None of others."""
    try:
        return float(model.log_partition())
    except ValueError:
        return None


def best(found: Mapping[str, Any]) -> dict[str, Any]:
    """Log Z as it is known best: as given, exactly, or as a ladder or else the longest annealing tells, with bounds."""
    if "given" in found:
        return {"log_z": found["given"]}
    if found["exact"] is not None:
        return {"log_z": found["exact"]}
    estimate = found["ladder"] if "ladder" in found else found["estimates"][-1]
    return {name: estimate[name] for name in ("log_z", "log_z_low", "log_z_high")}


def told(estimate: AISEstimate | LadderEstimate) -> dict[str, Any]:
    """An estimate as numbers by name."""
    found = {name: value for name, value in vars(estimate).items() if isinstance(value, (int, float))}
    found |= {name: getattr(estimate, name) for name in ("log_z_low", "log_z_high")}
    return {name: float(value) if isinstance(value, float) else int(value) for name, value in found.items()}


def _log_likelihood(model: Any, rows: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """The mean log-likelihood of rows, what it varies by, and its bounds where those of log Z are known."""
    parts = [rows[first : first + _PART] for first in range(0, rows.shape[0], _PART)]
    each = B.concatenate([to_numpy(model.log_likelihood(part, 0.0)) for part in parts])
    count, mean = int(rows.shape[0]), float(to_numpy(B.mean(each)))
    of_rows = likelihood(count, mean, float(to_numpy(B.std(each))) / math.sqrt(max(count - 1, 1)), found)
    return of_rows | bounded(model)


def likelihood_words(found: Mapping[str, Any]) -> str:
    """What a log-likelihood among these numbers is called."""
    return "lower bound on the log-likelihood" if "lower_bound" in found else "log-likelihood"


def likelihood(rows: int, mean: float, standard_error: float, found: Mapping[str, Any]) -> dict[str, Any]:
    """The mean log-likelihood of rows by name, from that of a model whose log Z is 0, and from log Z."""
    of_rows = {
        "rows": rows,
        "log_likelihood": mean - found["log_z"],
        "log_likelihood_standard_error": standard_error,
    }
    if "log_z_low" in found:
        of_rows["log_likelihood_low"] = mean - found["log_z_high"]
        of_rows["log_likelihood_high"] = mean - found["log_z_low"]
    return of_rows


def of_run(path: pathlib.Path) -> dict[str, Any]:
    """What an evaluation found that was run in a directory, in the same words."""
    run, evaluation = RunDirectory.open(path, "evaluate"), read_evaluation(path)
    found: dict[str, Any] = {"runs": run.configuration["n_chains"], "seed": run.seed}
    model = run.load_model()
    found |= {"exact": exact_log_z(model), "estimates": [] if evaluation.ais is None else [told(evaluation.ais)]}
    if evaluation.ais is None:
        found["given"] = evaluation.log_z
    if evaluation.reverse is not None:
        found["reverse"] = told(evaluation.reverse)
    if evaluation.ladder is not None:
        found["ladder"] = told(evaluation.ladder)
    found |= best(found)
    if evaluation.mean_log_likelihood is not None:
        mean, error = evaluation.mean_log_likelihood + evaluation.log_z, evaluation.standard_error
        found |= likelihood(evaluation.n_rows, mean, error or 0.0, found) | bounded(model)
    return found


def table(found: Mapping[str, Any]) -> Table:
    """What was found, for people."""
    weighed = "log_likelihood" in found
    shown = Table(box=None, pad_edge=False)
    names = [
        "AIS temperatures",
        "log Z",
        "3 s.e. below",
        "above",
        "even chains",
        *(["log-likelihood ≥" if "lower_bound" in found else "log-likelihood"] if weighed else []),
    ]
    for name in names:
        shown.add_column(name, justify="right", no_wrap=True)
    mean = found["log_likelihood"] + found["log_z"] if weighed else 0.0
    for estimate in found["estimates"]:
        bounds = (signed(estimate[name], 2) for name in ("log_z", "log_z_low", "log_z_high"))
        rest = [signed(mean - estimate["log_z"], 2)] if weighed else []
        shown.add_row(
            f"{estimate['n_temperatures']:,}", *bounds, f"{estimate['effective_runs']:.1f} of {found['runs']:,}", *rest
        )
    if "reverse" in found:
        back = found["reverse"]
        bounds = (signed(back[name], 2) for name in ("log_z", "log_z_low", "log_z_high"))
        rest = [signed(mean - back["log_z"], 2)] if weighed else []
        label = f"{back['n_temperatures']:,} in reverse"
        shown.add_row(label, *bounds, f"{back['effective_runs']:.1f} of {found['runs']:,}", *rest)
    if "ladder" in found:
        bounds = (signed(found["ladder"][name], 2) for name in ("log_z", "log_z_low", "log_z_high"))
        shown.add_row("ladder", *bounds, "", *([signed(mean - found["ladder"]["log_z"], 2)] if weighed else []))
    if "given" in found:
        rest = [signed(mean - found["given"], 2)] if weighed else []
        shown.add_row("given", signed(found["given"], 2), "", "", "", *rest)
    if found["exact"] is not None:
        rest = [signed(mean - found["exact"], 2)] if weighed else []
        shown.add_row("exact", signed(found["exact"], 2), "", "", "", *rest)
    return shown
