"""The command train: a machine learns your rows, in a directory from which an interrupted training is resumed."""

from __future__ import annotations

import itertools
import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs
from nbm_xp.boltzmann import DBM, RBM, SGD
from nbm_xp.boltzmann.sequences import sequence_weights
from nbm_xp.boltzmann.training_methods import training_method
from nbm_xp.machines.units import kind_of

from .. import inputs
from ..errors import InputError, resumable
from ..output import threads_for, work_bar
from ..results import score_note, show_run
from . import options

__all__ = ["EXAMPLES", "train"]

EXAMPLES = (
    "Examples: [bold]nbm-xp train --data digits --out run[/bold]\n\n"
    "[bold]nbm-xp train --data mnist.npz --held-out mnist.npz --n-components 500 --batch-size 100 --hours 1 --out mnist"
    "[/bold]\n\n[bold]nbm-xp resume mnist[/bold]"
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
        str | None, typer.Option(help="Rows, as for --data, whose log-likelihood to estimate at each score (by AIS).")
    ] = None,
    threshold: options.Threshold = None,
    n_components: Annotated[int, _model_option("Hidden units.", min=1)] = 256,
    layers: Annotated[
        str | None, _model_option("In place of --n-components, all layers of a deep Boltzmann machine: 784,500,1000.")
    ] = None,
    visible: Annotated[
        str,
        _model_option(
            "Visible units: binary, gaussian or normal (real numbers), spin (-1 and 1), categorical:Q (whole numbers "
            "from 0 to Q - 1), or several kinds in turn, 3*normal+2*binary."
        ),
    ] = "binary",
    hidden: Annotated[
        str,
        _model_option(
            "Hidden units: one of these, or relu (real numbers of at least 0); for --layers, one for all, or one for "
            "each hidden layer: spin,binary."
        ),
    ] = "binary",
    n_iter: Annotated[int, _learning_option("Epochs.", min=0)] = 100,
    hours: Annotated[float | None, _learning_option("Learn for so long, in place of --n-iter.", min=1e-6)] = None,
    centred: Annotated[
        bool | None,
        _learning_option(
            "Follow the gradient of centred units; with --layers by default.", flags=("--centred/--uncentred",)
        ),
    ] = None,
    batch_size: Annotated[int, _learning_option("Rows in a minibatch; at most all there are.", min=1)] = 20,
    learning_rate: Annotated[float, _learning_option("Learning rate at the start.", min=1e-9, max=1e3)] = 0.1,
    schedule: Annotated[
        str | None,
        _learning_option(
            "How the rate falls: linear, quadratic, exponential, step, constant. Linear by default, quadratic with ptt."
        ),
    ] = None,
    n_gibbs: Annotated[int, _learning_option("Sweeps of chains in each step.", min=1)] = 1,
    momentum: Annotated[
        float | None,
        _learning_option("How much of the last step is repeated: 0 by default, 0.75 with ptt.", min=0.0, max=0.9999),
    ] = None,
    weight_decay: Annotated[float, _learning_option("Weight decay.", min=0.0, max=1e3)] = 0.0,
    training: Annotated[
        str,
        _learning_option(
            "Where chains begin: pcd, where they were (persistent); cd, at the data; ptt, on a ladder of machines."
        ),
    ] = "pcd",
    identity: Annotated[
        float | None,
        _learning_option(
            "Sequences that agree at this share of their sites share one vote, 0.8 by default; 0: all have one.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    score_every: Annotated[
        int | None,
        _run_option("Epochs between scores of the model, a line of curve.jsonl each; 50 in all by default.", min=1),
    ] = None,
    checkpoint_every: Annotated[
        int | None, _run_option("Epochs between checkpoints; one a minute by default.", min=1)
    ] = None,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Train a machine on your data, in a directory that holds all about it.

    A training that is interrupted is resumed by `nbm-xp resume`, and ends with the same model, to the last bit.
    """
    for one, other, what in (
        ("layers", "n_components", "which hidden layers there are"),
        ("hours", "n_iter", "how long to learn"),
    ):
        if context.params[one] is not None and options.given(context, other):
            raise InputError(f"--{other.replace('_', '-')} and --{one} both say {what}: give one of them")
    inputs.check_new_run(out)
    letters = inputs.alphabet_in(data)
    if letters is not None and not options.given(context, "visible"):
        visible = f"categorical:{letters.size}"
    if library is not None:
        inputs.library(library)
    rows, held = _rows(data, held_out, threshold, visible)
    if letters is None and identity is not None:
        raise InputError("--identity is for sequences, and --data has none")
    if letters is not None and identity is None:
        identity = _IDENTITY
    weights = sequence_weights(rows, identity) if identity else None
    kinds = hidden.split(",")
    learning: dict[str, Any] = {
        "learning_rate": learning_rate,
        "n_gibbs": n_gibbs,
        "optimizer": SGD(momentum, weight_decay),
        "batch_size": min(batch_size, rows.shape[0]),
        "n_iter": _NO_END if hours else n_iter,
        "schedule": schedule or ("auto" if training == "ptt" else "linear"),
        "random_state": seed,
        "visible": visible,
        "hidden": kinds[0] if len(kinds) == 1 else kinds,
    }
    sizes = [rows.shape[1], n_components] if layers is None else inputs.whole_numbers(layers, "--layers")
    with inputs.input_errors():
        learning["training"] = training_method(training).set_params(centred=centred)
        model: Any = RBM(n_components, **learning) if layers is None else DBM(sizes, **learning)
    notes = {
        "data": inputs.absolute(data),
        "held_out": inputs.absolute(held_out),
        "threshold": threshold,
        "alphabet": None if letters is None else letters.name,
        "identity": identity,
    }
    with (
        threads_for(model.batch_size * max((low * high for low, high in itertools.pairwise(sizes)), default=0)),
        resumable(out),
        inputs.input_errors(),
        work_bar("training", "rows", rows.shape[0]) as advance,
    ):
        done = total = 0

        def progress(now: int, of: int) -> None:
            nonlocal done, total
            done, total = now, of
            advance(done, total)

        run = runs.train(
            model,
            out,
            inputs.on_library(rows, library),
            held_out=None if held is None else inputs.on_library(held, library),
            sample_weight=weights,
            hours=hours,
            score_every=score_every,
            checkpoint_every=checkpoint_every,
            notes={name: value for name, value in notes.items() if value is not None},
            progress=progress,
            on_score=lambda line: advance(done, total, score_note(line)),
        )
    show_run(run, as_json)


def _rows(data: str, held_out: str | None, threshold: float | None, visible: str) -> tuple[Any, Any]:
    """The rows to learn, and those held out, or None."""
    with inputs.input_errors():
        values = kind_of(visible, "--visible", hidden=False).within
    rows = inputs.read_rows(data, threshold, "train", values)
    if held_out is None:
        return rows, None
    held = inputs.read_rows(held_out, threshold, "valid", values)
    if held.shape[1] != rows.shape[1]:
        raise InputError(f"--held-out: {held.shape[1]} features, but --data has {rows.shape[1]}")
    return rows, held
