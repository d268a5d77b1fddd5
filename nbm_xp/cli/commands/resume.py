"""The command resume: a run of any kind goes on, by what its directory says."""

from __future__ import annotations

import functools
import pathlib
from typing import Annotated

import typer

from nbm_xp import runs

from .. import inputs
from ..errors import InputError, resumable
from ..output import work_bar
from ..results import compute_run, show_run
from . import options

__all__ = ["EXAMPLES", "resume"]

EXAMPLES = (
    "Examples: [bold]nbm-xp resume mnist[/bold]\n\n[bold]nbm-xp resume chains --scheduler tcp://10.0.0.5:8786[/bold]"
)


def resume(
    context: typer.Context,
    path: Annotated[pathlib.Path, typer.Argument(help="The run's directory.")],
    scheduler: options.Scheduler = "threads",
    n_workers: options.NWorkers = None,
    memory_limit: options.MemoryLimit = None,
    worker_timeout: options.WorkerTimeout = 600.0,
    as_json: options.Json = False,
) -> None:
    """Resume a run that was interrupted: training, sampling, evaluation, or any other.

    All else is as its directory says, and the files are those of a run that was never interrupted, byte for byte.
    """
    run = inputs.run_at(path)
    if run is None:
        raise InputError(f"{path}: a model, and no run's directory")
    if run.kind != "train":
        compute_run("resuming", path, context.params, functools.partial(runs.resume, path))
        return
    with inputs.input_errors(), resumable(path), work_bar("training", "epochs") as advance:
        trained = runs.resume(
            path, scheduler=scheduler, n_workers=n_workers, memory_limit=memory_limit, progress=advance
        )
    show_run(trained, as_json)
