"""The command resume: continue a run of any kind from its directory."""

from __future__ import annotations

import functools
import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs

from .. import inputs
from ..output import InputError
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
    compute_run("resuming", path, functools.partial(runs.resume, path), as_json, where, unit=UNITS[run.kind])
