"""Determinants.

The derivative of a determinant is the matrix of cofactors, which is finite of a singular matrix too. From the second
derivative on the inverse is used, and the matrix must be regular.
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


def _run_cofactors(xp: Any, x: Any) -> Any:
    """From the singular values: those of the cofactors are the products of all but one of them."""
    if 0 in x.shape[-2:]:
        return x
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    phase = xp.linalg.det(u) * xp.linalg.det(vh)
    rows = xp.broadcast_to(s[..., None, :], (*s.shape, s.shape[-1]))
    one = xp.tril(xp.triu(xp.ones_like(rows)))
    products = xp.prod(xp.where(one == 1, one, rows), axis=-1)
    if dtype_name(x)[0] == "c":
        u, vh = xp.conj(u), xp.conj(vh)
    return xp.matmul(u * (phase[..., None] * products)[..., None, :], vh)


def _cofactors_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    """By way of the inverse, so that `x` must be regular."""
    inverse = matrix_transpose(inv(x))
    turned = matmul(matmul(inverse, matrix_transpose(g)), inverse)
    return (inverse * _per_matrix(trace(matmul(matrix_transpose(inverse), g))) - turned) * _per_matrix(det(x))


_COFACTORS: Operation = of_matrices("cofactors", square_infer("det"), (_cofactors_rule,), run=_run_cofactors)


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
