"""Kinks: the gradient of a size is zero where the size is, and so is what a second derivative gets from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.tape import checkpoint, grad, hvp, jvp
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

W = np.asarray([1.0, 2.0, -1.0])
SOME = libraries("numpy", "torch", "jax", "array_api_strict", without=("numpy-readonly",))
norm = xp.linalg.vector_norm

SIZES: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: xp.sum(xp.abs(x)), "norm": norm, "deviation": xp.std, "hypot": lambda x: xp.hypot(x[0], x[1]),
    "atan2": lambda x: xp.atan2(x[0], x[1]) ** 2, "norm of complex numbers": lambda x: norm(x + 2j * x),
    "Keras's deviation": K.std, "square of a norm": lambda x: norm(x) ** 2,
    "two sizes": lambda x: xp.sum(xp.abs(x) * xp.copysign(x, np.ones(3))),
    "square of a sum of sizes": lambda x: xp.sum(xp.abs(x)) ** 2,
    "inside a checkpoint": lambda x: checkpoint(lambda a: xp.sum(xp.abs(a) ** 2))(x) * 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_derivatives_at_zero_are_zero(name: str) -> None:
    np.testing.assert_array_equal(grad(SIZES[name])(np.zeros(3)), np.zeros(3))
    np.testing.assert_array_equal(hvp(SIZES[name], np.zeros(3), W), np.zeros(3))


@pytest.mark.parametrize("name", SIZES)
def test_second_derivatives_elsewhere(name: str) -> None:
    fn, x, step = SIZES[name], np.asarray([0.5, 2.0, -1.0]), 1e-5
    want = (grad(fn)(x + step * W) - grad(fn)(x - step * W)) / (2 * step)
    np.testing.assert_allclose(hvp(fn, x, W), want, atol=1e-6)
    np.testing.assert_allclose(jvp(grad(fn), (x,), (W,))[1], want, atol=1e-6)


@pytest.mark.parametrize("library", SOME, indirect=True)
@pytest.mark.parametrize("name", ["norm", "deviation", "hypot", "abs"])
def test_on_every_library(name: str, library: Library) -> None:
    x, w = library.array(np.zeros(3)), library.array(W)
    np.testing.assert_array_equal(library.numpy(hvp(SIZES[name], x, w)), np.zeros(3))
