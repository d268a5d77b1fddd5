"""The command evaluate: log Z of a model, exactly or estimated, and the mean log-likelihood of rows under it."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

import nbm_xp
from nbm_xp.namespace import is_lazy

from .. import finding, reading
from ..answering import answer
from ..failing import InputError
from ..running import threads_for
from ..weighing import Weighing, lengths, table
from . import options

__all__ = ["EXAMPLES", "evaluate"]

EXAMPLES = (
    "Examples: [bold]nbm-xp evaluate --model run --data digits:test[/bold]\n\n"
    "[bold]nbm-xp evaluate --model mnist --data mnist.npz --temperatures 20000 --json[/bold]"
)


def evaluate(
    model: options.Model = pathlib.Path("run"),
    data: Annotated[
        str | None, typer.Option(help="Rows whose mean log-likelihood to find: read as for train, the test part first.")
    ] = None,
    threshold: options.Threshold = None,
    runs: Annotated[int, typer.Option(min=2, help="Chains of the annealing: error bars come from them.")] = 100,
    temperatures: Annotated[int, typer.Option(min=2, help="Temperatures that each chain goes through.")] = 1000,
    convergence: Annotated[
        bool, typer.Option("--convergence/--once", help="Also estimate with fewer temperatures, to see it settle.")
    ] = True,
    chunks: options.Chunks = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Weigh a model: its partition function, exactly where a layer is small, and by annealed importance sampling."""
    if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
        raise InputError("--chunks needs a library that computes in blocks: --library dask")
    machine = finding.read_model(model, library)
    rows = None if data is None else reading.read_data(data, threshold, "test")
    if rows is not None and rows.shape[1] != machine.n_features_in_:
        raise InputError(f"{data}: has {rows.shape[1]} features, but {model} has {machine.n_features_in_}")
    weighing = Weighing(runs, lengths(temperatures, convergence), seed, library, chunks)
    with threads_for(runs * machine.components_.shape[0] * machine.components_.shape[1]):
        found = weighing.of(machine, None if rows is None else reading.on_library(rows, library))
    answer({"model": str(model), "data": data, **found}, [table(found)], as_json)
