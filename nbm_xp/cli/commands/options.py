"""The options that several commands have, said once: names, limits, help."""

from __future__ import annotations

import pathlib
from typing import Annotated, Any

import typer

__all__ = [
    "CheckpointEvery",
    "Chunks",
    "Data",
    "Json",
    "Library",
    "Model",
    "Resume",
    "Seed",
    "Threshold",
    "given",
]

Data = Annotated[
    str,
    typer.Option(help="A .npy file, an .npz file (file.npz:key picks an array), or a name: digits, digits:train, …"),
]
Library = Annotated[str | None, typer.Option(help="The library to compute in: numpy, dask, cupy, torch or jax.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Threshold = Annotated[float | None, typer.Option(help="Make values from this one upwards 1, those below 0.")]
Model = Annotated[pathlib.Path, typer.Option(help="The directory of a run, or the file of a model.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out, if there is one.")]
CheckpointEvery = Annotated[int | None, typer.Option(min=1, help="How often what was done so far is kept on disk.")]
Chunks = Annotated[int | None, typer.Option(min=1, help="Chains in each block, where they are computed in blocks.")]


def given(context: typer.Context, name: str) -> Any:
    """Whether an option was given, not left to its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
