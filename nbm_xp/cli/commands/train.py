"""The command train: train a machine in a directory, from which an interrupted training is resumed."""

from __future__ import annotations

import functools
import itertools
import pathlib
from typing import Annotated, Any

import typer

from nbm_xp import runs
from nbm_xp.boltzmann import DBM, RBM, SGD, TrainingMethod
from nbm_xp.boltzmann.sequences import sequence_weights
from nbm_xp.boltzmann.training_methods import METHODS, training_method
from nbm_xp.machines.units import kind_of

from .. import inputs
from ..output import InputError, threads_for
from ..results import compute_run
from . import options
from .project import print_projection

EXAMPLES = (
    "Examples: [bold]nbm-xp train --data digits --out run[/bold]\n\n"
    "[bold]nbm-xp train --data mnist.npz --held-out mnist.npz --n-components 500 --batch-size 100 --hours 1 --out mnist"
    "[/bold]\n\n[bold]nbm-xp resume mnist[/bold]"
)
_IDENTITY = 0.8  # share of equal sites at which two sequences share one weight
_NO_END = 1_000_000_000
_MODEL, _LEARNING, _RUN = "The model", "How it learns", "The run"

_model_option, _learning_option, _run_option = map(options.panel, (_MODEL, _LEARNING, _RUN))


@options.with_options_of(RBM, "n_components", "visible", "hidden", title=_MODEL)
@options.with_options_of(
    RBM, "n_iter", "batch_size", "learning_rate", "schedule", "n_gibbs",
    title=_LEARNING, n_iter=100, batch_size=20, schedule="linear",
)  # fmt: skip
@options.with_options_of(SGD, title=_LEARNING)
@options.with_options_of(TrainingMethod, "centred", title=_LEARNING)
@options.with_options_of(runs.train, "checkpoint_every", title=_RUN)
@options.with_options_of(options.Where)
def train(
    context: typer.Context,
    data: options.Data = "digits",
    out: Annotated[
        pathlib.Path, typer.Option(parser=options.path, help="The run's directory: model, configuration, log.")
    ] = pathlib.Path("run"),
    held_out: Annotated[
        str | None, typer.Option(help="Rows, as for --data, whose log-likelihood to estimate too.")
    ] = None,
    threshold: options.Threshold = None,
    layers: Annotated[
        str | None, _model_option("In place of --n-components, all layers of a deep Boltzmann machine: 784,500,1000.")
    ] = None,
    training: Annotated[str, _learning_option(f"The training method. One of {', '.join(METHODS)}.")] = "pcd",
    hours: Annotated[float | None, _learning_option("Learn for so long, in place of --n-iter.", min=1e-6)] = None,
    identity: Annotated[
        float | None,
        _learning_option(
            "Sequences that agree at this share of their sites share one vote, 0.8 by default; 0: all have one.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    project: Annotated[
        bool,
        _run_option("Print what the training will need, as `nbm-xp project` does, and do not begin.", "--project"),
    ] = False,
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    **learning: Any,
) -> None:
    """Train a machine on your data, in a directory with the model, its configuration and a log.

    An interrupted training is resumed by `nbm-xp resume` and ends with the same model, bit for bit.
    """
    given = functools.partial(options.is_given, context)
    for one, other, what in (
        ("layers", "n_components", "which hidden layers there are"),
        ("hours", "n_iter", "how long to learn"),
    ):
        if given(one) and given(other):
            raise InputError(f"--{other.replace('_', '-')} and --{one} both say {what}: give one of them")
    if not project:
        inputs.check_new_run(out)
    if library is not None:
        inputs.library(library)
    letters = inputs.alphabet_in(data)
    if letters is not None and not given("visible"):
        learning["visible"] = f"categorical:{letters.size}"
    with inputs.input_errors():
        values = kind_of(learning["visible"], "--visible", hidden=False).within
    rows = inputs.read_rows(data, threshold, "train", values, missing=True)
    held = None if held_out is None else inputs.read_rows(held_out, threshold, "valid", values, missing=True)
    if letters is None and identity is not None:
        raise InputError("--identity is for sequences, and --data has none")
    if letters is not None and identity is None:
        identity = _IDENTITY
    where, checkpoint_every = options.where_in(learning), learning.pop("checkpoint_every")
    model = _machine(learning | {"training": training}, rows, layers, hours, seed, given("schedule"))
    notes = {
        "data": inputs.absolute(data),
        "held_out": inputs.absolute(held_out),
        "threshold": threshold,
        "alphabet": None if letters is None else letters.name,
        "identity": identity,
    }

    asked = {
        "X": inputs.on_library(rows, library),
        "held_out": None if held is None else inputs.on_library(held, library),
        "sample_weight": sequence_weights(rows, identity) if identity else None,
        "hours": hours,
        "checkpoint_every": checkpoint_every,
        "notes": {name: value for name, value in notes.items() if value is not None},
    }
    if project:
        print_projection(runs.train, model, where, as_json, **asked)
        return

    widths = model.layers_for(rows.shape[1]).sizes
    with threads_for(model.batch_size * max((low * high for low, high in itertools.pairwise(widths)), default=0)):
        compute_run(
            "training", out, functools.partial(runs.train, model, out, **asked), as_json, where, unit="rows",
            scale=rows.shape[0], note=lambda model: "".join(map(str, model.diagnostics_[-1:])),
        )  # fmt: skip


def _machine(
    learning: dict[str, Any], rows: Any, layers: str | None, hours: float | None, seed: int, scheduled: bool
) -> RBM | DBM:
    """Create the machine from the options, and validate its hyperparameters."""
    n_components, kinds = learning.pop("n_components"), learning["hidden"].split(",")
    optimizer = SGD(**{name: learning.pop(name) for name in SGD().get_params()})
    learning |= {"optimizer": optimizer, "hidden": kinds[0] if len(kinds) == 1 else kinds, "random_state": seed}
    learning["batch_size"] = min(learning["batch_size"], rows.shape[0])
    if hours:
        learning["n_iter"] = _NO_END
    if learning["training"] == "ptt" and not scheduled:
        learning["schedule"] = "auto"
    with inputs.input_errors():
        learning["training"] = training_method(learning["training"]).set_params(centred=learning.pop("centred"))
        model: RBM | DBM
        if layers is None:
            model = RBM(n_components, **learning)
        else:
            model = DBM(inputs.whole_numbers(layers, "--layers"), **learning)
        model.check_hyperparameters()
        model.layers_for(rows.shape[1])
    return model
