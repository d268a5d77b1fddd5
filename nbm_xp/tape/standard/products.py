"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.graph import Node
from nbm_xp.tape.lengths import product, same_length
from nbm_xp.tape.operations import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .creation import conj
from .data_types import together
from .manipulation import expand_dims, matrix_transpose, moveaxis, permute_dims, reshape, stack
from .manipulation import sum as sum_
from .shapes import axes_in_order, axis_of, broadcast, written

__all__ = ["matmul", "tensordot", "vecdot"]


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


_MATMUL = declare("matmul", _infer_matmul, (_matmul_left, _matmul_right), symbol="@")


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product over the last two axes."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    if not x1.ndim or not x2.ndim:
        raise ValueError(f"matmul needs arrays of one axis or more, got shapes {x1.shape} and {x2.shape}")
    return record(_MATMUL, x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over pairs of axes, as one matrix product; nothing is conjugated."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(f"axes must be from 0 to {min(x1.ndim, x2.ndim)} for these arrays, got {axes}")
        left, right = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        left, right = axes_in_order(axes[0], x1.ndim, "axes"), axes_in_order(axes[1], x2.ndim, "axes")
    if len(left) != len(right):
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
    """The dot product of vectors along an axis; the first of them is conjugated."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    same = same_length(*(x.node.shape[axis_of(axis, x.ndim)] for x in (x1, x2)))
    if same is False:
        raise ValueError(f"vecdot needs vectors of one length along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    if same is None and axis < 0:  # the product of matrices does not broadcast what turns out to be of length 1
        row, column = expand_dims(moveaxis(conj(x1), axis, -1), -2), expand_dims(moveaxis(x2, axis, -1), -1)
        return matmul(row, column)[..., 0, 0]
    return sum_(conj(x1) * x2, axis=axis, dtype=x1.dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """The products of all pairs of elements of two vectors; nothing is conjugated."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer needs vectors, got shapes {x1.shape} and {x2.shape}")
    return expand_dims(x1, 1) * expand_dims(x2, 0)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of length 3 along an axis."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    for x in (x1, x2):
        if same_length(x.node.shape[axis_of(axis, x.ndim)], 3) is False:
            raise ValueError(f"cross needs vectors of length 3 along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    a, b = ([x[..., i] for i in range(3)] for x in (x1, x2))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return moveaxis(stack(parts, axis=-1), -1, axis)
