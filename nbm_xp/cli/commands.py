"""The commands demo, train, sample and info: what they take, and what they say."""

from __future__ import annotations

import json
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
from nbm_xp.namespace.files import replacing

from .failing import BadInput, Group
from .progress import bar
from .reading import checked_out, library, on_library, read_data, read_model, saying, side

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

Data = Annotated[
    str, typer.Option(help="A .npy file, an .npz file (file.npz:key chooses an array), or a name: digits.")
]
MaybeData = Annotated[
    str | None, typer.Option(help="A .npy file, an .npz file (file.npz:key chooses an array), or a name: digits.")
]
Library = Annotated[
    str | None, typer.Option(help="The array library to compute in: numpy, dask, cupy, torch, jax.")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Threshold = Annotated[
    float | None, typer.Option(help="Make values from this one upwards 1, and those below 0.")
]


def console() -> Console:
    """Where results are written; made anew, so that it follows redirections."""
    return Console(highlight=False, soft_wrap=True)


@app.command(epilog="[bold]nbm-xp demo[/bold]   [dim]a few tens of seconds on two cores[/dim]")
def demo(
    out: Annotated[pathlib.Path, typer.Option(help="The folder for the picture and the model.")] = pathlib.Path("demo"),
    seed: Seed = 0,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the data, for a quicker and worse model.")
    ] = None,
) -> None:
    """Train an RBM on handwritten digits, weigh it, sample it, and draw what it learnt."""
    from .demo import run

    if out.exists() and not out.is_dir():
        raise BadInput(f"--out: {out} is not a folder")
    out.mkdir(parents=True, exist_ok=True)
    run(out, seed, epochs, console())


@app.command(
    epilog="[bold]nbm-xp train --data digits --out model.npz[/bold]\n\n"
    "[bold]nbm-xp train --data mnist.npz:x_train --threshold 128 --hidden 500 --library cupy[/bold]"
)
def train(
    data: Data = "digits",
    out: Annotated[pathlib.Path, typer.Option(help="The .npz file for the model.")] = pathlib.Path("model.npz"),
    hidden: Annotated[int, typer.Option(min=1, help="Hidden units.")] = 256,
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the data.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Rows in a minibatch.")] = 20,
    rate: Annotated[float, typer.Option(min=1e-12, help="Learning rate at the start; it falls linearly.")] = 0.1,
    gibbs: Annotated[int, typer.Option(min=1, help="Sweeps of the chains in each step.")] = 1,
    momentum: Annotated[float, typer.Option(min=0.0, max=0.999999, help="Momentum.")] = 0.0,
    decay: Annotated[float, typer.Option(min=0.0, help="Weight decay.")] = 0.0,
    persistent: Annotated[bool, typer.Option("--pcd/--cd", help="Persistent chains, or chains from the data.")] = True,
    threshold: Threshold = None,
    library_: Annotated[str | None, typer.Option("--library", help="The array library to compute in.")] = None,
    seed: Seed = 0,
) -> None:
    """Train an RBM on your data, and save it."""
    checked_out(out, ".npz")
    rows = on_library(read_data(data, threshold), library_)
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
    watched = rows[: min(rows.shape[0], 1000)]
    every = max(1, epochs // 50)
    with saying(data), bar("training", epochs, rows.shape[0]) as advance:

        def look(model: RBM) -> None:
            seen = model.n_iter_ % every == 0
            score = f"pseudo-likelihood {_mean(model.score_samples(watched)):.2f}" if seen else ""
            advance(model.n_iter_, score)

        began = time.perf_counter()
        model.fit(rows, callback=look)
        seconds = time.perf_counter() - began
    model.save(out)
    say = console().print
    say(f"{rows.shape[0]:,} rows of {rows.shape[1]}, {hidden} hidden units, {epochs} passes in {seconds:.1f} s "
        f"on {library_name(rows)}")
    say(f"pseudo-likelihood {_mean(model.score_samples(watched)):.2f}")
    say(f"model: {out}")


def _mean(values: Any) -> float:
    return float(to_numpy(B.mean(values)))


@app.command(
    epilog="[bold]nbm-xp sample --model model.npz --out fantasies.png[/bold]\n\n"
    "[bold]nbm-xp sample --model model.npz --chains 100000 --library dask --chunks 5000 --out samples.npy[/bold]"
)
def sample(
    model: Annotated[pathlib.Path, typer.Option(help="A model that train or demo saved.")] = pathlib.Path("model.npz"),
    out: Annotated[
        pathlib.Path, typer.Option(help="A .npy or .npz file for the states, or a .png file for a picture of them.")
    ] = pathlib.Path("samples.npy"),
    chains: Annotated[int, typer.Option(min=1, help="Independent chains.")] = 100,
    steps: Annotated[int, typer.Option(min=0, help="Sweeps of Gibbs sampling in each chain.")] = 1000,
    data: MaybeData = None,
    threshold: Threshold = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities of the last states, in place of the states.")
    ] = False,
    chunks: Annotated[int | None, typer.Option(min=1, help="Chains in each block, with dask.")] = None,
    library_: Annotated[str | None, typer.Option("--library", help="The array library to compute in.")] = None,
    seed: Seed = 0,
) -> None:
    """Sample a saved model: by default from its base rate, with --data from the first rows of your data."""
