"""The command evaluate: log Z of a model, exactly or estimated, and the mean log-likelihood of rows under it."""

from __future__ import annotations

import functools
import pathlib
from typing import Annotated, Any

import typer

import nbm_xp
from nbm_xp import runs as nbm_runs
from nbm_xp.namespace import is_lazy

from .. import alignments, finding, reading
from ..answering import answer
from ..failing import InputError
from ..results import compute_run
from ..running import threads_for
from ..weighing import Evaluator, lengths, table
from . import options

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = (
    "Examples: [bold]nbm-xp evaluate --model run --data digits:test[/bold]\n\n"
    "[bold]nbm-xp evaluate --model mnist --data mnist.npz --temperatures 20000 --out weighed --scheduler local[/bold]"
)
_at_once, _to_run = map(options.panel, ("At once", "To a folder: a run, which can be broken off"))


def evaluate(
    context: typer.Context,
    model: options.Model = pathlib.Path("run"),
    data: Annotated[
        str | None, typer.Option(help="Rows whose mean log-likelihood to find: read as for train, the test part first.")
    ] = None,
    threshold: options.Threshold = None,
    runs: Annotated[int, typer.Option(min=2, help="Chains of the annealing: error bars come from them.")] = 100,
    temperatures: Annotated[int, typer.Option(min=2, help="Temperatures that each chain goes through.")] = 1000,
    convergence: Annotated[
        bool,
        _at_once("Also estimate with fewer temperatures, to see it settle.", flags=("--convergence/--once",)),
    ] = True,
    reverse: Annotated[
        bool | None,
        typer.Option(
            "--reverse/--no-reverse",
            help="Also anneal in reverse, for a bound from above; by default of models with a ladder.",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="With --reverse: sweeps to its first states, where these cannot be drawn exactly."),
    ] = None,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="The run's directory; without it, nothing is written.")
    ] = None,
    checkpoint_every: Annotated[int | None, _to_run("Temperatures between two checkpoints of a block.", min=1)] = None,
    chunks: options.Chunks = None,
    scheduler: options.Scheduler = "threads",
    workers: options.Workers = None,
    memory_limit: options.MemoryLimit = None,
    worker_timeout: options.WorkerTimeout = 600.0,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Weigh a model: its partition function, exactly where it is small, and by annealed importance sampling."""
    others = _OF_A_RUN if out is None else ("convergence",)
    wrong = [name for name in others if options.given(context, name)]
    if wrong:
        option = f"--{wrong[0].replace('_', '-')}"
        needs = f"{option} needs a folder for a run: --out"
        raise InputError(needs if out is None else f"{option} is not for a run: leave --out out, or {option}")
    if threshold is not None and data is None:
        raise InputError("--threshold is for the rows of --data")
    if options.given(context, "steps") and not reverse:
        raise InputError("--steps is for chains in reverse: --reverse")
    if out is not None:
        _in_a_run(context, out)
    else:
        if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
            raise InputError("--chunks needs a library that computes in blocks, --library dask, or --out")
        machine = finding.read_model(model, library)
        rows = _rows(data, threshold, machine, model)
        evaluator = Evaluator(runs, lengths(temperatures, convergence), seed, library, chunks, reverse, steps)
        with threads_for(runs * sum(p.value.size for p in machine.state_.parameters)):
            found = evaluator.of(machine, None if rows is None else reading.on_library(rows, library))
        found = {"model": str(model), "data": data, **found}
        answer(found, [table(found)], as_json)


_OF_A_RUN = ("checkpoint_every", "scheduler", "workers", "memory_limit", "worker_timeout")


def _rows(data: str | None, threshold: float | None, machine: Any, model: pathlib.Path) -> Any:
    if data is None:
        return None
    rows = alignments.rows_for(data, threshold, "test", finding.within(machine))
    if rows.shape[1] != machine.n_features_in_:
        raise InputError(f"{data}: has {rows.shape[1]} features, but {model} has {machine.n_features_in_}")
    return rows


def _in_a_run(context: typer.Context, out: pathlib.Path) -> None:
    """Evaluate as a run."""
    asked = context.params
    finding.checked_new(out)
    machine = finding.read_model(asked["model"], asked["library"])
    rows = _rows(asked["data"], asked["threshold"], machine, asked["model"])
    settings = {"n_chains": asked["runs"], "n_temperatures": asked["temperatures"], "random_state": asked["seed"]}
    settings |= {} if asked["steps"] is None else {"n_sweeps": asked["steps"]}
    settings |= {name: asked[name] for name in ("reverse", "chunks", "checkpoint_every", "library")}
    compute_run("evaluating", out, asked, functools.partial(nbm_runs.evaluate, machine, out, rows, **settings), "steps")
