"""The command demo: a machine learns handwritten digits, is evaluated, sampled and drawn, at once.

A large model shows what is possible; beside it a small one, whose partition function can be found exactly, shows that
the estimate by annealed importance sampling is right. Every number printed is computed here.
"""

from __future__ import annotations

import pathlib
import time
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM, SGD, AISEstimate
from nbm_xp.namespace import asarray, get_namespace, to_numpy

from ..errors import InputError
from ..inputs import check_place, digits
from ..output import console, signed, threads_for, work_bar
from . import options

__all__ = ["EXAMPLES", "Findings", "demo"]

EXAMPLES = "Example: [bold]nbm-xp demo --out demo[/bold] (well under a minute on two cores)"
EPOCHS = 400
LARGE: dict[str, Any] = {
    "n_components": 256,
    "learning_rate": 0.1,
    "batch_size": 20,
    "optimizer": SGD(weight_decay=1e-3),
    "n_gibbs": 5,
}
SMALL: dict[str, Any] = {"n_components": 16, "learning_rate": 0.1, "batch_size": 20, "n_gibbs": 5}
LADDERS = (30, 100, 300, 1000, 3000)
CHAINS, SWEEPS, LAST_SWEEPS = 100, 2000, 50


@dataclass
class Findings:
    """What the demo found, for its table and its picture."""

    train: Any
    test: Any
    baseline: tuple[float, float]
    large: RBM
    small: RBM
    exact: float
    estimates: dict[str, list[AISEstimate]]
    fantasies: Any
    curve: list[tuple[int, float, float]] = field(default_factory=list)


def demo(
    out: Annotated[pathlib.Path, typer.Option(help="The folder for the picture and the model.")] = pathlib.Path("demo"),
    seed: options.Seed = 0,
    n_iter: Annotated[int | None, typer.Option(min=1, help="Epochs: fewer are quicker, worse.")] = None,
) -> None:
    """Train an RBM on handwritten digits, estimate its log Z, sample it, and draw what it learnt."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out: {out} is not a folder")
    check_place(out)
    if (out / "run.json").is_file():
        raise InputError(f"--out: {out} holds a run: name another folder")
    out.mkdir(exist_ok=True)
    with threads_for(LARGE["batch_size"] * LARGE["n_components"] * 64):
        _run(out, seed, n_iter, console())


def _run(out: pathlib.Path, seed: int, n_iter: int | None, console: Console) -> None:
    """Do all of it; the picture and the model are written to a folder, which exists."""
    began = time.perf_counter()
    train, test = _split(seed)
    epochs = n_iter or EPOCHS
    console.print(
        f"[bold]handwritten digits[/bold]: {len(train) + len(test):,} scans of 8 × 8 pixels, ink or none; "
        f"{len(train):,} to train on, {len(test)} to test"
    )
    large, curve, speed = _learn("large model", LARGE, train, test, seed, epochs)
    small, _, _ = _learn("small model", SMALL, train, test, seed, epochs)
    console.print(f"trained {epochs} epochs, {speed:,.0f} scans/s for {large.n_components} hidden units")
    ladders = LADDERS if n_iter is None else LADDERS[:3]
    estimates = {
        name: [model.ais(200, length, random_state=seed + 1) for length in ladders]
        for name, model in (("large", large), ("small", small))
    }
    curve[-1] = (epochs, *_means(large, train, test, estimates["large"][-1].log_z))  # the best there is of the last
    findings = Findings(
        train=train,
        test=test,
        baseline=_independent_pixels(train, test),
        large=large,
        small=small,
        exact=small.log_partition(),
        estimates=estimates,
        fantasies=_fantasies(large, seed, console),
        curve=curve,
    )
    console.print(_table(findings))
    large.save(out / "model.safetensors")
    _draw(findings, out / "demo.png")
    console.print(f"wrote {out / 'demo.png'} and {out / 'model.safetensors'} after {time.perf_counter() - began:.0f} s")


def _split(seed: int) -> tuple[Any, Any]:
    """Four fifths to train on and one to test, each digit in both in proportion."""
    from sklearn.model_selection import train_test_split

    scans, labels = digits()
    train, test = train_test_split(scans, test_size=0.2, stratify=labels, random_state=seed)
    return train, test


def _learn(
    label: str, settings: dict[str, Any], train: Any, test: Any, seed: int, epochs: int
) -> tuple[RBM, list[tuple[int, float, float]], float]:
    """A model, its learning curve, and scans per second spent learning."""
    model = RBM(
        n_iter=epochs, schedule="linear", random_state=seed, diagnostics=False, **settings
    )  # it is evaluated below
    scored = {round(epochs ** (step / 14)) for step in range(15)}
    curve: list[tuple[int, float, float]] = []
    scoring = 0.0
    with work_bar(label, "rows", len(train)) as advance:

        def score(model: RBM) -> None:
            nonlocal scoring
            began = time.perf_counter()
            note = ""
            if model.n_iter_ in scored:
                of_train, of_test = _means(model, train, test, model.ais(100, 500, random_state=0).log_z)
                curve.append((model.n_iter_, of_train, of_test))
                note = f"log-likelihood {of_train:.2f} train, {of_test:.2f} test"
            scoring += time.perf_counter() - began
            advance(model.n_iter_, epochs, note)

        began = time.perf_counter()
        model.fit(train, callback=score)
        seconds = time.perf_counter() - began - scoring
    return model, curve, len(train) * epochs / seconds


def _means(model: RBM, train: Any, test: Any, log_z: float) -> tuple[float, float]:
    """Mean log-likelihoods in training and in testing."""
    of_train, of_test = (float(B.mean(model.log_likelihood(rows, log_z))) for rows in (train, test))
    return of_train, of_test


def _independent_pixels(train: Any, test: Any) -> tuple[float, float]:
    """Mean log-likelihoods of the model in which each pixel is ink as often as in training, whatever the others."""
    rate = (train.sum(axis=0) + 1.0) / (len(train) + 2.0)
    ink, none = np.log(rate), np.log(1.0 - rate)
    return float((train @ ink + (1 - train) @ none).mean()), float((test @ ink + (1 - test) @ none).mean())


def _fantasies(model: RBM, seed: int, console: Console) -> Any:
    """Digits that the model makes up; the last sweeps are computed twice, at once on NumPy and in blocks on Dask."""
    mixed = model.sample(CHAINS, SWEEPS, random_state=seed + 2)
    blocks = asarray(mixed, get_namespace("dask")).rechunk((17, -1))
    last: dict[str, Any] = {"n_chains": CHAINS, "n_sweeps": LAST_SWEEPS, "random_state": seed + 3}
    last["probabilities"] = True
    here = model.sample(initial=mixed, **last)
    there = to_numpy(model.sample(initial=blocks, **last))
    same = float(np.mean(np.all(np.abs(here - there) < 1e-3, axis=1)))
    console.print(
        f"{CHAINS} fantasies after {SWEEPS:,} sweeps and {LAST_SWEEPS} more, the latter on NumPy and on Dask in blocks "
        f"of 17: {same:.0%} of them agree"
    )
    console.print(f"uniforms on NumPy and on Dask: {_uniforms_agree(seed)}")
    return here


def _uniforms_agree(seed: int) -> str:
    """Draw the same uniforms on NumPy and, split unevenly, on Dask, and compare all their bits."""
    from nbm_xp.rng import Generator

    shape = (1000, 256)
    numpy_bits = Generator(seed + 1, library="numpy").random(shape, dtype="float32")
    drawn = Generator(seed + 1, library="dask").random(shape, dtype="float32", chunks=((300, 1, 699), (100, 156)))
    equal = np.array_equal(numpy_bits.view(np.uint32), to_numpy(drawn).view(np.uint32))
    if not equal:
        raise RuntimeError("uniforms on NumPy and on Dask differ: the random numbers are broken")
    return f"{shape[0] * shape[1]:,}, in uneven blocks, equal to the last bit"


def _table(findings: Findings) -> Table:
    table = Table(title="mean log-likelihood of a scan, in nats", title_justify="left")
    for name in ("model", "log Z", "±3 standard errors", "train", "test"):
        table.add_column(name, justify="left" if name == "model" else "right")
    table.add_row("independent pixels", "", "", *(f"{value:.2f}" for value in findings.baseline))
    for name, model in (("small", findings.small), ("large", findings.large)):
        found = findings.estimates[name][-1]
        label = f"RBM, {model.n_components} hidden, AIS"
        bounds = f"{found.log_z_low:.2f} to {found.log_z_high:.2f}"
        rows = [(label, found.log_z, bounds)]
        if name == "small":
            rows.append((f"RBM, {model.n_components} hidden, exact", findings.exact, ""))
        for label, log_z, spread in rows:
            means = _means(model, findings.train, findings.test, log_z)
            table.add_row(label, f"{log_z:.2f}", spread, *(f"{value:.2f}" for value in means))
    return table


def _draw(findings: Findings, path: pathlib.Path) -> None:
    """Draw what the demo found: data, fantasies, filters, the learning curve, and log Z with its error bars."""
    from ..pictures import panels

    with panels.drawn(path, 16, 10.4, arranged=False) as figure:
        grid = figure.add_gridspec(
            2, 3, height_ratios=(1.32, 1), left=0.055, right=0.985, top=0.865, bottom=0.068, hspace=0.19, wspace=0.2
        )
        figure.text(0.055, 0.952, "A restricted Boltzmann machine learns handwritten digits", size=21, weight="bold")
        figure.text(0.055, 0.918, _subtitle(findings), size=13.5, color=panels.SUBTLE)
        top, bottom = ([figure.add_subplot(grid[row, column]) for column in range(3)] for row in range(2))
        panels.images(top[0], findings.test[:100], 8, f"{min(len(findings.test), 100)} of the test scans")
        shown = min(len(findings.fantasies), 100)
        panels.images(top[1], findings.fantasies[:100], 8, f"{shown} fantasies of the model")
        panels.filters(top[2], findings.large.components_, 8, words="blue: ink, orange: none")
        epochs, train, test = zip(*findings.curve, strict=True)
        panels.level(bottom[0], findings.baseline[1], "independent pixels", epochs[-1])
        panels.learning_curve(bottom[0], epochs, {"train": train, "test": test}, "mean log-likelihood (nats)")
        for axes, name in zip(bottom[1:], ("small", "large"), strict=True):
            model = findings.small if name == "small" else findings.large
            title = f"Partition function, {model.components_.shape[0]} hidden units"
            found = [vars(estimate) for estimate in findings.estimates[name]]
            panels.convergence(axes, found, title, findings.exact if name == "small" else None)


def _subtitle(findings: Findings) -> str:
    epochs, _, test = findings.curve[-1]
    hidden = findings.large.components_.shape[0]
    return (
        f"{hidden} hidden units, {epochs} epochs over {len(findings.train):,} scans of 8 × 8 pixels. "
        f"Mean log-likelihood of {len(findings.test)} test scans: {signed(test)} nats; "
        f"independent pixels: {signed(findings.baseline[1])}."
    )
