"""The extension `linalg` of the array API standard: every function of it, each declared in a chapter of its own."""

from __future__ import annotations

from .determinants import SlogdetResult as SlogdetResult
from .determinants import det, slogdet
from .diagonals import diagonal, trace
from .eigen import EighResult as EighResult
from .eigen import EigResult as EigResult
from .eigen import eig, eigh, eigvals, eigvalsh
from .manipulation import matrix_transpose
from .norms import matrix_norm, vector_norm
from .orthogonal import QRResult as QRResult
from .orthogonal import qr
from .products import cross, matmul, outer, tensordot, vecdot
from .singular import SVDResult as SVDResult
from .singular import matrix_rank, svd, svdvals
from .solving import cholesky, inv, matrix_power, pinv, solve

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
