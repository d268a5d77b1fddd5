"""The command evaluate: log Z of a model, exactly or estimated, and the mean log-likelihood of rows under it."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from nbm_xp import runs
from nbm_xp.boltzmann.model import Model

from .. import inputs
from ..errors import InputError
from ..output import Bar, answer
from ..results import Found, compute_run, estimates_table
from . import options

__all__ = ["EXAMPLES", "counts_of", "evaluate", "evaluations_of"]

EXAMPLES = (
    "Examples: [bold]nbm-xp evaluate --model run --data digits:test[/bold]\n\n"
    "[bold]nbm-xp evaluate --model mnist --data mnist.npz --n-temperatures 20000 --out evaluated --scheduler local"
    "[/bold]"
)


@options.with_options_of(options.Where)
def evaluate(
    context: typer.Context,
    model: options.Model = pathlib.Path("run"),
    data: Annotated[
        str | None, typer.Option(help="Rows whose mean log-likelihood to find: read as for train, the test part first.")
    ] = None,
    threshold: options.Threshold = None,
    n_chains: Annotated[int, typer.Option(min=2, help="Chains of the annealing: error bars come from them.")] = 100,
    n_temperatures: Annotated[int, typer.Option(min=2, help="Temperatures that each chain goes through.")] = 1000,
    convergence: Annotated[
        bool,
        typer.Option(
            "--convergence/--once",
            help="Also estimate with fewer temperatures, to see whether it converges; without --out by default.",
        ),
    ] = True,
    reverse: Annotated[
        bool | None,
        typer.Option(
            "--reverse/--no-reverse",
            help="Also anneal in reverse, for a bound from above; by default of models with a ladder.",
        ),
    ] = None,
    n_sweeps: Annotated[
        int | None,
        typer.Option(min=0, help="With --reverse: sweeps to its first states, where these cannot be drawn exactly."),
    ] = None,
    out: Annotated[pathlib.Path | None, typer.Option(help="The run's directory; without it, nothing is kept.")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(min=1, help="Temperatures between two checkpoints of a block.")
    ] = None,
    chunks: options.Chunks = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    **where: Any,
) -> None:
    """Estimate a model's partition function, exactly where it is small, and by annealed importance sampling."""
    if threshold is not None and data is None:
        raise InputError("--threshold is for the rows of --data")
    if n_sweeps is not None and not reverse:
        raise InputError("--n-sweeps is for chains in reverse: --reverse")
    if out is not None:
        inputs.check_new_run(out)
    machine = inputs.read_model(model, library)
    rows = None if data is None else inputs.rows_for(machine, model, data, threshold, "test")
    settings: dict[str, Any] = {
        name: context.params[name]
        for name in ("n_chains", "n_temperatures", "reverse", "chunks", "checkpoint_every", "library")
    } | {"random_state": seed}
    fewer: list[Found] = []
    if convergence and (out is None or options.is_given(context, "convergence")):
        alone = {name: settings[name] for name in ("n_chains", "chunks", "library", "random_state")}
        alone |= {"n_workers": where["n_workers"], "reverse": False, "ladder_steps": 0}
        fewer = [found["ais"] for found in evaluations_of(machine, counts_of(n_temperatures)[:-1], **alone)]

    def show(run: runs.RunDirectory, as_json: bool, more: Found) -> None:
        found = {**runs.read_result(run.path), **more, "model": str(model), "data": data, "convergence": fewer}
        if out is None:
            found.pop("run")
        answer(found, [estimates_table(found, [*fewer, found["ais"]])], as_json)

    with tempfile.TemporaryDirectory() as nowhere:
        place = pathlib.Path(nowhere) / "run" if out is None else out
        settings |= {"n_sweeps": n_sweeps} if n_sweeps is not None else {}

        def estimate(bar: Bar, workers: Any) -> runs.RunDirectory:
            return runs.evaluate(machine, place, rows, scheduler=workers, progress=bar.advance, **settings)

        compute_run("evaluating", place, estimate, as_json, where, unit="steps", show=show)


def counts_of(n_temperatures: int) -> list[int]:
    """How many temperatures estimates go through, to see whether they converge.

    Examples
    --------
    >>> counts_of(1000)
    [30, 100, 300, 1000]
    """
    fewer = {max(2, int(float(f"{n_temperatures * 10 ** (-step / 2):.1g}"))) for step in (1, 2, 3)}
    return sorted(fewer | {n_temperatures})


def evaluations_of(model: Model, counts: Sequence[int], **settings: Any) -> list[Found]:
    """Evaluations of a model by annealing through so many temperatures each, whose runs are not kept."""
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as nowhere, inputs.input_errors():
        for count in counts:
            run = runs.evaluate(model, pathlib.Path(nowhere) / str(count), n_temperatures=count, **settings)
            found.append(runs.read_result(run.path))
    return found
