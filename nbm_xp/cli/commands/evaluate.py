"""The command evaluate: exact or estimated log Z of a model, and the mean log-likelihood of rows."""

from __future__ import annotations

import functools
import pathlib
import tempfile
from typing import Annotated, Any

import typer

from nbm_xp import runs

from .. import inputs
from ..output import InputError
from ..results import UNITS, compute_run
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp evaluate --model run --data digits:test[/bold]\n\n"
    "[bold]nbm-xp evaluate --model mnist --data mnist.npz --n-temperatures 20000 --out evaluated --scheduler local"
    "[/bold]"
)


@options.with_options_of(runs.evaluate, "reverse", "n_sweeps", "checkpoint_every", "chunks")
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
    out: Annotated[
        pathlib.Path | None, typer.Option(parser=options.path, help="The run's directory; without it, nothing is kept.")
    ] = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    **asked: Any,
) -> None:
    """Estimate a model's partition function by annealed importance sampling, and exactly if the model is small."""
    if threshold is not None and data is None:
        raise InputError("--threshold is for the rows of --data")
    if options.is_given(context, "n_sweeps") and not asked["reverse"]:
        raise InputError("--n-sweeps is for chains in reverse: --reverse")
    if out is not None:
        inputs.check_new_run(out)
    machine = inputs.read_model(model, library)
    rows = None if data is None else inputs.rows_for(machine, model, data, threshold, "test", missing=True)
    where = options.where_in(asked)
    with tempfile.TemporaryDirectory() as nowhere:
        place = pathlib.Path(nowhere) / "run" if out is None else out
        about = {"model": str(model), "data": data} | ({"run": None} if out is None else {})
        work = functools.partial(
            runs.evaluate, machine, place, rows, n_chains=n_chains, n_temperatures=n_temperatures, library=library,
            random_state=seed, **asked,
        )  # fmt: skip
        compute_run("evaluating", place, work, as_json, where, unit=UNITS["evaluate"], about=about)
