"""Second derivatives at kinks: of functions of a size's square those of differences, of others zero, never NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras2 as K
from nbm_xp.tape import checkpoint, grad, hessian, hvp, jvp
from nbm_xp.tape import namespace as xp
from tests.libraries import Library, libraries

W = np.asarray([1.0, 2.0, -1.0])
SOME = libraries("numpy", "torch", "jax", "array_api_strict", without=("numpy-readonly",))
norm = xp.linalg.vector_norm

SMOOTH: dict[str, Callable[[Any], Any]] = {
    "norm": lambda x: norm(x) ** 2,
    "norm by itself": lambda x: norm(x) * norm(x),
    "norm of a part": lambda x: xp.square(norm(x[:2]) / 3.0) + x[2] ** 2,
    "norms of rows": lambda x: xp.sum(norm(xp.stack([x, 2 * x - 1]), axis=1, keepdims=True) ** 2),
    "norm to the fourth": lambda x: norm(x) ** 4,
    "cosh of a norm": lambda x: xp.cosh(norm(x)),
    "a Gaussian": lambda x: xp.exp(-(norm(x - 1.0) ** 2)) + xp.exp(-(norm(x) ** 2)),
    "Frobenius": lambda x: xp.linalg.matrix_norm(xp.reshape(x, (1, 3))) ** 2,
    "nuclear": lambda x: xp.linalg.matrix_norm(xp.reshape(x, (3, 1)), ord="nuc") ** 2,
    "distances": lambda x: xp.sum(norm(x[:, None, None] - x[None, :, None], axis=-1) ** 2),
    "deviation": lambda x: xp.std(x) ** 2,
    "deviations of rows": lambda x: xp.sum(xp.std(xp.stack([x, x * x]), axis=1, correction=1) ** 2),
    "hypot": lambda x: xp.hypot(x[0], x[1]) ** 2,
    "hypot of hypot": lambda x: xp.hypot(xp.hypot(x[0], x[1]), x[2]) ** 2,
    "hypot with a number": lambda x: xp.sum(xp.hypot(x, 0.0) ** 2),
    "abs": lambda x: xp.sum(xp.abs(x) ** 2),
    "abs by itself": lambda x: xp.sum(abs(x) * abs(x)),
    "abs of a product": lambda x: xp.abs(x[0] * x[1] + x[2]) ** 2,
    "copysign": lambda x: xp.sum(xp.copysign(x, np.asarray([1.0, -1.0, 1.0])) ** 2),
    "a number's sign": lambda x: xp.copysign(x[0], -1.0) ** 4 + xp.copysign(x[2], xp.asarray(1.0)) ** 2,
    "cos of abs": lambda x: xp.sum(xp.cos(xp.abs(x) * 1.5)),
    "Huber": lambda x: xp.sum(xp.where(xp.abs(x) < 1, 0.5 * xp.abs(x) ** 2, xp.abs(x) - 0.5)),
    "of a complex number": lambda x: xp.abs(x[0] + 1j * x[1]) ** 2,
    "norm of complex numbers": lambda x: norm(x + 2j * x) ** 2,
    "Keras's deviation": lambda x: K.std(x) ** 2,
    "Keras's square of abs": lambda x: K.sum(K.square(K.abs(x))),
}
POINTS = {"zeros": np.zeros(3), "some": np.asarray([0.0, 2.0, 0.0]), "equal": np.full(3, 1.5)}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", SMOOTH)
def test_of_what_is_smooth_in_the_square(name: str, point: str) -> None:
    fn, x = SMOOTH[name], POINTS[point]
    step = 1e-5
    want = (grad(fn)(x + step * W) - grad(fn)(x - step * W)) / (2 * step)
    np.testing.assert_allclose(hvp(fn, x, W), want, atol=1e-6)
    np.testing.assert_allclose(jvp(grad(fn), (x,), (W,))[1], want, atol=1e-6)
    np.testing.assert_allclose(hessian(fn)(x) @ W, want, atol=1e-6)


@pytest.mark.parametrize("library", SOME, indirect=True)
@pytest.mark.parametrize("name", ["norm", "deviation", "hypot", "abs"])
def test_on_every_library(name: str, library: Library) -> None:
    x, w = library.array(np.zeros(3)), library.array(W)
    want = {"norm": 2 * W, "deviation": 2 * (W - W.mean()) / 3, "hypot": [2.0, 4.0, 0.0], "abs": 2 * W}[name]
    np.testing.assert_allclose(library.numpy(hvp(SMOOTH[name], x, w)), want, atol=1e-12)


ZERO: dict[str, Callable[[Any], Any]] = {
    "abs": lambda x: xp.sum(xp.abs(x)),
    "norm": norm,
    "deviation": xp.std,
    "atan2": lambda x: xp.atan2(x[0], x[1]) ** 2,
    "two sizes": lambda x: xp.sum(xp.abs(x) * xp.copysign(x, np.ones(3))),
    "square of a sum of sizes": lambda x: xp.sum(xp.abs(x)) ** 2,
    "inside a checkpoint": lambda x: checkpoint(lambda a: xp.sum(xp.abs(a) ** 2))(x) * 1.0,
}


@pytest.mark.parametrize("name", ZERO)
def test_of_other_kinks_it_is_zero(name: str) -> None:
    np.testing.assert_array_equal(hvp(ZERO[name], np.zeros(3), W), np.zeros(3))
    np.testing.assert_array_equal(grad(ZERO[name])(np.zeros(3)), np.zeros(3))
