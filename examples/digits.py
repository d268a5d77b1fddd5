"""Handwritten digits: train a restricted Boltzmann machine, estimate its likelihood and draw samples from it."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from nbm_xp import RBM


def main(picture: str = "digits.png", n_iter: int = 40) -> float:
    """Train for some epochs; return the mean log-likelihood of 297 held-out images, in nats."""
    images = (load_digits().data >= 8).astype("float32")
    train, test = images[:1500], images[1500:]
    rbm = RBM(64, n_iter=n_iter, batch_size=20, schedule="linear", random_state=0).fit(train)
    log_z = rbm.ais(random_state=1)
    mean = float(rbm.log_likelihood(test, log_z).mean())

    samples = rbm.sample(36, 500, probabilities=True, random_state=2)
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    titles = ["test images", f"samples (test {mean:.1f} nats)", "filters"]
    for axes, title, rows in zip(figure.subplots(1, 3), titles, [test, samples, rbm.components_], strict=True):
        tiles = np.asarray(rows)[:36].reshape(6, 6, 8, 8)
        sheet = np.pad(tiles, ((0, 0), (0, 0), (1, 1), (1, 1))).swapaxes(1, 2).reshape(60, 60)
        axes.imshow(sheet, cmap="RdBu" if title == "filters" else "Greys")
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(picture, dpi=100)
    return mean


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
