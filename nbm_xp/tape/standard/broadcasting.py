"""The sum over axes, and broadcasting: `sum_to` is the one place where a gradient is summed over what was repeated."""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import DType, as_dtype
from ..dtypes import bool as boolean
from ..lengths import known, same_length
from ..node import LINEAR_TAG, ChainStep, Node, Operation, Shape, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .data_types import cast
from .manipulation import of_shape, reshape
from .shapes import along_axes, axes_of, broadcast, kept_shape, not_written, reduced_shape, sizes_of

__all__ = [
    "accumulated", "accumulator", "along_reduced", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "reduced_spec", "sum", "sum_to",
]  # fmt: skip


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
    return as_dtype("int64") if kind in "bi" else as_dtype("uint64") if kind == "u" else x.dtype


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


_SUM = along_axes("sum", reduced_spec, (_sum_rule,), linear=True, adds_up=True)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; integers and bool add up as int64 or uint64."""
    return accumulated(_SUM, x, axis, dtype, keepdims)


_BROADCAST = declare(
    "broadcast_to",
    of_shape,
    (lambda g, out, x, shape: sum_to(g, x.node.shape),),
    tags=frozenset({LINEAR_TAG}),
    may_overlap=True,
    shape_at=1,
    chain_step=lambda node: ChainStep(*node.args),
    written=not_written,
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
    shape_at=1,
    tags=frozenset({LINEAR_TAG}),
    may_overlap=True,
    chain_step=_handed_on,
)


_REPEATED: Operation = declare(
    "sum_of_broadcast",  # back to where it came from: each element as often as it was repeated
    same_as_first,
    (lambda g, out, x, shape: record(_REPEATED, g, shape),),
    tags=frozenset({LINEAR_TAG}),
    run=lambda xp, x, shape: x if x.shape == shape else x * (math.prod(shape) / max(1, math.prod(x.shape))),
    may_overlap=True,
    chain_step=_handed_on,
)


def sum_to(x: Any, shape: Any) -> Tensor:
    """The sum over whatever was broadcast to reach `x` from `shape`: the one place where un-broadcasting happens."""
    x = as_tensor(x)
    sizes = sizes_of(shape)
    if x.node.op is _BROADCAST and x.node.args[0].shape == sizes:
        return record(_REPEATED, Tensor(x.node.args[0]), x.node.args[1])
    extra = x.ndim - len(sizes)
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
