"""Eigenvalues and eigenvectors.

Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation". The eigenvectors are unique only up to signs, or phases: so should be what is differentiated. Where
eigenvalues are equal, `degenerate` has the limits of what turns their vectors into each other, and NaN where there are
none.
Only Hermitian matrices are asked for by `eigh` and `eigvalsh`, so that their gradients are Hermitian.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from nbm_xp.namespace.overlay import EigResult
from nbm_xp.tape.node import Node
from nbm_xp.tape.standard.creation import conj, real
from nbm_xp.tape.standard.data_types import complex_of, finfo, floating, real_of
from nbm_xp.tape.standard.elementwise import abs as abs_
from nbm_xp.tape.standard.elementwise import where
from nbm_xp.tape.standard.manipulation import expand_dims, matrix_transpose
from nbm_xp.tape.standard.products import matmul
from nbm_xp.tape.standard.shapes import of_matrices
from nbm_xp.tape.standard.statistical import all as all_
from nbm_xp.tape.tensor import Tensor, record, record_several

from .matrices import adjoint, by_columns, check_square, diagonal, diagonal_matrix, over_difference, rounding, skew
from .solving import inv

__all__ = ["EighResult", "eig", "eigh", "eigvals", "eigvalsh"]


class EighResult(NamedTuple):
    """The eigenvalues of Hermitian matrices, ascending, and the eigenvectors in columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def _infer_hermitian(x: Node, name: str) -> Any:
    check_square(x, name)
    return [(x.shape[:-1], real_of(x.dtype)), (x.shape, x.dtype)]


def _infer_general(x: Node, name: str) -> Any:
    check_square(x, name)
    return [(x.shape[:-1], complex_of(x.dtype)), (x.shape, complex_of(x.dtype))]


def _turned(numerator: Tensor, values: Tensor, of: Tensor) -> Tensor:
    """What turns eigenvectors into each other, over the differences of their eigenvalues."""
    return over_difference(numerator, values, expand_dims(rounding(values), -1), [of])


def _eigh_rule(g: dict[int, Tensor], out: Any, x: Tensor) -> Tensor:
    values, vectors = out[0], out[1]
    inner = diagonal_matrix(g[0]) if 0 in g else None
    if 1 in g:
        pull = matmul(adjoint(vectors), conj(g[1]))
        turning = _turned(skew(pull) * 0.5, values, pull)
        inner = turning if inner is None else inner + turning
    return conj(matmul(matmul(vectors, inner), adjoint(vectors)))


_EIGH = of_matrices("linalg.eigh", lambda x: _infer_hermitian(x, "eigh"), (_eigh_rule,))


def eigh(x: Any, /) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*record_several(_EIGH, floating(x)))


def _eigvalsh_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    vectors = eigh(x).eigenvectors
    return conj(matmul(by_columns(vectors, g), adjoint(vectors)))


_EIGVALSH = of_matrices("linalg.eigvalsh", lambda x: _infer_hermitian(x, "eigvalsh")[0], (_eigvalsh_rule,))


def eigvalsh(x: Any, /) -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending."""
    return record(_EIGVALSH, floating(x))


def _run_general(xp: Any, x: Any, *, name: str, dtype: Any) -> Any:
    """The library's function, its results complex also where all of them are real."""
    result = getattr(xp.linalg, name)(x)
    if name == "eig":
        return tuple(xp.astype(part, dtype) for part in result)
    return xp.astype(result, dtype)


def _eig_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, name: str, dtype: Any) -> Tensor:
    """The vectors have length 1, and may turn in the complex plane as they like."""
    values, vectors = out[0], out[1]
    inner = diagonal_matrix(g[0]) if 0 in g else None
    if 1 in g:
        pull = matmul(matrix_transpose(vectors), g[1])
        growing = by_columns(conj(matmul(adjoint(vectors), vectors)), real(diagonal(pull)))
        turning = _turned(pull - growing, values, pull)
        inner = turning if inner is None else inner + turning
    back = matrix_transpose(vectors)
    return _before_inverse(back, matmul(inner, back))


def _before_inverse(vectors: Tensor, x: Tensor) -> Tensor:
    """The inverse of eigenvectors times a matrix; NaN where there are too few of them, and values are not smooth."""
    inverse = inv(vectors)
    small = abs_(inverse) * finfo(vectors).eps ** 0.5 <= 1.0
    enough = all_(small, axis=(-2, -1), keepdims=True)
    return where(enough, matmul(inverse, x), math.nan)


_EIG = of_matrices("linalg.eig", lambda x, *, name, dtype: _infer_general(x, name), (_eig_rule,), run=_run_general)


def eig(x: Any, /) -> EigResult[Tensor]:
    """The eigenvalues and eigenvectors of square matrices, complex always."""
    x = floating(x)
    return EigResult(*record_several(_EIG, x, name="eig", dtype=complex_of(x.dtype)))


def _eigvals_rule(g: Tensor, out: Tensor, x: Tensor, *, name: str, dtype: Any) -> Tensor:
    vectors = eig(x).eigenvectors
    back = matrix_transpose(vectors)
    return _before_inverse(back, expand_dims(g, -1) * back)


_EIGVALS = of_matrices(
    "linalg.eigvals", lambda x, *, name, dtype: _infer_general(x, name)[0], (_eigvals_rule,), run=_run_general
)


def eigvals(x: Any, /) -> Tensor:
    """The eigenvalues of square matrices, complex always."""
    x = floating(x)
    return record(_EIGVALS, x, name="eigvals", dtype=complex_of(x.dtype))
