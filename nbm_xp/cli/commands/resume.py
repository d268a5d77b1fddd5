"""The command resume: continue a run of any kind from its directory."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs

from .. import inputs
from ..errors import InputError
from ..output import Bar
from ..results import UNITS, compute_run
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp resume mnist[/bold]\n\n[bold]nbm-xp resume chains --scheduler tcp://10.0.0.5:8786[/bold]"
)


@options.with_options_of(options.Where)
def resume(
    path: Annotated[pathlib.Path, typer.Argument(parser=options.path, help="The run's directory.")],
    as_json: options.Json = False,
    **where: Any,
) -> None:
    """Resume a run that was interrupted: training, sampling, evaluation, or any other.

    Settings are read from its directory; the results are byte for byte those of a run that was never interrupted.
    """
    run = inputs.run_at(path)
    if run is None:
        raise InputError(f"{path}: a model, and no run's directory")

    def go_on(bar: Bar, workers: Any) -> runs.RunDirectory:
        return runs.resume(path, scheduler=workers, progress=bar.advance)

    compute_run("resuming", path, go_on, as_json, where, unit=UNITS[run.kind])
