"""Cases of activations, losses, normalisation and batched products: what layers are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.functions import activations, comparison, joining, linear_algebra, neural, normalization, phases, shaping
from tests.helpers.tables.case import values, whole

from .case import FunctionCase, case, floating

__all__ = ["cases"]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_activations(), *_losses(), *_normalization(), *_products(), *_picks(), *_shaped()]


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.log(_softmax(x, axis))


def of(function: Callable[..., Any], *args: Any, **options: Any) -> Callable[..., Any]:
    """The call of a function that more than one surface has."""
    return lambda B, *arrays: function(*arrays, *args, **options)


def _activations() -> list[FunctionCase]:
    x = values(3, 4)
    plain: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], np.ndarray]]] = {
        "relu": (activations.relu, lambda x: np.maximum(x, 0)),
        "elu": (activations.elu, lambda x: np.where(x > 0, x, np.expm1(x)).astype(x.dtype)),
        "softmax": (activations.softmax, _softmax),
        "log_softmax": (activations.log_softmax, _log_softmax),
        "softsign": (activations.softsign, lambda x: x / (1 + np.abs(x))),
        "hard_sigmoid": (activations.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1).astype(x.dtype)),
        "tanh": (activations.tanh, np.tanh),
    }
    made = []
    for name, (function, reference) in plain.items():
        made += [case(name, reference, values(*shape), call=of(function)) for shape in ((3, 4), (5,), (0, 2))]
        made.append(case(name, reference, values(3, 2, dtype="float32"), call=of(function), rtol=3e-6))
        if name != "relu":
            made.append(case(name, lambda x, f=reference: f(floating(x)), whole(4), call=of(function), rtol=3e-6))
    made.append(case("relu", lambda x: np.maximum(x, 0), whole(6), call=of(activations.relu)))
    for alpha, top in ((0.3, None), (0.0, 1.1), (0.25, 1.1)):
        call = of(activations.relu, alpha=alpha, max_value=top)
        made.append(
            case(
                "relu",
                lambda x, a=alpha, t=top: (
                    np.minimum(np.maximum(x, 0), np.inf if t is None else t) + a * np.minimum(x, 0)
                ),
                x,
                call=call,
                label=f"{alpha},{top}",
            )
        )
    made.append(
        case("elu", lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)), x, call=of(activations.elu, 0.3), label="0.3")
    )
    for axis in (0, 1, -2):
        made.append(
            case("softmax", lambda x, a=axis: _softmax(x, a), x, call=of(activations.softmax, axis), label=str(axis))
        )
    return made


def _losses() -> list[FunctionCase]:
    logits = values(4, 3)
    scores = values(4, 3, low=0.1, high=0.9)
    share = _softmax(values(4, 3, low=-1.0))
    classes = np.asarray([2, 0, 1, 1])

    def binary(p: np.ndarray, t: np.ndarray) -> np.ndarray:
        return -t * np.log(p) - (1 - t) * np.log1p(-p)

    def sparse(p: np.ndarray, t: np.ndarray) -> np.ndarray:
        return -np.log(p / p.sum(axis=-1, keepdims=True))[np.arange(len(t)), t.reshape(-1)]

    return [
        case(
            "categorical_crossentropy", lambda p, t: -(t * np.log(p / p.sum(axis=-1, keepdims=True))).sum(axis=-1),
            scores, share, call=of(neural.categorical_crossentropy), rtol=1e-10,
        ),
        case(
            "categorical_crossentropy", lambda x, t: -(t * _log_softmax(x)).sum(axis=-1), logits, share,
            call=of(neural.categorical_crossentropy, from_logits=True), label="logits", order=1,  # see _to_logits
        ),
        case(
            "categorical_crossentropy", lambda x, t: -(t * _log_softmax(x)).sum(axis=-1), logits,
            values(4, 3, low=-1.0), call=of(neural.categorical_crossentropy, from_logits=True), label="no distribution",
        ),
        case(
            "sparse_categorical_crossentropy", sparse, scores, classes,
            call=of(neural.sparse_categorical_crossentropy),
        ),
        case(
            "sparse_categorical_crossentropy", lambda x, t: sparse(_softmax(x), t), logits, classes[:, None],
            call=of(neural.sparse_categorical_crossentropy, from_logits=True), label="logits",
        ),
        case("binary_crossentropy", binary, scores, share, call=of(neural.binary_crossentropy), rtol=1e-10),
        case(
            "binary_crossentropy", lambda x, t: binary(1 / (1 + np.exp(-x)), t), logits, share,
            call=of(neural.binary_crossentropy, from_logits=True), label="logits", rtol=1e-10,
        ),
        case(
            "in_top_k", lambda p, t: np.asarray([np.sum(row > row[i]) < 2 for row, i in zip(p, t, strict=True)]),
            scores, classes, call=of(neural.in_top_k, 2), flat=True,
        ),
    ]  # fmt: skip


def _normalization() -> list[FunctionCase]:
    x, image = values(5, 3), values(2, 3, 2, 4)
    scale, offset = values(3, low=0.5), values(3, low=-1.0)

    def length(x: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x**2).sum(axis=1, keepdims=True))

    def batch(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        shape = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
        mean, var = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-3) * gamma.reshape(shape) + beta.reshape(shape)

    def training(axes: tuple[int, ...]) -> Callable[..., Any]:
        return lambda B, *arrays: normalization.normalize_batch_in_training(*arrays, axes)[0]

    return [
        case("l2_normalize", length, x, call=of(normalization.l2_normalize, 1)),
        case(
            "normalize_batch_in_training", lambda x, g, b: batch(x, g, b, (0,)), x, scale, offset, call=training((0,)),
            rtol=1e-10,
        ),
        case(
            "normalize_batch_in_training", lambda x, g, b: batch(x, g, b, (0, 2, 3)), image, scale, offset,
            call=training((0, 2, -1)), label="image", rtol=1e-10,
        ),
        case(
            "batch_normalization", lambda x, m, v, b, g: (x - m) / np.sqrt(v + 1e-3) * g + b, x, offset, scale, offset,
            scale, call=of(normalization.batch_normalization),
        ),
        case("bias_add", lambda x, b: x + b, x, offset, call=of(normalization.bias_add)),
        case(
            "bias_add", lambda x, b: x + b[:, None, None], image, offset,
            call=of(normalization.bias_add, "channels_first"), label="channels first",
        ),
        case("bias_add", lambda x, b: x + b, image, values(3, 2, 4), call=of(normalization.bias_add), label="full"),
    ]  # fmt: skip


def _products() -> list[FunctionCase]:
    shapes: list[tuple[tuple[int, ...], tuple[int, ...], Any, str]] = [
        ((3, 4), (3, 4), 1, "bk,bk->b"), ((3, 5, 4), (3, 4, 2), None, "bmk,bkn->bmn"),
        ((3, 4, 5), (3, 2, 4), (1, 2), "bkm,bnk->bmn"), ((3, 4), (3, 4, 5), (1, 1), "bk,bkn->bn"),
        ((3, 5, 4), (3, 4), (2, 1), "bmk,bk->bm"), ((3, 5, 4), (3, 4), None, "bmk,bk->bm"),
        ((2, 3, 4, 2), (2, 2, 4), (2, 2), "bpkq,bnk->bpqn"), ((2, 3, 2), (2, 2, 2, 3), (-2, -1), "bkm,bnok->bmno"),
        ((2, 3, 2, 2), (2, 2, 2, 4), (3, 1), "bpqk,bkno->bpqno"),
        ((4, 3), (4, 3), 0, "kb,kb->b"), ((4, 3), (3, 4), (0, 1), "kb,bk->b"), ((3, 4), (4, 3), (1, -2), "bk,kb->b"),
    ]  # fmt: skip
    made = []
    for left, right, axes, formula in shapes:

        def reference(x: np.ndarray, y: np.ndarray, formula: str = formula) -> np.ndarray:
            product = np.einsum(formula, x, y)
            return product[:, None] if product.ndim == 1 else product

        made.append(
            case(
                "batch_dot",
                reference,
                values(*left),
                values(*right, low=-1.0),
                call=of(linear_algebra.batch_dot, axes),
                label=str(axes),
            )
        )
    return made


def _picks() -> list[FunctionCase]:
    reference, places = values(5, 3), np.asarray([[0, 4, 4], [2, 1, 0]])
    return [
        case("gather", lambda x, i: x[i], reference, places, call=of(joining.gather)),
        case("gather", lambda x, i: x[i], reference, places[0], call=of(joining.gather)),
        case("gather", lambda x, i: x[i], reference, places[0, 1], call=of(joining.gather)),
        case(
            "one_hot", lambda i: (i[..., None] == np.arange(3)).astype("float32"), np.asarray([[0, 2], [-1, 3]]),
            call=of(joining.one_hot, 3, out_of_range="zeros"), label="out of range", flat=True,
        ),
    ]  # fmt: skip


def _shaped() -> list[FunctionCase]:
    x = values(2, 3, 2)
    made = [
        case(
            "expand_dims",
            lambda x, a=axis: np.expand_dims(x, a),
            x,
            call=of(shaping.expand_dims, axis),
            label=str(axis),
        )
        for axis in (0, 1, -1, -2)
    ]
    made += [
        case("batch_flatten", lambda x: x.reshape(len(x), -1), given, call=of(shaping.batch_flatten))
        for given in (x, values(3, 4), whole(2, 2, 2))
    ]
    made += [
        case("softplus", lambda x: np.logaddexp(0, x), values(3, 4), call=of(neural.softplus)),
        case("softplus", lambda x: np.logaddexp(0, floating(x)), whole(4), call=of(neural.softplus), rtol=3e-6),
        case(
            "maximum", np.maximum, values(3, 4), values(4, low=-1.0), call=of(comparison.maximum, ties="first"),
            label="first of ties",
        ),
        case(
            "minimum", np.minimum, values(3, 1), values(3, 4, low=-1.0), call=of(comparison.minimum, ties="first"),
            label="first of ties",
        ),
        case(
            "switch", lambda x, y: x, x, values(2, 3, 2, low=-1.0),
            call=lambda B, x, y: phases.switch(True, x, lambda: y), label="then",
        ),
        case(
            "switch", lambda x, y: y, x, values(2, 3, 2, low=-1.0),
            call=lambda B, x, y: phases.switch(0, lambda: x, y), label="else",
        ),
        case(
            "in_train_phase", lambda x: 3 * x, x,
            call=lambda B, x: phases.in_train_phase(lambda: 3 * x, x, training=1), label="training",
        ),
    ]  # fmt: skip
    return made
