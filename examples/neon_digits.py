"""neon's Backend: a network learns scikit-learn's handwritten digits, with gradients from the tape."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nbm_xp.neon import Backend, gradients

BATCH = 32


def main(picture: str = "neon_digits.png", epochs: int = 20, library: str = "numpy") -> float:
    """Train on four fifths of the digits; return the accuracy on the others."""
    be = Backend(rng_seed=1, library=library)
    scans, digits = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(scans / 16, digits, test_size=0.2, stratify=digits, random_state=1)
    w, v = be.array(be.rng.normal(0.0, 0.2, size=(96, 64))), be.array(be.rng.normal(0.0, 0.1, size=(10, 96)))
    b, c = be.zeros((96, 1)), be.zeros((10, 1))
    weights, steps = [w, b, v, c], [be.zeros_like(weight) for weight in (w, b, v, c)]
    rows, targets, mask, loss = (be.zeros(shape) for shape in ((64, BATCH), (10, BATCH), (96, BATCH), (1, 1)))

    def probabilities(rows, keep=1.0):
        hidden = be.maximum(be.dot(w, rows) + b, 0) * keep
        powers = be.exp(be.dot(v, hidden) + c)
        return powers / be.sum(powers, axis=0)

    random, losses = np.random.default_rng(1), []
    for epoch in range(epochs):
        total = 0.0
        for chosen in np.split(random.permutation(len(x))[: len(x) // BATCH * BATCH], len(x) // BATCH):
            rows[:] = x[chosen].T
            targets[:] = be.onehot(be.array(y[None, chosen], dtype="int32"), axis=0)
            be.make_binary_mask(mask, keepthresh=0.8)
            cost = be.mean(be.sum(-targets * be.safelog(probabilities(rows, mask * 1.25)), axis=0))
            loss[:] = cost
            for step, slope in zip(steps, gradients(cost, weights), strict=True):
                step[:] = 0.9 * step - 0.1 * (1 - epoch / epochs) * slope
            for weight, step in zip(weights, steps, strict=True):
                weight[:] = weight + step
            total += float(loss.get()[0, 0])
        losses.append(total / (len(x) // BATCH))
    answers = be.argmax(probabilities(be.array(x_test.T)), axis=0).asnumpyarray()[0]

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    curve, filters = figure.subplots(1, 2)
    curve.semilogy(range(1, epochs + 1), losses, "o-")
    curve.set(xlabel="epochs", ylabel="mean cross-entropy in training")
    tiles = np.pad(w.get()[:48].reshape(4, 12, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1))).swapaxes(1, 2)
    filters.imshow(tiles.reshape(40, 120), cmap="RdBu")
    filters.set_title("weights of hidden units")
    filters.set_axis_off()
    figure.savefig(picture, dpi=100)
    return float((answers == y_test).mean())


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
