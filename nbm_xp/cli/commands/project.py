"""The command project: what a run of draws will need, before it begins."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import typer

from nbm_xp import runs
from nbm_xp.boltzmann import DBM
from nbm_xp.boltzmann.model import Model
from nbm_xp.runs import Workers

from .. import inputs
from ..output import InputError, answer
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp project --model run --n-chains 1000 --n-draws 500[/bold]\n\n"
    "[bold]nbm-xp project --layers 10000,10000 --n-chains 1000000 --n-draws 10000 --sweep-seconds 0.005[/bold]"
)


@options.with_options_of(runs.sample, "n_chains", "n_draws", "thin", "burn_in", "checkpoint_every", "chunks")
@options.with_options_of(runs.projected, "sweep_seconds")
@options.with_options_of(options.Where)
def project(
    context: typer.Context,
    model: options.Model = pathlib.Path("run"),
    layers: Annotated[
        str | None, typer.Option(help="In place of a model: units of each layer, visible ones first, binary: 784,500.")
    ] = None,
    library: options.Library = None,
    as_json: options.Json = False,
    **asked: Any,
) -> None:
    """Project a run of draws: its memory, storage, requests to an object store, tasks and processor time."""
    if layers is not None and options.is_given(context, "model"):
        raise InputError("--layers is in place of --model")
    machine = inputs.read_model(model, library) if layers is None else _of_layers(layers)
    print_projection(runs.sample, machine, options.where_in(asked), as_json, library=library, **asked)


def print_projection(run: Callable[..., Any], model: Any, where: Any, as_json: bool, **asked: Any) -> None:
    """Print what a run will need, on the workers of the options of `Where`."""
    with inputs.input_errors(), Workers(**where) as workers:
        found = runs.projected(run, model, scheduler=workers, **asked)
    answer(vars(found), [str(found)], as_json)


def _of_layers(layers: str) -> Model:
    """Return a machine of binary units without weights."""
    sizes = inputs.whole_numbers(layers, "--layers")
    if len(sizes) < 2 or min(sizes) < 1:
        raise InputError(f"--layers must be at least two numbers of units, got {layers}")
    weights, biases = (np.zeros(pair, "float32") for pair in pairwise(sizes)), (np.zeros(n, "float32") for n in sizes)
    return DBM.from_parameters(list(weights), list(biases))
