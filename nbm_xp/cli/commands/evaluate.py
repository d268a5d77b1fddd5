"""The command evaluate: log Z of a model, exactly or estimated, and the mean log-likelihood of rows under it."""

from __future__ import annotations

import pathlib
import time
from typing import Annotated, Any

import typer

import nbm_xp
from nbm_xp import runs as nbm_runs
from nbm_xp.namespace import is_lazy
from nbm_xp.runs import RunDirectory
from nbm_xp.runs.copies import rows_of

from .. import alignments, finding, reading
from ..answering import answer
from ..computing import computers
from ..failing import InputError, going_on
from ..running import amount, threads_for
from ..weighing import Weighing, lengths, of_run, table
from . import options

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = (
    "Examples: [bold]nbm-xp evaluate --model run --data digits:test[/bold]\n\n"
    "[bold]nbm-xp evaluate --model mnist --data mnist.npz --temperatures 20000 --out weighed --scheduler local[/bold]"
)
_AT_ONCE, _RUN = "At once", "To a folder: a run, which can be broken off"


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
        typer.Option(
            "--convergence/--once",
            help="Also estimate with fewer temperatures, to see it settle.",
            rich_help_panel=_AT_ONCE,
        ),
    ] = True,
    reverse: Annotated[bool, typer.Option("--reverse", help="Also anneal in reverse, for a bound from above.")] = False,
    steps: Annotated[
        int,
        typer.Option(min=0, help="With --reverse: sweeps to its first states, where these cannot be drawn exactly."),
    ] = 1000,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="The run's directory; without it, nothing is written.")
    ] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(min=1, help="Temperatures between two checkpoints of a block.", rich_help_panel=_RUN)
    ] = None,
    resume: options.Resume = False,
    chunks: options.Chunks = None,
    scheduler: options.Scheduler = "threads",
    workers: options.Workers = None,
    memory_limit: options.MemoryLimit = None,
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
    if options.given(context, "steps") and not (reverse or resume):
        raise InputError("--steps is for chains in reverse: --reverse")
    if out is not None:
        found = _in_a_run(context, out)
    else:
        if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
            raise InputError("--chunks needs a library that computes in blocks, --library dask, or --out")
        machine = finding.read_model(model, library)
        rows = _rows(data, threshold, machine, model)
        weighing = Weighing(runs, lengths(temperatures, convergence), seed, library, chunks, reverse, steps)
        with threads_for(runs * sum(p.value.size for p in machine._parameters)):
            found = weighing.of(machine, None if rows is None else reading.on_library(rows, library))
        found = {"model": str(model), "data": data, **found}
    answer(found, [table(found)], as_json)


_OF_A_RUN = ("checkpoint_every", "resume", "scheduler", "workers", "memory_limit")


def _rows(data: str | None, threshold: float | None, machine: Any, model: pathlib.Path) -> Any:
    if data is None:
        return None
    rows = alignments.rows_for(data, threshold, "test", finding.within(machine))
    if rows.shape[1] != machine.n_features_in_:
        raise InputError(f"{data}: has {rows.shape[1]} features, but {model} has {machine.n_features_in_}")
    return rows


def _in_a_run(context: typer.Context, out: pathlib.Path) -> dict[str, Any]:
    """Begin a run, or go on with one, whose directory says what was not said here."""
    asked = context.params
    there = finding.run_to_go_on_with(out, "evaluate") if asked["resume"] else None
    if not asked["resume"]:
        finding.checked_new(out)

    def settled(option: str, name: str) -> Any:
        """What was said here or, where nothing was, what stands there."""
        return asked[option] if there is None or options.given(context, option) else there.configuration[name]

    if there is None or options.given(context, "model"):
        machine = finding.read_model(asked["model"], asked["library"])
    else:
        with reading.saying():
            machine = there.load_model()
    if there is None or options.given(context, "data"):
        rows = _rows(asked["data"], asked["threshold"], machine, asked["model"])
    else:
        with reading.saying():
            rows = _rows_there(there)
    known = None if there is None else there.configuration["log_z"]
    settings = {
        "n_runs": settled("runs", "n_runs") or settled("chunks", "chunks"),  # none, where log Z was given
        "n_steps": asked["steps"],
        "chunks": settled("chunks", "chunks"),
        "checkpoint_every": settled("checkpoint_every", "checkpoint_every"),
        "library": settled("library", "library"),
        "reverse": asked["reverse"],
        "seed": asked["seed"] if there is None or options.given(context, "seed") else there.seed,
    }
    if known is not None:
        settings["log_z"] = known
    elif there is None or options.given(context, "temperatures"):
        settings["n_temperatures"] = asked["temperatures"]
    else:
        settings["betas"] = there.configuration["betas"]
    if there is not None and "reverse" in there.configuration:
        settings["reverse"] = True
        if not options.given(context, "steps"):
            settings["n_steps"] = there.configuration["reverse"].get("n_steps", 0)
    began = time.perf_counter()
    with (
        computers(asked["scheduler"], asked["workers"], asked["memory_limit"]) as workers,
        amount("evaluating", "steps") as advance,
        going_on(f"nbm-xp evaluate --resume --out {out}"),
        reading.saying(),
    ):
        run = nbm_runs.evaluate(
            machine, out, rows, **settings, scheduler=workers, resume=asked["resume"], progress=advance
        )
        dashboard = workers.dashboard
        seconds = round(time.perf_counter() - began, 3)
        found = of_run(run.path)
    return {"run": str(run.path), **found, "seconds": seconds, "dashboard": dashboard}


def _rows_there(run: RunDirectory) -> Any:
    """The rows that a run's directory holds a copy of."""
    count = run.configuration["n_rows"]
    return rows_of(run.path, 0, count) if count else None
