"""Determinants, right to the second derivative also where a matrix is singular.

The derivative of a determinant is the matrix of cofactors. Of a singular matrix it is finite, yet not to be had by way
of the inverse: it is computed from the singular values, as products of all of them but one. Its own derivative takes
products of all but two. From the third derivative on the inverse is used, and the matrix must be regular.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nbm_xp.namespace import dtype_name
from nbm_xp.tape.node import Node, Operation
from nbm_xp.tape.standard.complex_numbers import imag
from nbm_xp.tape.standard.declaring import of_matrices
from nbm_xp.tape.standard.manipulation import expand_dims, matrix_transpose
from nbm_xp.tape.standard.products import matmul
from nbm_xp.tape.standard.promotion import floating, real_of
from nbm_xp.tape.tensor import Tensor, record, record_several

from .diagonals import trace
from .matrices import check_square, square_infer
from .solving import inv

__all__ = ["SlogdetResult", "det", "slogdet"]


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


def _per_matrix(x: Tensor) -> Tensor:
    """One number for each matrix, ready to be multiplied by matrices."""
    return expand_dims(x, (-2, -1))


def _infer_det(x: Node) -> Any:
    check_square(x, "det")
    return x.shape[:-2], x.dtype


_DET = of_matrices("linalg.det", _infer_det, (lambda g, out, x: _per_matrix(g) * record(_COFACTORS, x),))


def det(x: Any, /) -> Tensor:
    """The determinant of square matrices."""
    return record(_DET, floating(x))


def _conj(xp: Any, x: Any) -> Any:
    return xp.conj(x) if dtype_name(x)[0] == "c" else x


def _decomposed(xp: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """The singular value decomposition, and the determinant of its two unitary factors together."""
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return u, s, vh, xp.linalg.det(u) * xp.linalg.det(vh)


def _logarithms(xp: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """Logarithms of the values that are not zero, which they are, and for each matrix the sum and the number of zeros.

    With logarithms, a product of all values but two needs no loop and no division by one that is zero.
    """
    zero = xp.astype(s == 0, s.dtype)
    logs = xp.log(s + zero)
    return logs, zero, xp.sum(logs, axis=-1, keepdims=True), xp.sum(zero, axis=-1, keepdims=True)


def _run_cofactors(xp: Any, x: Any) -> Any:
    if 0 in x.shape[-2:]:
        return x
    u, s, vh, phase = _decomposed(xp, x)
    logs, zero, total, zeros = _logarithms(xp, s)
    products = xp.where(zeros - zero == 0, xp.exp(total - logs), xp.zeros_like(s))
    return xp.matmul(_conj(xp, u) * (phase[..., None] * products)[..., None, :], _conj(xp, vh))


def _run_slope(xp: Any, direction: Any, x: Any) -> Any:
    """The derivative of the cofactors along a matrix; as a second derivative it is the same from either side."""
    if 0 in x.shape[-2:]:
        return direction
    u, s, vh, phase = _decomposed(xp, x)
    logs, zero, total, zeros = _logarithms(xp, s)
    left = zeros[..., None] - zero[..., :, None] - zero[..., None, :]
    without = xp.exp(total[..., None] - logs[..., :, None] - logs[..., None, :])
    eye = xp.tril(xp.triu(xp.ones_like(without)))
    products = xp.where(xp.logical_and(left == 0, eye == 0), without, xp.zeros_like(without))
    across = xp.matmul(xp.matmul(_conj(xp, xp.matrix_transpose(u)), direction), _conj(xp, xp.matrix_transpose(vh)))
    across = across * phase[..., None, None]
    along = xp.sum(products * xp.linalg.diagonal(across)[..., None, :], axis=-1)
    inner = eye * along[..., None] - xp.matrix_transpose(across * products)
    return xp.matmul(xp.matmul(_conj(xp, u), inner), _conj(xp, vh))


def _slope_rule(g: Tensor, out: Tensor, direction: Tensor, x: Tensor) -> Tensor:
    """The third derivative of the determinant along two matrices, by way of the inverse."""
    inverse = inv(x)
    one, other = matmul(inverse, direction), matmul(inverse, g)
    both = matmul(one, other)
    of_one, of_other = trace(one), trace(other)
    inner = both + matmul(other, one) - one * _per_matrix(of_other) - other * _per_matrix(of_one)
    result = matmul(inner, inverse) + inverse * _per_matrix(of_one * of_other - trace(both))
    return matrix_transpose(result) * _per_matrix(det(x))


_COFACTORS: Operation = of_matrices(
    "cofactors", square_infer("det"), (lambda g, out, x: record(_SLOPE, g, x),), run=_run_cofactors
)
_SLOPE: Operation = of_matrices(
    "cofactors_slope",
    lambda direction, x: (x.shape, x.dtype),
    (lambda g, out, direction, x: record(_SLOPE, g, x), _slope_rule),
    run=_run_slope,
)


def _infer_slogdet(x: Node) -> Any:
    check_square(x, "slogdet")
    return [(x.shape[:-2], x.dtype), (x.shape[:-2], real_of(x.dtype))]


def _slogdet_rule(g: dict[int, Tensor], out: Any, x: Tensor) -> Tensor | None:
    """Giles (2008), "An extended collection of matrix derivative results"; of complex matrices the sign turns."""
    factor = g.get(1)
    if 0 in g and x.dtype[0] == "c":
        turning = imag(g[0] * out[0]) * 1j
        factor = turning if factor is None else factor + turning
    return None if factor is None else _per_matrix(factor) * matrix_transpose(inv(x))


_SLOGDET = of_matrices("linalg.slogdet", _infer_slogdet, (_slogdet_rule,))


def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant of square matrices, and the logarithm of its absolute value."""
    return SlogdetResult(*record_several(_SLOGDET, floating(x)))
