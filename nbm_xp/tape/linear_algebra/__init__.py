"""The extension `linalg` of the array API standard: every function of it, each declared in a chapter of its own."""

from __future__ import annotations

from nbm_xp.tape.standard.manipulation import matrix_transpose
from nbm_xp.tape.standard.products import cross, matmul, outer, tensordot, vecdot

from .eigen import eig, eigh, eigvals, eigvalsh
from .matrices import diagonal, trace
from .singular import matrix_norm, matrix_rank, svd, svdvals, vector_norm
from .solving import cholesky, det, inv, matrix_power, pinv, qr, slogdet, solve

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
