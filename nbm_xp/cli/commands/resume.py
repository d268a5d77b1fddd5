"""The command resume: a run of any kind goes on, by what its directory says."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from nbm_xp import runs

from .. import reading
from ..failing import InputError, resuming
from ..results import compute_run, show_run
from ..running import amount
from . import options

__all__ = ["EXAMPLES", "resume"]

EXAMPLES = (
    "Examples: [bold]nbm-xp resume mnist[/bold]\n\n[bold]nbm-xp resume chains --scheduler tcp://10.0.0.5:8786[/bold]"
)


def resume(
    context: typer.Context,
    path: Annotated[pathlib.Path, typer.Argument(help="The run's directory.")],
    scheduler: options.Scheduler = "threads",
    workers: options.Workers = None,
    memory_limit: options.MemoryLimit = None,
    worker_timeout: options.WorkerTimeout = 600.0,
    as_json: options.Json = False,
) -> None:
    """Resume a run that was interrupted: training, sampling, evaluation, or any other.

    All else is as its directory says, and the files are those of a run that was never interrupted, byte for byte.
    """
    try:
        with reading.saying():
            kind = runs.RunDirectory.read(path).kind
    except FileNotFoundError as error:
        raise InputError(str(error)) from error
    if kind != "train":
        compute_run("resuming", path, context.params, lambda **how: runs.resume(path, **how))
        return
    with reading.saying(), resuming(path), amount("training", "passes") as advance:
        where = None if workers is None else workers
        run = runs.resume(path, scheduler=scheduler, n_workers=where, memory_limit=memory_limit, progress=advance)
    show_run(run, as_json)
