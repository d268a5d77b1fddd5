"""Keras 2.0.6, unmodified: a convolutional network learns scikit-learn's handwritten digits.

It needs ``pip install --no-deps keras==2.0.6`` and ``six``, ``pyyaml`` and ``scipy``.
"""

import random
import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nbm_xp import keras2


def main(picture: str = "keras2_digits.png", epochs: int = 20) -> float:
    """Train on four fifths of the digits; return the accuracy on the others."""
    keras2.install_as("keras.backend")
    import keras
    from keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, MaxPooling2D

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - Keras draws weights and shuffles rows with NumPy's global state
    scans, digits = load_digits(return_X_y=True)
    images = (scans / 16).astype("float32").reshape(-1, 8, 8, 1)
    x, x_test, y, y_test = train_test_split(images, digits, test_size=0.2, stratify=digits, random_state=0)
    convolutions = [Conv2D(24, 3, padding="same", activation="relu", input_shape=(8, 8, 1)), Conv2D(32, 3)]
    normalized = [BatchNormalization(), Activation("relu"), MaxPooling2D(2), Dropout(0.25), Flatten()]
    dense = [Dense(64, activation="relu"), Dropout(0.5), Dense(10, activation="softmax")]
    model = keras.models.Sequential([*convolutions, *normalized, *dense])
    model.compile(keras.optimizers.Adam(lr=2e-3), "categorical_crossentropy", metrics=["accuracy"])
    classes = np.eye(10, dtype="float32")
    test = (x_test, classes[y_test])
    curves = model.fit(x, classes[y], batch_size=32, epochs=epochs, validation_data=test, verbose=0).history
    probabilities = model.predict(x_test)

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    curve, hardest = figure.subplots(1, 2)
    for name, key in (("training, with dropout", "acc"), ("test", "val_acc")):
        curve.semilogy(range(1, epochs + 1), 1 - np.asarray(curves[key]) + 1e-3, "o-", label=name)
    curve.set(xlabel="epochs", ylabel="share of wrong answers")
    curve.legend()
    worst = np.argsort(probabilities[np.arange(len(y_test)), y_test])[:12]
    sheet = np.pad(x_test[worst, :, :, 0], ((0, 0), (1, 1), (1, 1))).reshape(2, 6, 10, 10).swapaxes(1, 2)
    hardest.imshow(sheet.reshape(20, 60), cmap="Greys")
    answers = " ".join(str(answer) for answer in probabilities[worst].argmax(axis=1))
    hardest.set_title(f"the hardest test scans; answers: {answers}", fontsize=9)
    hardest.set_axis_off()
    figure.savefig(picture, dpi=100)
    return float((probabilities.argmax(axis=1) == y_test).mean())


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
