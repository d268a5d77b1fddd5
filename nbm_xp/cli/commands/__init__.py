"""The commands, a module each: what they take, and what they say."""

from __future__ import annotations

from typing import Annotated

import typer

import nbm_xp

from ..errors import Command, Group, InputError
from ..output import console
from . import check_bits, demo, evaluate, info, lattice, plot, resume, sample, train

__all__ = ["app"]

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Boltzmann machines on NumPy, Dask, CuPy, PyTorch and JAX arrays: trained, sampled, evaluated.",
    epilog="Start with [bold]nbm-xp demo[/bold].",
)


def _version(asked: bool) -> None:
    if asked:
        console().print(f"nbm-xp {nbm_xp.__version__}")
        raise typer.Exit


@app.callback()
def checked_configuration(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Say at once what the environment or the configuration file has wrong."""
    try:
        nbm_xp.configuration()
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(str(error)) from error


app.command(cls=Command, epilog=demo.EXAMPLES)(demo.demo)
app.command(cls=Command, epilog=train.EXAMPLES)(train.train)
app.command(cls=Command, epilog=sample.EXAMPLES)(sample.sample)
app.command(cls=Command, epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command(cls=Command, epilog=lattice.EXAMPLES)(lattice.lattice)
app.command(cls=Command, epilog=resume.EXAMPLES)(resume.resume)
app.command(cls=Command, epilog=plot.EXAMPLES)(plot.plot)
app.command(cls=Command, epilog=info.EXAMPLES)(info.info)
app.command(cls=Command, epilog=check_bits.EXAMPLES)(check_bits.check_bits)
