"""What finished runs of every kind are answered with: a document of numbers, and lines for people."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

from nbm_xp import runs
from nbm_xp.runs import RunDirectory
from nbm_xp.runs.learner import MODEL_FILE, measures, result_of
from nbm_xp.runs.transitions import TRANSITION

from .answering import answer, signed
from .computing import computers
from .failing import resuming
from .reading import saying
from .running import amount
from .weighing import likelihood_words, of_run, table

__all__ = ["compute_run", "note", "show_run"]

_number = functools.partial(signed, decimals=2, minus="-")


def compute_run(
    label: str, out: Any, asked: Mapping[str, Any], compute: Callable[..., RunDirectory], unit: str = "sweeps"
) -> None:
    """Compute a run in tasks where the options say, and show what came of it.

    Parameters
    ----------
    label : str
        What the progress bar says.
    out : pathlib.Path
        The run's directory.
    asked : mapping
        The options of the command.
    compute : callable
        Called with `scheduler` and `progress`.
    unit : str, optional
        What progress is counted in.
    """
    began = time.perf_counter()
    where = (asked[name] for name in ("scheduler", "workers", "memory_limit", "worker_timeout"))
    with computers(*where) as workers, amount(label, unit) as advance, resuming(out), saying():
        run = compute(scheduler=workers, progress=advance)
        dashboard = workers.dashboard
    show_run(run, asked["as_json"], {"seconds": round(time.perf_counter() - began, 3), "dashboard": dashboard})


def show_run(run: RunDirectory, as_json: bool, more: Mapping[str, Any] | None = None) -> None:
    """Answer with what a finished run came to."""
    document, lines = _SHOWN.get(run.kind, _drawn)(run)
    answer({"run": str(run.path), **document, **(more or {})}, lines, as_json)


def note(look: Mapping[str, Any]) -> str:
    """What was found of a model in training, in a few words."""
    if "log_likelihood" in look:
        return f"held-out {likelihood_words(look)} {_number(look['log_likelihood'])}"
    ((name, words),) = measures(look).items()
    return f"{words} {_number(look[name])}"


def _trained(run: RunDirectory) -> tuple[dict[str, Any], list[Any]]:
    found = {**result_of(run), "model": str(run.path / MODEL_FILE)}
    passes = "1 pass" if found["passes"] == 1 else f"{found['passes']:,} passes"
    lines = [
        f"{found['rows']:,} rows of {found['features']} on {found['library']}, {passes} in {found['seconds']:.1f} s",
        *(f"mean {words} {_number(found[name])}" for name, words in measures(found).items()),
    ]
    if "log_likelihood" in found:
        how = "the ladder" if "train_log_likelihood" in found else "AIS"
        value = _number(found["log_likelihood"])
        lines.append(f"mean {likelihood_words(found)} of the held-out rows {value} (by {how})")
    return found, [*lines, f"wrote {found['model']}"]


def _sampled(run: RunDirectory) -> tuple[dict[str, Any], list[Any]]:
    names = ("n_chains", "n_draws", "thin", "burn_in", "layers", "library")
    found = {name: run.configuration[name] for name in names}
    found |= {"samples": str(run.path / "samples.zarr"), "seed": run.seed}
    lines = [f"{found['n_chains']:,} chains, {found['n_draws']:,} draws each", f"wrote {found['samples']}"]
    return found, lines


def _evaluated(run: RunDirectory) -> tuple[dict[str, Any], list[Any]]:
    found = of_run(run.path)
    return found, [table(found)]


def _measured(run: RunDirectory) -> tuple[dict[str, Any], list[Any]]:
    document = runs.read_transition(run.path)
    lines = ["temperature   energy              exact     specific heat      exact    |m|     time"]
    for at in document["measured"]:
        energy = f"{signed(at['energy'], 5):>9} ± {at['energy_error']:.5f}"
        heat = f"{at['specific_heat']:>8.4f} ± {at['specific_heat_error']:.4f}"
        exact = ["" if x is None else signed(x, 5) for x in (at["exact_energy"], at["exact_specific_heat"])]
        last = f"{at['magnetisation']:.4f}  {at['time']:>6.1f}"
        lines.append(f"{at['temperature']:>11.4f}  {energy}  {exact[0]:>9}  {heat}  {exact[1]:>9}  {last}")
    return document, [*lines, f"wrote {run.path / TRANSITION}"]


def _drawn(run: RunDirectory) -> tuple[dict[str, Any], list[Any]]:
    """A lattice's run or a graph's."""
    return {"seed": run.seed}, [f"finished the run in {run.path}"]


_SHOWN = {"train": _trained, "sample": _sampled, "evaluate": _evaluated, "transition": _measured}
