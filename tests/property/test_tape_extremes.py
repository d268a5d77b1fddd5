"""Extreme inputs have defined answers, in value and gradient, and no library warns about them (warnings are errors)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, gradients, sigmoid, softplus
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")

INF, NAN, LN2 = math.inf, math.nan, math.log(2)
POINTS = [-INF, -1e4, 0.0, 1e4, INF]
TAILS = [math.exp(-80.0), math.exp(-30.0)]
EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))

POWERS: dict[int, tuple[list[float], list[float]]] = {
    0: ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]), 1: (POINTS, [1, 1, 1, 1, 1]),
    2: ([INF, 1e8, 0, 1e8, INF], [-INF, -2e4, 0, 2e4, INF]), 3: ([-INF, -1e12, 0, 1e12, INF], [INF, 3e8, 0, 3e8, INF]),
}  # fmt: skip
ARGUMENTS: list[list[float]] = [[-INF, INF, INF, -INF, 1e4, -1e4, 0.0], [-INF, INF, 0.0, 0.0, 0.0, 1e4, 0.0]]
LEFT, RIGHT = [-INF, INF, INF, 1e4, 1.0], [-INF, INF, 0.0, -1e4, 2.0]
TIED = [[3.0, 3.0, 1.0], [INF, INF, INF]]
THIRDS = [1 / 3, 1 / 3, 1 / 3]


def norm(order: float) -> Callable[[Any], Any]:
    return lambda x: xp.linalg.vector_norm(x, ord=order)


def power(exponent: int) -> Callable[[Any], Any]:
    return lambda x: x ** xp.asarray(np.full(5, float(exponent)))


CASES: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "softplus": (softplus, [POINTS], [[0, 0, LN2, 1e4, INF], [0, 0, 0.5, 1, 1]]),
    "log(1 + exp)": (lambda x: xp.log(1 + xp.exp(x)), [POINTS], [[0, 0, LN2, 1e4, INF], [0, 0, 0.5, 1, 1]]),
    "log(exp + 1)": (lambda x: xp.log(xp.exp(x) + 1.0), [POINTS], [[0, 0, LN2, 1e4, INF], [0, 0, 0.5, 1, 1]]),
    "sigmoid": (sigmoid, [POINTS], [[0, 0, 0.5, 1, 1], [0, 0, 0.25, 0, 0]]),
    "tails of sigmoid": (sigmoid, [[-80.0, -30.0]], [TAILS, TAILS]),
    "std of a constant": (xp.std, [[2.0, 2.0, 2.0]], [0, [0, 0, 0]]),
    "var of a constant": (xp.var, [[2.0, 2.0, 2.0]], [0, [0, 0, 0]]),
    **{f"norm {order} of zeros": (norm(order), [[0.0, 0.0]], [0, [0, 0]]) for order in (1, 2, 3)},
    **{f"power {n}": (lambda x, n=n: x**n, [POINTS], list(want)) for n, want in POWERS.items()},
    **{f"array power {n}": (power(n), [POINTS], list(want)) for n, want in POWERS.items()},
    "exponent": (
        lambda x, y: x**y,
        [[0.0, 0.0, 1.0, 2.0, -2.0], [2.0, 3.0, 5.0, 3.0, 2.0]],
        [[0, 0, 1, 8, 4], [0, 0, 5, 12, -4], [0, 0, 0, 8 * LN2, NAN]],
    ),
    "logaddexp": (
        xp.logaddexp,
        ARGUMENTS,
        [[-INF, INF, INF, 0, 1e4, 1e4, LN2], [0.5, 0.5, 1, 0, 1, 0, 0.5], [0.5, 0.5, 0, 1, 0, 1, 0.5]],
    ),
    "hypot": (xp.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0, 5], [0, 0.6], [0, 0.8]]),
    "atan2": (xp.atan2, [[0.0, 3.0], [0.0, 4.0]], [[0, math.atan2(3, 4)], [0, 0.16], [0, -0.12]]),
    "maximum": (xp.maximum, [LEFT, RIGHT], [np.maximum(LEFT, RIGHT), [0.5, 0.5, 1, 1, 0], [0.5, 0.5, 0, 0, 1]]),
    "minimum": (xp.minimum, [LEFT, RIGHT], [np.minimum(LEFT, RIGHT), [0.5, 0.5, 0, 0, 1], [0.5, 0.5, 1, 1, 0]]),
    "maximum of itself": (lambda x: xp.maximum(x, x), [[1.0, 2.0]], [[1, 2], [1, 1]]),
    "max": (lambda x: xp.max(x, axis=1), [TIED], [[3, INF], [[0.5, 0.5, 0], THIRDS]]),
    "min": (lambda x: xp.min(x, axis=1, keepdims=True), [TIED], [[[1], [INF]], [[0, 0, 1], THIRDS]]),
    "bounds of clip": (
        lambda x: xp.clip(x, 0.0, 1.0),
        [[-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF]],
        [[0, 0, 0, 0.5, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0]],
    ),
    "abs": (xp.abs, [[-1.0, 0.0, 2.0]], [[1, 0, 2], [-1, 0, 1]]),
    "what is not chosen": (
        lambda x: xp.where(x > 0, xp.log(xp.where(x > 0, x, 1.0)), 0.0), [[1.0, -1.0]], [[0, 0], [1, 0]],
    ),
    **{
        f"{fn.__name__} of no elements, axis {axis}": (
            lambda x, fn=fn, axis=axis: fn(x, axis=axis), [np.ones((0, 3))], [np.full(shape, neutral), np.ones((0, 3))],
        )
        for fn, neutral in ((xp.sum, 0), (xp.prod, 1))
        for axis, shape in ((None, ()), (0, (3,)), (1, (0,)))
    },
}  # fmt: skip
"""Functions, arguments, and the value and the gradient of its sum in each argument."""
IN_FLOAT32 = ("softplus", "log(1 + exp)", "sigmoid", "tails of sigmoid", "std of a constant", "norm 2 of zeros")


def check(library: Library, name: str, dtype: str) -> None:
    fn, points, wanted = CASES[name]
    inputs = [Variable(library.array(np.asarray(p, dtype=dtype))) for p in points]
    value = fn(*inputs)
    found = evaluate([value, *gradients(xp.sum(value), inputs)])
    for array, want in zip(map(library.numpy, found), wanted, strict=True):
        assert array.dtype == dtype
        rtol = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(array, np.asarray(want, dtype=dtype), rtol=rtol, strict=True)


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str, library: Library) -> None:
    check(library, name, "float64")


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_in_single_precision(name: str, library: Library) -> None:
    check(library, name, "float32")


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("fn", [softplus, sigmoid, lambda x: x**2, lambda x: xp.maximum(x, 0.0)])
def test_empty_and_one_element(fn: Callable[..., Any], library: Library) -> None:
    for shape in ((0,), (3, 0), (1,), (1, 1), ()):
        x = Variable(library.array(np.ones(shape)))
        value, slope = map(library.numpy, evaluate([fn(x), gradients(xp.sum(fn(x)), x)]))
        assert value.shape == slope.shape == shape
        assert np.all(np.isfinite(slope))


@pytest.mark.parametrize("fn", [xp.max, xp.min, xp.argmax, xp.argmin])
def test_extremes_of_no_elements_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="no elements"):
        fn(Variable(np.ones((0, 3))), axis=0)
