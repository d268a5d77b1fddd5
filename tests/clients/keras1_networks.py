"""Small networks of Keras 1.0, and the losses of the first steps of their training.

The same file runs in both environments: in the tests, with Keras 1.0.3 on this package; and, as a program, with Keras
on Theano 0.8.2, as in 2016 (Python 3.6, NumPy 1.12.1). It then writes the tests' reference results::

    THEANO_FLAGS=floatX=float32 python keras1_networks.py > keras1_losses.json

Nothing is random: weights and data are sines.
"""

import json
import sys

import numpy as np

STEPS = 12


def waves(*shape):
    """Numbers from -1 to 1 without a simple pattern."""
    count = int(np.prod(shape))
    return np.sin(np.arange(1, count + 1) ** 1.3 * 0.7).reshape(shape).astype("float32")


def classes(samples, count=3):
    return np.eye(count, dtype="float32")[np.arange(samples) % count]


def perceptron(keras):
    core = keras.layers.core
    layers = [core.Dense(9, activation="tanh", input_dim=6), core.Dense(7, activation="relu", W_regularizer="l2")]
    model = keras.models.Sequential([*layers, core.Dense(3, activation="softmax")])
    model.compile(keras.optimizers.SGD(lr=0.3, momentum=0.9, nesterov=True), "categorical_crossentropy")
    return model, waves(12, 6), classes(12)


def images(keras, ordering):
    core, conv = keras.layers.core, keras.layers.convolutional
    shape = (2, 9, 8) if ordering == "th" else (9, 8, 2)
    same = {"border_mode": "same", "dim_ordering": ordering}
    layers = [
        conv.Convolution2D(4, 3, 3, activation="relu", input_shape=shape, **same),
        conv.MaxPooling2D((2, 2), dim_ordering=ordering),
        conv.Convolution2D(5, 3, 2, subsample=(2, 1), dim_ordering=ordering, activation="tanh"),
        conv.ZeroPadding2D((1, 0), dim_ordering=ordering),
        conv.AveragePooling2D((2, 2), strides=(1, 1), dim_ordering=ordering),
        keras.layers.normalization.BatchNormalization(axis=1 if ordering == "th" else 3),
        core.Flatten(),
        core.Dense(3, activation="softmax"),
    ]
    model = keras.models.Sequential(layers)
    model.compile(keras.optimizers.Adam(lr=0.02), "categorical_crossentropy")
    x = waves(6, 2, 9, 8)
    return model, x if ordering == "th" else x.transpose(0, 2, 3, 1), classes(6)


def images_channels_first(keras):
    return images(keras, "th")


def images_channels_last(keras):
    return images(keras, "tf")


def recurrent(keras, layer, **options):
    core = keras.layers.core
    cell = getattr(keras.layers.recurrent, layer)
    layers = [core.Masking(0.0, input_shape=(7, 3)), cell(6, return_sequences=True), cell(5, **options)]
    model = keras.models.Sequential([*layers, core.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.RMSprop(lr=0.02), "binary_crossentropy")
    x = waves(8, 7, 3)
    x[1, 4:] = x[3, 2:] = x[6, :3] = 0.0
    return model, x, (np.arange(8) % 2).astype("float32").reshape(8, 1)


def lstm(keras):
    return recurrent(keras, "LSTM")


def gru(keras):
    return recurrent(keras, "GRU", go_backwards=True)


def words(keras):
    core, options = keras.layers.core, {"input_length": 5}
    layers = [keras.layers.embeddings.Embedding(11, 4, mask_zero=True, **options), keras.layers.recurrent.LSTM(6)]
    model = keras.models.Sequential([*layers, core.Dense(3, activation="softmax")])
    model.compile(keras.optimizers.Adagrad(lr=0.1), "categorical_crossentropy")
    return model, (np.arange(45) ** 2 % 11).reshape(9, 5).astype("int32"), classes(9)


NETWORKS = [perceptron, images_channels_first, images_channels_last, lstm, gru, words]


def trained(keras, network):
    """The loss before each step, and the predictions afterwards."""
    model, x, y = network(keras)
    spread = [waves(*weight.shape) * 0.8 / np.sqrt(weight.shape[0]) for weight in model.get_weights()]
    model.set_weights([np.abs(w) + 0.1 if w.ndim == 1 else w for w in spread])  # variances must be positive
    costs = [float(np.asarray(model.train_on_batch(x, y)).ravel()[0]) for _ in range(STEPS)]
    return {"costs": costs, "predictions": np.asarray(model.predict(x)).astype("float64").tolist()}


if __name__ == "__main__":
    import keras
    import theano

    versions = {"keras": keras.__version__, "theano": theano.__version__, "numpy": np.__version__}
    found = {network.__name__: trained(keras, network) for network in NETWORKS}
    json.dump({"versions": versions, "networks": found}, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
