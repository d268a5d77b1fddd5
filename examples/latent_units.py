"""Latent units: a Boltzmann machine on two joined grids learns digits with their labels, and classifies by clamping."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from nbm_xp.graphs import GraphMachine

DIGITS, SPOTS, LENGTH, JUMPS = (0, 3, 4), 10, 12, (1, 3, 5)


def double_grid() -> np.ndarray:
    """Return the edges that join each unit of a periodic grid with units of a second grid, near and far from it."""
    lower = np.arange(LENGTH**2).reshape(LENGTH, LENGTH)
    upper = [np.roll(lower, sign * jump, axis) for jump in JUMPS for axis in (0, 1) for sign in (1, -1)]
    return np.concatenate([np.stack([lower, LENGTH**2 + other], axis=-1).reshape(-1, 2) for other in [lower, *upper]])


def main(picture: str = "latent_units.png", n_iter: int = 300) -> float:
    """Return the accuracy on digits that the machine has not seen."""
    images, digits = load_digits(return_X_y=True)
    images, digits = images[np.isin(digits, DIGITS)], digits[np.isin(digits, DIGITS)]
    spots = np.repeat(digits[:, None] == DIGITS, SPOTS, axis=1)  # ten units for each label
    rows = np.where(np.hstack([images >= 8, spots]), 1.0, -1.0)
    train, new, truth = rows[:400], rows[400:], digits[400:]
    visible = np.random.default_rng(0).permutation(LENGTH**2)[: rows.shape[1]]
    hidden = np.setdiff1d(np.arange(2 * LENGTH**2), visible)
    machine = GraphMachine(
        double_grid(), hidden=hidden, training="pcd", n_iter=n_iter, learning_rate=1.0, weight_decay=1e-3,
        n_chains=100, n_sweeps=2, random_state=1,
    ).fit(train)  # fmt: skip

    def means(given: np.ndarray) -> np.ndarray:
        drawn = machine.sample(5, 500, burn_in=200, given=given, observe="means", random_state=2)
        return drawn["unit_means"].values.mean(axis=0)[:, machine.visible_units]

    pixels, columns = images.shape[1], np.arange(rows.shape[1])
    of_labels = means(np.where(columns < pixels, new, np.nan))[:, pixels:].reshape(-1, len(DIGITS), SPOTS).mean(axis=2)
    accuracy = float((np.asarray(DIGITS)[of_labels.argmax(axis=1)] == truth).mean())
    half = np.where((columns < pixels // 2) | (columns >= pixels), new, np.nan)
    shown = {"new images": new, "upper half and label": half, "means given these": means(half[:16])}
    figure = Figure(figsize=(6.4, 2.5), layout="constrained")
    for axes, (title, some) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        tiles = np.pad(some[:16, :pixels].reshape(4, 4, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1)))
        axes.imshow(np.nan_to_num(tiles.swapaxes(1, 2).reshape(40, 40)), cmap="Greys", vmin=-1, vmax=1)
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    figure.savefig(picture, dpi=100)
    return accuracy


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
