"""Second derivatives where eigenvalues or singular values are equal or zero: those of differences, or NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import checkpoint, grad, gradients, hessian, hvp, jvp, scan
from nbm_xp.tape import namespace as xp
from tests.libraries import Library, libraries

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


SYMMETRIC: dict[str, Function] = {
    "squares": lambda x: xp.sum(spectrum(x) ** 2),
    "exponentials": lambda x: xp.sum(xp.exp(spectrum(x))),
    "square of their sum": lambda x: 1e3 * xp.sum(spectrum(x)) ** 2,
    "a function of their sum": lambda x: xp.log(xp.sum(xp.exp(spectrum(x)))),
    "beside the matrix": lambda x: xp.sum(spectrum(x) ** 3) * x[0, 1] + xp.sum(x**2),
    "by eigh": lambda x: xp.sum(xp.linalg.eigh(sym(x)).eigenvalues ** 4),
    "two calls": lambda x: (lambda s: xp.sum(xp.linalg.eigvalsh(s) * xp.linalg.eigh(s)[0] ** 2))(sym(x)),
    "some of them": lambda x: xp.sum(xp.linalg.eigvalsh(sym(x))[..., :2] ** 2),
    "not Hermitian": lambda x: xp.sum(xp.real(xp.linalg.eigvals(x) ** 3)),
    "by eig": lambda x: xp.sum(xp.real(xp.exp(xp.linalg.eig(x).eigenvalues))),
    "singular values": lambda x: xp.sum(xp.linalg.svdvals(x) ** 4),
    "outside a loop": lambda x: scan(lambda h: h + xp.sum(spectrum(x) ** 2) * h, outputs_info=x, n_steps=2)[0][
        -1, 0, 1
    ],
}
EQUAL = {
    "identity": np.eye(3),
    "two of three": (Q * [2.0, 2.0, 5.0]) @ Q.T,
    "nearly": (Q * [2.0, 2.0 + 1e-13, 2.0 + 3e-11]) @ Q.T,
    "apart": (Q * [1.0, 2.0, 4.0]) @ Q.T,
}
UNSMOOTH = [
    *(("some of them", name) for name in ("identity", "nearly")),  # the smaller two of three equal ones
    *((name, "nearly") for name in ("not Hermitian", "by eig")),  # whose vectors rounding makes nearly parallel
]


def expected(fn: Function, x: Any, w: Any) -> Any:
    step = 2e-5
    return (grad(fn)(x + step * w) - grad(fn)(x - step * w)) / (2 * step)


@pytest.mark.parametrize("matrix", EQUAL)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_second_derivatives_of_functions_of_the_values(name: str, matrix: str) -> None:
    fn, x = SYMMETRIC[name], EQUAL[matrix]
    if (name, matrix) in UNSMOOTH:
        assert not np.any(np.isfinite(hvp(fn, x, W)))
        return
    want = expected(fn, x, W)
    close = 1e-5 * np.max(np.abs(want))
    np.testing.assert_allclose(hvp(fn, x, W), want, atol=close)
    np.testing.assert_allclose(jvp(grad(fn), (x,), (W,))[1], want, atol=close)
    np.testing.assert_allclose(np.tensordot(hessian(fn)(x), W, 2), want, atol=close)


@pytest.mark.parametrize("library", SOME, indirect=True)
def test_of_squares_on_every_library(library: Library) -> None:
    x, w = library.array(np.eye(3)), library.array(W)
    for fn, want in ((SYMMETRIC["squares"], W + W.T), (lambda a: xp.sum(xp.linalg.svdvals(a) ** 2), 2 * W)):
        np.testing.assert_allclose(library.numpy(hvp(fn, x, w)), want, atol=1e-6)


DEFICIENT = {
    "one": np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 0.5]),
    "tall": np.outer([1.0, 2.0, 3.0], [1.0, -1.0]),
    "nothing": np.zeros((3, 2)),
    "a stack": np.stack([np.diag([1.0, 0.0, 0.0]), np.eye(3), np.diag([3.0, 2.0, 0.0])]),
}


@pytest.mark.parametrize("matrix", DEFICIENT)
def test_second_derivatives_at_a_deficient_rank(matrix: str) -> None:
    x = DEFICIENT[matrix]
    w = np.random.default_rng(3).normal(size=x.shape)
    np.testing.assert_allclose(hvp(lambda a: xp.sum(xp.linalg.svdvals(a) ** 2), x, w), 2 * w, atol=1e-12)
    fourth = lambda a: xp.sum(xp.linalg.svdvals(a) ** 4)  # noqa: E731
    np.testing.assert_allclose(hvp(fourth, x, w), expected(fourth, x, w), atol=1e-5)


@pytest.mark.parametrize("complex_", [False, True])
def test_gradients_of_matrix_functions(complex_: bool) -> None:
    """What a decomposition is put together to again is smooth where values are equal, and so it comes out."""
    hermitian = np.eye(3) * 2.0
    direction = (W + W.T) / 2
    np.testing.assert_allclose(np.sum(grad(rebuilt_eigh)(hermitian) * direction), np.exp(2) * np.sum(W * direction))
    x = 2 * Q if not complex_ else 2 * Q + 0j
    power = lambda a: xp.real(rebuilt_svd(a))  # noqa: E731
    found = grad(power)(x)
    for moved in (W, W.T):
        ahead, behind = (np.sum((b @ b.T @ b) * W) for b in (2 * Q + s * 1e-5 * moved for s in (1, -1)))
        np.testing.assert_allclose(np.real(np.sum(found * moved)), (ahead - behind) / 2e-5, rtol=1e-6)


NOWHERE: dict[str, Function] = {
    "weights of their order": lambda x: xp.sum(spectrum(x) * np.asarray([1.0, 2.0, 4.0])),
    "of two matrices": lambda x: xp.sum(spectrum(x) * xp.linalg.eigvalsh(sym(x) + 0.0)),
    "inside a checkpoint": lambda x: checkpoint(lambda a: xp.sum(spectrum(a) ** 2) ** 2)(x),
    "inside a loop": lambda x: scan(lambda h: h + xp.sum(spectrum(h) ** 2) * h, outputs_info=x, n_steps=2)[0][-1, 0, 1],
    "vectors": rebuilt_eigh,
    "factors": rebuilt_svd,
    "a third derivative": lambda x: xp.sum(gradients(xp.sum(spectrum(x) ** 3), x) ** 2),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_what_is_not_determined_is_no_number(name: str) -> None:
    assert np.any(np.isnan(hvp(NOWHERE[name], np.eye(3), W)))


NOWHERE_AT_ZERO: dict[str, Function] = {
    "square of the largest": lambda x: spectrum(x)[-1] ** 2,
    "weighed squares": lambda x: xp.sum(spectrum(x) ** 2 * np.asarray([1.0, 2.0, 4.0])),
    "square of the largest singular value": lambda x: xp.linalg.svdvals(x)[0] ** 2,
    "square of the spectral norm": lambda x: xp.linalg.matrix_norm(x, ord=2) ** 2,
    "product of two": lambda x: xp.linalg.svdvals(x)[0] * xp.linalg.svdvals(x)[1],
}


@pytest.mark.parametrize("name", NOWHERE_AT_ZERO)
def test_nor_is_what_has_a_gradient_there_but_no_other_derivative(name: str) -> None:
    """Where all gradients are zero: the limit depends on the way there."""
    fn, x = NOWHERE_AT_ZERO[name], np.zeros((3, 3))
    np.testing.assert_array_equal(grad(fn)(x), x)
    assert np.any(np.isnan(hvp(fn, x, W)))
    assert np.any(np.isnan(jvp(grad(fn), (x,), (W,))[1]))


def test_eigenvalues_of_a_matrix_that_lacks_eigenvectors() -> None:
    x = np.asarray([[1.0, 1.0], [0.0, 1.0]])
    for fn in (xp.linalg.eigvals, lambda a: xp.linalg.eig(a)[0]):
        assert np.all(np.isnan(grad(lambda a, fn=fn: xp.sum(xp.real(fn(a) ** 2)))(x)))
