"""The demo's page: what it found, on one picture."""

from __future__ import annotations

import pathlib

from ..answering import signed
from ..findings import Findings
from . import panels
from .look import SUBTLE, drawn

__all__ = ["draw_findings"]


def draw_findings(findings: Findings, path: pathlib.Path) -> None:
    """Draw what the demo found: data, fantasies, filters, the learning curve, and log Z with its error bars."""
    with drawn(path, 16, 10.4, arranged=False) as figure:
        grid = figure.add_gridspec(
            2, 3, height_ratios=(1.32, 1), left=0.055, right=0.985, top=0.865, bottom=0.068, hspace=0.19, wspace=0.2
        )
        figure.text(0.055, 0.952, "A restricted Boltzmann machine learns handwritten digits", size=21, weight="bold")
        figure.text(0.055, 0.918, _subtitle(findings), size=13.5, color=SUBTLE)
        top, bottom = ([figure.add_subplot(grid[row, column]) for column in range(3)] for row in range(2))
        panels.images(top[0], findings.test[:100], 8, f"{min(len(findings.test), 100)} of the test scans")
        shown = min(len(findings.fantasies), 100)
        panels.images(top[1], findings.fantasies[:100], 8, f"{shown} fantasies of the model")
        panels.filters(top[2], findings.large.components_, 8, words="blue: ink, orange: none")
        passes, train, test = zip(*findings.curve, strict=True)
        panels.level(bottom[0], findings.baseline[1], "independent pixels", passes[-1])
        panels.learning_curve(bottom[0], passes, {"train": train, "test": test}, "mean log-likelihood (nats)")
        for axes, name in zip(bottom[1:], ("small", "large"), strict=True):
            model = findings.small if name == "small" else findings.large
            title = f"Partition function, {model.components_.shape[0]} hidden units"
            found = [vars(estimate) for estimate in findings.estimates[name]]
            panels.convergence(axes, found, title, findings.exact if name == "small" else None)


def _subtitle(findings: Findings) -> str:
    passes, _, test = findings.curve[-1]
    hidden = findings.large.components_.shape[0]
    return (
        f"{hidden} hidden units, {passes} passes over {len(findings.train):,} scans of 8 × 8 pixels. "
        f"Mean log-likelihood of {len(findings.test)} test scans: {signed(test)} nats; "
        f"independent pixels: {signed(findings.baseline[1])}."
    )
