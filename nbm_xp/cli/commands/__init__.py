"""The commands: each module except `options` defines `EXAMPLES` and a function of its name, which takes the options."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

import nbm_xp

from ..output import Command, Group, InputError, console

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
    """Validate the environment and the configuration file before any command."""
    try:
        nbm_xp.configuration()
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(str(error)) from error


for _found in pkgutil.iter_modules(__path__):
    if _found.name != "options":
        _module = importlib.import_module(f".{_found.name}", __name__)
        app.command(_found.name.replace("_", "-"), cls=Command, epilog=_module.EXAMPLES)(getattr(_module, _found.name))
