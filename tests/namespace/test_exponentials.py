"""The compiled rows equal the portable code, also for extreme values, and skip unsupported arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp.functions.activations import log_softmax, softmax
from nbm_xp.functions.neural import logsumexp
from nbm_xp.machines.units.discrete import softmax_states
from nbm_xp.namespace import core, exponentials
from nbm_xp.tape import Variable, evaluate, gradients
from nbm_xp.tape import namespace as xp

pytestmark = pytest.mark.skipif(not core.functions, reason="there is no compiled core, or it is not used")


@pytest.fixture
def x() -> Any:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(70, 1000)) * rng.uniform(0.1, 60, size=(70, 1))).astype("float32")
    x[0], x[1, :5], x[2, 3] = 0.0, -math.inf, 3e38
    x[3] = np.linspace(-1e4, 1e4, 1000)
    return x


def wide(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Softmax and logsumexp in higher precision."""
    below = x.astype("float64") - x.max(axis=1, keepdims=True)
    total = np.exp(below).sum(axis=1, keepdims=True)
    return np.exp(below) / total, (x.max(axis=1, keepdims=True) + np.log(total))[:, 0]


def test_values(x: Any) -> None:
    share, total = wide(x)
    assert exponentials.softmax(x, -1) is not None
    np.testing.assert_allclose(softmax(x), share, rtol=1e-5, atol=2e-38)
    np.testing.assert_allclose(logsumexp(x, axis=1), total, rtol=4e-7, atol=2e-7)
    np.testing.assert_allclose(log_softmax(x), x - total[:, None], rtol=2e-6, atol=2e-6)
    for result in (softmax(x), logsumexp(x, axis=(-1,)), log_softmax(x, axis=1)):
        assert result.dtype == np.float32


def test_infinities_and_nan(x: Any) -> None:
    x[4], x[5, 7], x[6, 7], x[7, 9] = -math.inf, math.inf, math.nan, -math.nan
    with np.errstate(invalid="ignore"):
        got = logsumexp(x, axis=1)
    assert got[4] == -math.inf
    assert got[5] == math.inf
    assert np.isnan(got[6])
    assert np.isnan(got[7])
    for row in softmax(x)[[6, 7]]:
        assert np.isnan(row).all()
    assert np.isfinite(softmax(x)[:4]).all()


def test_a_read_only_stack_of_rows(x: Any) -> None:
    stack = x.reshape(2, 35, 1000)
    stack.flags.writeable = False
    np.testing.assert_allclose(softmax(stack), wide(x)[0].reshape(stack.shape), rtol=1e-5, atol=2e-38)
    assert logsumexp(stack, axis=2).shape == (2, 35)


def test_what_the_loops_are_not_made_for_is_left_to_the_portable_body(x: Any) -> None:
    for other, axis in ((x.astype("float64"), -1), (x, 0), (x[:, ::2], -1), (x[:2], -1), (x.T, -1)):
        assert exponentials.softmax(other, axis) is None
        np.testing.assert_allclose(softmax(other, axis).sum(axis=axis), 1.0, rtol=1e-5)


def test_gradients_go_by_the_same_rules(x: Any) -> None:
    variable = Variable(x)
    got = evaluate(gradients(xp.sum(logsumexp(variable, axis=1)), variable))
    np.testing.assert_allclose(got, wide(x)[0], rtol=2e-5, atol=1e-37)


def test_drawn_states_are_those_of_the_portable_form() -> None:
    rng = np.random.default_rng(0)
    for shape, axis in (((3, 5, 21, 70), 2), ((300, 21), 1), ((2, 300, 3), 1), ((4, 2), 1)):
        for dtype in ("float32", "float64"):
            inputs, uniforms = rng.normal(0.0, 20.0, shape).astype(dtype), rng.random(np.delete(shape, axis), dtype)
            uniforms.flat[0], inputs.flat[3] = 0.0, -math.inf
            found = softmax_states(inputs, uniforms, axis)
            np.testing.assert_array_equal(found, softmax_states.body.__wrapped__(inputs, uniforms, axis))
            assert (found.sum(axis=axis) == 1).all()
