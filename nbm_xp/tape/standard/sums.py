"""Sums over axes, broadcasting, which is the transpose of a sum, and matrix products, which are sums of products.

`sum_to` is the one place where a gradient is summed over what was broadcast.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import DType, as_dtype, int64, uint64
from ..dtypes import bool as boolean
from ..graph import ChainStep, Node
from ..lengths import known, product, same_length
from ..operations import ALONG_AXES_TAG, LINEAR_TAG, Operation, Shape, declare
from ..tensor import Tensor, as_tensor, record
from .data_types import cast, together
from .manipulation import expand_dims, matrix_transpose, permute_dims, reshape
from .shapes import axes_in_order, axes_of, broadcast, kept_shape, of_shape, reduced_shape, sizes_of, written

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "matmul", "sum", "tensordot"]


def reduced_spec(x: Node, *, axis: tuple[int, ...], keepdims: bool, **attributes: Any) -> Any:
    """Shape and dtype of what is reduced over axes."""
    return reduced_shape(x.shape, axis, keepdims), attributes.get("dtype", x.dtype)


def along_reduced(g: Tensor, x: Tensor, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    """A value of the reduced array with the reduced axes kept as length 1, ready to broadcast against `x`."""
    return g if keepdims or not g.ndim else reshape(g, kept_shape(x.node.shape, axis))


def accumulator(x: Tensor, dtype: Any) -> DType:
    """The dtype that an array is added up in; integers and bool in the widest."""
    if dtype is not None:
        return as_dtype(dtype)
    kind = x.dtype.kind
    return int64 if kind in "bi" else uint64 if kind == "u" else x.dtype


def _summable(x: Tensor, dtype: DType) -> Tensor:
    """What is cast before it is added up: floating results are exact only so, and bool is no number."""
    return cast(x, dtype) if dtype.kind in "fc" or x.dtype == boolean else x


def accumulated(op: Operation, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """What an operation makes of the numbers along axes, in the dtype asked for, or one that is wide enough."""
    x = as_tensor(x)
    wide = accumulator(x, dtype)
    axes = axes_of(axis, x.ndim)
    if not axes:
        return cast(x, wide)
    return record(op, _summable(x, wide), axis=axes, dtype=wide, keepdims=keepdims)


def _sum_rule(g: Tensor, out: Tensor, x: Tensor, *, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    return along_reduced(g, x, axis, keepdims)


_SUM = declare("sum", reduced_spec, (_sum_rule,), tags=frozenset({ALONG_AXES_TAG, LINEAR_TAG}), adds_up=True)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; integers and bool add up as int64 or uint64."""
    return accumulated(_SUM, x, axis, dtype, keepdims)


_BROADCAST = declare(
    "broadcast_to",
    of_shape,
    (lambda g, out, x, shape: sum_to(g, x.node.shape),),
    tags=frozenset({LINEAR_TAG}),
    may_overlap=True,
    chain_step=lambda node: ChainStep(*node.args),
    is_view=True,
)


def broadcast_to(x: Any, /, shape: Any) -> Tensor:
    """The array repeated along new axes and axes of length 1, without a copy where the library can."""
    tensor = as_tensor(x)
    sizes = sizes_of(shape)
    if len(broadcast(tensor.node.shape, sizes)) != len(sizes):
        raise ValueError(
            f"shape must have at least {tensor.ndim} axes for an array of shape {tensor.shape}, got {shape}"
        )
    pairs = zip(sizes, tensor.node.shape, strict=False)
    if len(sizes) == tensor.ndim and all(
        same_length(a, b) and (type(a) is int or type(b) is not int) for a, b in pairs
    ):
        return tensor
    return record(_BROADCAST, tensor, sizes)


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of these shapes broadcast to; no axes for none."""
    return broadcast(*map(sizes_of, shapes))


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Arrays broadcast against one another."""
    tensors = [as_tensor(array) for array in arrays]
    shape = broadcast(*(t.node.shape for t in tensors))
    return tuple(broadcast_to(t, shape) for t in tensors)


def _run_sum_to(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    extra = x.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(shape) if n == 1 and x.shape[i + extra] != 1)
    if axes:
        x = xp.sum(x, axis=axes, dtype=x.dtype, keepdims=True)
    return xp.reshape(x, tuple(shape)) if extra else x


def _handed_on(node: Node) -> ChainStep | None:
    """In a chain the argument itself, where that has the shape asked for."""
    x, shape = node.args
    return ChainStep(x, shape) if [*map(known, x.shape)] == [*map(known, node.shape)] else None


_SUM_TO = declare(
    "sum_to",
    of_shape,
    (lambda g, out, x, shape: broadcast_to(g, x.node.shape),),
    run=_run_sum_to,
    tags=frozenset({LINEAR_TAG}),
    may_overlap=True,
    chain_step=_handed_on,
)


def sum_to(x: Any, shape: Any) -> Tensor:
    """The sum over whatever was broadcast to reach `x` from `shape`: the one place where un-broadcasting happens."""
    x = as_tensor(x)
    sizes = sizes_of(shape)
    extra = x.ndim - len(sizes)
    if x.node.op is _BROADCAST and x.node.args[0].shape == sizes:
        longer = [
            (n, own) for n, own in zip(x.node.shape[extra:], sizes, strict=True) if same_length(n, own) is not True
        ]
        if all(type(own) is int for _, own in longer):  # back to where it came from: each as often as it was repeated
            return Tensor(x.node.args[0]) * product((*x.node.shape[:extra], *(n for n, _ in longer)))
    if extra < 0:
        return broadcast_to(x, sizes)
    sames = [same_length(a, b) for a, b in zip(x.node.shape[extra:], sizes, strict=True)]
    if all(same or known(n) == 1 for same, n in zip(sames, sizes, strict=True)):
        axes = tuple(range(extra)) + tuple(i + extra for i, same in enumerate(sames) if not same)
        if axes:
            x = sum(x, axis=axes, dtype=x.dtype, keepdims=len(axes) > extra)
        return reshape(x, sizes) if extra and len(axes) > extra else x
    if any(known(a) == 1 and known(b) != 1 for a, b in zip(x.node.shape[extra:], sizes, strict=True)):
        # the cotangent itself was left un-broadcast
        return sum_to(broadcast_to(x, (*x.node.shape[:extra], *sizes)), sizes)
    return record(_SUM_TO, x, sizes)


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
