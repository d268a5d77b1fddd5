"""Runs at the command line: execution on the chosen workers, and output of their results."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.table import Table

from nbm_xp import runs
from nbm_xp.files import Place
from nbm_xp.runs import RunDirectory, Workers

from .inputs import input_errors
from .output import WorkBar, answer, resumable, signed

Found: TypeAlias = Mapping[str, Any]  # results of a run, as JSON values


def compute_run(
    label: str,
    out: Place,
    work: Callable[..., RunDirectory],
    as_json: bool,
    where: Mapping[str, Any],
    *,
    unit: str = "sweeps",
    scale: int = 1,
    note: Callable[[Any], str] | None = None,
    about: Found | None = None,
) -> None:
    """Compute a run, and print its results.

    Parameters
    ----------
    label : str
        Label of the progress bar.
    out : path-like
        The run's directory.
    work : callable
        Called with the arguments `scheduler` and `progress`, and with `note` a `callback`; returns the run.
    as_json : bool
        Whether to print JSON.
    where : mapping
        Values of the options of `Where`.
    unit, scale : optional
        See `WorkBar`.
    note : callable, optional
        Text to show beside the bar, from the model that the callback is called with.
    about : mapping, optional
        Entries to print in addition to the results.
    """
    began = time.perf_counter()
    with _workers(where) as workers, WorkBar(label, unit, scale) as bar, resumable(out), input_errors():
        noted = {} if note is None else {"callback": lambda model: bar.note(note(model))}
        run = work(scheduler=workers, progress=bar.show, **noted)
        more = {"seconds": round(time.perf_counter() - began, 3), "dashboard": workers.dashboard}
    found = {**more, **runs.read_result(run.path), **(about or {})}
    answer(found, LINES[run.kind](found), as_json)


@contextlib.contextmanager
def _workers(where: Mapping[str, Any]) -> Iterator[Workers]:
    """Start the workers, and print the address of a cluster's dashboard on stderr."""
    # Its logged tracebacks of a lost cluster are replaced by our one-line message.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    with input_errors(), Workers(**where) as started:
        if where["scheduler"] != "threads":
            sys.stderr.write(f"dashboard: {started.dashboard}\n")
            sys.stderr.flush()
        yield started


def _trained(found: Found) -> list[str]:
    epochs = "1 epoch" if found["epochs"] == 1 else f"{found['epochs']:,} epochs"
    lines = [
        f"{found['n_rows']:,} rows of {found['n_features']} on {found['library']}, {epochs} in {found['seconds']:.1f} s"
    ]
    measure = "lower bound on the log-likelihood" if found["lower_bound"] else "log-likelihood"
    if last := found["diagnostics"]:
        error = signed(last["standard_error"], 2, "-")
        lines.append(f"mean {measure} of the training rows {signed(last['log_likelihood'], 2, '-')} ± {error}")
        for name, words in (
            ("held_out", f"{measure} of the held-out rows"),
            ("pseudo_likelihood", "pseudo-likelihood"),
        ):
            if last[name] is not None:
                lines.append(f"mean {words} {signed(last[name], 2, '-')}")
    return [*lines, f"wrote {found['run']}/model.safetensors"]


def _sampled(found: Found) -> list[str]:
    counts = f"{found['n_chains']:,} chains, {found['n_draws']:,} draws each"
    return [f"{counts}, in {found.get('seconds', 0.0):.1f} s", f"wrote {found['run']}/samples.zarr"]


def _measured(found: Found) -> list[str]:
    lines = ["temperature   energy              exact     specific heat      exact    |m|     time"]
    for at in found["measured"]:
        energy = f"{signed(at['energy'], 5):>9} ± {at['energy_error']:.5f}"
        heat = f"{at['specific_heat']:>8.4f} ± {at['specific_heat_error']:.4f}"
        exact = ["" if x is None else signed(x, 5) for x in (at["exact_energy"], at["exact_specific_heat"])]
        last = f"{at['magnetisation']:.4f}  {at['time']:>6.1f}"
        lines.append(f"{at['temperature']:>11.4f}  {energy}  {exact[0]:>9}  {heat}  {exact[1]:>9}  {last}")
    return [*lines, f"wrote {found['run']}/lattice.json"]


def _evaluated(found: Found) -> list[Table]:
    """Return the table of an evaluation: each estimate of log Z, and the mean log-likelihood with it."""
    mean, has_rows = found["mean_log_likelihood"], found["n_rows"] > 0
    shown = Table(box=None, pad_edge=False)
    names = ["AIS temperatures", "log Z", "3 s.e. below", "above", "even chains"]
    for name in (*names, *(["log-likelihood ≥" if found["lower_bound"] else "log-likelihood"] if has_rows else [])):
        shown.add_column(name, justify="right", no_wrap=True)

    rows: list[tuple[str, Found, str]] = []
    for name, words in (("ais", ""), ("reverse", " in reverse")):
        if estimate := found[name]:
            even = f"{signed(estimate['effective_runs'])} of {found['n_chains']:,}"
            rows.append((f"{estimate['n_temperatures']:,}{words}", estimate, even))
    rows += [("ladder", found["ladder"], "")] if found["ladder"] else []
    rows += [(name, {"log_z": found[name]}, "") for name in ("given", "exact") if found[name] is not None]
    for label, estimate, even in rows:
        log_z = estimate["log_z"]
        bounds = [signed(estimate[name], 2) if name in estimate else "" for name in ("log_z_low", "log_z_high")]
        known = None not in (mean, log_z, found["log_z"])  # the mean is that for the best log Z
        of_rows = [signed(mean + found["log_z"] - log_z if known else None, 2)] if has_rows else []
        shown.add_row(label, signed(log_z, 2), *bounds, even, *of_rows)
    return [shown]


# What the progress of each kind of run counts: of single chains, and of single units on graphs
UNITS = {"train": "epochs", "sample": "sweeps", "evaluate": "steps", "graph": "updates", "transition": "updates"}
LINES: dict[str, Callable[[Found], Sequence[RenderableType]]] = {
    "train": _trained,
    "sample": _sampled,
    "evaluate": _evaluated,
    "graph": lambda found: [f"finished the run in {found['run']}"],
    "transition": _measured,
}
