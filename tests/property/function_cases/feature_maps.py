"""Cases of feature maps, convolved and pooled, of compound products and of the gradient of look-ups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.functions import compound, feature_maps, joining, pooling
from nbm_xp.namespace import array_namespace
from tests.helpers.tables.case import values, whole
from tests.helpers.windows import convolved, from_maps, pooled, to_maps, transposed

from .case import FunctionCase, case

__all__ = ["cases"]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_convolved(), *_pooled(), *_gradients_of_pooling(), *_products(), *_steps()]


def _of(
    function: Callable[..., Any], reference: Callable[..., Any], *arrays: np.ndarray, **fields: Any
) -> FunctionCase:
    """A case of a function with options, which are also the case's label."""
    options = fields.pop("options", {})
    label = fields.pop("label", "") or ",".join(f"{key}={value}" for key, value in options.items())

    def call(B: Any, *given: Any) -> Any:
        return function(*given, **options)

    fields.setdefault("rtol", 1e-11)
    return case(function.__name__, reference, *arrays, call=call, label=label.replace(" ", ""), **fields)


def _filters(filters: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Filters as (sizes…, channels, filters)."""
    return np.moveaxis(filters.reshape(-1, *sizes, filters.shape[1]), 0, -2)


def _convolved() -> list[FunctionCase]:
    made = []
    for channels, lengths, sizes, strides, padding, dilation in (
        (2, (1, 4, 5), (1, 3, 2), (1, 1, 1), (0, 1, 0), (1, 1, 1)),
        (1, (1, 6, 5), (1, 2, 3), (1, 2, 3), (0, 0, 2), (1, 2, 1)),
        (2, (3, 4, 3), (2, 2, 2), (2, 1, 1), (1, 0, 1), (1, 1, 2)),
        (3, (1, 2, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    ):
        pads = tuple((pad, pad) for pad in padding)
        x, filters = values(channels * np.prod(lengths), 2), values(channels * np.prod(sizes), 2, low=-1.0)
        options: dict[str, Any] = {
            "lengths": lengths, "sizes": sizes, "strides": strides, "padding": padding, "dilation_rate": dilation,
        }  # fmt: skip

        def forward(
            x: np.ndarray, f: np.ndarray, n: Any = lengths, k: Any = sizes, s: Any = strides, p: Any = pads,
            d: Any = dilation,
        ) -> np.ndarray:  # fmt: skip
            return to_maps(convolved(from_maps(x, n), _filters(f, k), s, p, d))

        def inputs(
            g: np.ndarray, f: np.ndarray, n: Any = lengths, k: Any = sizes, s: Any = strides, p: Any = pads,
            d: Any = dilation, counts: Any = None,
        ) -> np.ndarray:  # fmt: skip
            counts = [(a + 2 * b[0] - (c - 1) * e - 1) // h + 1 for a, b, c, e, h in zip(n, p, k, d, s, strict=True)]
            return to_maps(transposed(from_maps(g, counts), _filters(f, k), n, s, p, d))

        def to_filters(x: np.ndarray, g: np.ndarray, forward: Any = forward, shape: Any = filters.shape) -> np.ndarray:
            units = np.eye(np.prod(shape)).reshape(-1, *shape)  # linear in the filters: one by one
            return np.asarray([np.sum(forward(x, unit) * g) for unit in units]).reshape(shape)

        g = values(*forward(x, filters).shape, low=-1.0)
        made += [
            _of(feature_maps.conv_maps, forward, x, filters, options=options),
            _of(feature_maps.conv_maps_inputs, inputs, g, filters, options=options),
            _of(feature_maps.conv_maps_filters, to_filters, x, g, options=options),
        ]
    return made


_POOLS: list[dict[str, Any]] = [
    {"lengths": (3, 4, 5), "sizes": (1, 2, 3), "strides": (1, 2, 1), "padding": (0, 1, 1)},
    {"lengths": (5, 2), "sizes": (3, 1), "strides": (1, 1), "padding": (1, 0)},
    {"lengths": (2, 3, 4), "sizes": (2, 2, 2), "strides": (2, 2, 2), "padding": (0, 0, 0)},
    {"lengths": (2, 5, 6), "sizes": (1, 2, 3), "strides": (1, 2, 2), "padding": (0, 0, 0), "cover": True},
]


def _windows(options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Sizes, strides, and padding as pairs, with what covers every element behind."""
    sizes = options["sizes"]
    strides, pads = options["strides"], options["padding"]
    pairs = []
    for n, size, stride, pad in zip(options["lengths"], sizes, strides, pads, strict=True):
        more = -(n + 2 * pad - size) % stride if options.get("cover") else 0
        pairs.append((pad, pad + more))
    return sizes, strides, tuple(pairs)


def _pool(x: np.ndarray, options: dict[str, Any], mode: str) -> np.ndarray:
    return to_maps(pooled(from_maps(x, options["lengths"], channels=1), *_windows(options), mode))


def _pooled() -> list[FunctionCase]:
    made = []
    for options in _POOLS:
        x = values(np.prod(options["lengths"]), 2)
        made += [
            _of(feature_maps.pool_maps, lambda x, o=options, m=mode: _pool(x, o, m), x,
                options=options | {"pool_mode": mode})
            for mode in ("max", "avg", "l2")
        ]  # fmt: skip

    def places(x: np.ndarray) -> np.ndarray:
        return x.reshape(2, 3, 2).argmax(axis=1)

    ties = whole(6, 2, dtype="float64")
    where = {"lengths": (1, 6), "sizes": (1, 3), "strides": (1, 3), "padding": (0, 0)}
    made.append(_of(feature_maps.pool_maps_places, places, ties, options=where, flat=True))
    return made


def _gradients_of_pooling() -> list[FunctionCase]:
    """Each as the change of an inner product of results and `g`, which central differences find exactly enough."""

    def reference(x: np.ndarray, g: np.ndarray, forward: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        step = 1e-6
        units = step * np.eye(x.size).reshape(-1, *x.shape)
        rises = [np.sum((forward(x + unit) - forward(x - unit)) * g) for unit in units]
        return np.asarray(rises).reshape(x.shape) / (2 * step)

    made = []
    for options in _POOLS[:2] + _POOLS[3:]:
        x = values(np.prod(options["lengths"]), 2)
        g = values(*_pool(x, options, "max").shape, low=-1.0)
        for mode in ("max", "avg", "l2"):
            made.append(
                _of(feature_maps.pool_maps_gradient,
                    lambda x, g, o=options, m=mode: reference(x, g, lambda x: _pool(x, o, m)), x, g,
                    options=options | {"pool_mode": mode}, order=1, rtol=1e-8)
            )  # fmt: skip
    image = values(1, 3, 4, 2)
    made.append(
        _of(pooling.pool_gradient, lambda x, g: reference(x, g, lambda x: pooled(x, (2, 3), 1, "valid", "l2")), image,
            values(1, 2, 2, 2), options={"pool_size": (2, 3), "pool_mode": "l2", "data_format": "channels_last"},
            order=1, rtol=1e-8)
    )  # fmt: skip
    return made


def _products() -> list[FunctionCase]:
    a, b, held = values(2, 3), values(3, 4, low=-1.0), values(2, 4)
    several, pair = values(2, 3, 4, low=-1.0), values(2, 2, 3, low=-1.0)
    scaled: dict[str, Any] = {"alpha": 0.5, "beta": -2.0, "relu": True}

    def raised(product: np.ndarray, held: np.ndarray) -> np.ndarray:
        return np.maximum(0.5 * product, 0) - 2.0 * held

    return [
        _of(compound.scaled, lambda x, h: 3.0 * x + h, b, values(3, 4), options={"alpha": 3.0, "beta": 1.0}),
        _of(compound.scaled, lambda x: -2 * x, whole(2, 3), options={"alpha": -2.0}),
        _of(compound.compound_product, lambda a, b: a @ b, a, b),
        _of(compound.compound_product, lambda a, b, h: raised(a @ b, h), a, b, held, options=scaled),
        _of(compound.compound_product, lambda a, b: a @ b, a.astype("float32"), b, label="mixed"),
        _of(compound.batched_product, lambda a, b: a @ b, values(5, 3), several),
        _of(compound.batched_product, lambda a, b, h: raised(a @ b, h), a, several, values(2, 2, 4), options=scaled),
        _of(compound.batched_product, lambda a, b: (a @ b).sum(axis=0), pair, several),
        _of(compound.batched_product, lambda a, b, h: raised((a @ b).sum(axis=0), h), pair, several, held,
            options=scaled),
    ]  # fmt: skip


def _steps() -> list[FunctionCase]:
    indices = np.asarray([[3, 0, 3, 1]])
    held, errors = values(5, 2), values(2, 4, low=-1.0)

    def table(held: np.ndarray, errors: np.ndarray) -> np.ndarray:
        found = held.copy()
        for row in (3, 0):  # 1 is the padding, and the others were not looked up
            found[row] = 2.0 * errors[:, indices[0] == row].sum(axis=1) - held[row]
        return found

    def looked_up(held: Any, errors: Any) -> Any:
        return compound.lookup_gradient(held, _like(errors, indices), errors, 2.0, -1.0, padding=1)

    return [
        _of(compound.recurrent_input, lambda w, h, b, x: w @ h + x + b, values(3, 3), values(3, 2, low=-1.0),
            values(3, 1), values(3, 2)),
        _of(compound.sums_by_map, lambda x: x.reshape(2, -1).sum(axis=1, keepdims=True).astype("float32"),
            values(4, 3).astype("float32"), options={"maps": 2}, rtol=1e-6),
        _of(joining.sums_at, lambda v, p: np.stack([v[p == row].sum(axis=0) for row in range(4)]), values(5, 2),
            np.asarray([3, 0, 3, 1, 3]), options={"length": 4}),
        case("lookup_gradient", table, held, errors, call=lambda B, *given: looked_up(*given), rtol=1e-11),
    ]  # fmt: skip


def _like(x: Any, indices: np.ndarray) -> Any:
    """Indices of the same library as an array, or recorded as it is."""
    return array_namespace(x).asarray(indices)
