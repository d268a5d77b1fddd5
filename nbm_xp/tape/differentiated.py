"""What is being differentiated: the arguments of derivatives in progress, and what depends on them.

As a plain number or array such a value would count as a constant, so none is handed out.
"""

from __future__ import annotations

from .node import ELEMENTWISE_TAG, IDENTITY_TAG, Memory, Node, same_as_first
from .registry import declare
from .traversal import reachable

__all__ = ["ARGUMENT", "IN_PROGRESS", "STOP", "is_differentiated", "refuse_cut"]

STOP = declare("stop_gradient", same_as_first, gradient=(None,), tags=frozenset({IDENTITY_TAG}), memory=Memory.FIRST)
"""The value itself, through which no gradient flows."""

ARGUMENT = declare(
    "argument",
    same_as_first,
    (lambda g, out, x: g,),
    tags=frozenset({IDENTITY_TAG, ELEMENTWISE_TAG}),
    memory=Memory.FIRST,
)
"""The value itself, as one derivative sees it: other uses of the same value are none of its business."""

IN_PROGRESS: set[Node] = set()
"""The arguments of derivatives that are being recorded, in all threads."""


def refuse_cut(node: Node, name: str) -> None:
    """Refuse to hand a value out of which a derivative would then lose track; the message calls it `name`.

    Whole numbers and truth values have no derivative to lose.

    Raises
    ------
    TypeError
        If a derivative in progress goes through the value.
    """
    if is_differentiated(node):
        raise TypeError(
            f"{name} is being differentiated and cannot become a plain number or array, which would cut the "
            "derivative off: call functions of xp = array_namespace(x), such as xp.sum(x), or stop_gradient(x) where "
            "the cut is meant"
        )


def is_differentiated(node: Node) -> bool:
    """Whether a derivative in progress goes through a value."""
    if not IN_PROGRESS or node.dtype[0] not in "fc":
        return False
    stops = [one for one in reachable([node]) if one.op is STOP]
    return any(one in IN_PROGRESS for one in reachable([node], stops))
