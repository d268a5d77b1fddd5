"""Kinks whose square is smooth: sizes, which are zero at a point and grow from it in every direction.

The size of x (its absolute value, a norm, a deviation) has no gradient where it is zero, and none flows back there. But
a function of the square of a size is smooth, and its second derivative is not zero: the gradient is g x / size, where
the cotangent g is zero with the size, and so it grows with x by what g grows with the size. `along` is such a product;
it is the value, and knows that. How g depends on the size is in the graph.

It is told apart for each size of many, such as all elements of ``abs(x)``, whose cotangents do not depend on each
other where they are zero. Where they do, as in ``sum(abs(x)) ** 2``, and inside a loop or checkpoint, which does not
know what comes after it, what a second derivative gets from a kink is zero.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.backward import grown
from nbm_xp.tape.gradients import declare
from nbm_xp.tape.lengths import known, product
from nbm_xp.tape.loops.node import is_inner
from nbm_xp.tape.node import IDENTITY_TAG, Joint, Memory, Node, Operation, Shape
from nbm_xp.tape.operators import FUNCTIONS
from nbm_xp.tape.tensor import Tensor, record
from nbm_xp.tape.traversal import reachable

from .matrices import spacing

__all__ = ["along"]


def along(value: Tensor, g: Tensor, x: Tensor, size: Tensor, shape: Shape | None = None) -> Tensor:
    """The gradient ``g * x / size``, computed already as `value`, which is zero where the size is.

    `shape` is that of the size where it has the axes of `x`, with a length of 1 in the place of those that it is over.
    """
    if size.dtype[0] != "f" or not _depends(g.node, size.node):
        return value
    return record(_ALONG, value, g, x, size, shape=shape)


def _depends(node: Node, size: Node) -> bool:
    """Whether a value was computed from a size, which only what was recorded after what it is of can be."""
    since = size.args[-1].serial
    seen = {node}
    stack = [node]
    while stack:
        one = stack.pop()
        if _same(one, size):
            return True
        fresh = [other for other in one.inputs if other.serial > since and other not in seen]
        seen.update(fresh)
        stack += fresh
    return False


def _same(node: Node, size: Node) -> bool:
    """Whether a node is a size, or was recorded by the same call again."""
    if node is size or node.op is not size.op:
        return node is size
    first = 1 if IDENTITY_TAG in size.op.tags else 0
    return node.args[first:] == size.args[first:] and node.attributes == size.attributes


def _rule(c: Tensor, out: Tensor, value: Tensor, g: Tensor, x: Tensor, size: Tensor, *, shape: Any) -> list[Any]:
    growth = _growth(g, size)
    if growth is None:
        return [c, None, None, None]
    at_kink = FUNCTIONS["where"](size == 0, growth, 0.0)
    if shape is not None:
        at_kink = FUNCTIONS["reshape"](at_kink, shape)
    return [c, None, c * at_kink, None]


_ALONG = declare(
    Operation(
        "along",
        lambda value, g, x, size, *, shape: (value.shape, value.dtype),
        Joint(_rule),
        tags=frozenset({IDENTITY_TAG}),
        memory=Memory.FIRST,
    )
)


def _growth(g: Tensor, size: Tensor) -> Tensor | None:
    """How much each element of a cotangent grows with its size; zero for one that grows with others as well."""
    if any(is_inner(node) for node in reachable([g.node])):
        return None
    full = FUNCTIONS["broadcast_to"](g, size.node.shape)
    ones = FUNCTIONS["ones_like"](size)
    growth = _grown(full, size, ones)
    if growth is None or known(product(size.node.shape)) == 1:
        return growth
    other = _other(size)
    again = _grown(full, size, other)
    assert again is not None
    again = again / other
    close = FUNCTIONS["abs"](growth) + FUNCTIONS["abs"](again)
    return FUNCTIONS["where"](FUNCTIONS["abs"](growth - again) <= close * spacing(size) ** 0.5, growth, 0.0)


def _grown(g: Tensor, size: Tensor, direction: Tensor) -> Tensor | None:
    try:
        own = [node for node in reachable([g.node]) if _same(node, size.node)]
        return grown(g, own, [direction] * len(own))
    except NotImplementedError:  # something on the way has no second derivative
        return None


FUNCTIONS["along"] = along  # which the element-wise functions, from which this is built, look up


def _other(size: Tensor) -> Tensor:
    """Another direction than that of equal growth: no two elements grow alike, and none as their mean does."""
    count = product(size.node.shape)
    places = FUNCTIONS["arange"](count, dtype=size.dtype)
    return FUNCTIONS["reshape"](FUNCTIONS["exp"](places / count), size.node.shape)
