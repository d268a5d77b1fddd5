"""Sums over axes, broadcasting (the transpose of a sum) and matrix products (sums of products).

All sums of gradients over broadcast axes are done by `sum_to`.
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
    """Return the shape and dtype of a reduction over axes."""
    return reduced_shape(x.shape, axis, keepdims), attributes.get("dtype", x.dtype)


def along_reduced(g: Tensor, x: Tensor, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    """Reshape a reduced array so that its reduced axes have length 1 and it broadcasts against `x`."""
    return g if keepdims or not g.node.shape else reshape(g, kept_shape(x.node.shape, axis))


def accumulator(x: Tensor, dtype: Any) -> DType:
    """Return the dtype of a sum: `dtype` if given; int64 or uint64 for integers and bool."""
    if dtype is not None:
        return as_dtype(dtype)
    kind = x.dtype.kind
    return int64 if kind in "bi" else uint64 if kind == "u" else x.dtype


def _summable(x: Tensor, dtype: DType) -> Tensor:
    """Cast an array before it is summed if the dtype of the sum is floating or the array is bool."""
    return cast(x, dtype) if dtype.kind in "fc" or x.dtype == boolean else x


def accumulated(op: Operation, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Tensor:
    """Record a sum or product over axes, in `dtype` or by default in a dtype that is wide enough."""
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
    """Return the sum over axes; integers and bool are summed in int64 or uint64."""
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
    """Broadcast an array to a shape, without a copy if the library supports it."""
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
    """Return the shape to which arrays of these shapes broadcast; ``()`` for no shapes."""
    return broadcast(*map(sizes_of, shapes))


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Broadcast arrays against each other."""
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
    """Return the `chain_step` of a broadcast: the argument if it has the result's shape, else None."""
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
    """Sum `x` over the axes along which an array of `shape` was broadcast: the transpose of `broadcast_to`."""
    x = as_tensor(x)
    sizes = sizes_of(shape)
    extra = x.ndim - len(sizes)
    if x.node.op is _BROADCAST and x.node.args[0].shape == sizes:
        longer = [
            (n, own) for n, own in zip(x.node.shape[extra:], sizes, strict=True) if same_length(n, own) is not True
        ]
        if all(type(own) is int for _, own in longer):  # undo a broadcast: multiply by the number of repetitions
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
        # the cotangent was not broadcast
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
    """Convert vectors to matrices of one row or column."""
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
    """Return the matrix product over the last two axes."""
    x1, x2 = together(as_tensor(x1), as_tensor(x2))
    if not x1.ndim or not x2.ndim:
        raise ValueError(f"matmul needs arrays of one axis or more, got shapes {x1.shape} and {x2.shape}")
    return record(_MATMUL, x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    """Return the sum of products over pairs of axes, as one matrix product without conjugation."""
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
