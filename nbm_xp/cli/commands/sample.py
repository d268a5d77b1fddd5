"""The command sample: states at the end of chains, at once, to a file."""

from __future__ import annotations

import pathlib
import time
from typing import Annotated, Any

import numpy as np
import typer

import nbm_xp
from nbm_xp.namespace import is_lazy, to_numpy
from nbm_xp.namespace.files import replacing, save_arrays

from .. import finding, reading
from ..answering import answer
from ..failing import InputError
from . import options

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = (
    "Examples: [bold]nbm-xp sample --model run --out fantasies.png[/bold]\n\n"
    "[bold]nbm-xp sample --model run --chains 100000 --library dask --chunks 5000[/bold]"
)


def sample(
    model: options.Model = pathlib.Path("run"),
    out: Annotated[
        pathlib.Path, typer.Option(help="A .npy or .npz file for the states, or a .png file for a picture of them.")
    ] = pathlib.Path("samples.npy"),
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 100,
    steps: Annotated[int, typer.Option(min=0, help="Sweeps of Gibbs sampling in each chain.")] = 1000,
    data: Annotated[str | None, typer.Option(help="Rows to start the chains from, as for train.")] = None,
    threshold: options.Threshold = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probabilities of the last states, in place of the states.")
    ] = False,
    chunks: options.Chunks = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Sample a saved model, from its base rate or, with --data, from the first rows of your data."""
    reading.checked_out(out, ".npy", ".npz", ".png")
    if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
        raise InputError("--chunks needs a library that computes in blocks: --library dask")
    machine = finding.read_model(model, library)
    pixels = reading.side(machine.n_features_in_)
    if out.suffix == ".png" and pixels is None:
        raise InputError(f"--out: {machine.n_features_in_} units make no square picture; write .npy or .npz")
    start = None
    if data is not None:
        rows = reading.read_data(data, threshold)
        if rows.shape[1] != machine.n_features_in_:
            raise InputError(f"{data}: has {rows.shape[1]} features, but {model} has {machine.n_features_in_}")
        if rows.shape[0] < chains:
            raise InputError(f"{data}: has {rows.shape[0]} rows, too few to start {chains} chains")
        start = reading.on_library(rows[:chains], library)
        start = start.rechunk((chunks, -1)) if chunks and hasattr(start, "rechunk") else start
    began = time.perf_counter()
    states = to_numpy(
        machine.sample(
            chains,
            steps,
            start=start,
            probabilities=probabilities,
            library=None if start is not None else library,
            chunks=chunks,
            random_state=seed,
        )
    )
    seconds = time.perf_counter() - began
    _write(states, out, pixels)
    found = {"model": str(model), "states": str(out), "chains": chains, "sweeps": steps, "seconds": round(seconds, 3)}
    answer(found, [f"{chains:,} chains, {steps:,} sweeps in {seconds:.1f} s", f"wrote {out}"], as_json)


def _write(states: Any, out: pathlib.Path, pixels: int | None) -> None:
    if out.suffix == ".png":
        from ..pictures.drawing import draw_states

        draw_states(states, pixels or 1, out)
    elif out.suffix == ".npz":
        save_arrays(out, {"states": states})
    else:
        with replacing(out) as part:
            np.save(part, states, allow_pickle=False)
