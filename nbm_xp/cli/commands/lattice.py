"""The command lattice: spins on a lattice at many temperatures, compared with Onsager's solution."""

from __future__ import annotations

import functools
import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs
from nbm_xp.graphs import GraphMachine

from .. import inputs
from ..output import InputError
from ..results import UNITS, compute_run
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp lattice --size 64 --temperatures 2.0:2.6:13 --n-sweeps 2000 --out ising[/bold]\n\n"
    "[bold]nbm-xp plot ising[/bold]\n\n[bold]nbm-xp lattice --size 16,16,16 --temperatures 4,4.5,5 --out cubic[/bold]"
)


@options.with_options_of(GraphMachine.sample, "n_sweeps", "burn_in", "rule", burn_in=200)
@options.with_options_of(runs.measure_lattice, "n_chains", "coupling", "periodic", "checkpoint_every")
@options.with_options_of(options.Where)
def lattice(
    out: Annotated[pathlib.Path, typer.Option(parser=options.path, help="The run's directory.")],
    size: Annotated[
        str, typer.Option(help="How many units along each axis: 64 for a square, or 64,32; more numbers, more axes.")
    ] = "64",
    temperatures: Annotated[
        str, typer.Option(help="Temperatures: low:high:count, or numbers with commas between.")
    ] = "2.0:2.6:13",
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    **asked: Any,
) -> None:
    """Measure spins on a lattice: energy, specific heat and magnetisation at many temperatures.

    Results are the same bit for bit on any workers, interrupted or not.
    """
    lengths, points = inputs.whole_numbers(size, "--size"), _temperatures(temperatures)
    inputs.check_new_run(out)
    where = options.where_in(asked)
    shape = lengths * 2 if len(lengths) == 1 else lengths
    measure = functools.partial(runs.measure_lattice, out, shape, points, library=library, random_state=seed, **asked)
    compute_run("measuring", out, measure, as_json, where, unit=UNITS["transition"])


def _temperatures(text: str) -> list[float]:
    """Parse temperatures: a range, or a list."""
    parts = text.split(":")
    try:
        if len(parts) != 3:
            return [float(part) for part in text.split(",")]
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
    except ValueError as error:
        allowed = "low:high:count, or numbers with commas between"
        raise InputError(f"--temperatures must be {allowed}, got {text}") from error
    return [low + (high - low) * k / max(1, count - 1) for k in range(count)]
