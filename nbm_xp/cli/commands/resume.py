"""The command resume: a run of any kind goes on, by what its directory says."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs

from .. import inputs
from ..errors import InputError
from ..output import Bar
from ..results import compute_run
from . import options

__all__ = ["EXAMPLES", "resume"]

EXAMPLES = (
    "Examples: [bold]nbm-xp resume mnist[/bold]\n\n[bold]nbm-xp resume chains --scheduler tcp://10.0.0.5:8786[/bold]"
)


@options.with_options_of(options.Where)
def resume(
    path: Annotated[pathlib.Path, typer.Argument(help="The run's directory.")],
    as_json: options.Json = False,
    **where: Any,
) -> None:
    """Resume a run that was interrupted: training, sampling, evaluation, or any other.

    All else is as its directory says, and the files are those of a run that was never interrupted, byte for byte.
    """
    run = inputs.run_at(path)
    if run is None:
        raise InputError(f"{path}: a model, and no run's directory")
    trains = run.kind == "train"
    if trains:  # in this process, whatever else was asked for is an error of the library's
        del where["worker_timeout"]

    def go_on(bar: Bar, workers: Any) -> runs.RunDirectory:
        return runs.resume(path, progress=bar.advance, **({"scheduler": workers} if workers else where))

    compute_run("resuming", path, go_on, as_json, None if trains else where, unit="epochs" if trains else "sweeps")
