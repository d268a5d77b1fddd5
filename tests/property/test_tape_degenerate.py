"""Derivatives where eigenvalues or singular values are equal or zero: right where all are of the values, or NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import checkpoint, grad, gradients, hvp, jvp, scan
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

W = np.random.default_rng(7).normal(size=(3, 3))
Q = np.linalg.qr(np.random.default_rng(8).normal(size=(3, 3)))[0]
SOME = libraries("numpy", "torch", "jax", "array_api_strict", without=("numpy-readonly",))

Function = Callable[[Any], Any]


def sym(x: Any) -> Any:
    return (x + xp.matrix_transpose(x)) / 2


def spectrum(x: Any) -> Any:
    return xp.linalg.eigvalsh(sym(x))


def rebuilt_svd(x: Any) -> Any:
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return xp.sum(((u * s**3) @ vh) * W[:, : x.shape[1]])


def rebuilt_eigh(x: Any) -> Any:
    values, vectors = xp.linalg.eigh(sym(x))
    return xp.sum((vectors * xp.exp(values)) @ vectors.T * W)


FUNCTIONS: dict[str, Function] = {
    "squares": lambda x: xp.sum(spectrum(x) ** 2),
    "exponentials": lambda x: xp.sum(xp.exp(spectrum(x))),
    "square of their sum": lambda x: 1e3 * xp.sum(spectrum(x)) ** 2,
    "beside the matrix": lambda x: xp.sum(spectrum(x) ** 3) * x[0, 1] + xp.sum(x**2),
    "by eigh": lambda x: xp.sum(xp.linalg.eigh(sym(x)).eigenvalues ** 4),
    "not Hermitian": lambda x: xp.sum(xp.real(xp.linalg.eigvals(x) ** 3)),
    "by eig": lambda x: xp.sum(xp.real(xp.exp(xp.linalg.eig(x).eigenvalues))),
    "singular values": lambda x: xp.sum(xp.linalg.svdvals(x) ** 4),
    "in a loop": lambda x: scan(lambda h: h + xp.sum(spectrum(x) ** 2) * h, outputs_info=x, n_steps=2)[0][-1, 0, 1],
    "in a checkpoint": lambda x: checkpoint(lambda a: xp.sum(spectrum(a) ** 2) ** 2)(x),
}
EQUAL = {"identity": np.eye(3), "two of three": (Q * [2.0, 2.0, 5.0]) @ Q.T, "apart": (Q * [1.0, 2.0, 4.0]) @ Q.T}


@pytest.mark.parametrize("matrix", EQUAL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_functions_of_the_values(name: str, matrix: str) -> None:
    """The first derivative is right, the second right or NaN."""
    fn, x, step = FUNCTIONS[name], EQUAL[matrix], 2e-5
    want = (fn(x + step * W) - fn(x - step * W)) / (2 * step)
    np.testing.assert_allclose(np.sum(grad(fn)(x) * W), want, rtol=1e-5, atol=1e-5)
    second = (grad(fn)(x + step * W) - grad(fn)(x - step * W)) / (2 * step)
    close = 1e-5 * np.max(np.abs(second))
    for found in (hvp(fn, x, W), jvp(grad(fn), (x,), (W,))[1]):
        if matrix == "apart" or not np.any(np.isnan(found)):
            np.testing.assert_allclose(found, second, atol=close)


@pytest.mark.parametrize("library", SOME, indirect=True)
def test_of_squares_on_every_library(library: Library) -> None:
    x = library.array(np.eye(3))
    np.testing.assert_allclose(library.numpy(grad(FUNCTIONS["squares"])(x)), 2 * np.eye(3), atol=1e-6)
    assert np.any(np.isnan(library.numpy(hvp(FUNCTIONS["squares"], x, library.array(W)))))


DEFICIENT = {
    "one": np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 0.5]), "tall": np.outer([1.0, 2.0, 3.0], [1.0, -1.0]),
    "nothing": np.zeros((3, 2)), "a stack": np.stack([np.diag([1.0, 0.0, 0.0]), np.eye(3), np.diag([3.0, 2.0, 0.0])]),
}  # fmt: skip


@pytest.mark.parametrize("matrix", DEFICIENT)
def test_gradients_at_a_deficient_rank(matrix: str) -> None:
    x = DEFICIENT[matrix]
    np.testing.assert_allclose(grad(lambda a: xp.sum(xp.linalg.svdvals(a) ** 2))(x), 2 * x, atol=1e-12)


NOWHERE: dict[str, Function] = {
    "weights of their order": lambda x: xp.sum(spectrum(x) * np.asarray([1.0, 2.0, 4.0])),
    "of two matrices": lambda x: xp.sum(spectrum(x) * xp.linalg.eigvalsh(sym(x) + 0.0)),
    "inside a checkpoint": FUNCTIONS["in a checkpoint"],
    "inside a loop": lambda x: scan(lambda h: h + xp.sum(spectrum(h) ** 2) * h, outputs_info=x, n_steps=2)[0][-1, 0, 1],
    "vectors": rebuilt_eigh,
    "factors": rebuilt_svd,
    "a third derivative": lambda x: xp.sum(gradients(xp.sum(spectrum(x) ** 3), x) ** 2),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_second_derivatives_that_are_not_determined_are_nan(name: str) -> None:
    assert np.any(np.isnan(hvp(NOWHERE[name], np.eye(3), W)))


@pytest.mark.parametrize("fn", [rebuilt_eigh, rebuilt_svd])
def test_gradients_that_depend_on_vectors_and_values_are_nan(fn: Function) -> None:
    """The standard rule has no limit for equal values."""
    assert np.any(np.isnan(grad(fn)(2 * np.eye(3))))


def test_eigenvalues_of_a_matrix_that_lacks_eigenvectors() -> None:
    x = np.asarray([[1.0, 1.0], [0.0, 1.0]])
    for fn in (xp.linalg.eigvals, lambda a: xp.linalg.eig(a)[0]):
        assert np.all(np.isnan(grad(lambda a, fn=fn: xp.sum(xp.real(fn(a) ** 2)))(x)))
