"""The extension `linalg` of the array API standard: every function of it, each declared in a chapter of its own."""

from __future__ import annotations

from nbm_xp.tape.standard.manipulation import matrix_transpose
from nbm_xp.tape.standard.products import cross, matmul, outer, tensordot, vecdot

from .determinants import det, slogdet
from .diagonals import diagonal, trace
from .eigen import eig, eigh, eigvals, eigvalsh
from .norms import matrix_norm, vector_norm
from .orthogonal import qr
from .singular import matrix_rank, svd, svdvals
from .solving import cholesky, inv, matrix_power, pinv, solve

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
