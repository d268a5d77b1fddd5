"""The commands demo, train, sample and info: what they take, and what they say."""

from __future__ import annotations

import json
import math
import pathlib
import time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import nbm_xp
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import is_lazy, library_name, to_numpy
from nbm_xp.namespace.files import replacing, save_arrays

from . import reading
from .failing import Group, InputError
from .running import bar, threads_for

__all__ = ["app"]

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Boltzmann machines on NumPy, Dask, CuPy, PyTorch and JAX arrays: learnt, sampled, weighed.",
    epilog="Start with [bold]nbm-xp demo[/bold].",
)

Data = Annotated[str, typer.Option(help="A .npy file, an .npz file (file.npz:key picks an array), or a name: digits.")]
Library = Annotated[str | None, typer.Option(help="The library to compute in: numpy, dask, cupy, torch or jax.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Threshold = Annotated[float | None, typer.Option(help="Make values from this one upwards 1, those below 0.")]


def _version(asked: bool) -> None:
    if asked:
        _console().print(f"nbm-xp {nbm_xp.__version__}")
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


def _console() -> Console:
    """Where results are written; made anew, so that it follows redirections."""
    return Console(highlight=False, soft_wrap=True)


@app.command(epilog="Example: [bold]nbm-xp demo --out demo[/bold] (well under a minute on two cores)")
def demo(
    out: Annotated[pathlib.Path, typer.Option(help="The folder for the picture and the model.")] = pathlib.Path("demo"),
    seed: Seed = 0,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data: fewer are quicker, worse.")] = None,
) -> None:
    """Train an RBM on handwritten digits, weigh it, sample it, and draw what it learnt."""
    from .demo import LARGE, run

    if out.exists() and not out.is_dir():
        raise InputError(f"--out: {out} is not a folder")
    out.mkdir(parents=True, exist_ok=True)
    with threads_for(LARGE["batch_size"] * LARGE["n_components"] * 64):
        run(out, seed, epochs, _console())


@app.command(
    epilog="Examples: [bold]nbm-xp train --data digits --out model.npz[/bold]\n\n"
    "[bold]nbm-xp train --data mnist.npz:x_train --threshold 128 --hidden 500 --library cupy[/bold]"
)
def train(
    data: Data = "digits",
    out: Annotated[pathlib.Path, typer.Option(help="The .npz file for the model.")] = pathlib.Path("model.npz"),
    hidden: Annotated[int, typer.Option(min=1, help="Hidden units.")] = 256,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the data.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Rows in a minibatch.")] = 20,
    rate: Annotated[float, typer.Option(min=1e-9, max=1e3, help="Learning rate at the start; it falls to 0.")] = 0.1,
    gibbs: Annotated[int, typer.Option(min=1, help="Sweeps of the chains in each step.")] = 1,
    momentum: Annotated[float, typer.Option(min=0.0, max=0.9999, help="How much of the last step is repeated.")] = 0.0,
    decay: Annotated[float, typer.Option(min=0.0, max=1e3, help="Weight decay.")] = 0.0,
    persistent: Annotated[bool, typer.Option("--pcd/--cd", help="Persistent chains, or chains from the data.")] = True,
    threshold: Threshold = None,
    library: Library = None,
    seed: Seed = 0,
) -> None:
    """Train an RBM on your data, and save it."""
    reading.checked_out(out, ".npz")
    rows = reading.on_library(reading.read_data(data, threshold), library)
    if not math.isfinite(rate) or not math.isfinite(decay):
        raise InputError(f"--rate and --decay must be finite numbers, got {rate} and {decay}")
    model = RBM(
        hidden,
        learning_rate=rate,
        batch_size=min(batch, rows.shape[0]),
        n_iter=epochs,
        random_state=seed,
        persistent=persistent,
        n_gibbs=gibbs,
        momentum=momentum,
        weight_decay=decay,
        schedule="linear",
    )
    watched, every = rows[:1000], max(1, epochs // 50)
    products = model.batch_size * hidden * rows.shape[1]
    with threads_for(products), bar("training", epochs, rows.shape[0]) as advance:

        def look(model: RBM) -> None:
            due = model.n_iter_ % every == 0
            advance(model.n_iter_, f"pseudo-likelihood {_score(model, watched):.2f}" if due else "")

        began = time.perf_counter()
        model.fit(rows, callback=look)
        seconds = time.perf_counter() - began
    model.save(out)
    say = _console().print
    passes = "1 pass" if epochs == 1 else f"{epochs:,} passes"
    say(f"{rows.shape[0]:,} rows of {rows.shape[1]} on {library_name(rows)}, {passes} in {seconds:.1f} s")
    say(f"mean pseudo-likelihood {_score(model, watched):.2f}")
    say(f"wrote {out}")


def _score(model: RBM, rows: Any) -> float:
    return float(to_numpy(B.mean(model.score_samples(rows))))


@app.command(
    epilog="Examples: [bold]nbm-xp sample --model model.npz --out fantasies.png[/bold]\n\n"
    "[bold]nbm-xp sample --model model.npz --chains 100000 --library dask --chunks 5000[/bold]"
)
def sample(
    model: Annotated[pathlib.Path, typer.Option(help="A model that train or demo saved.")] = pathlib.Path("model.npz"),
    out: Annotated[
        pathlib.Path, typer.Option(help="A .npy or .npz file for the states, or a .png file for a picture of them.")
    ] = pathlib.Path("samples.npy"),
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 100,
    steps: Annotated[int, typer.Option(min=0, help="Sweeps of Gibbs sampling in each chain.")] = 1000,
    data: Annotated[str | None, typer.Option(help="Rows to start the chains from, as for train.")] = None,
    threshold: Threshold = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probabilities of the last states, in place of the states.")
    ] = False,
    chunks: Annotated[int | None, typer.Option(min=1, help="Chains in each block, with --library dask.")] = None,
    library: Library = None,
    seed: Seed = 0,
) -> None:
    """Sample a saved model, from its base rate or, with --data, from the first rows of your data."""
    reading.checked_out(out, ".npy", ".npz", ".png")
    if chunks is not None and not is_lazy(reading.library(library or nbm_xp.backend())):
        raise InputError("--chunks needs a library that computes in blocks: --library dask")
    machine = reading.read_model(model, library)
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
    if out.suffix == ".png":
        from .picture import draw_states

        draw_states(states, pixels or 1, out)
    elif out.suffix == ".npz":
        save_arrays(out, {"states": states})
    else:
        with replacing(out) as part:
            np.save(part, states, allow_pickle=False)
    _console().print(f"{chains:,} chains, {steps:,} sweeps in {seconds:.1f} s\nwrote {out}")


@app.command(
    epilog="Examples: [bold]nbm-xp info[/bold]\n\n[bold]nbm-xp info --data scans.npy --library torch --seed 7[/bold]"
)
def info(
    data: Annotated[str | None, typer.Option(help="Also describe this data, read as train reads it.")] = None,
    library: Library = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Also show the first random numbers of this seed.")] = None,
    out: Annotated[pathlib.Path | None, typer.Option(help="Also write all of it to this .json file.")] = None,
) -> None:
    """Versions, libraries found, devices and configuration, with the source of each value."""
    if out is not None:
        reading.checked_out(out, ".json")
    found = nbm_xp.info()
    lines = [nbm_xp.format_info()]
    if library is not None:
        found["library"] = library_name(reading.library(library))
        lines.append(f"library\n  {found['library']} can be used")
    if data is not None:
        found["data"] = _described(reading.read_data(data))
        lines += ["data", *(f"  {name:<18}{value}" for name, value in found["data"].items())]
    if seed is not None:
        found["uniforms"] = _first_uniforms(seed, library)
        lines.append(f"uniforms\n  seed {seed:<13}{' '.join(f'{value:.9f}' for value in found['uniforms'])} …")
    if out is not None:
        with replacing(out) as part:
            part.write_text(json.dumps(found, indent=2, default=str) + "\n", encoding="utf-8")
        lines.append(f"wrote {out}")
    _console().print("\n".join(lines), markup=False)


def _described(rows: Any) -> dict[str, Any]:
    return {
        "rows": rows.shape[0],
        "features": rows.shape[1],
        "dtype": str(rows.dtype),
        "mean": round(float(rows.mean()), 6),
        "binary": bool(((rows == 0) | (rows == 1)).all()),
    }


def _first_uniforms(seed: int, library: str | None) -> list[float]:
    """Four numbers to compare between machines and libraries: they are the same to the last bit."""
    from nbm_xp.boltzmann.randomness import stream

    with nbm_xp.use_backend(library or nbm_xp.backend()):
        drawn = B.eval(B.random_uniform((4,), dtype="float32", rng=stream(seed)))
    return [float(value) for value in to_numpy(drawn)]
