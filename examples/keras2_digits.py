"""A convolutional network, written in Keras 2.0.6, learns scikit-learn's handwritten digits.

``python -m examples.keras2_digits`` prints how it goes and writes a page, keras2_digits.png: how it learned, what it
takes for what, and the hardest scans. See `examples/keras2_client.py` for what to install.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from examples.keras2_client import load_keras
from nbm_xp.cli.pictures.panels import BLUE, GREY, ORANGE, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Findings", "draw", "learn", "network"]


@dataclass(frozen=True)
class Findings:
    """What came of the training: the curves, and what the network says of each test scan."""

    scans: Any
    digits: Any
    probabilities: Any
    curves: dict[str, list[float]]
    n_train: int
    n_weights: int
    seconds: float

    @property
    def said(self) -> Any:
        """The likeliest digit of each test scan."""
        return self.probabilities.argmax(axis=1)

    @property
    def accuracy(self) -> float:
        """The share of test scans that it gets right."""
        return float((self.said == self.digits).mean())


def network(keras: Any) -> Any:
    """Two convolutions, a pooling, a third convolution and two dense layers; ready to be trained."""
    layers = keras.layers
    model = keras.models.Sequential(
        [
            layers.Conv2D(24, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Conv2D(48, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(lr=2e-3), "categorical_crossentropy", metrics=["accuracy"])
    return model


def learn(passes: int = 24, seed: int = 0, *, verbose: int = 0) -> Findings:
    """Train on four fifths of the digits, test on the others.

    Parameters
    ----------
    passes : int
        How often each scan is seen.
    seed : int
        Decides the split, the first weights, the order of the scans and what is dropped.
    verbose : {0, 1, 2}
        How much Keras tells on the way.
    """
    keras = load_keras()
    random.seed(seed)  # the seeds of what Keras draws come from here,
    np.random.seed(seed)  # noqa: NPY002 - and the order of the scans from there
    scans, digits = load_digits(return_X_y=True)
    images = (scans / 16).astype("float32").reshape(-1, 8, 8, 1)
    x, x_test, y, y_test = train_test_split(images, digits, test_size=0.2, stratify=digits, random_state=seed)
    classes = np.eye(10, dtype="float32")
    model = network(keras)
    halved = keras.callbacks.LearningRateScheduler(lambda done: 2e-3 * 0.5 ** (done * 4 // passes))
    started = time.perf_counter()
    history = model.fit(
        x,
        classes[y],
        batch_size=32,
        epochs=passes,
        verbose=verbose,
        validation_data=(x_test, classes[y_test]),
        callbacks=[halved],
    )
    seconds = time.perf_counter() - started
    probabilities = model.predict(x_test)
    curves = {name: [float(value) for value in values] for name, values in history.history.items()}
    return Findings(x_test[..., 0], y_test, probabilities, curves, len(x), model.count_params(), seconds)


def draw(findings: Findings, path: pathlib.Path) -> None:
    """Write the page."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(16, 6.2), dpi=100, facecolor="white")
        grid = figure.add_gridspec(
            1, 3, width_ratios=(1.25, 1.05, 0.85), left=0.05, right=0.985, top=0.765, bottom=0.115, wspace=0.16
        )
        figure.text(0.05, 0.92, "Keras 2.0 learns handwritten digits on nbm_xp", size=21, weight="bold")
        figure.text(0.05, 0.862, _subtitle(findings), size=13.5, color="#4a4f59")
        curve, confusion, hardest = (figure.add_subplot(grid[0, column]) for column in range(3))
        _learning_curve(curve, findings)
        _confusion(confusion, findings)
        _hardest(hardest, findings)
        figure.savefig(path, format="png", metadata={"Software": "nbm_xp"})


def _subtitle(findings: Findings) -> str:
    passes = len(findings.curves["loss"])
    return (
        f"A convolutional network of {findings.n_weights:,} weights, {passes} passes over {findings.n_train:,} scans "
        f"of 8 × 8 pixels in {findings.seconds:.0f} s: {100 * findings.accuracy:.1f} % of {len(findings.digits)} test "
        "scans are right."
    )


def _learning_curve(axes: Axes, findings: Findings) -> None:
    curves = findings.curves
    passes = np.arange(1, len(curves["loss"]) + 1)
    named = (("train, with dropout", "acc", BLUE), ("test", "val_acc", ORANGE))
    for name, key, colour in named:
        wrong = 100 * (1 - np.asarray(curves[key]))
        label = f"{name}: {wrong[-1]:.1f} % at the end"
        axes.plot(passes, np.maximum(wrong, 0.1), "o-", color=colour, markersize=5, label=label, clip_on=False)
    axes.axhline(90, color=GREY, linestyle=(0, (4, 3)), linewidth=1.8)
    axes.annotate("a guess", (passes[-1], 90), (0, 5), textcoords="offset points", ha="right", color="#666b74")
    axes.set_yscale("log")
    axes.set_ylim(0.25, 130)
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.set_yticks([0.3, 1, 3, 10, 30, 100])
    axes.yaxis.set_minor_formatter("")
    axes.tick_params(which="minor", length=0)
    axes.set_xlim(0.6, passes[-1] + 0.4)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("passes over the training scans")
    axes.set_title("Wrong answers")
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, 0.93))


def _confusion(axes: Axes, findings: Findings) -> None:
    counts = np.zeros((10, 10), dtype=int)
    np.add.at(counts, (findings.digits, findings.said), 1)
    blues = LinearSegmentedColormap.from_list("right", ["#ffffff", BLUE])
    oranges = LinearSegmentedColormap.from_list("wrong", ["#ffffff", ORANGE])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = np.eye(10, dtype=bool)
    page = np.where(right[..., None], blues(shares), oranges(np.sqrt(shares)))
    axes.imshow(page, interpolation="nearest")
    for (truth, answer), count in np.ndenumerate(counts):
        if count:
            dark = truth == answer
            axes.text(answer, truth, count, ha="center", va="center", color="white" if dark else "#20242c", size=11.5)
    axes.set_xticks(range(10))
    axes.set_yticks(range(10))
    axes.set_xticks(np.arange(11) - 0.5, minor=True)
    axes.set_yticks(np.arange(11) - 0.5, minor=True)
    axes.grid(False)
    axes.grid(True, which="minor", color="#e8eaee", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("answer")
    axes.set_ylabel("digit")
    axes.set_title("Test scans by digit and answer")
    axes.set_anchor("W")


def _hardest(axes: Axes, findings: Findings) -> None:
    """The test scans whose digit it finds least likely, those it gets wrong among them."""
    likelihood = findings.probabilities[np.arange(len(findings.digits)), findings.digits]
    axes.set_axis_off()
    axes.set_title("The twelve hardest test scans")
    for place, index in enumerate(np.argsort(likelihood, kind="stable")[:12]):
        row, column = divmod(place, 3)
        panel = axes.inset_axes((column * 0.345, 0.79 - row * 0.262, 0.3, 0.19))
        panel.imshow(findings.scans[index], cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_visible(False)
        digit, answer = findings.digits[index], findings.said[index]
        right = digit == answer
        label = f"{digit}, {100 * likelihood[index]:.0f} % sure" if right else f"{digit}, taken for {answer}"
        panel.set_xlabel(label, size=11, labelpad=4, color="#4a4f59" if right else ORANGE)


def main() -> None:
    """Read the command line, train, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=24, help="passes over the training scans (24)")
    parser.add_argument("--seed", type=int, default=0, help="decides all that is random (0)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("keras2_digits.png"), help="the page")
    chosen = parser.parse_args()
    findings = learn(chosen.passes, chosen.seed, verbose=2)
    draw(findings, chosen.out)
    print(f"{findings.accuracy:.2%} of the test scans are right; {findings.seconds:.1f} s; {chosen.out}")


if __name__ == "__main__":
    main()
