"""The command sample: the last states of chains, at once, to a file; or a run of chains with all draws on disk."""

from __future__ import annotations

import pathlib
import time
from typing import Annotated, Any

import numpy as np
import typer

import nbm_xp
from nbm_xp import runs
from nbm_xp.boltzmann.sequences import Alphabet
from nbm_xp.files import replacing
from nbm_xp.namespace import is_lazy, to_numpy
from nbm_xp.runs import RunDirectory
from nbm_xp.runs.copies import digest_of_model
from nbm_xp.storage.arrays import save_arrays

from .. import alignments, finding, reading
from ..answering import answer
from ..computing import computers
from ..failing import InputError, going_on
from ..running import amount
from . import options

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = (
    "Examples: [bold]nbm-xp sample --model run --out fantasies.png[/bold]\n\n"
    "[bold]nbm-xp sample --model run --out chains --chains 1000 --draws 500 --thin 10 --burn-in 1000[/bold]\n\n"
    "[bold]nbm-xp sample --resume --out chains --scheduler tcp://10.0.0.5:8786[/bold]"
)
_FILES = (".npy", ".npz", ".png")
_NOT_OURS = (".csv", ".gif", ".h5", ".hdf5", ".jpeg", ".jpg", ".json", ".mat", ".nc", ".parquet", ".pdf", ".svg")
"""Endings of files that are not written; a folder for a run is not called so by intention."""
_to_file, _to_run = map(options.panel, ("To a file: the last states", "To a folder: a run that keeps all draws"))


def sample(
    context: typer.Context,
    model: options.Model = pathlib.Path("run"),
    out: Annotated[
        pathlib.Path,
        typer.Option(
            help="A .npy or .npz file for states, a .png file for a picture (of units that fill a square), a .fasta "
            "file for sequences; any other name is a folder for a run."
        ),
    ] = pathlib.Path("samples.npy"),
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 100,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probabilities of states, in place of the states.")
    ] = False,
    steps: Annotated[int, _to_file("Sweeps of Gibbs sampling in each chain.", min=0)] = 1000,
    data: Annotated[str | None, _to_file("Rows to start the chains from, as for train.")] = None,
    threshold: Annotated[float | None, _to_file("For --data, as for train.")] = None,
    draws: Annotated[int, _to_run("Draws to keep of each chain.", min=1)] = 1000,
    thin: Annotated[int, _to_run("Sweeps from draw to draw.", min=1)] = 1,
    burn_in: Annotated[int, _to_run("Sweeps before the first draw.", min=0)] = 0,
    layers: Annotated[str, _to_run("Layers to keep, 0 being the visible one: 0,1.")] = "0",
    checkpoint_every: Annotated[int | None, _to_run("Draws of a block that go to disk at once.", min=1)] = None,
    resume: options.Resume = False,
    chunks: options.Chunks = None,
    scheduler: options.Scheduler = "threads",
    workers: options.Workers = None,
    memory_limit: options.MemoryLimit = None,
    worker_timeout: options.WorkerTimeout = 600.0,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Sample a model: the last states of chains, to a file; or, to a folder, a run that keeps all draws.

    A run's draws are the same, bit for bit, wherever they are computed and however often it was broken off.
    """
    if out.suffix not in _FILES and out.suffix.lower() in (*_FILES, *_NOT_OURS) and not out.is_dir():
        raise InputError(f"--out must be a file ({', '.join(_FILES)}) or a folder for a run, got {out}")
    others = _OF_A_RUN if out.suffix in _FILES or alignments.is_alignment(out) else _OF_A_FILE
    wrong = [name for name in others if options.given(context, name)]
    if wrong:
        kind = "a folder for a run" if others is _OF_A_RUN else f"a file ({', '.join(_FILES)})"
        raise InputError(f"--{wrong[0].replace('_', '-')} is for --out with {kind}, got --out {out}")
    if threshold is not None and data is None:
        raise InputError("--threshold is for the rows of --data")
    if others is _OF_A_FILE:
        _to_a_run(context, out, as_json)
    else:
        _to_a_file(model, out, chains, steps, data, threshold, probabilities, chunks, library, seed, as_json)


_OF_A_FILE = ("steps", "data", "threshold")
_OF_A_RUN = (
    "draws",
    "thin",
    "burn_in",
    "layers",
    "checkpoint_every",
    "resume",
    "scheduler",
    "workers",
    "memory_limit",
    "worker_timeout",
)


def _to_a_run(context: typer.Context, out: pathlib.Path, as_json: bool) -> None:
    """Begin a run, or go on with one, whose directory says what was not said here."""
    asked = context.params
    there = finding.run_to_go_on_with(out, "sample") if asked["resume"] else None
    if not asked["resume"]:
        finding.checked_new(out)
    settings = {
        "n_chains": asked["chains"],
        "n_draws": asked["draws"],
        "thin": asked["thin"],
        "burn_in": asked["burn_in"],
        "probabilities": asked["probabilities"],
        "layers": _layers(asked["layers"]),
        "chunks": asked["chunks"],
        "checkpoint_every": asked["checkpoint_every"],
        "library": asked["library"],
        "seed": asked["seed"],
    }
    machine: Any = None
    if there is None or options.given(context, "model"):
        machine = finding.read_model(asked["model"], asked["library"])
    if there is not None:
        said = {
            name: settings[name] for name, of in zip(settings, _SETTINGS, strict=True) if options.given(context, of)
        }
        seed = said.pop("seed", None)
        with reading.saying():
            there.agree(said | ({} if machine is None else {"model": digest_of_model(machine)}), seed)
    began = time.perf_counter()
    with (
        computers(asked["scheduler"], asked["workers"], asked["memory_limit"], asked["worker_timeout"]) as workers,
        amount("sampling") as advance,
        going_on(f"nbm-xp sample --resume --out {out}"),
        reading.saying(),
    ):
        if there is None:
            run = runs.sample(machine, out, **settings, scheduler=workers, progress=advance)
        else:
            run = runs.resume(out, scheduler=workers, progress=advance)
        dashboard = workers.dashboard
    found = {**_told(run), "seconds": round(time.perf_counter() - began, 3), "dashboard": dashboard}
    of = f"{found['chains']:,} chains, {found['draws']:,} draws each"
    answer(found, [f"{of}, in {found['seconds']:.1f} s", f"wrote {found['samples']}"], as_json)


_SETTINGS = (
    "chains",
    "draws",
    "thin",
    "burn_in",
    "probabilities",
    "layers",
    "chunks",
    "checkpoint_every",
    "library",
    "seed",
)


def _layers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--layers must be whole numbers with commas between, got {text}") from error


def _told(run: RunDirectory) -> dict[str, Any]:
    asked = run.configuration
    return {
        "run": str(run.path),
        "samples": str(run.path / "samples.zarr"),
        "chains": asked["n_chains"],
        "draws": asked["n_draws"],
        "thin": asked["thin"],
        "burn_in": asked["burn_in"],
        "layers": asked["layers"],
        "seed": run.seed,
        "library": asked["library"],
    }


def _to_a_file(
    model: pathlib.Path,
    out: pathlib.Path,
    chains: int,
    steps: int,
    data: str | None,
    threshold: float | None,
    probabilities: bool,
    chunks: int | None,
    library: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Sample at once, and write the last states."""
    reading.checked_out(out, *(() if alignments.is_alignment(out) else _FILES))
    if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
        raise InputError("--chunks needs a library that computes in blocks, --library dask, or a folder as --out")
    machine = finding.read_model(model, library)
    pixels = reading.side(machine.n_features_in_)
    if out.suffix == ".png" and pixels is None:
        raise InputError(f"--out: {machine.n_features_in_} units make no square picture; write .npy or .npz")
    letters = _letters(model, machine, probabilities) if alignments.is_alignment(out) else None
    start = None
    if data is not None:
        rows = alignments.rows_for(data, threshold, "train", finding.within(machine))
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
    _write(states, out, pixels, letters)
    found = {"model": str(model), "states": str(out), "chains": chains, "sweeps": steps, "seconds": round(seconds, 3)}
    answer(found, [f"{chains:,} chains, {steps:,} sweeps in {seconds:.1f} s", f"wrote {out}"], as_json)


def _letters(path: pathlib.Path, machine: Any, probabilities: bool) -> Alphabet:
    """The alphabet that a machine's states are written in."""
    run = finding.run_at(path)
    found = alignments.alphabet_of_run(machine, None if run is None else run.configuration.get("alphabet"))
    if found is None:
        raise InputError(
            f"--out: {path} has visible units of kind {machine.visible}, which are no letters of sequences"
        )
    if probabilities:
        raise InputError("--probabilities are numbers: write .npy or .npz")
    return found


def _write(states: Any, out: pathlib.Path, pixels: int | None, letters: Alphabet | None) -> None:
    if letters is not None:
        alignments.drawn_sequences(states, letters, out)
    elif out.suffix == ".png":
        from ..pictures.drawing import draw_states

        draw_states(states, pixels or 1, out)
    elif out.suffix == ".npz":
        save_arrays(out, {"states": states})
    else:
        with replacing(out) as part:
            np.save(part, states, allow_pickle=False)
