"""Cases of what shared functions are told for Keras 1.0, whose meanings are Theano's."""

from __future__ import annotations

import numpy as np

from nbm_xp import keras1
from nbm_xp.functions import activations, comparison, convolution, elementwise, neural, padding, shaping
from tests.helpers.tables.case import values, whole
from tests.helpers.windows import convolved

from .case import FunctionCase, of

__all__ = ["cases"]

FUZZ = 1e-7


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_elements(), *_losses(), *_images()]


def _away(x: np.ndarray) -> np.ndarray:
    return (np.sign(x) * np.floor(np.abs(x) + 0.5)).astype(x.dtype)


def _elements() -> list[FunctionCase]:
    x, y = values(3, 4), values(1, 4, high=2.1)
    halves = np.asarray([-2.5, -1.5, -0.5, 0.5, 1.5, 2.4, 1e15 + 0.5])
    return [
        of("round", elementwise.round_half_away, _away, halves, flat=True),
        of("round", elementwise.round_half_away, _away, halves.astype("float32")),
        of("round", elementwise.round_half_away, lambda x: x, whole(3, 2)),
        of("maximum", comparison.maximum, np.maximum, x, y, options={"ties": "whole"}),
        of("minimum", comparison.minimum, np.minimum, x, y, options={"ties": "whole"}),
        of("any", keras1.any, lambda x: x.any(axis=1).astype("uint8"), whole(3, 2, low=0, high=2),
            options={"axis": 1}),
        of("any", keras1.any, lambda x: x.any(keepdims=True).astype("uint8"), np.zeros((0, 2)),
            options={"keepdims": True}, flat=True),
        of("expand_dims", shaping.expand_dims, lambda x: x[..., None], x, options={"axis": -3, "cyclic": True}),
        of("expand_dims", shaping.expand_dims, lambda x: x[:, None], x, options={"axis": -4, "cyclic": True}),
        of("expand_dims", shaping.expand_dims, lambda x: x[None], np.asarray(2.0),
            options={"axis": -2, "cyclic": True}),
        of("relu", activations.relu, lambda x, a: np.maximum(x, 0) + a * np.minimum(x, 0), x, y,
            options={"slope_at_zero": "between"}),
        of("relu", lambda x, a, m: activations.relu(x, a, m),
            lambda x, a, m: np.minimum(np.maximum(x, 0) + a * np.minimum(x, 0), m), x, y, values(4, low=0.4)),
    ]  # fmt: skip


def _losses() -> list[FunctionCase]:
    logits, numbers = values(3, 4, low=-3.0), np.asarray([1, 0, 3])
    weights, target = values(3, 4, low=0.1, high=0.9), values(3, 4, low=0.05, high=0.95)

    def shares(x: np.ndarray, *, logits: bool) -> np.ndarray:
        x = np.exp(x) if logits else x
        return np.clip(x / x.sum(axis=-1, keepdims=True), FUZZ, 1 - FUZZ)

    def dense(x: np.ndarray, t: np.ndarray, *, logits: bool) -> np.ndarray:
        return -(t * np.log(shares(x, logits=logits))).sum(axis=-1)

    def sparse(x: np.ndarray, *, logits: bool) -> np.ndarray:
        return -np.log(shares(x, logits=logits))[np.arange(3), numbers]

    def binary(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        p = np.clip(1 / (1 + np.exp(-x)), FUZZ, 1 - FUZZ)
        return -t * np.log(p) - (1 - t) * np.log1p(-p)

    made = []
    for given, from_logits in ((logits, True), (weights, False)):
        options = {"from_logits": from_logits, "bounded": True}
        made += [
            of("categorical_crossentropy", neural.categorical_crossentropy,
                lambda x, t, e=from_logits: dense(x, t, logits=e), given, target, options=options, rtol=1e-9),
            of("sparse_categorical_crossentropy",
                neural.sparse_categorical_crossentropy, lambda x, n, e=from_logits: sparse(x, logits=e), given,
                numbers, options=options, rtol=1e-9),
        ]  # fmt: skip
    options = {"from_logits": True, "bounded": True}
    return [
        *made,
        of("binary_crossentropy", neural.binary_crossentropy, binary, logits, target, options=options, rtol=1e-9),
        of("binary_crossentropy", neural.binary_crossentropy, binary, np.asarray([-50.0, 50.0]),
            np.asarray([1.0, 0.0]), options=options, rtol=1e-6, label="far out", order=0),
    ]  # fmt: skip


def _images() -> list[FunctionCase]:
    image, kernel = values(2, 3, 5, 4), values(2, 3, 2, 3, low=-1.0)

    def reference(x: np.ndarray, k: np.ndarray) -> np.ndarray:
        found = convolved(x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), (2, 1), "half", flip=True)
        return found.transpose(0, 3, 1, 2)

    options = {"strides": (2, 1), "padding": "half", "data_format": "channels_first", "flip": True}
    return [
        of("conv2d", convolution.conv, reference, image, kernel, options={**options, "filters_first": True}),
        of("spatial_2d_padding", padding.spatial_2d_padding,
            lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2))).astype("float32"), whole(1, 2, 2, 3),
            options={"padding": (1, 2), "data_format": "channels_first", "floating": True}),
    ]  # fmt: skip
