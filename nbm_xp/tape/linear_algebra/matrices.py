"""Linear equations, inverses, determinants, the Cholesky and QR factors, and what functions of matrices share.

Papers on derivatives of matrix functions pair a cotangent with its conjugate: a loss changes by the real part of
``tr(adjoint(G) @ dX)``. Here the rules of gradients pair it as it stands (see `elementwise`), so that rules which
follow such a paper conjugate the cotangent when it comes and the gradient when it goes: `conj`, which does nothing to
real numbers.

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

from ..lengths import Size, is_number, maximum_length, minimum_length, same_length
from ..node import Node, Operation, declare
from ..standard.creation import arange, conj, eye, imag, ones_like, real, tril, triu, zeros, zeros_like
from ..standard.data_types import floating, real_of, together
from ..standard.elementwise import where
from ..standard.manipulation import concat, expand_dims, matrix_transpose
from ..standard.manipulation import sum as sum_
from ..standard.products import cross, matmul, outer, tensordot, vecdot
from ..standard.shapes import broadcast, not_written, of_matrices, written
from ..tensor import Tensor, as_tensor, record, record_several

__all__ = [
    "cholesky", "cross", "det", "diagonal", "inv", "matmul", "matrix_power", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "tensordot", "trace", "vecdot",
]  # fmt: skip


def check_matrices(x: Node, name: str) -> None:
    """Raise for what is no matrix and no stack of matrices."""
    if len(x.shape) < 2:
        raise ValueError(f"{name} needs matrices, got shape {written(x.shape)}")


def check_square(x: Node, name: str) -> None:
    """Raise for what is not square."""
    if len(x.shape) < 2 or same_length(x.shape[-1], x.shape[-2]) is False:
        raise ValueError(f"{name} needs square matrices, got shape {written(x.shape)}")


def square_infer(name: str) -> Any:
    """The shape and dtype rule of a function of square matrices that gives matrices of the same shape."""

    def infer(x: Node, **attributes: Any) -> Any:
        check_square(x, name)
        return x.shape, x.dtype

    return infer


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


def by_columns(x: Tensor, factors: Tensor) -> Tensor:
    """Each column of `x` times its factor."""
    return x * expand_dims(factors, -2)


def diagonal_mask(n: Size) -> Tensor:
    """Where a matrix of n rows has its diagonal."""
    places = arange(n)
    return expand_dims(places, 1) == expand_dims(places, 0)


def diagonal_matrix(values: Tensor) -> Tensor:
    """Matrices with these values on the diagonal, and zeros."""
    return where(diagonal_mask(values.node.shape[-1]), expand_dims(values, -1), 0.0)


def _diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    inside = minimum_length((rows, columns - offset) if offset >= 0 else (rows + offset, columns))
    return maximum_length((inside, 0)) if offset else inside


def _undiagonal(g: Tensor, x: Tensor, offset: int) -> Tensor:
    """A matrix with `g` on a diagonal: one value for each row, placed where row and column meet there."""
    rows, columns = x.node.shape[-2:]
    length = g.node.shape[-1]
    before = minimum_length((-offset, rows)) if offset < 0 else 0
    after = rows - length - before
    parts = [g]
    for place, count in ((0, before), (len(parts), after)):
        if same_length(count, 0) is not True:
            none = zeros((*g.node.shape[:-1], count), dtype=g.dtype)
            parts.insert(place if place == 0 else len(parts), none)
    by_row = parts[0] if len(parts) == 1 else concat(parts, axis=-1)
    i, j = arange(rows), arange(columns)
    on = expand_dims(i, 1) + offset == expand_dims(j, 0)
    return where(on, expand_dims(by_row, -1), 0.0)


_DIAGONAL = of_matrices(
    "linalg.diagonal",
    lambda x, *, offset: ((*x.shape[:-2], _diagonal_length(x.shape[-2], x.shape[-1], offset)), x.dtype),
    (lambda g, out, x, *, offset: _undiagonal(g, x, offset),),
    may_overlap=True,
    written=not_written,
)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The elements on a diagonal of matrices."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs matrices, got shape {written(x.node.shape)}")
    return record(_DIAGONAL, x, offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of matrices."""
    return sum_(diagonal(x, offset=offset), axis=-1, dtype=dtype)


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


def matrix_power(x: Any, n: int, /) -> Tensor:
    """A whole power of square matrices, by repeated squaring; a negative one of the inverse."""
    x = as_tensor(x)
    check_square(x.node, "matrix_power")
    power = n.__index__()
    if power == 0:
        return tril(triu(ones_like(x)))
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
