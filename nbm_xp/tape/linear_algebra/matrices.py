"""Linear equations, inverses, determinants, Cholesky and QR factors, and helpers for functions of matrices.

Papers on derivatives of matrix functions use the conjugate of the cotangent: a loss changes by the real part of
``tr(adjoint(G) @ dX)``. The gradient rules here do not conjugate (see `elementwise`), so that rules from such papers
conjugate their cotangent and the resulting gradient.

The derivative of a determinant is the matrix of cofactors, which is finite for singular matrices too. Second and higher
derivatives use the inverse and need a regular matrix.

QR: Walter, Lehmann, Lamour (2012), "On evaluating higher-order derivatives of the QR decomposition of tall matrices
with full column rank in forward and reverse mode of algorithmic differentiation", and Seeger and others (2017),
"Auto-differentiating linear algebra", for complex matrices with the real diagonal of R that LAPACK returns. For a wide
matrix the first k columns are decomposed, and the others follow: ``R[:, k:] = adjoint(Q) @ x[:, k:]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from nbm_xp.namespace import dtype_name
from nbm_xp.namespace.overlay import QRResult, SlogdetResult

from ..graph import Node
from ..lengths import Size, is_number, maximum_length, minimum_length, same_length
from ..operations import Operation, Rule, declare, same_as_first
from ..standard.creation import arange, conj, eye, imag, ones_like, real, tril, triu
from ..standard.data_types import floating, real_of, together
from ..standard.elementwise import where
from ..standard.indexing import index_add
from ..standard.manipulation import concat, expand_dims, matrix_transpose, moveaxis, reshape, stack
from ..standard.shapes import axis_of, broadcast, index_along, of_matrices, written
from ..standard.sums import matmul, tensordot
from ..standard.sums import sum as sum_
from ..tensor import Tensor, as_tensor, record, record_several

__all__ = [
    "cholesky", "cross", "det", "diagonal", "inv", "matmul", "matrix_power", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "tensordot", "trace", "vecdot",
]  # fmt: skip


def check_matrices(x: Node, name: str) -> None:
    """Raise unless `x` is a matrix or a stack of matrices."""
    if len(x.shape) < 2:
        raise ValueError(f"{name} needs matrices, got shape {written(x.shape)}")


def check_square(x: Node, name: str) -> None:
    """Raise unless `x` is a square matrix or a stack of these."""
    if len(x.shape) < 2 or same_length(x.shape[-1], x.shape[-2]) is False:
        raise ValueError(f"{name} needs square matrices, got shape {written(x.shape)}")


def of_square(name: str, rule: Rule, spec: Callable[[Node], Any] = same_as_first, **facts: Any) -> Operation:
    """Declare a function of square matrices; `spec` returns the shape and dtype of its result, or of each result."""

    def infer(x: Node, **attributes: Any) -> Any:
        check_square(x, name.rpartition(".")[2])
        return spec(x)

    return of_matrices(name, infer, (rule,), **facts)


def added(*parts: Tensor | None) -> Tensor:
    """Return the sum of the terms that are not None."""
    first, *others = (part for part in parts if part is not None)
    return sum(others, first)


def adjoint(x: Tensor) -> Tensor:
    """Return the conjugate transpose."""
    return conj(matrix_transpose(x))


def by_columns(x: Tensor, factors: Tensor) -> Tensor:
    """Multiply each column of `x` by its factor."""
    return x * expand_dims(factors, -2)


def diagonal_mask(n: Size) -> Tensor:
    """Return a boolean n x n matrix that is True on the diagonal."""
    places = arange(n)
    return expand_dims(places, 1) == expand_dims(places, 0)


def diagonal_matrix(values: Tensor) -> Tensor:
    """Return matrices with these values on the diagonal and zeros elsewhere."""
    return where(diagonal_mask(values.node.shape[-1]), expand_dims(values, -1), 0.0)


def _diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    inside = minimum_length((rows, columns - offset) if offset >= 0 else (rows + offset, columns))
    return maximum_length((inside, 0)) if offset else inside


def _undiagonal(g: Tensor, x: Tensor, offset: int) -> Tensor:
    """Return a matrix with `g` on a diagonal: a slice of the flattened matrix with the step ``columns + 1``."""
    *batch, rows, columns = x.node.shape
    size, step = rows * columns, columns + 1
    start = minimum_length((offset if offset >= 0 else -offset * columns, size))
    stop = minimum_length((start + g.node.shape[-1] * step, size))
    return reshape(index_add(g, index_along(len(batch), slice(start, stop, step)), (*batch, size)), x.node.shape)


_DIAGONAL = of_matrices(
    "linalg.diagonal",
    lambda x, *, offset: ((*x.shape[:-2], _diagonal_length(x.shape[-2], x.shape[-1], offset)), x.dtype),
    (lambda g, out, x, *, offset: _undiagonal(g, x, offset),),
    may_overlap=True,
    is_view=True,
)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """Return the elements on a diagonal of matrices."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs matrices, got shape {written(x.node.shape)}")
    return record(_DIAGONAL, x, offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of a diagonal of matrices."""
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
    if b.ndim == 1 and a.ndim > 2:  # one vector for a stack of matrices has a stack of cotangents
        return solve(back, expand_dims(g, -1))[..., 0]
    return solve(back, g)


_SOLVE = declare("linalg.solve", _infer_solve, (_solve_left, _solve_right))


def solve(x1: Any, x2: Any, /) -> Tensor:
    """Return the solution of linear equations; `x2` is a vector if it has one axis, else a stack of matrices."""
    x1, x2 = together(floating(x1), floating(x2))
    return record(_SOLVE, x1, x2)


def _inv_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    back = matrix_transpose(out)
    return -matmul(matmul(back, g), back)


_INV = of_square("linalg.inv", _inv_rule)


def inv(x: Any, /) -> Tensor:
    """Return the inverse of square matrices."""
    return record(_INV, floating(x))


def _infer_pinv(x: Node, rtol: Any) -> Any:
    check_matrices(x, "pinv")
    return (*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype


def _pinv_rule(g: Tensor, out: Tensor, x: Tensor, rtol: Any) -> Tensor:
    """Return the gradient by Golub and Pereyra (1973), "The differentiation of pseudo-inverses", for constant rank."""
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
    """Return the pseudo-inverse; singular values of at most `rtol` times the largest count as zero."""
    return record(_PINV, floating(x), tolerance_argument(rtol, "pinv"))


def tolerance_argument(rtol: Any, name: str) -> Any:
    """Convert a relative tolerance for a node: None, a number, or a real Tensor with one number for each matrix."""
    if rtol is None or is_number(rtol):
        return rtol
    tensor = floating(rtol)
    if tensor.dtype != real_of(tensor.dtype):
        raise TypeError(f"rtol must be real in {name}, got {tensor.dtype}")
    return tensor


def _cholesky_rule(g: Tensor, out: Tensor, x: Tensor, *, upper: bool) -> Tensor:
    """Return the Hermitian gradient by Murray (2016), "Differentiation of the Cholesky decomposition"."""
    lower = adjoint(out) if upper else out
    g = matrix_transpose(g) if upper else conj(g)
    back = adjoint(lower)
    inner = tril(matmul(back, g))
    inner = inner * (1 - 0.5 * eye(lower.node.shape[-1], dtype=g.dtype))
    half = solve(back, adjoint(solve(back, adjoint(inner))))
    return conj((half + adjoint(half)) * 0.5)


_CHOLESKY = of_square("linalg.cholesky", _cholesky_rule)


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of Hermitian positive definite matrices."""
    return record(_CHOLESKY, floating(x), upper=upper)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """Return an integer power of square matrices, by repeated squaring; for negative n, of the inverse."""
    x = as_tensor(x)
    check_square(x.node, "matrix_power")
    power = n.__index__()
    if power == 0:
        return tril(triu(ones_like(x)))
    if power < 0:
        return matrix_power(inv(x), -power)
    if power == 1:
        return as_tensor(x)
    root = matrix_power(x, power // 2)
    squared = matmul(root, root)
    return matmul(squared, x) if power % 2 else squared


def _per_matrix(x: Tensor) -> Tensor:
    """Reshape one number for each matrix so that it broadcasts against the matrices."""
    return expand_dims(x, (-2, -1))


_DET = of_square(
    "linalg.det", lambda g, out, x: _per_matrix(g) * record(_COFACTORS, x), lambda x: (x.shape[:-2], x.dtype)
)


def det(x: Any, /) -> Tensor:
    """Return the determinant of square matrices."""
    return record(_DET, floating(x))


def _run_cofactors(xp: Any, x: Any) -> Any:
    """Compute cofactors; their singular values are the products of all but one of those of `x`."""
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
    """Return the gradient, computed with the inverse: `x` must be regular."""
    inverse = matrix_transpose(inv(x))
    turned = matmul(matmul(inverse, matrix_transpose(g)), inverse)
    return (inverse * _per_matrix(trace(matmul(matrix_transpose(inverse), g))) - turned) * _per_matrix(det(x))


_COFACTORS: Operation = of_square("cofactors", _cofactors_rule, run=_run_cofactors)


def _slogdet_rule(g: dict[int, Tensor], out: Any, x: Tensor) -> Tensor | None:
    """Return the gradient by Giles (2008), "An extended collection of matrix derivative results", also if complex."""
    turning = imag(g[0] * out[0]) * 1j if 0 in g and x.dtype.kind == "c" else None
    if turning is None and 1 not in g:
        return None
    return _per_matrix(added(g.get(1), turning)) * matrix_transpose(inv(x))


_SLOGDET = of_square(
    "linalg.slogdet", _slogdet_rule, lambda x: [(x.shape[:-2], x.dtype), (x.shape[:-2], real_of(x.dtype))]
)


def slogdet(x: Any, /) -> SlogdetResult:
    """Return the sign of the determinant of square matrices and the logarithm of its absolute value."""
    return SlogdetResult(*record_several(_SLOGDET, floating(x)))


def _infer_qr(x: Node, *, mode: str) -> Any:
    *batch, rows, columns = x.shape
    inner = rows if mode == "complete" else columns
    return [((*batch, rows, inner), x.dtype), ((*batch, inner, columns), x.dtype)]


def _qr_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, mode: str) -> Tensor:
    rows, columns = x.node.shape[-2:]
    if mode == "complete" and same_length(rows, columns) is not True:
        raise NotImplementedError(
            f"qr(mode='complete') of matrices with more rows than columns has no gradient, x has shape {x.shape}: "
            "the columns of Q beyond those of x are any that complete a basis; use mode='reduced'"
        )
    q, r = out[0], out[1]
    g_q, g_r = (conj(g[place]) if place in g else None for place in (0, 1))
    inner = added(None if g_r is None else matmul(r, adjoint(g_r)), None if g_q is None else -matmul(adjoint(g_q), q))
    lower = tril(inner, k=-1)
    mirrored = lower + adjoint(lower) + diagonal_matrix(real(diagonal(inner)))
    return conj(adjoint(solve(r, adjoint(added(matmul(q, mirrored), g_q)))))


_QR = of_matrices("linalg.qr", _infer_qr, (_qr_rule,))


def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return the QR decomposition into orthonormal columns and an upper triangle; gradients need full rank."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode must be 'reduced' or 'complete', got {mode!r}")
    x = floating(x)
    check_matrices(x.node, "qr")
    rank = minimum_length(x.node.shape[-2:])
    if same_length(x.node.shape[-1], rank) is True:
        return QRResult(*record_several(_QR, x, mode=mode))
    q, r = record_several(_QR, x[..., :rank], mode=mode)
    return QRResult(q, concat([r, matmul(adjoint(q), x[..., rank:])], axis=-1))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Return the dot product of vectors along an axis; the first vector is conjugated."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    same = same_length(*(x.node.shape[axis_of(axis, x.ndim)] for x in (x1, x2)))
    if same is False:
        raise ValueError(f"vecdot needs vectors of one length along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    if same is None and axis < 0:  # matmul does not broadcast a length that is 1 at run time
        row, column = expand_dims(moveaxis(conj(x1), axis, -1), -2), expand_dims(moveaxis(x2, axis, -1), -1)
        return matmul(row, column)[..., 0, 0]
    return sum_(conj(x1) * x2, axis=axis, dtype=x1.dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """Return the outer product of two vectors, without conjugation."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer needs vectors, got shapes {x1.shape} and {x2.shape}")
    return expand_dims(x1, 1) * expand_dims(x2, 0)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Return the cross product of vectors of length 3 along an axis."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    for x in (x1, x2):
        if same_length(x.node.shape[axis_of(axis, x.ndim)], 3) is False:
            raise ValueError(f"cross needs vectors of length 3 along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    a, b = ([x[..., i] for i in range(3)] for x in (x1, x2))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return moveaxis(stack(parts, axis=-1), -1, axis)
