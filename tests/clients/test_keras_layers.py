"""Every layer of Keras 2.0.6 and 1.0.3 by Keras's own test: shapes, weights, configuration, predictions, training."""

import importlib
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2

SEQUENCE, IMAGE, VOLUME = (2, 6, 3), (2, 7, 6, 3), (2, 5, 4, 6, 2)
IMAGE1, VOLUME1 = (2, 3, 7, 6), (2, 2, 6, 5, 4)  # of Keras 1, channels first

ANY_FORMAT: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Conv2D", {"filters": 2, "kernel_size": 3}, IMAGE),
    ("Conv2D", {"filters": 2, "kernel_size": (3, 2), "padding": "same", "strides": 2, "activation": "relu"}, IMAGE),
    ("Conv2D", {"filters": 2, "kernel_size": 2, "dilation_rate": (2, 1), "padding": "same"}, IMAGE),
    ("Conv2D", {"filters": 2, "kernel_size": 2, "kernel_regularizer": "l2", "kernel_constraint": "max_norm"}, IMAGE),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2}, IMAGE),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 3, "padding": "same"}, IMAGE),
    ("SeparableConv2D", {"filters": 4, "kernel_size": 3, "depth_multiplier": 2}, IMAGE),
    ("SeparableConv2D", {"filters": 4, "kernel_size": 3, "strides": 2, "padding": "same"}, IMAGE),
    ("Conv3D", {"filters": 2, "kernel_size": 2}, VOLUME),
    ("Conv3D", {"filters": 2, "kernel_size": 3, "padding": "same", "strides": (1, 2, 1)}, VOLUME),
    ("Conv3DTranspose", {"filters": 2, "kernel_size": 2, "strides": 2}, VOLUME),
    ("LocallyConnected2D", {"filters": 2, "kernel_size": 3, "strides": (2, 1)}, IMAGE),
    ("MaxPooling2D", {"pool_size": 2}, IMAGE),
    ("MaxPooling2D", {"pool_size": 3, "strides": 2, "padding": "same"}, IMAGE),
    ("AveragePooling2D", {"pool_size": (2, 3), "strides": 1}, IMAGE),
    ("AveragePooling2D", {"pool_size": 2, "padding": "same"}, IMAGE), ("MaxPooling3D", {"pool_size": 2}, VOLUME),
    ("AveragePooling3D", {"pool_size": 2, "padding": "same"}, VOLUME), ("GlobalMaxPooling2D", {}, IMAGE),
    ("GlobalAveragePooling2D", {}, IMAGE), ("GlobalMaxPooling3D", {}, VOLUME), ("GlobalAveragePooling3D", {}, VOLUME),
    ("UpSampling2D", {"size": (2, 3)}, IMAGE), ("UpSampling3D", {"size": 2}, VOLUME),
    ("ZeroPadding2D", {"padding": ((1, 0), (2, 1))}, IMAGE), ("ZeroPadding3D", {"padding": 1}, VOLUME),
    ("Cropping2D", {"cropping": ((1, 0), (2, 1))}, IMAGE), ("Cropping3D", {"cropping": 1}, VOLUME),
    ("SpatialDropout2D", {"rate": 0.5}, IMAGE), ("SpatialDropout3D", {"rate": 0.5}, VOLUME),
    ("ConvLSTM2D", {"filters": 2, "kernel_size": 2, "return_sequences": True}, (2, 3, 5, 4, 2)),
    ("ConvLSTM2D", {"filters": 2, "kernel_size": 2, "padding": "same", "dropout": 0.1}, (2, 3, 5, 4, 2)),
]  # fmt: skip

RECURRENT: list[dict[str, Any]] = [
    {}, {"return_sequences": True, "implementation": 1}, {"implementation": 2, "go_backwards": True},
    {"unroll": True, "kernel_regularizer": "l2", "recurrent_constraint": "max_norm"},
    {"dropout": 0.1, "recurrent_dropout": 0.1},
]  # fmt: skip

OTHERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Dense", {"units": 3, "activation": "softmax", "activity_regularizer": "l1"}, (3, 4)),
    ("Dense", {"units": 3, "use_bias": False}, (3, 4, 5)), ("Dropout", {"rate": 0.5}, (3, 4)),
    ("Activation", {"activation": "elu"}, (3, 4)), ("Activation", {"activation": "selu"}, (3, 4)),
    ("Reshape", {"target_shape": (2, -1)}, (3, 4, 3)), ("Permute", {"dims": (2, 1)}, SEQUENCE), ("Flatten", {}, IMAGE),
    ("RepeatVector", {"n": 3}, (3, 4)), ("ActivityRegularization", {"l1": 0.1, "l2": 0.1}, (3, 4)),
    ("BatchNormalization", {}, (6, 4)), ("BatchNormalization", {"axis": 1, "scale": False}, IMAGE),
    ("BatchNormalization", {"center": False, "momentum": 0.5}, IMAGE), ("LeakyReLU", {"alpha": 0.2}, IMAGE),
    ("PReLU", {}, IMAGE), ("PReLU", {"shared_axes": (1, 2)}, IMAGE), ("ELU", {"alpha": 0.5}, (3, 4)),
    ("ThresholdedReLU", {"theta": 0.5}, (3, 4)), ("GaussianNoise", {"stddev": 1.0}, (3, 4)),
    ("GaussianDropout", {"rate": 0.5}, (3, 4)), ("AlphaDropout", {"rate": 0.2}, (3, 4)),
    ("Conv1D", {"filters": 2, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}, SEQUENCE),
    ("Conv1D", {"filters": 2, "kernel_size": 3, "padding": "same"}, SEQUENCE),
    ("Conv1D", {"filters": 2, "kernel_size": 3, "strides": 2}, SEQUENCE),
    ("LocallyConnected1D", {"filters": 2, "kernel_size": 3}, SEQUENCE), ("MaxPooling1D", {"pool_size": 2}, SEQUENCE),
    ("AveragePooling1D", {"pool_size": 4, "strides": 2, "padding": "same"}, SEQUENCE),
    ("GlobalMaxPooling1D", {}, SEQUENCE), ("GlobalAveragePooling1D", {}, SEQUENCE),
    ("UpSampling1D", {"size": 2}, SEQUENCE), ("ZeroPadding1D", {"padding": (1, 2)}, SEQUENCE),
    ("Cropping1D", {"cropping": (1, 2)}, SEQUENCE), ("SpatialDropout1D", {"rate": 0.5}, SEQUENCE),
    ("Masking", {}, SEQUENCE),
    *((name, {"units": 4, **options}, SEQUENCE) for name in ("SimpleRNN", "GRU", "LSTM") for options in RECURRENT),
]  # fmt: skip


IMAGES1: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("Convolution2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 3}, IMAGE1),
    ("Convolution2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 2, "border_mode": "same", "subsample": (2, 1)}, IMAGE1),
    ("Convolution2D", {"nb_filter": 2, "nb_row": 1, "nb_col": 4, "W_regularizer": "l2", "activation": "relu"}, IMAGE1),
    ("Convolution3D", {"nb_filter": 2, "kernel_dim1": 2, "kernel_dim2": 3, "kernel_dim3": 2}, VOLUME1),
    ("MaxPooling2D", {"pool_size": (2, 2)}, IMAGE1),
    ("MaxPooling2D", {"pool_size": (3, 2), "strides": (2, 2), "border_mode": "same"}, IMAGE1),
    ("AveragePooling2D", {"pool_size": (2, 3), "strides": (1, 1)}, IMAGE1),
    ("MaxPooling3D", {"pool_size": (2, 2, 2)}, VOLUME1),
    ("AveragePooling3D", {"pool_size": (2, 2, 2)}, VOLUME1),
]

RECURRENT1: list[dict[str, Any]] = [
    {}, {"return_sequences": True, "consume_less": "mem"}, {"go_backwards": True, "consume_less": "gpu"},
    {"unroll": True, "W_regularizer": "l2"}, {"dropout_W": 0.1, "dropout_U": 0.1},
]  # fmt: skip

OTHERS1: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    # channels first only: the configurations of these layers do not contain the ordering
    ("UpSampling2D", {"size": (2, 3)}, IMAGE1), ("UpSampling3D", {"size": (2, 2, 2)}, VOLUME1),
    ("ZeroPadding2D", {"padding": (1, 2)}, IMAGE1), ("ZeroPadding3D", {"padding": (1, 2, 1)}, VOLUME1),
    ("Dense", {"output_dim": 3, "activation": "softmax", "activity_regularizer": "activity_l1"}, (3, 4)),
    ("Dense", {"output_dim": 3, "bias": False, "W_constraint": "maxnorm"}, (3, 4)),
    ("MaxoutDense", {"output_dim": 3}, (3, 4)), ("Highway", {}, (3, 4)),
    ("TimeDistributedDense", {"output_dim": 2}, SEQUENCE), ("Dropout", {"p": 0.5}, (3, 4)),
    ("Activation", {"activation": "softplus"}, (3, 4)), ("Activation", {"activation": "hard_sigmoid"}, (3, 4)),
    ("Reshape", {"target_shape": (2, 6)}, (3, 4, 3)),
    ("Lambda", {"function": "lambda x: x * 2", "output_shape": (4,)}, (3, 4)), ("BatchNormalization", {}, (6, 4)),
    ("BatchNormalization", {"mode": 1}, (6, 4)), ("BatchNormalization", {"axis": 1, "momentum": 0.5}, IMAGE1),
    ("PReLU", {}, SEQUENCE), ("ParametricSoftplus", {}, (3, 4)), ("SReLU", {}, (3, 4)),
    ("Convolution1D", {"nb_filter": 2, "filter_length": 3, "border_mode": "same"}, SEQUENCE),
    ("Convolution1D", {"nb_filter": 2, "filter_length": 3, "subsample_length": 2}, SEQUENCE),
    ("MaxPooling1D", {}, SEQUENCE), ("AveragePooling1D", {"pool_length": 3, "stride": 1}, SEQUENCE),
    *((name, {"output_dim": 4, **how}, SEQUENCE) for name in ("SimpleRNN", "GRU", "LSTM") for how in RECURRENT1),
]  # fmt: skip


def name_of(value: object) -> str:
    if isinstance(value, dict):
        return "-".join(f"{key}={item}" for key, item in value.items()) or "plain"
    return str(value) if isinstance(value, str) else ""


def checked(keras: Any) -> Any:
    return importlib.import_module(f"{keras.__name__}.utils.test_utils").layer_test


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
@pytest.mark.parametrize(("layer", "options", "shape"), ANY_FORMAT, ids=name_of)
def test_layer_of_images(keras: Any, layer: str, options: dict[str, Any], shape: Any, data_format: str) -> None:
    keras2.set_image_data_format(data_format)
    if data_format == "channels_first":
        spatial = 3 if len(shape) == 5 and "LSTM" not in layer else 2
        shape = (*shape[: -spatial - 1], shape[-1], *shape[-spatial - 1 : -1])
    checked(keras)(getattr(keras.layers, layer), dict(options), shape)


@pytest.mark.parametrize(("layer", "options", "shape"), OTHERS, ids=name_of)
def test_layer(keras: Any, layer: str, options: dict[str, Any], shape: Any) -> None:
    checked(keras)(getattr(keras.layers, layer), dict(options), shape)


def test_embedding(keras: Any) -> None:
    words = np.asarray([[1, 2, 0], [3, 3, 1]], dtype="int32")
    for options in ({}, {"mask_zero": True}, {"embeddings_regularizer": "l2", "input_length": 3}):
        checked(keras)(
            keras.layers.Embedding,
            {"input_dim": 4, "output_dim": 5, **options},
            input_data=words,
            expected_output_dtype="float32",
        )


def test_depthwise_convolution(keras: Any) -> None:
    layer = keras.applications.mobilenet.DepthwiseConv2D
    for options in ({}, {"depth_multiplier": 2, "strides": 2}, {"padding": "same"}):
        with keras.utils.CustomObjectScope({"DepthwiseConv2D": layer}):
            checked(keras)(layer, {"kernel_size": 3, **options}, IMAGE)


@pytest.mark.parametrize("dim_ordering", ["th", "tf"])
@pytest.mark.parametrize(("layer", "options", "shape"), IMAGES1, ids=name_of)
def test_keras1_layer_of_images(keras1: Any, layer: str, options: Any, shape: Any, dim_ordering: str) -> None:
    if dim_ordering == "tf":
        shape = (shape[0], *shape[2:], shape[1])
    checked(keras1)(getattr(keras1.layers, layer), {**options, "dim_ordering": dim_ordering}, shape)


@pytest.mark.filterwarnings("ignore:TimeDistributedDense is deprecated")
@pytest.mark.filterwarnings("ignore:Model inputs must come from a Keras Input layer")  # from identity layers
@pytest.mark.parametrize(("layer", "options", "shape"), OTHERS1, ids=name_of)
def test_keras1_layer(keras1: Any, layer: str, options: dict[str, Any], shape: Any) -> None:
    if layer == "Lambda":
        options = {**options, "function": lambda x: x * 2}
    checked(keras1)(getattr(keras1.layers, layer), dict(options), shape)


def test_keras1_embedding(keras1: Any) -> None:
    indices = np.asarray([[0, 3, 1], [2, 2, 0]], dtype="int32")
    options = {"output_dim": 4, "input_dim": 5, "input_length": 3, "dropout": 0.2}
    more = {"input_data": indices, "input_dtype": "int32", "expected_output_dtype": "float32"}
    checked(keras1)(keras1.layers.Embedding, options, (2, 3), **more)
