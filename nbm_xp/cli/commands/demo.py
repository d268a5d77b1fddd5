"""The command demo: train an RBM on handwritten digits, evaluate it, sample it and plot the results.

A small model with an exact partition function beside the large one shows that the estimate by annealed importance
sampling is correct. All printed numbers are computed during the demo.
"""

from __future__ import annotations

import pathlib
import tempfile
import time
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from nbm_xp import natural_bm as B
from nbm_xp import runs
from nbm_xp.boltzmann import RBM, SGD, AISEstimate
from nbm_xp.machines import Array

from .. import inputs
from ..output import WorkBar, console, signed, threads_for
from . import options

EXAMPLES = "Example: [bold]nbm-xp demo --out demo[/bold] (well under a minute on two cores)"
EPOCHS = 400
SETTINGS: dict[str, dict[str, Any]] = {
    "small": {"n_components": 16},
    "large": {"n_components": 256, "optimizer": SGD(weight_decay=1e-3)},
}
LADDERS = (30, 100, 300, 1000, 3000)
CHAINS, SWEEPS = 100, 2000
_FOLLOWED = (1, 2, 5, 10, 20, 50, 100, 200)  # epochs


@dataclass
class Learnt:
    """A trained model and its evaluation."""

    model: RBM
    curve: list[tuple[int, float, float]]
    scans_per_second: float
    estimates: list[AISEstimate]
    exact: float | None

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return int(self.model.components_.shape[0])


def _means(model: RBM, rows: tuple[Array, Array], log_z: float) -> tuple[float, float]:
    """Return the mean log-likelihoods of the training and the test rows."""
    train, test = (float(B.mean(model.log_likelihood(part, log_z))) for part in rows)
    return train, test


def demo(
    out: Annotated[pathlib.Path, typer.Option(help="The folder for the picture and the model.")] = pathlib.Path("demo"),
    seed: options.Seed = 0,
    n_iter: Annotated[int | None, typer.Option(min=1, help="Epochs: fewer are quicker, worse.")] = None,
) -> None:
    """Train an RBM on handwritten digits, estimate its log Z, sample it, and plot the results."""
    if not (out / "demo.png").is_file():  # results of an earlier demo are replaced
        inputs.check_new_run(out)
    out.mkdir(exist_ok=True)
    began, show, epochs = time.perf_counter(), console().print, n_iter or EPOCHS
    rows = inputs.read_rows("digits:train"), inputs.read_rows("digits:test")
    show(
        f"[bold]handwritten digits[/bold]: {sum(map(len, rows)):,} scans of 8 × 8 pixels, ink or none; "
        f"{len(rows[0]):,} to train on, {len(rows[1])} to test"
    )
    with threads_for(20 * 256 * 64):
        ladders = LADDERS if n_iter is None else LADDERS[:3]
        found = {
            name: _learnt(f"{name} model", settings, rows, seed, epochs, ladders) for name, settings in SETTINGS.items()
        }
        large = found["large"]
        show(f"trained {epochs} epochs, {large.scans_per_second:,.0f} scans/s for {large.n_hidden} hidden units")
        fantasies = large.model.sample(CHAINS, SWEEPS, probabilities=True, random_state=seed + 2)
    baseline = _independent_pixels(rows)
    show(_table(found, rows, baseline))
    large.model.save(out / "model.safetensors")
    _draw(found, rows, baseline, fantasies, out / "demo.png")
    show(f"wrote {out / 'demo.png'} and {out / 'model.safetensors'} after {time.perf_counter() - began:.0f} s")


def _learnt(
    label: str, settings: dict[str, Any], rows: tuple[Array, Array], seed: int, epochs: int, ladders: tuple[int, ...]
) -> Learnt:
    """Train a model in a temporary run, and estimate its log Z with an increasing number of temperatures."""
    asked = RBM(
        learning_rate=0.1, batch_size=20, n_gibbs=5, n_iter=epochs, schedule="linear", random_state=seed,
        diagnostics=False, **settings,
    )  # fmt: skip
    curve: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory() as folder, WorkBar(label, "rows", len(rows[0])) as bar:

        def follow(model: RBM) -> None:
            if (epoch := model.n_iter_) in _FOLLOWED or epoch == epochs:
                curve.append((epoch, *_means(model, rows, model.ais(100, 1000, random_state=0).log_z)))
                bar.note(f"held-out log-likelihood {signed(curve[-1][2], 2)}")

        run = runs.train(asked, pathlib.Path(folder) / "run", rows[0], progress=bar.show, callback=follow)
        model, seconds = runs.trained_model(run.path), runs.read_result(run.path)["seconds"]
    estimates = [model.ais(200, length, random_state=seed + 1) for length in ladders]
    exact = model.log_partition() if settings is SETTINGS["small"] else None
    curve[-1] = (epochs, *_means(model, rows, estimates[-1].log_z))  # the most precise estimate, of the last epoch
    return Learnt(model, curve, len(rows[0]) * epochs / seconds, estimates, exact)


def _independent_pixels(rows: tuple[Array, Array]) -> tuple[float, float]:
    """Return the mean log-likelihoods of the model of independent pixels, fitted to the training rows."""
    rate = (rows[0].sum(axis=0) + 1.0) / (len(rows[0]) + 2.0)
    train, test = (float((part @ np.log(rate) + (1 - part) @ np.log(1.0 - rate)).mean()) for part in rows)
    return train, test


def _table(found: dict[str, Learnt], rows: tuple[Array, Array], baseline: tuple[float, float]) -> Table:
    table = Table(title="mean log-likelihood of a scan, in nats", title_justify="left")
    for name in ("model", "log Z", "±3 standard errors", "train", "test"):
        table.add_column(name, justify="left" if name == "model" else "right")
    table.add_row("independent pixels", "", "", *(f"{value:.2f}" for value in baseline))
    for learned in found.values():
        best = learned.estimates[-1]
        known = [("AIS", best.log_z, f"{best.log_z_low:.2f} to {best.log_z_high:.2f}")]
        if learned.exact is not None:
            known.append(("exact", learned.exact, ""))
        for how, log_z, spread in known:
            means = (f"{value:.2f}" for value in _means(learned.model, rows, log_z))
            table.add_row(f"RBM, {learned.n_hidden} hidden, {how}", f"{log_z:.2f}", spread, *means)
    return table


def _draw(
    found: dict[str, Learnt],
    rows: tuple[Array, Array],
    baseline: tuple[float, float],
    fantasies: Array,
    path: pathlib.Path,
) -> None:
    """Plot the results: data, samples, filters, the learning curve, and log Z with its error bars."""
    from ..pictures import panels

    large = found["large"]
    epochs, train, test = zip(*large.curve, strict=True)
    subtitle = (
        f"{large.n_hidden} hidden units, {epochs[-1]} epochs over {len(rows[0]):,} scans of 8 × 8 pixels. "
        f"Mean log-likelihood of {len(rows[1])} test scans: {signed(test[-1])} nats; "
        f"independent pixels: {signed(baseline[1])}."
    )
    with panels.drawn(path, 16, 10.4, arranged=False) as figure:
        grid = figure.add_gridspec(
            2, 3, height_ratios=(1.32, 1), left=0.055, right=0.985, top=0.865, bottom=0.068, hspace=0.19, wspace=0.2
        )
        figure.text(0.055, 0.952, "A restricted Boltzmann machine learns handwritten digits", size=21, weight="bold")
        figure.text(0.055, 0.918, subtitle, size=13.5, color=panels.SUBTLE)
        top, bottom = ([figure.add_subplot(grid[row, column]) for column in range(3)] for row in range(2))
        panels.images(top[0], rows[1][:100], 8, "100 test images")
        panels.images(top[1], fantasies, 8, f"{len(fantasies)} samples of the model")
        panels.filters(top[2], large.model.components_, 8, words="blue: ink, orange: none")
        name = f"independent pixels {signed(baseline[1])}"
        bottom[0].axhline(baseline[1], color=panels.GREY, linestyle="--", label=name)
        panels.learning_curve(bottom[0], epochs, {"train": train, "test": test}, "mean log-likelihood (nats)")
        for axes, learned in zip(bottom[1:], found.values(), strict=True):
            title = f"Partition function, {learned.n_hidden} hidden units"
            panels.convergence(axes, [vars(estimate) for estimate in learned.estimates], title, learned.exact)
