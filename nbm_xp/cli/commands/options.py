"""The options that several commands have: names, limits, help. Names are those of the library's parameters."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

__all__ = [
    "Chunks", "Data", "Json", "Library", "MemoryLimit", "Model", "NWorkers", "Scheduler", "Seed", "Threshold",
    "WorkerTimeout", "given", "panel",
]  # fmt: skip


def panel(title: str) -> Callable[..., Any]:
    """What declares the options under one heading of the help: ``option(help, flags=(), **limits)``."""

    def option(help: str, *, flags: Sequence[str] = (), **limits: Any) -> Any:
        return typer.Option(*flags, help=help, rich_help_panel=title, **limits)

    return option


_where = panel("Where it is computed")

Data = Annotated[
    str,
    typer.Option(
        help="Rows, of shape (rows, features): a .npy file, an .npz file (file.npz:key picks an array), or a name: "
        "digits, digits:train, digits:test. Or an alignment: a .fasta file, packed (.fasta.gz) or not."
    ),
]
Library = Annotated[
    str | None,
    typer.Option(help="The library to compute in: numpy, dask, cupy, torch or jax; by default the model's, or numpy."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Threshold = Annotated[float | None, typer.Option(help="Make values from this one upwards 1, those below 0.")]
Model = Annotated[pathlib.Path, typer.Option(help="The directory of a run, or the file of a model.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Chunks = Annotated[int | None, typer.Option(min=1, help="Chains in each block, where they are computed in blocks.")]
Scheduler = Annotated[str, _where("threads, local (processes of this machine), or a cluster's address, tcp://….")]
NWorkers = Annotated[int | None, _where("How many tasks run at once; all cores by default.", min=1)]
MemoryLimit = Annotated[str | None, _where("Of each worker, with --scheduler local: 4GB.")]
WorkerTimeout = Annotated[float, _where("Seconds to wait for a cluster that has lost its last worker.", min=0.0)]


def given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, not left to its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
