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

pytestmark = pytest.mark.jax_at_night

INF, NAN = math.inf, math.nan
POINTS = [-INF, -1e4, 0.0, 1e4, INF]
EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))


def value_and_gradients(library: Library, fn: Callable[..., Any], *points: Any, dtype: str = "float64") -> list[Any]:
    """The value and the gradient of its sum in every argument."""
    inputs = [Variable(library.array(np.asarray(p, dtype=dtype))) for p in points]
    value = fn(*inputs)
    found = evaluate([value, *gradients(xp.sum(value), inputs)])
    return [library.numpy(array) for array in found]


def log_one_plus_exp(x: Any) -> Any:
    return xp.log(1 + xp.exp(x))


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
class TestOneArgument:
    @pytest.mark.parametrize("fn", [log_one_plus_exp, softplus, lambda x: xp.log(xp.exp(x) + 1.0)])
    def test_softplus(self, fn: Callable[..., Any], dtype: str, library: Library) -> None:
        value, gradient = value_and_gradients(library, fn, POINTS, dtype=dtype)
        np.testing.assert_allclose(value, [0, 0, math.log(2), 1e4, INF], rtol=1e-6)
        np.testing.assert_allclose(gradient, [0, 0, 0.5, 1, 1], rtol=1e-6)
        assert value.dtype == gradient.dtype == dtype

    def test_sigmoid(self, dtype: str, library: Library) -> None:
        value, gradient = value_and_gradients(library, sigmoid, POINTS, dtype=dtype)
        np.testing.assert_allclose(value, [0, 0, 0.5, 1, 1], rtol=1e-6)
        np.testing.assert_allclose(gradient, [0, 0, 0.25, 0, 0], rtol=1e-6)

    def test_both_tails_of_sigmoid(self, dtype: str, library: Library) -> None:
        value, gradient = value_and_gradients(library, sigmoid, [-80.0, -30.0, 30.0], dtype=dtype)
        tails = [math.exp(-80.0), math.exp(-30.0)]
        np.testing.assert_allclose(value[:2], tails, rtol=1e-5)
        np.testing.assert_allclose(gradient[:2], tails, rtol=1e-5)
        assert value[2] == pytest.approx(1.0)

    @pytest.mark.parametrize("fn", [log_one_plus_exp, softplus, sigmoid, lambda x: x**2, lambda x: xp.maximum(x, 0.0)])
    def test_empty_and_one_element(self, fn: Callable[..., Any], dtype: str, library: Library) -> None:
        for shape in ((0,), (3, 0), (1,), (1, 1), ()):
            value, gradient = value_and_gradients(library, fn, np.ones(shape), dtype=dtype)
            assert value.shape == gradient.shape == shape
            assert np.all(np.isfinite(gradient))

    def test_deviation_of_a_constant(self, dtype: str, library: Library) -> None:
        for fn in (xp.std, xp.var):
            value, gradient = value_and_gradients(library, fn, [2.0, 2.0, 2.0], dtype=dtype)
            assert value == 0
            np.testing.assert_array_equal(gradient, [0, 0, 0])

    def test_norm_of_the_zero_vector(self, dtype: str, library: Library) -> None:
        for order in (1, 2, 3):
            value, gradient = value_and_gradients(
                library, lambda x, order=order: xp.linalg.vector_norm(x, ord=order), [0.0, 0.0], dtype=dtype
            )
            assert value == 0
            np.testing.assert_array_equal(gradient, [0, 0])


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize(
    ("exponent", "value", "slope"),
    [
        (0, [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
        (1, POINTS, [1, 1, 1, 1, 1]),
        (2, [INF, 1e8, 0, 1e8, INF], [-INF, -2e4, 0, 2e4, INF]),
        (3, [-INF, -1e12, 0, 1e12, INF], [INF, 3e8, 0, 3e8, INF]),
    ],
)
@pytest.mark.parametrize("as_array", [False, True])
def test_power(exponent: int, value: list[float], slope: list[float], as_array: bool, library: Library) -> None:
    if as_array:
        exponents = np.full(5, float(exponent))
        found = value_and_gradients(library, lambda x: x ** xp.asarray(exponents), POINTS)
    else:
        found = value_and_gradients(library, lambda x: x**exponent, POINTS)
    np.testing.assert_allclose(found[0], value)
    np.testing.assert_allclose(found[1], slope)


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_power_in_the_exponent(library: Library) -> None:
    base = [0.0, 0.0, 1.0, 2.0, -2.0]
    value, _, slope = value_and_gradients(library, lambda x, y: x**y, base, [2.0, 3.0, 5.0, 3.0, 2.0])
    np.testing.assert_allclose(value, [0, 0, 1, 8, 4])
    np.testing.assert_allclose(slope, [0, 0, 0, 8 * math.log(2), NAN])


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_logaddexp(library: Library) -> None:
    left = [-INF, INF, INF, -INF, 1e4, -1e4, 0.0]
    right = [-INF, INF, 0.0, 0.0, 0.0, 1e4, 0.0]
    value, by_left, by_right = value_and_gradients(library, xp.logaddexp, left, right)
    np.testing.assert_allclose(value, [-INF, INF, INF, 0, 1e4, 1e4, math.log(2)])
    np.testing.assert_allclose(by_left, [0.5, 0.5, 1, 0, 1, 0, 0.5])
    np.testing.assert_allclose(by_right, [0.5, 0.5, 0, 1, 0, 1, 0.5])


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_the_origin_has_no_direction(library: Library) -> None:
    for fn in (xp.hypot, xp.atan2):
        value, by_left, by_right = value_and_gradients(library, fn, [0.0, 3.0], [0.0, 4.0])
        assert value[0] == by_left[0] == by_right[0] == 0
        assert np.all(np.isfinite([by_left, by_right]))


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_larger_and_smaller(library: Library) -> None:
    left, right = [-INF, INF, INF, 1e4, 1.0], [-INF, INF, 0.0, -1e4, 2.0]
    for fn, wins in ((xp.maximum, [0.5, 0.5, 1, 1, 0]), (xp.minimum, [0.5, 0.5, 0, 0, 1])):
        value, by_left, by_right = value_and_gradients(library, fn, left, right)
        np.testing.assert_array_equal(value, getattr(np, fn.__name__)(left, right))
        np.testing.assert_array_equal(by_left, wins)
        np.testing.assert_array_equal(by_right, 1 - np.asarray(wins))


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_extremes_share_ties_equally(library: Library) -> None:
    tied = [[3.0, 3.0, 1.0], [INF, INF, INF]]
    _, gradient = value_and_gradients(library, lambda x: xp.max(x, axis=1), tied)
    np.testing.assert_allclose(gradient, [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    _, gradient = value_and_gradients(library, lambda x: xp.min(x, axis=1, keepdims=True), tied)
    np.testing.assert_allclose(gradient, [[0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    _, same = value_and_gradients(library, lambda x: xp.maximum(x, x), [1.0, 2.0])
    np.testing.assert_array_equal(same, [1, 1])


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_bounds_of_clip_let_the_gradient_pass(library: Library) -> None:
    _, gradient = value_and_gradients(library, lambda x: xp.clip(x, 0.0, 1.0), [-INF, -1.0, 0.0, 0.5, 1.0, 2.0, INF])
    np.testing.assert_array_equal(gradient, [0, 0, 1, 1, 1, 0, 0])


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_reductions_over_no_elements(library: Library) -> None:
    for fn, neutral in ((xp.sum, 0), (xp.prod, 1)):
        for axis in (None, 0, 1):
            value, gradient = value_and_gradients(library, lambda x, f=fn, a=axis: f(x, axis=a), np.ones((0, 3)))
            assert np.all(value == neutral)
            assert gradient.shape == (0, 3)


@pytest.mark.parametrize("fn", [xp.max, xp.min, xp.argmax, xp.argmin])
def test_extremes_of_no_elements_are_refused(fn: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="no elements"):
        fn(Variable(np.ones((0, 3))), axis=0)


def test_absolute_value_has_no_slope_at_zero() -> None:
    x = Variable(np.asarray([-1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(evaluate(gradients(xp.sum(xp.abs(x)), x)), [-1, 0, 1])


def test_a_value_that_is_not_chosen_is_not_felt() -> None:
    x = Variable(np.asarray([1.0, -1.0]))
    safe = xp.where(x > 0, x, 1.0)
    chosen = xp.where(x > 0, xp.log(safe), 0.0)
    np.testing.assert_allclose(evaluate(gradients(xp.sum(chosen), x)), [1.0, 0.0])
