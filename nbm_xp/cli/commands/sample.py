"""The command sample: write the last states of chains to a file, or start a run that stores all draws."""

from __future__ import annotations

import functools
import pathlib
import time
from typing import Annotated, Any

import numpy as np
import typer

import nbm_xp
from nbm_xp import runs
from nbm_xp.boltzmann.model import Model
from nbm_xp.boltzmann.sequences import Alphabet, write_fasta
from nbm_xp.files import Place, replacing
from nbm_xp.machines import Array
from nbm_xp.namespace import is_lazy, to_numpy
from nbm_xp.storage.arrays import save_arrays

from .. import inputs
from ..output import InputError, answer
from ..results import compute_run
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp sample --model run --out fantasies.png[/bold]\n\n"
    "[bold]nbm-xp sample --model run --out chains --n-chains 1000 --n-draws 500 --thin 10 --burn-in 1000[/bold]\n\n"
    "[bold]nbm-xp resume chains --scheduler tcp://10.0.0.5:8786[/bold]"
)
_FILES = (".npy", ".npz", ".png")
# Endings of files that cannot be written; they are not accepted as names of run directories
_NOT_OURS = (".csv", ".gif", ".h5", ".hdf5", ".jpeg", ".jpg", ".json", ".mat", ".nc", ".parquet", ".pdf", ".svg")
_FILE, _RUN = "To a file: the last states", "To a folder: a run that keeps all draws"
_to_file, _to_run = map(options.panel, (_FILE, _RUN))


@options.with_options_of(runs.sample, "n_draws", "thin", "burn_in", "checkpoint_every", title=_RUN)
@options.with_options_of(options.Where)
def sample(
    context: typer.Context,
    model: options.Model = pathlib.Path("run"),
    out: Annotated[
        pathlib.Path,
        typer.Option(
            parser=options.path,
            help="A .npy or .npz file for states, a .png file for a picture (of units that fill a square), a .fasta "
            "file for sequences; any other name is a folder for a run.",
        ),
    ] = pathlib.Path("samples.npy"),
    n_chains: Annotated[int, typer.Option(min=1, help="Independent chains; with --given, of each row.")] = 100,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probabilities of states, in place of the states.")
    ] = False,
    given: Annotated[
        str | None,
        typer.Option(help="Rows, as for train, whose missing values, NaN, are drawn given the other ones."),
    ] = None,
    n_sweeps: Annotated[int, _to_file("Sweeps of Gibbs sampling in each chain.", min=0)] = 1000,
    data: Annotated[str | None, _to_file("Rows to start the chains from, as for train.")] = None,
    threshold: Annotated[float | None, typer.Option(help="For --data and --given, as for train.")] = None,
    layers: Annotated[str, _to_run("Layers to keep, 0 being the visible one: 0,1.")] = "0",
    chunks: options.Chunks = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    **asked: Any,
) -> None:
    """Sample a model: write the last states of chains to a file, or all draws to a run's directory.

    The draws of a run are the same bit for bit on any workers, interrupted or not.
    """
    if out.suffix not in _FILES and out.suffix.lower() in (*_FILES, *_NOT_OURS) and not out.is_dir():
        raise InputError(f"--out must be a file ({', '.join(_FILES)}) or a folder for a run, got {out}")
    to_file = out.suffix in _FILES or inputs.is_alignment(out)
    for option in context.command.params:
        title = getattr(option, "rich_help_panel", None)
        if title and (title != _FILE) == to_file and options.is_given(context, str(option.name)):
            kind = "a folder for a run" if to_file else f"a file ({', '.join(_FILES)})"
            raise InputError(f"{option.opts[0]} is for --out with {kind}, got --out {out}")
    if threshold is not None and data is None and given is None:
        raise InputError("--threshold is for the rows of --data or --given")
    if given is not None and data is not None:
        raise InputError("--data is for chains that start from rows, and --given for rows that chains complete")
    if to_file:
        _to_a_file(context.params)
        return
    inputs.check_new_run(out)
    machine = inputs.read_model(model, library)
    where, rows = options.where_in(asked), None
    if given is not None:
        rows = inputs.rows_for(machine, model, given, threshold, "train", missing=True)
    work = functools.partial(
        runs.sample, machine, out, n_chains, probabilities=probabilities, given=rows, chunks=chunks, library=library,
        layers=inputs.whole_numbers(layers, "--layers"), random_state=seed, **asked,
    )  # fmt: skip
    compute_run("sampling", out, work, as_json, where)


def _to_a_file(asked: dict[str, Any]) -> None:
    """Sample without a run, and write the last states to a file."""
    path, out, n_chains, data, chunks, library, given = (
        asked[name] for name in ("model", "out", "n_chains", "data", "chunks", "library", "given")
    )
    inputs.check_file(out)
    if chunks is not None and not is_lazy(inputs.library(library or nbm_xp.backend())):
        raise InputError("--chunks needs a library that computes in blocks, --library dask, or a folder as --out")
    machine = inputs.read_model(path, library)
    pixels = inputs.side(machine.n_features_in_)
    if out.suffix == ".png" and pixels is None:
        raise InputError(f"--out: {machine.n_features_in_} units make no square picture; write .npy or .npz")
    letters = _letters(path, machine, asked["probabilities"]) if inputs.is_alignment(out) else None
    start = {}
    if data is not None or given is not None:
        rows = inputs.rows_for(machine, path, data or given, asked["threshold"], "train", missing=given is not None)
        if data is not None and rows.shape[0] < n_chains:
            raise InputError(f"{data}: has {rows.shape[0]} rows, too few to start {n_chains} chains")
        rows = inputs.on_library(rows[:n_chains] if data is not None else rows, library)
        rows = rows.rechunk((chunks, -1)) if chunks and hasattr(rows, "rechunk") else rows
        start = {"given" if data is None else "initial": rows}
    began = time.perf_counter()
    states = machine.sample(
        n_chains, asked["n_sweeps"], **start, probabilities=asked["probabilities"],
        library=None if start else library, chunks=chunks, random_state=asked["seed"],
    )  # fmt: skip
    states = to_numpy(states)
    _write(states if out.suffix in (".npy", ".npz") else states.reshape(-1, states.shape[-1]), out, pixels, letters)
    seconds = round(time.perf_counter() - began, 3)
    found = {name: asked[name] for name in ("n_chains", "n_sweeps", "seed")}
    found |= {"model": str(path), "states": str(out), "seconds": seconds}
    answer(
        found,
        [f"{n_chains:,} chains, {asked['n_sweeps']:,} sweeps in {seconds:.1f} s", f"wrote {out}"],
        asked["as_json"],
    )


def _letters(path: Place, machine: Model, probabilities: bool) -> Alphabet:
    """Return the alphabet in which to write a machine's states."""
    found = inputs.alphabet_of(machine, inputs.notes_of(inputs.run_at(path)).get("alphabet"))
    if found is None:
        raise InputError(
            f"--out: {path} has visible units of kind {machine.visible}, which are no letters of sequences"
        )
    if probabilities:
        raise InputError("--probabilities are numbers: write .npy or .npz")
    return found


def _write(states: Array, out: Place, pixels: int | None, letters: Alphabet | None) -> None:
    if letters is not None:
        with inputs.input_errors():
            write_fasta(out, states, letters)
    elif out.suffix == ".png":
        from ..pictures.panels import draw_states

        draw_states(states, pixels or 1, out)
    elif out.suffix == ".npz":
        save_arrays(out, {"states": states})
    else:
        with replacing(out) as part:
            np.save(part, states, allow_pickle=False)
