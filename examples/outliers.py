"""Outliers by the free energy of a machine, beside isolation forests: one class of rows is not in the training data."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbm_xp.boltzmann import RBM, OutlierDetector

DATA = {"digits": load_digits, "breast_cancer": load_breast_cancer, "wine": load_wine}


def detectors(data: str, n_iter: int, seed: int) -> list:
    """A machine and a forest."""
    how = {"batch_size": 20, "schedule": "linear", "diagnostics": False, "random_state": seed}
    if data == "digits":
        ours = OutlierDetector(RBM(64, 0.1, n_iter=n_iter, **how))
    else:
        machine = RBM(16, 0.05, n_iter=2 * n_iter, visible="normal", **how)
        ours = make_pipeline(StandardScaler(), OutlierDetector(machine))
    return [ours, IsolationForest(random_state=seed)]


def areas(data: str, n_iter: int, seed: int) -> np.ndarray:
    """Areas under the ROC curve, means over the classes left out: train on half of the other rows, test on the rest."""
    rows, labels = DATA[data](return_X_y=True)
    rows = rows / 16 if data == "digits" else rows
    found = []
    for outlying in np.unique(labels):
        normal = np.random.default_rng(seed).permutation(np.flatnonzero(labels != outlying))
        train, test = np.split(normal, [len(normal) // 2])
        test = np.concatenate([test, np.flatnonzero(labels == outlying)])
        scores = [each.fit(rows[train]).score_samples(rows[test]) for each in detectors(data, n_iter, seed)]
        found.append([roc_auc_score(labels[test] != outlying, score) for score in scores])
    return np.mean(found, axis=0)


def main(picture: str = "outliers.png", n_seeds: int = 5, n_iter: int = 100) -> dict[str, np.ndarray]:
    """Return the means over the seeds of the areas of both, and print them with standard deviations."""
    found = {data: np.array([areas(data, n_iter, seed) for seed in range(n_seeds)]) for data in DATA}
    means, spread = ([f(areas, axis=0) for areas in found.values()] for f in (np.mean, np.std))
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes, places = figure.subplots(), np.arange(len(DATA))
    for which, name in enumerate(["OutlierDetector(RBM)", "IsolationForest"]):
        heights, errors = (np.array(part)[:, which] for part in (means, spread))
        axes.bar(places + 0.4 * which - 0.2, heights, 0.35, yerr=errors, label=name)
        print(name, *(f"{data} {mean:.3f} ± {sd:.3f}" for data, mean, sd in zip(DATA, heights, errors, strict=True)))
    axes.set(xticks=places, xticklabels=DATA, ylim=(0.5, 1.0), ylabel="area under the ROC curve")
    axes.legend()
    figure.savefig(picture, dpi=100)
    return dict(zip(DATA, means, strict=True))


if __name__ == "__main__":
    main(*sys.argv[1:2])
