"""Every layer of Keras 1.0.3 by Keras's own test of one: shapes, weights, configuration, predictions, training."""

import importlib
from typing import Any

import numpy as np
import pytest

SEQUENCE, IMAGE, VOLUME = (2, 6, 3), (2, 3, 7, 6), (2, 2, 6, 5, 4)

IN_BOTH_ORDERINGS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Convolution2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 3}, IMAGE),
    ("Convolution2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 2, "border_mode": "same", "subsample": (2, 1)}, IMAGE),
    ("Convolution2D", {"nb_filter": 2, "nb_row": 1, "nb_col": 4, "W_regularizer": "l2", "activation": "relu"}, IMAGE),
    ("Convolution3D", {"nb_filter": 2, "kernel_dim1": 2, "kernel_dim2": 3, "kernel_dim3": 2}, VOLUME),
    ("MaxPooling2D", {"pool_size": (2, 2)}, IMAGE),
    ("MaxPooling2D", {"pool_size": (3, 2), "strides": (2, 2), "border_mode": "same"}, IMAGE),
    ("AveragePooling2D", {"pool_size": (2, 3), "strides": (1, 1)}, IMAGE),
    ("MaxPooling3D", {"pool_size": (2, 2, 2)}, VOLUME),
    ("AveragePooling3D", {"pool_size": (2, 2, 2)}, VOLUME),
]

RECURRENT: list[dict[str, Any]] = [
    {},
    {"return_sequences": True, "consume_less": "mem"},
    {"go_backwards": True, "consume_less": "gpu"},
    {"unroll": True, "W_regularizer": "l2"},
    {"dropout_W": 0.1, "dropout_U": 0.1},
]

OTHERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    # channels first alone: the configurations of these do not say their ordering
    ("UpSampling2D", {"size": (2, 3)}, IMAGE),
    ("UpSampling3D", {"size": (2, 2, 2)}, VOLUME),
    ("ZeroPadding2D", {"padding": (1, 2)}, IMAGE),
    ("ZeroPadding3D", {"padding": (1, 2, 1)}, VOLUME),
    ("Dense", {"output_dim": 3, "activation": "softmax", "activity_regularizer": "activity_l1"}, (3, 4)),
    ("Dense", {"output_dim": 3, "bias": False, "W_constraint": "maxnorm"}, (3, 4)),
    ("MaxoutDense", {"output_dim": 3}, (3, 4)),
    ("Highway", {}, (3, 4)),
    ("TimeDistributedDense", {"output_dim": 2}, SEQUENCE),
    ("Dropout", {"p": 0.5}, (3, 4)),
    ("Activation", {"activation": "softplus"}, (3, 4)),
    ("Activation", {"activation": "hard_sigmoid"}, (3, 4)),
    ("Reshape", {"target_shape": (2, 6)}, (3, 4, 3)),
    ("ActivityRegularization", {"l1": 0.1, "l2": 0.1}, (3, 4)),
    ("Permute", {"dims": (2, 1)}, SEQUENCE),
    ("Flatten", {}, IMAGE),
    ("RepeatVector", {"n": 3}, (3, 4)),
    ("Lambda", {"function": "lambda x: x * 2", "output_shape": (4,)}, (3, 4)),
    ("BatchNormalization", {}, (6, 4)),
    ("BatchNormalization", {"mode": 1}, (6, 4)),
    ("BatchNormalization", {"axis": 1, "momentum": 0.5}, IMAGE),
    ("LeakyReLU", {"alpha": 0.2}, IMAGE),
    ("PReLU", {}, SEQUENCE),
    ("ELU", {"alpha": 0.5}, (3, 4)),
    ("ParametricSoftplus", {}, (3, 4)),
    ("ThresholdedReLU", {"theta": 0.5}, (3, 4)),
    ("SReLU", {}, (3, 4)),
    ("GaussianNoise", {"sigma": 1.0}, (3, 4)),
    ("GaussianDropout", {"p": 0.5}, (3, 4)),
    ("Convolution1D", {"nb_filter": 2, "filter_length": 3, "border_mode": "same"}, SEQUENCE),
    ("Convolution1D", {"nb_filter": 2, "filter_length": 3, "subsample_length": 2}, SEQUENCE),
    ("MaxPooling1D", {}, SEQUENCE),
    ("AveragePooling1D", {"pool_length": 3, "stride": 1}, SEQUENCE),
    ("UpSampling1D", {"length": 2}, SEQUENCE),
    ("ZeroPadding1D", {"padding": 2}, SEQUENCE),
    ("Masking", {}, SEQUENCE),
    *((name, {"output_dim": 4, **options}, SEQUENCE) for name in ("SimpleRNN", "GRU", "LSTM") for options in RECURRENT),
]


def name_of(value: object) -> str:
    if isinstance(value, dict):
        return "-".join(f"{key}={item}" for key, item in value.items()) or "plain"
    return str(value) if isinstance(value, str) else ""


def layer_named(keras: Any, name: str) -> Any:
    rooms = ("advanced_activations", "convolutional", "core", "embeddings", "noise", "normalization", "recurrent")
    found = [vars(room)[name] for room in (getattr(keras.layers, room) for room in rooms) if name in vars(room)]
    return found[0]


def hold(keras: Any, name: str, options: dict[str, Any], shape: tuple[int, ...], **more: Any) -> None:
    importlib.import_module("keras.utils.test_utils").layer_test(
        layer_named(keras, name), kwargs=dict(options), input_shape=shape, **more
    )


@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
@pytest.mark.parametrize(("name", "options", "shape"), IN_BOTH_ORDERINGS, ids=name_of)
def test_layer_of_images(keras1: Any, name: str, options: dict[str, Any], shape: Any, dim_ordering: str) -> None:
    if dim_ordering == "tf":
        shape = (shape[0], *shape[2:], shape[1])
    hold(keras1, name, {**options, "dim_ordering": dim_ordering}, shape)


@pytest.mark.filterwarnings("ignore:TimeDistributedDense is deprecated")
@pytest.mark.filterwarnings("ignore:Model inputs must come from a Keras Input layer")  # a layer that gives what it gets
@pytest.mark.parametrize(("name", "options", "shape"), OTHERS, ids=name_of)
def test_layer(keras1: Any, name: str, options: dict[str, Any], shape: Any) -> None:
    if name == "Lambda":
        options = {**options, "function": lambda x: x * 2}
    hold(keras1, name, options, shape)


def test_embedding(keras1: Any) -> None:
    indices = np.asarray([[0, 3, 1], [2, 2, 0]], dtype="int32")
    options = {"output_dim": 4, "input_dim": 5, "input_length": 3, "dropout": 0.2}
    hold(keras1, "Embedding", options, (2, 3), input_data=indices, input_dtype="int32", expected_output_dtype="float32")
