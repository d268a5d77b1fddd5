"""MNIST: train 500 hidden units in a directory, from which an interrupted training is resumed, and draw samples.

``python -m examples.mnist mnist.png mnist.npz`` takes minutes. The second file holds ``train.data`` and ``test.data``,
rows of 0 and 1.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from nbm_xp import RBM
from nbm_xp.boltzmann import PCD, SGD
from nbm_xp.runs import resume, train, trained_model


def main(picture: str = "mnist.png", data: str = "mnist.npz", n_components: int = 500, n_iter: int = 30) -> float:
    """Train for some epochs; return the mean log-likelihood of the test rows, in nats."""
    with np.load(data) as arrays:
        rows, test = (arrays[f"{part}.data"].astype("float32") for part in ("train", "test"))
    directory = Path(picture).with_suffix("")
    if directory.exists():
        resume(directory)
    else:
        rbm = RBM(
            n_components, n_iter=n_iter, batch_size=100, n_gibbs=2, schedule="linear", random_state=0,
            training=PCD(centred=True, average=True), optimizer=SGD(weight_decay=3e-4),
        )  # fmt: skip
        train(rbm, directory, rows)
    model = trained_model(directory)
    log_z = model.ais(n_temperatures=10_000, random_state=1)
    mean = float(model.log_likelihood(test, log_z).mean())

    samples = model.sample(100, 2000, probabilities=True, random_state=2)
    filters = model.components_[np.argsort(-np.linalg.norm(model.components_, axis=1))]
    side = round(rows.shape[1] ** 0.5)
    figure = Figure(figsize=(11, 4), layout="constrained")
    titles = ["test rows", f"samples (test {mean:.1f} nats)", "filters"]
    for axes, title, shown in zip(figure.subplots(1, 3), titles, [test, samples, filters], strict=True):
        columns = min(10, round(len(shown) ** 0.5))
        tiles = np.reshape(shown[: columns**2], (columns, columns, side, side))
        sheet = np.pad(tiles, ((0, 0), (0, 0), (1, 1), (1, 1))).swapaxes(1, 2)
        axes.imshow(sheet.reshape(columns * (side + 2), -1), cmap="RdBu" if title == "filters" else "Greys")
        axes.set_title(title)
        axes.set_axis_off()
    figure.savefig(picture, dpi=100)
    return mean


if __name__ == "__main__":
    print(main(*sys.argv[1:3]))
