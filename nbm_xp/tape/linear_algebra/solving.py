"""Linear equations: `solve`, inverses, `cholesky`, powers of matrices, determinants, and the QR decomposition.

The derivative of a determinant is the matrix of cofactors, which is finite of a singular matrix too. From the second
derivative on the inverse is used, and the matrix must be regular.

QR: Walter, Lehmann, Lamour (2012), "On evaluating higher-order derivatives of the QR decomposition of tall matrices
with full column rank in forward and reverse mode of algorithmic differentiation", and Seeger and others (2017),
"Auto-differentiating linear algebra", for complex matrices with the real diagonal of R that LAPACK gives. A wide matrix
is decomposed by its first columns, and the others are their multiples: ``R[:, k:] = adjoint(Q) @ x[:, k:]``.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from nbm_xp.namespace import dtype_name

from ..lengths import is_number, minimum_length, same_length
from ..node import Node, Operation, declare
from ..standard.creation import conj, eye, imag, real, tril, zeros_like
from ..standard.data_types import floating, real_of, together
from ..standard.manipulation import concat, expand_dims, matrix_transpose
from ..standard.products import matmul
from ..standard.shapes import broadcast, of_matrices, written
from ..tensor import Tensor, as_tensor, record, record_several
from .matrices import adjoint, check_matrices, check_square, diagonal, diagonal_matrix, square_infer, trace

__all__ = ["QRResult", "SlogdetResult", "cholesky", "det", "inv", "matrix_power", "pinv", "qr", "slogdet", "solve"]


def _infer_solve(a: Node, b: Node) -> Any:
    check_square(a, "solve")
    if not b.shape:
        raise ValueError("solve needs a vector or matrices on the right, got shape ()")
    rows = b.shape[0] if len(b.shape) == 1 else b.shape[-2]
    if same_length(a.shape[-1], rows) is False:
        shapes = f"{written(a.shape)} and {written(b.shape)}"
        raise ValueError(f"solve needs as many rows in both arrays, got shapes {shapes}")
    batch = a.shape[:-2] if len(b.shape) == 1 else broadcast(a.shape[:-2], b.shape[:-2])
    return (*batch, *(b.shape if len(b.shape) == 1 else b.shape[-2:])), b.dtype


def _solve_left(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Tensor:
    gb = _solve_right(g, out, a, b)
    if b.ndim == 1:
        return -expand_dims(gb, -1) * expand_dims(out, -2)
    return -matmul(gb, matrix_transpose(out))


def _solve_right(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Tensor:
    back = matrix_transpose(a)
    if b.ndim == 1 and a.ndim > 2:  # one vector for a stack of matrices: its cotangents are many vectors
        return solve(back, expand_dims(g, -1))[..., 0]
    return solve(back, g)


_SOLVE = declare("linalg.solve", _infer_solve, (_solve_left, _solve_right))


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solution of linear equations; `x2` is one vector if it has one axis, else matrices."""
    x1, x2 = together(floating(x1), floating(x2))
    return record(_SOLVE, x1, x2)


def _inv_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    back = matrix_transpose(out)
    return -matmul(matmul(back, g), back)


_INV = of_matrices("linalg.inv", square_infer("inv"), (_inv_rule,))


def inv(x: Any, /) -> Tensor:
    """The inverse of square matrices."""
    return record(_INV, floating(x))


def _infer_pinv(x: Node, rtol: Any) -> Any:
    check_matrices(x, "pinv")
    return (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype


def _pinv_rule(g: Tensor, out: Tensor, x: Tensor, rtol: Any) -> Tensor:
    """Golub and Pereyra (1973), "The differentiation of pseudo-inverses", for matrices whose rank does not change."""
    g, inverse = conj(g), adjoint(out)
    g_adjoint = adjoint(g)
    wide, tall = matmul(g_adjoint, matmul(out, inverse)), matmul(matmul(inverse, out), g_adjoint)
    result = wide - matmul(x, matmul(out, wide)) + tall - matmul(matmul(tall, out), x)
    return conj(result - matmul(matmul(inverse, g), inverse))


_PINV = of_matrices(
    "linalg.pinv",
    _infer_pinv,
    (_pinv_rule, None),
    run=lambda xp, x, rtol: xp.linalg.pinv(x) if rtol is None else xp.linalg.pinv(x, rtol=rtol),
)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values of `rtol` times the largest, or less, count as zero."""
    return record(_PINV, floating(x), tolerance_argument(rtol, "pinv"))


def tolerance_argument(rtol: Any, name: str) -> Any:
    """A relative tolerance as a node keeps it: None, a number, or a real Tensor with one number for each matrix."""
    if rtol is None or is_number(rtol):
        return rtol
    tensor = floating(rtol)
    if tensor.dtype != real_of(tensor.dtype):
        raise TypeError(f"rtol must be real in {name}, got {tensor.dtype}")
    return tensor


def _cholesky_rule(g: Tensor, out: Tensor, x: Tensor, *, upper: bool) -> Tensor:
    """Murray (2016), "Differentiation of the Cholesky decomposition"; the gradient is Hermitian."""
    lower = adjoint(out) if upper else out
    g = matrix_transpose(g) if upper else conj(g)
    back = adjoint(lower)
    inner = tril(matmul(back, g))
    inner = inner * (1 - 0.5 * eye(lower.node.shape[-1], dtype=g.dtype))
    half = solve(back, adjoint(solve(back, adjoint(inner))))
    return conj((half + adjoint(half)) * 0.5)


_CHOLESKY = of_matrices("linalg.cholesky", square_infer("cholesky"), (_cholesky_rule,))


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of Hermitian positive definite matrices."""
    return record(_CHOLESKY, floating(x), upper=upper)


def _run_identity(xp: Any, x: Any) -> Any:
    return xp.tril(xp.triu(xp.ones_like(x)))  # of the array, so that it lies where the array does


_IDENTITY = of_matrices("identity_like", square_infer("matrix_power"), (None,), run=_run_identity)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """A whole power of square matrices, by repeated squaring; a negative one of the inverse."""
    x = as_tensor(x)
    check_square(x.node, "matrix_power")
    power = n.__index__()
    if power == 0:
        return record(_IDENTITY, x)
    if power < 0:
        x, power = inv(x), -power
    result: Tensor | None = None
    while power:
        if power % 2:
            result = x if result is None else matmul(result, x)
        power //= 2
        if power:
            x = matmul(x, x)
    return as_tensor(result)


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
    if 0 in g and x.dtype.kind == "c":
        turning = imag(g[0] * out[0]) * 1j
        factor = turning if factor is None else factor + turning
    return None if factor is None else _per_matrix(factor) * matrix_transpose(inv(x))


_SLOGDET = of_matrices("linalg.slogdet", _infer_slogdet, (_slogdet_rule,))


def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant of square matrices, and the logarithm of its absolute value."""
    return SlogdetResult(*record_several(_SLOGDET, floating(x)))


class QRResult(NamedTuple):
    """The factors of a matrix ``Q @ R``: orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


def _infer_qr(x: Node, *, mode: str) -> Any:
    check_matrices(x, "qr")
    *batch, rows, columns = x.shape
    inner = rows if mode == "complete" else minimum_length((rows, columns))
    return [((*batch, rows, inner), x.dtype), ((*batch, inner, columns), x.dtype)]


def _qr_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, mode: str) -> Tensor:
    rows, columns = x.node.shape[-2:]
    rank = minimum_length((rows, columns))
    if mode == "complete" and same_length(rows, rank) is not True:
        raise NotImplementedError(
            f"qr(mode='complete') of matrices with more rows than columns has no gradient, x has shape {x.shape}: "
            "the columns of Q beyond those of x are any that complete a basis; use mode='reduced'"
        )
    q, r = out[0], out[1]
    g_q, g_r = (conj(g[place]) if place in g else None for place in (0, 1))
    if same_length(columns, rank) is True:
        return conj(_tall_rule(q, r, g_q, g_r))
    rest: Tensor | None = None
    if g_r is not None:
        g_rest = g_r[..., rank:]
        rest = matmul(q, g_rest)
        across = matmul(x[..., rank:], adjoint(g_rest))
        g_q, g_r = across if g_q is None else g_q + across, g_r[..., :rank]
    first = _tall_rule(q, r[..., :rank], g_q, g_r)
    return conj(concat([first, zeros_like(x[..., rank:]) if rest is None else rest], axis=-1))


def _tall_rule(q: Tensor, r: Tensor, g_q: Tensor | None, g_r: Tensor | None) -> Tensor:
    """For a matrix with at least as many rows as columns."""
    inner: Tensor | None = None
    if g_r is not None:
        inner = matmul(r, adjoint(g_r))
    if g_q is not None:
        turning = matmul(adjoint(g_q), q)
        inner = -turning if inner is None else inner - turning
    assert inner is not None
    lower = tril(inner, k=-1)
    mirrored = lower + adjoint(lower) + diagonal_matrix(real(diagonal(inner)))
    total = matmul(q, mirrored)
    if g_q is not None:
        total = total + g_q
    return adjoint(solve(r, adjoint(total)))


_QR = of_matrices("linalg.qr", _infer_qr, (_qr_rule,))


def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The decomposition of matrices into orthonormal columns and an upper triangle; gradients need full rank."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    return QRResult(*record_several(_QR, floating(x), mode=mode))
