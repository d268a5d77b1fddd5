"""The command train: a machine learns your rows, in a directory that a broken-off training goes on in."""

from __future__ import annotations

import itertools
import math
import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs
from nbm_xp.boltzmann import DBM, RBM
from nbm_xp.boltzmann.hyperparameters import WAYS
from nbm_xp.boltzmann.schedules import SCHEDULES
from nbm_xp.boltzmann.sequences import sequence_weights
from nbm_xp.boltzmann.topology import hidden_kinds
from nbm_xp.machines.units import kind_of

from .. import alignments, finding, reading
from ..failing import InputError, resuming
from ..results import note, show_run
from ..running import bar, threads_for
from . import options

__all__ = ["EXAMPLES", "train"]

EXAMPLES = (
    "Examples: [bold]nbm-xp train --data digits --out run[/bold]\n\n"
    "[bold]nbm-xp train --data mnist.npz --held-out mnist.npz --hidden 500 --batch 100 --hours 1 --out mnist[/bold]\n\n"
    "[bold]nbm-xp resume mnist[/bold]"
)
_IDENTITY = 0.8  # at which two sequences count as one
_NO_END = 1_000_000_000

_model_option, _learning_option, _run_option = map(options.panel, ("The model", "How it learns", "The run"))


def train(
    context: typer.Context,
    data: options.Data = "digits",
    out: Annotated[
        pathlib.Path, typer.Option(help="The run's directory: model, learning curve, configuration, log.")
    ] = pathlib.Path("run"),
    held_out: Annotated[
        str | None, typer.Option(help="Rows, as for --data, whose log-likelihood to follow (by AIS at each look).")
    ] = None,
    threshold: options.Threshold = None,
    hidden: Annotated[int, _model_option("Hidden units.", min=1)] = 256,
    layers: Annotated[
        str | None, _model_option("In place of --hidden, all layers of a deep Boltzmann machine: 784,500,1000.")
    ] = None,
    identity: Annotated[
        float | None,
        _learning_option(
            "Sequences that agree at this share of their sites share one vote, 0.8 by default; 0: all have one.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    visible: Annotated[
        str,
        _model_option(
            "Visible units: binary, gaussian or normal (real numbers), spin (-1 and 1), categorical:Q (whole numbers "
            "from 0 to Q - 1), or several kinds in turn, 3*normal+2*binary."
        ),
    ] = "binary",
    hidden_units: Annotated[
        str,
        _model_option(
            "Hidden units: one of these, or relu (real numbers of at least 0); for --layers, one for all, or one for "
            "each hidden layer: spin,binary."
        ),
    ] = "binary",
    epochs: Annotated[int, _learning_option("Passes over the data.", min=0)] = 100,
    hours: Annotated[float | None, _learning_option("Learn for so long, in place of --epochs.", min=1e-6)] = None,
    centred: Annotated[
        bool | None,
        _learning_option(
            "Follow the gradient of centred units; with --layers by default.", flags=("--centred/--uncentred",)
        ),
    ] = None,
    batch: Annotated[int, _learning_option("Rows in a minibatch; at most all there are.", min=1)] = 20,
    rate: Annotated[float, _learning_option("Learning rate at the start.", min=1e-9, max=1e3)] = 0.1,
    schedule: Annotated[
        str | None,
        _learning_option(
            "How the rate falls: linear, quadratic, exponential, step, constant. Linear by default, quadratic with "
            "--training ptt."
        ),
    ] = None,
    gibbs: Annotated[int, _learning_option("Sweeps of chains in each step.", min=1)] = 1,
    momentum: Annotated[
        float | None,
        _learning_option(
            "How much of the last step is repeated: 0 by default, 0.75 with --training ptt.", min=0.0, max=0.9999
        ),
    ] = None,
    decay: Annotated[float, _learning_option("Weight decay.", min=0.0, max=1e3)] = 0.0,
    training: Annotated[
        str,
        _learning_option(
            "Where chains begin: pcd, where they were (persistent); cd, at the data; ptt, on a ladder of machines."
        ),
    ] = "pcd",
    look_every: Annotated[
        int | None,
        _run_option("Passes between looks at the model, a line of curve.jsonl each; 50 in all by default.", min=1),
    ] = None,
    checkpoint_every: Annotated[
        int | None, _run_option("Passes between checkpoints; one a minute by default.", min=1)
    ] = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Train a machine on your data, in a directory that holds all about it.

    A training that is interrupted is resumed by `nbm-xp resume`, and ends with the same model, to the last bit.
    """
    settings = dict(context.params) | {"layers": _sizes(layers)}
    _check_contradictions(context)
    finding.checked_new(out)
    letters = alignments.alphabet_in(data)
    if letters is not None and not options.given(context, "visible"):
        settings["visible"] = f"categorical:{letters.size}"
    _check(settings)
    rows, held = _rows(settings)
    if letters is None and identity is not None:
        raise InputError("--identity is for sequences, and --data has none")
    if letters is not None and identity is None:
        identity = _IDENTITY
    weights = sequence_weights(rows, identity) if identity else None
    with reading.saying():
        model = _model(settings, rows, seed)
    sizes = settings["layers"] or [rows.shape[1], hidden]
    products = model.batch_size * max(low * high for low, high in itertools.pairwise(sizes))
    notes = {
        "data": reading.absolute(data),
        "held_out": reading.absolute(held_out),
        "threshold": threshold,
        "alphabet": None if letters is None else letters.name,
        "identity": identity,
    }
    with (
        threads_for(products),
        resuming(out),
        reading.saying(),
        bar("training", model.n_iter, rows.shape[0]) as advance,
    ):
        run = runs.train(
            model,
            out,
            reading.on_library(rows, library),
            held_out=None if held is None else reading.on_library(held, library),
            sample_weight=weights,
            hours=hours,
            look_every=look_every,
            checkpoint_every=checkpoint_every,
            notes={name: value for name, value in notes.items() if value is not None},
            progress=advance,
            watch=lambda look: advance(look["pass"], model.n_iter, note(look)),
        )
    show_run(run, as_json)


def _check_contradictions(context: typer.Context) -> None:
    """Raise an error for what is said in two ways."""
    for one, other, what in (
        ("layers", "hidden", "--hidden and --layers both say which hidden layers there are"),
        ("hours", "epochs", "--hours and --epochs both say how long to learn"),
    ):
        if context.params[one] is not None and options.given(context, other):
            raise InputError(f"{what}: give one of them")


def _rows(settings: dict[str, Any]) -> tuple[Any, Any]:
    """The rows to learn, and those held out, or None."""
    within = kind_of(settings["visible"], "--visible", hidden=False).within
    rows = alignments.rows_for(settings["data"], settings["threshold"], "train", within)
    if settings["held_out"] is None:
        return rows, None
    held = alignments.rows_for(settings["held_out"], settings["threshold"], "valid", within)
    if held.shape[1] != rows.shape[1]:
        raise InputError(f"--held-out: {held.shape[1]} features, but --data has {rows.shape[1]}")
    return rows, held


def _model(settings: dict[str, Any], rows: Any, seed: int) -> Any:
    """A machine with what was asked for, which has learnt nothing yet."""
    learning = {
        "learning_rate": settings["rate"],
        "batch_size": min(settings["batch"], rows.shape[0]),
        "n_iter": _NO_END if settings["hours"] else settings["epochs"],
        "random_state": seed,
        "training": settings["training"],
        "n_gibbs": settings["gibbs"],
        "momentum": "auto" if settings["momentum"] is None else settings["momentum"],
        "weight_decay": settings["decay"],
        "schedule": settings["schedule"] or ("auto" if settings["training"] == "ptt" else "linear"),
        "visible": settings["visible"],
        "hidden": _hidden(settings),
    }
    if settings["centred"] is not None:
        learning["centred"] = settings["centred"]
    if settings["layers"] is None:
        return RBM(settings["hidden"], **learning)
    if settings["layers"][0] != rows.shape[1]:
        raise InputError(
            f"--layers must begin with the {rows.shape[1]} features of --data, got {settings['layers'][0]}"
        )
    return DBM(settings["layers"], **learning)


def _hidden(settings: dict[str, Any]) -> str | list[str]:
    """The kind of hidden units, or that of each hidden layer."""
    named: list[str] = settings["hidden_units"].split(",")
    return named[0] if len(named) == 1 else named


def _sizes(layers: str | None) -> list[int] | None:
    """The units of each layer."""
    if layers is None:
        return None
    sizes = [int(part) for part in layers.split(",") if part.strip().isdigit()]
    if len(sizes) != layers.count(",") + 1 or len(sizes) < 2 or min(sizes) < 1:
        raise InputError(
            f"--layers must be two or more whole numbers with commas between, as 784,500,1000, got {layers}"
        )
    return sizes


def _check(settings: dict[str, Any]) -> None:
    with reading.saying():
        kind_of(settings["visible"], "--visible", hidden=False)
        for name in hidden_kinds(_hidden(settings), max(1, len(settings["layers"] or ()) - 1), "--hidden-units"):
            kind_of(name, "--hidden-units")
    kinds = (("schedule", tuple(SCHEDULES)), ("training", WAYS))
    for name, allowed in kinds:
        if settings[name] is not None and settings[name] not in allowed:
            raise InputError(f"--{name} must be one of {', '.join(allowed)}, got {settings[name]}")
    for name in ("rate", "decay", "momentum", "hours"):
        value = settings[name]
        if value is not None and not math.isfinite(value):
            raise InputError(f"--{name} must be a finite number, got {value}")
    if settings["library"] is not None:
        reading.library(settings["library"])
