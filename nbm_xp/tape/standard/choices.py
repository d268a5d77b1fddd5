"""Choices between elements: `where` and `clip`."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.dtypes import bool as boolean
from nbm_xp.tape.node import Memory, Node
from nbm_xp.tape.operators import is_number
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .casting import cast
from .creation import asarray, zeros_like
from .promotion import both_tensors, refuse_complex, together
from .shapes import broadcast

__all__ = ["clip", "where"]


_WHERE = declare(
    "where",
    lambda condition, x, y: (broadcast(condition.shape, x.shape, y.shape), x.dtype),
    (
        None,
        lambda g, out, condition, x, y: where(condition, g, zeros_like(g)),
        lambda g, out, condition, x, y: where(condition, zeros_like(g), g),
    ),
    memory=Memory.OWN,
)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """``where(condition, x1, x2)`` of the array API standard, recorded."""
    condition = cast(as_tensor(condition), boolean)
    x1, x2 = both_tensors(*together(x1, x2))
    return record(_WHERE, condition, x1, x2)


def _clip_infer(x: Node, lower: Any, upper: Any) -> Any:
    shapes = [bound.shape for bound in (x, lower, upper) if isinstance(bound, Node)]
    return broadcast(*shapes), x.dtype


def _inside(out: Tensor, x: Any) -> Tensor:
    return cast(as_tensor(out == x), out.dtype)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """``clip(x, min, max)`` of the array API standard, recorded; the gradient passes at the bounds."""
    x = as_tensor(x)
    refuse_complex("clip", x=x, min=min, max=max)
    if min is None and max is None:
        return asarray(x, copy=True)
    return record(_CLIP, x, _bound(min, x), _bound(max, x))


def _bound(bound: Any, x: Tensor) -> Any:
    return bound if bound is None or is_number(bound) else cast(as_tensor(bound), x.dtype)


def _run_clip(xp: Any, x: Any, lower: Any, upper: Any) -> Any:
    if lower is not None:
        x = xp.maximum(x, xp.asarray(lower, dtype=x.dtype) if is_number(lower) else lower)
    if upper is not None:
        x = xp.minimum(x, xp.asarray(upper, dtype=x.dtype) if is_number(upper) else upper)
    return x


_CLIP = declare(
    "clip",
    _clip_infer,
    (
        lambda g, out, x, lower, upper: g * _inside(out, x),
        lambda g, out, x, lower, upper: g * _clipped_by(out, x, lower, upper),
        lambda g, out, x, lower, upper: g * _clipped_by(out, x, upper, lower),
    ),
    run=_run_clip,
    memory=Memory.OWN,
)


def _clipped_by(out: Tensor, x: Tensor, bound: Any, other: Any) -> Tensor:
    return (1 - _inside(out, x)) * _inside(out, bound)
