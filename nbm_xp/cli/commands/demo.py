"""The command demo: the main job on real input, at once."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from ..answering import console
from ..failing import InputError
from ..finding import checked_place
from ..running import threads_for
from . import options

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = "Example: [bold]nbm-xp demo --out demo[/bold] (well under a minute on two cores)"


def demo(
    out: Annotated[pathlib.Path, typer.Option(help="The folder for the picture and the model.")] = pathlib.Path("demo"),
    seed: options.Seed = 0,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data: fewer are quicker, worse.")] = None,
) -> None:
    """Train an RBM on handwritten digits, weigh it, sample it, and draw what it learnt."""
    from ..demo import LARGE, run

    if out.exists() and not out.is_dir():
        raise InputError(f"--out: {out} is not a folder")
    checked_place(out)
    if (out / "run.json").is_file():
        raise InputError(f"--out: {out} holds a run: name another folder")
    out.mkdir(exist_ok=True)
    with threads_for(LARGE["batch_size"] * LARGE["n_components"] * 64):
        run(out, seed, epochs, console())
