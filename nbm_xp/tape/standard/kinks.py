"""Kinks whose square is smooth: sizes, which are zero at a point and grow from it in every direction.

The size of x (its absolute value, a norm, a deviation) has no gradient where it is zero, and none flows back there. But
a function of the square of a size is smooth, and its second derivative is not zero: the gradient is g x / size, where
the cotangent g is zero with the size, and so it grows with x by what g grows with the size. `along` is such a product;
it is the value, and knows that. How g depends on the size is in the graph: `growth` has its gradient rule.

It is told apart for each size of many, such as all elements of ``abs(x)``, whose cotangents do not depend on each
other where they are zero. Where they do, as in ``sum(abs(x)) ** 2``, and inside a loop or checkpoint, which does not
know what comes after it, what a second derivative gets from a kink is zero.
"""

from __future__ import annotations

from nbm_xp.tape.node import IDENTITY_TAG, Memory, Node, Shape
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, record

__all__ = ["along", "is_same_size"]


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
        if is_same_size(one, size):
            return True
        fresh = [other for other in one.inputs if other.serial > since and other not in seen]
        seen.update(fresh)
        stack += fresh
    return False


def is_same_size(node: Node, size: Node) -> bool:
    """Whether a node is a size, or was recorded by the same call again."""
    if node is size or node.op is not size.op:
        return node is size
    first = 1 if IDENTITY_TAG in size.op.tags else 0
    return node.args[first:] == size.args[first:] and node.attributes == size.attributes


_ALONG = declare(
    "along",
    lambda value, g, x, size, *, shape: (value.shape, value.dtype),
    tags=frozenset({IDENTITY_TAG}),
    memory=Memory.FIRST,
)
"""Its gradient rule is given in `growth`."""
