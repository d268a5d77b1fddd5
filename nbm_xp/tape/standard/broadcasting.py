"""Broadcasting, and back: `sum_to` is the one place where a gradient is summed over what was repeated."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.tape.lengths import known, same_length
from nbm_xp.tape.node import LINEAR_TAG, ChainStep, Memory, Node, Operation, Shape, same_as_first
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .manipulation import of_shape, reshape
from .shapes import broadcast, not_written, sizes_of
from .sums import sum as sum_

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "sum_to"]


_BROADCAST = declare(
    "broadcast_to",
    of_shape,
    (lambda g, out, x, shape: sum_to(g, x.node.shape),),
    tags=frozenset({LINEAR_TAG}),
    memory=Memory.SPREAD,
    shape_at=1,
    chain_step=lambda node: ChainStep("broadcast", node.args[:1], node.args[1]),
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
    if len(sizes) == tensor.ndim and all(same_length(a, b) for a, b in zip(sizes, tensor.node.shape, strict=True)):
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
    return ChainStep("same", (x,), shape) if [*map(known, x.shape)] == [*map(known, node.shape)] else None


_SUM_TO = declare(
    "sum_to",
    of_shape,
    (lambda g, out, x, shape: broadcast_to(g, x.node.shape),),
    run=_run_sum_to,
    shape_at=1,
    tags=frozenset({LINEAR_TAG}),
    memory=Memory.FIRST,
    chain_step=_handed_on,
)


_REPEATED: Operation = declare(
    "sum_of_broadcast",  # back to where it came from: each element as often as it was repeated
    same_as_first,
    (lambda g, out, x, shape: record(_REPEATED, g, shape),),
    tags=frozenset({LINEAR_TAG}),
    run=lambda xp, x, shape: x if x.shape == shape else x * (math.prod(shape) / max(1, math.prod(x.shape))),
    memory=Memory.FIRST,
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
            x = sum_(x, axis=axes, dtype=x.dtype, keepdims=len(axes) > extra)
        return reshape(x, sizes) if extra and len(axes) > extra else x
    if any(known(a) == 1 and known(b) != 1 for a, b in zip(x.node.shape[extra:], sizes, strict=True)):
        # the cotangent itself was left un-broadcast
        return sum_to(broadcast_to(x, (*x.node.shape[:extra], *sizes)), sizes)
    return record(_SUM_TO, x, sizes)
