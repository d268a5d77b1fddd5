"""The stable functions have defined answers at ±1e4, ±inf, for one element and for none: no warning, no nan.

Warnings are errors in the tests. References are taken in exact or extended arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.functions import neural
from nbm_xp.tape import Variable, evaluate, gradients
from tests.helpers.gradcheck import check_gradient
from tests.helpers.libraries import Library, libraries

pytestmark = pytest.mark.at_night("jax")

ELEMENTS = st.sampled_from([-math.inf, -1e4, -800.0, -100.0, -30.0, -1.0, -1e-9, 0.0, 0.5, 20.0, 100.0, 1e4, math.inf])
FINITE = ELEMENTS.filter(math.isfinite)
ROWS = st.integers(0, 4)
DTYPES = st.sampled_from(["float32", "float64"])
EAGER = libraries("numpy", "numpy-readonly", "array_api_strict", "torch", "jax", "cupy", "dask-ragged")


def matrices(elements: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    return st.builds(
        lambda columns, flat, rows, dtype: np.asarray(flat[: rows * columns], dtype=dtype).reshape(rows, columns),
        st.integers(0, 4), st.lists(elements, min_size=16, max_size=16), ROWS, DTYPES,
    )  # fmt: skip


def exact_sigmoid(x: float) -> float:
    return 0.0 if x == -math.inf else 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)


def exact_logsumexp(row: np.ndarray) -> float:
    top = max(row, default=-math.inf)
    return float(top) if math.isinf(top) else float(top) + math.log(sum(math.exp(x - top) for x in row))


@pytest.mark.parametrize("library", EAGER, indirect=True)
@given(x=matrices(ELEMENTS))
def test_values(library: Library, x: np.ndarray) -> None:
    eps, tiny = float(np.finfo(x.dtype).eps), float(np.finfo(x.dtype).tiny)
    array = library.array(x)
    wide = x.astype("float64")
    cases = {
        "sigmoid": (B.sigmoid(array), np.vectorize(exact_sigmoid, otypes=[float])(wide)),
        "softplus": (neural.softplus(array), np.logaddexp(wide, 0.0)),
        "logsumexp": (B.logsumexp(array, axis=1), np.asarray([exact_logsumexp(row) for row in wide])),
    }
    for name, (got, want) in cases.items():
        result = library.numpy(got)
        assert result.dtype == x.dtype
        # a logarithm of a sum near 1 keeps absolute, not relative precision
        atol = eps if name == "logsumexp" else tiny
        np.testing.assert_allclose(result, want.reshape(result.shape), rtol=4 * eps, atol=atol, err_msg=name)


@pytest.mark.parametrize("library", EAGER, indirect=True)
@given(pair=st.tuples(ELEMENTS, ELEMENTS), dtype=DTYPES)
def test_logdiffexp(library: Library, pair: tuple[float, float], dtype: str) -> None:
    low, high = sorted(pair)
    (got,) = library.numpy(B.logdiffexp(library.array(np.asarray([low, high], dtype=dtype))))
    if low == high:
        assert got == -math.inf or (math.isnan(got) and low == math.inf)
    else:
        want = high if math.isinf(high) or low == -math.inf else high + math.log(-math.expm1(low - high))
        assert got == pytest.approx(want, rel=1e-6)
        (nan,) = library.numpy(B.logdiffexp(library.array(np.asarray([high, low], dtype=dtype))))
        assert math.isnan(nan)


@given(x=matrices(ELEMENTS))
def test_gradients_are_defined(x: np.ndarray) -> None:
    variable = Variable(x)
    sums = B.logsumexp(variable, axis=1)
    losses = [B.sum(B.sigmoid(variable)), B.sum(neural.softplus(variable)), B.sum(sums)]
    for loss, name in zip(losses, ("sigmoid", "softplus", "logsumexp"), strict=True):
        gradient = evaluate(gradients(loss, variable))
        assert gradient.shape == x.shape
        assert not np.isnan(gradient).any(), name
        assert (gradient >= 0).all()
        assert (gradient <= 1).all()
    rows = evaluate(gradients(losses[-1], variable)).sum(axis=1)
    np.testing.assert_allclose(rows, np.ones(len(rows)) if x.shape[1] else np.zeros(len(rows)), rtol=1e-5)


@given(row=st.lists(FINITE, min_size=1, max_size=4))
def test_second_gradients_are_defined(row: list[float]) -> None:
    variable = Variable(np.asarray(row))
    for fn in (B.sigmoid, neural.softplus, B.logsumexp):
        first = gradients(B.sum(fn(variable)), variable)
        second = evaluate(gradients(B.sum(first * np.arange(1.0, len(row) + 1)), variable, disconnected="zero"))
        assert np.isfinite(second).all()


@given(row=st.lists(st.floats(-30, 30), min_size=1, max_size=5))
def test_own_rules_equal_finite_differences(row: list[float]) -> None:
    x = np.asarray(row)
    check_gradient(B.sigmoid, x)
    check_gradient(neural.softplus, x)
    check_gradient(B.logsumexp, x)


def test_infinite_shares() -> None:
    x = Variable(np.asarray([[math.inf, 1.0, math.inf], [-math.inf, -math.inf, -math.inf]]))
    got = evaluate(gradients(B.sum(B.logsumexp(x, axis=1)), x))
    np.testing.assert_allclose(got, [[0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3]])


def test_far_tail_of_sigmoid_keeps_its_digits() -> None:
    for dtype, low in (("float32", -87.0), ("float64", -700.0)):
        x = np.linspace(low, -1.0, 97).astype(dtype)
        want = np.exp(x.astype("longdouble")) / (1 + np.exp(x.astype("longdouble")))
        np.testing.assert_allclose(B.sigmoid(x), want.astype(dtype), rtol=8 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("value", [-4.0, 0.0, 1e-300, math.inf])
def test_gradient_of_the_root(value: float) -> None:
    x = Variable(np.asarray([value]))
    (got,) = evaluate(gradients(B.sum(B.sqrt(x)), x))
    assert got == (0.5 / math.sqrt(value) if value > 0 else 0.0)


def extreme_half(x: Any) -> Any:
    return np.asarray(x, dtype="float16")


def test_half_precision() -> None:
    x = extreme_half([-math.inf, -20.0, -5.0, 0.0, 11.5, 60000.0, math.inf])
    got = B.sigmoid(x)
    assert got.dtype == "float16"
    np.testing.assert_allclose(got, [exact_sigmoid(float(v)) for v in x], rtol=2e-3, atol=6e-8)
    assert B.mean(extreme_half([60000.0, 60000.0])) == 60000.0
