"""Linear algebra beyond the tables of cases: singular matrices, equal values, errors, named results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp.tape import Variable, evaluate, function, gradients, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.gradcheck import check_gradient, flat_list, real_parts
from tests.helpers.libraries import Library, libraries
from tests.helpers.tables import Case, decompositions, fft
from tests.helpers.tables import linalg as tables

EVERY = libraries("numpy", "array_api_strict", "dask-halves", "torch", "jax", "cupy", without=("numpy-readonly",))
GENERATOR = np.random.default_rng(11)


def random(*shape: int, imaginary: bool = False) -> Any:
    value = GENERATOR.normal(size=shape)
    return value + 1j * GENERATOR.normal(size=shape) if imaginary else value


def of_rank(rank: int, n: int = 4, *, imaginary: bool = False) -> Any:
    return random(n, rank, imaginary=imaginary) @ random(rank, n, imaginary=imaginary)


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_gradient_of_the_determinant_of_a_singular_matrix(rank: int, imaginary: bool) -> None:
    check_gradient(xp.linalg.det, of_rank(rank, imaginary=imaginary), order=1)


@pytest.mark.parametrize("imaginary", [False, True])
def test_third_derivative_of_the_determinant(imaginary: bool) -> None:
    check_gradient(xp.linalg.det, random(3, 3, imaginary=imaginary), order=3, rtol=1e-4)
    check_gradient(xp.linalg.det, np.eye(3) + 0j if imaginary else np.eye(3), order=3, rtol=1e-4)


@pytest.mark.parametrize("library", EVERY, indirect=True)
def test_cofactors_of_a_singular_matrix(library: Library) -> None:
    x = np.asarray([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    variable = Variable(library.array(x))
    gradient = evaluate(gradients(xp.linalg.det(variable), variable))
    expected = [[4.0, 4.0, -4.0], [-2.0, -2.0, 2.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(library.numpy(gradient), expected, atol=1e-12)


def test_determinant_of_a_large_matrix_has_a_gradient() -> None:
    x = random(60, 60)
    variable = Variable(x, dtype="float64")
    gradient = evaluate(gradients(xp.linalg.det(variable), variable))
    np.testing.assert_allclose(gradient, np.linalg.det(x) * np.linalg.inv(x).T, rtol=1e-9)


def orthogonal(n: int, *, imaginary: bool = False) -> Any:
    return np.linalg.qr(random(n, n, imaginary=imaginary))[0]


@pytest.mark.parametrize("imaginary", [False, True])
def test_singular_values_that_are_equal(imaginary: bool) -> None:
    """A polar decomposition, and a sum over all singular values, are smooth where these are equal."""
    x = 2.0 * orthogonal(3, imaginary=imaginary)

    def polar(a: Any) -> Any:
        u, _, vh = xp.linalg.svd(a)
        return u @ vh

    check_gradient(polar, x, order=1)
    check_gradient(lambda a: xp.sum(xp.linalg.svdvals(a) ** 2), x, order=1)
    check_gradient(lambda a: xp.linalg.matrix_norm(a, ord="nuc"), x, order=2)


@pytest.mark.parametrize("imaginary", [False, True])
def test_eigenvalues_that_are_equal(imaginary: bool) -> None:
    """Sums over equal eigenvalues, and their eigenspace, are smooth."""
    q = orthogonal(4, imaginary=imaginary)
    x = (q * [1.0, 1.0, 1.0, 5.0]) @ np.conj(q).T

    def hermitian(a: Any) -> Any:
        return (a + xp.conj(xp.matrix_transpose(a))) / 2

    def space(a: Any) -> Any:
        vectors = xp.linalg.eigh(hermitian(a)).eigenvectors[:, :3]
        return vectors @ xp.conj(xp.matrix_transpose(vectors))

    check_gradient(lambda a: xp.sum(xp.linalg.eigvalsh(hermitian(a)) ** 3), x, order=1)
    check_gradient(lambda a: xp.sum(xp.exp(xp.linalg.eigh(hermitian(a)).eigenvalues)), x, order=1)
    check_gradient(space, x, order=1)


@pytest.mark.parametrize("library", EVERY, indirect=True)
@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, -1, -2, math.inf, -math.inf])
@pytest.mark.at_night("jax")
def test_matrix_norms_of_zeros_have_finite_gradients(order: Any, library: Library) -> None:
    x = Variable(library.array(np.zeros((2, 3))))
    value = xp.linalg.matrix_norm(x, ord=order)
    found = [library.numpy(array) for array in evaluate([value, gradients(value, x)])]
    assert found[0] == 0
    assert np.all(np.isfinite(found[1]))


@pytest.mark.parametrize("order", [2, 1, 0, 3, 0.5, -1, -2, math.inf, -math.inf])
@pytest.mark.parametrize("value", [[0.0, 0.0], [0.0, 3.0], [0j, 3.0]], ids=str)
def test_vector_norms_with_zeros_have_finite_gradients(order: float, value: list[Any]) -> None:
    array = np.asarray(value)
    x = Variable(array, dtype=str(array.dtype))
    norm = xp.linalg.vector_norm(x, ord=order)
    gradient = evaluate(gradients(norm, x))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(evaluate(norm), np.linalg.vector_norm(array, ord=order), rtol=1e-12)
    assert np.all(np.isfinite(gradient))
    assert gradient[0] == 0 or order < 0 or math.isinf(order)


SINGLE = list({
    (case.function, case.arrays[0].dtype.kind): case
    for case in (*decompositions.CASES, *fft.CASES, *tables.CASES)
    if case.arrays and case.differentiable and all(a.size for a in case.arrays) and "dtype" not in case.label
}.values())  # fmt: skip


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", without=("numpy-readonly",)), indirect=True)
@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_single_precision_stays(case: Case, library: Library) -> None:
    """Constants in gradient rules promote nothing: values and gradients keep the precision of their inputs."""
    narrow = {"float64": "float32", "complex128": "complex64"}
    variables = [Variable(library.array(a.astype(narrow.get(str(a.dtype), a.dtype)))) for a in case.arrays]
    results = flat_list(case.call(xp, *variables))
    assert not [str(r.dtype) for r in results if r.dtype in ("float64", "complex128")]
    loss = sum((xp.sum(part * part) for part in real_parts(results)), xp.asarray(0.0, dtype="float32"))
    found = gradients(loss, variables, disconnected="zero") if case.order else []
    for declared, array in zip([*results, *found], evaluate([*results, *found]), strict=True):
        assert str(library.numpy(array).dtype) == declared.dtype
    assert [g.dtype for g in found] == [v.dtype for v in variables][: len(found)]


def test_eigenvalues_are_complex_even_where_they_are_real() -> None:
    for dtype, wide in (("float32", "complex64"), ("float64", "complex128")):
        values = xp.linalg.eigvals(Variable(np.eye(2), dtype=dtype))
        assert values.dtype == wide
        assert str(evaluate(values).dtype) == wide


def test_complete_qr_of_tall_matrices_names_itself() -> None:
    x = Variable(random(4, 2), dtype="float64")
    with pytest.raises(NotImplementedError, match="mode='complete'"):
        gradients(xp.sum(xp.linalg.qr(x, mode="complete").Q), x)


def test_vectors_of_unknown_lengths_do_not_broadcast() -> None:
    run = function([x := placeholder((None,)), y := placeholder((None,))], xp.vecdot(x, y))
    assert run(np.ones(3), np.ones(3)) == 3
    with pytest.raises(ValueError, match="mismatch"):
        run(np.ones(3), np.ones(1))
