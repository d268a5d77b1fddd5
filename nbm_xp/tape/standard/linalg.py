"""Linear algebra: products of arrays, and the extension `linalg`."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbm_xp.tape.gradients import declare
from nbm_xp.tape.lengths import Size, minimum_length, product, same_length
from nbm_xp.tape.node import Node, Operation
from nbm_xp.tape.operators import FUNCTIONS
from nbm_xp.tape.tensor import Tensor, as_tensor, record, record_several

from .elementwise import cast, floating, together
from .manipulation import expand_dims, matrix_transpose, moveaxis, permute_dims, reshape
from .shapes import axes_of, axis_of, broadcast, written
from .statistical import sum as sum_

__all__ = [
    "cholesky", "cross", "diagonal", "inv", "matmul", "matrix_transpose", "outer", "solve", "svd", "svdvals",
    "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


class SVD(NamedTuple):
    """The factors of a singular value decomposition, ``U @ diag(S) @ Vh``."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _infer_matmul(x: Node, y: Node) -> Any:
    left = x.shape if len(x.shape) > 1 else (1, *x.shape)
    right = y.shape if len(y.shape) > 1 else (*y.shape, 1)
    if same_length(left[-1], right[-2]) is False:
        raise ValueError(f"matmul needs equal inner lengths, got shapes {written(x.shape)} and {written(y.shape)}")
    batch = broadcast(left[:-2], right[:-2])
    rows = (left[-2],) if len(x.shape) > 1 else ()
    columns = (right[-1],) if len(y.shape) > 1 else ()
    return (*batch, *rows, *columns), x.dtype


def _as_matrices(g: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors as matrices of one row or column."""
    if y.ndim == 1:
        g, y = expand_dims(g, -1), expand_dims(y, -1)
    if x.ndim == 1:
        g, x = expand_dims(g, -2), expand_dims(x, 0)
    return g, x, y


def _matmul_left(g: Tensor, out: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if y.ndim == 1 and x.ndim == 2:
        return expand_dims(g, -1) * y
    g, _, matrix = _as_matrices(g, x, y)
    result = matmul(g, matrix_transpose(matrix))
    return result if x.ndim > 1 else _row(result)


def _row(x: Tensor) -> Tensor:
    return reshape(x, (*x.node.shape[:-2], x.node.shape[-1]))


def _matmul_right(g: Tensor, out: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if y.ndim == 1 and x.ndim == 2:
        return matmul(matrix_transpose(x), g)
    g, matrix, _ = _as_matrices(g, x, y)
    result = matmul(matrix_transpose(matrix), g)
    return result if y.ndim > 1 else reshape(result, result.node.shape[:-1])


_MATMUL = declare(Operation("matmul", _infer_matmul, (_matmul_left, _matmul_right)))


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product over the last two axes."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    if not x1.ndim or not x2.ndim:
        raise ValueError(f"matmul needs arrays of one axis or more, got shapes {x1.shape} and {x2.shape}")
    return record(_MATMUL, x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes, as one matrix product."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    if isinstance(axes, int):
        left, right = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        left = tuple(axis_of(a, x1.ndim, "axes") for a in axes[0])
        right = tuple(axis_of(a, x2.ndim, "axes") for a in axes[1])
    if len(left) != len(right) or len(left) > min(x1.ndim, x2.ndim):
        raise ValueError(f"axes must name as many axes of both arrays, got {axes}")
    for a, b in zip(left, right, strict=True):
        if same_length(x1.node.shape[a], x2.node.shape[b]) is False:
            raise ValueError(
                f"tensordot needs equal lengths along axes {a} and {b}, got shapes {x1.shape} and {x2.shape}"
            )
    free1 = [i for i in range(x1.ndim) if i not in left]
    free2 = [i for i in range(x2.ndim) if i not in right]
    inner = product(x1.node.shape[i] for i in left)
    shape1 = tuple(x1.node.shape[i] for i in free1)
    shape2 = tuple(x2.node.shape[i] for i in free2)
    first = reshape(permute_dims(x1, (*free1, *left)), (product(shape1), inner))
    second = reshape(permute_dims(x2, (*right, *free2)), (inner, product(shape2)))
    return reshape(matmul(first, second), (*shape1, *shape2))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The dot product of vectors along an axis."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    return sum_(x1 * x2, axis=axis, dtype=x1.dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """The products of all pairs of elements of two vectors."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer needs vectors, got shapes {x1.shape} and {x2.shape}")
    return expand_dims(x1, 1) * expand_dims(x2, 0)


def _square(x: Node, name: str) -> None:
    if len(x.shape) < 2 or same_length(x.shape[-1], x.shape[-2]) is False:
        raise ValueError(f"{name} needs square matrices, got shape {written(x.shape)}")


def _infer_solve(a: Node, b: Node) -> Any:
    _square(a, "solve")
    rows = b.shape[0] if len(b.shape) == 1 else b.shape[-2]
    if same_length(a.shape[-1], rows) is False:
        shapes = f"{written(a.shape)} and {written(b.shape)}"
        raise ValueError(f"solve needs as many rows in both arrays, got shapes {shapes}")
    batch = a.shape[:-2] if len(b.shape) == 1 else broadcast(a.shape[:-2], b.shape[:-2])
    return (*batch, *(b.shape if len(b.shape) == 1 else b.shape[-2:])), b.dtype


def _solve_left(g: Tensor, out: Tensor, a: Tensor, b: Tensor) -> Tensor:
    gb = solve(matrix_transpose(a), g)
    if b.ndim == 1:
        return -expand_dims(gb, -1) * expand_dims(out, -2)
    return -matmul(gb, matrix_transpose(out))


_SOLVE = declare(
    Operation(
        "linalg.solve",
        _infer_solve,
        (_solve_left, lambda g, out, a, b: solve(matrix_transpose(a), g)),
    )
)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solution of linear equations."""
    x1, x2 = together(floating(x1), floating(x2))
    return record(_SOLVE, x1, x2)


def _infer_square(x: Node) -> Any:
    _square(x, "inv")
    return x.shape, x.dtype


def _inv_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    back = matrix_transpose(out)
    return -matmul(matmul(back, g), back)


_INV = declare(Operation("linalg.inv", _infer_square, (_inv_rule,)))


def inv(x: Any, /) -> Tensor:
    """The inverse of square matrices."""
    return record(_INV, floating(x))


def _cholesky_rule(g: Tensor, out: Tensor, x: Tensor, *, upper: bool) -> Tensor:
    """Murray (2016), "Differentiation of the Cholesky decomposition"."""
    lower = matrix_transpose(out) if upper else out
    g = matrix_transpose(g) if upper else g
    inner = FUNCTIONS["tril"](matmul(matrix_transpose(lower), g))
    n = lower.node.shape[-1]
    inner = inner * (1 - 0.5 * FUNCTIONS["eye"](n, dtype=g.dtype))
    back = matrix_transpose(lower)
    half = solve(back, matrix_transpose(solve(back, matrix_transpose(inner))))
    return (half + matrix_transpose(half)) * 0.5


_CHOLESKY = declare(Operation("linalg.cholesky", lambda x, *, upper: _infer_square(x), (_cholesky_rule,)))


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The Cholesky factor of positive definite matrices."""
    return record(_CHOLESKY, floating(x), upper=upper)


def _infer_svd(x: Node, *, full_matrices: bool) -> Any:
    if len(x.shape) < 2:
        raise ValueError(f"svd needs matrices, got shape {written(x.shape)}")
    *batch, rows, columns = x.shape
    rank = minimum_length((rows, columns))
    left, right = (rows, columns) if full_matrices else (rank, rank)
    return [((*batch, rows, left), x.dtype), ((*batch, rank), x.dtype), ((*batch, right, columns), x.dtype)]


_SVD = declare(Operation("linalg.svd", _infer_svd))
_SVDVALS = declare(
    Operation(
        "linalg.svdvals", lambda x: _infer_svd(x, full_matrices=False)[1], (lambda g, out, x: _svdvals_rule(g, x),)
    )
)


def _svdvals_rule(g: Tensor, x: Tensor) -> Tensor:
    factors = svd(x, full_matrices=False)
    return matmul(factors.U * expand_dims(g, -2), factors.Vh)


def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """The singular value decomposition."""
    return SVD(*record_several(_SVD, floating(x), full_matrices=full_matrices))


def svdvals(x: Any, /) -> Tensor:
    """The singular values, the largest first."""
    return record(_SVDVALS, floating(x))


def _diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    return minimum_length((rows, columns - offset) if offset >= 0 else (rows + offset, columns))


_DIAGONAL = declare(
    Operation(
        "linalg.diagonal",
        lambda x, *, offset: ((*x.shape[:-2], _diagonal_length(x.shape[-2], x.shape[-1], offset)), x.dtype),
        (lambda g, out, x, *, offset: _undiagonal(g, x, offset),),
    )
)


def _undiagonal(g: Tensor, x: Tensor, offset: int) -> Tensor:
    """A matrix with `g` on a diagonal: positions along it are compared, nothing is written."""
    rows, columns = x.node.shape[-2:]
    i = FUNCTIONS["arange"](rows)
    j = FUNCTIONS["arange"](columns)
    on = expand_dims(i, 1) + offset == expand_dims(j, 0)
    place = i if offset >= 0 else FUNCTIONS["maximum"](i + offset, 0)
    last = g.node.shape[-1] - 1
    row_values = g[(..., FUNCTIONS["minimum"](place, FUNCTIONS["asarray"](last)))]
    spread = expand_dims(row_values, -1)
    return FUNCTIONS["where"](on, spread, 0.0)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The elements on a diagonal of matrices."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs matrices, got shape {x.shape}")
    return record(_DIAGONAL, x, offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of matrices."""
    return sum_(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of length 3 along an axis."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    a, b = ([x[..., i] for i in range(3)] for x in (x1, x2))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return moveaxis(FUNCTIONS["stack"](parts, axis=-1), -1, axis)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """The norm of vectors along axes; the gradient at the zero vector is zero."""
    x = floating(x)
    axes = axes_of(axis, x.ndim)
    size = FUNCTIONS["abs"](x)
    if ord == float("inf"):
        return FUNCTIONS["max"](size, axis=axes, keepdims=keepdims)
    if ord == float("-inf"):
        return FUNCTIONS["min"](size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return sum_(cast(x != 0, x.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum_(size, axis=axes, keepdims=keepdims)
    powers = sum_(x * x if ord == 2 else size**ord, axis=axes, keepdims=keepdims)
    none = powers == 0
    root = FUNCTIONS["where"](none, 1.0, powers) ** (1 / ord)
    return FUNCTIONS["where"](none, 0.0, root)
