"""How one recorded value grows with another, and the gradient of `along`, which is made of that.

A value is gone back through twice: the pass back is linear in what it starts from, and so its own gradient in that is
the pass forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .backward import vjp
from .lengths import known, product
from .node import Node
from .registry import register_gradient
from .stand_ins import is_inner
from .standard.broadcasting import broadcast_to
from .standard.choices import where
from .standard.creation import ones_like, zeros_like
from .standard.data_types import finfo
from .standard.elementwise import abs as abs_
from .standard.elementwise import exp
from .standard.kinks import is_same_size
from .standard.manipulation import reshape
from .standard.sequences import arange
from .standard.sums import sum as sum_
from .tensor import Tensor
from .traversal import reachable

__all__ = ["grown"]


def grown(value: Tensor, targets: Sequence[Node], tangents: Sequence[Tensor]) -> Tensor | None:
    """How a value grows as the targets do, all else that it was computed from being held; None for not at all."""
    seed = zeros_like(value)
    back = vjp([value.node], [seed], targets, as_leaves=True)
    flowing = [sum_(part * t) for part, t in zip(back, tangents, strict=True) if part is not None]
    if not flowing:
        return None
    total = flowing[0]
    for part in flowing[1:]:
        total = total + part
    (found,) = vjp([total.node], [ones_like(total)], [seed.node])
    return found


def _along_rule(c: Tensor, out: Tensor, value: Tensor, g: Tensor, x: Tensor, size: Tensor, *, shape: Any) -> list[Any]:
    growth = _growth(g, size)
    if growth is None:
        return [c, None, None, None]
    at_kink = where(size == 0, growth, 0.0)
    if shape is not None:
        at_kink = reshape(at_kink, shape)
    return [c, None, c * at_kink, None]


def _growth(g: Tensor, size: Tensor) -> Tensor | None:
    """How much each element of a cotangent grows with its size; zero for one that grows with others as well."""
    if any(is_inner(node) for node in reachable([g.node])):
        return None
    full = broadcast_to(g, size.node.shape)
    ones = ones_like(size)
    growth = _grown(full, size, ones)
    if growth is None or known(product(size.node.shape)) == 1:
        return growth
    other = _other(size)
    again = _grown(full, size, other)
    assert again is not None
    again = again / other
    close = abs_(growth) + abs_(again)
    return where(abs_(growth - again) <= close * finfo(size).eps ** 0.5, growth, 0.0)


def _grown(g: Tensor, size: Tensor, direction: Tensor) -> Tensor | None:
    try:
        own = [node for node in reachable([g.node]) if is_same_size(node, size.node)]
        return grown(g, own, [direction] * len(own))
    except NotImplementedError:  # something on the way has no second derivative
        return None


def _other(size: Tensor) -> Tensor:
    """Another direction than that of equal growth: no two elements grow alike, and none as their mean does."""
    count = product(size.node.shape)
    places = arange(count, dtype=size.dtype)
    return reshape(exp(places / count), size.node.shape)


register_gradient("along", joint=_along_rule)
