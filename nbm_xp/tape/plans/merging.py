"""Which recorded calls are equal, so that a plan computes them once, and what it computes each from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence

from ..node import IDENTITY_TAG, LEAVES, Node
from .structural_key import frozen

__all__ = ["merge_equal_calls"]


def merge_equal_calls(
    order: Sequence[Node],
    given: Collection[Node],
    resolve: Callable[[Node], Node],
    same: dict[Node, Node],
    operands: dict[Node, Sequence[Node]],
) -> None:
    """Find the first of equal calls, and what it is computed from.

    Parameters
    ----------
    order : sequence of Node
        The values, inputs before their users.
    given : collection of Node
        What the plan is called with.
    resolve : callable
        Gives the node that is computed in the place of another, by what stands in `same`.
    same, operands : dict
        Filled: for each node the one that is computed in its place, and for those what they are computed from.
    """
    by_key: dict[Hashable, Node] = {}
    for node in order:
        if node in given or node.op in LEAVES:
            same[node] = node
            operands[node] = ()
            continue
        if IDENTITY_TAG in node.op.tags:
            same[node] = resolve(node.args[0])
            continue
        try:
            args = tuple([resolve(arg) if type(arg) is Node else frozen(arg, resolve) for arg in node.args])
            key = (node.op, args, frozen(node.attributes, resolve) if node.attributes else None, id(node.payload))
            first = by_key.setdefault(key, node)
        except TypeError:
            first = node
        same[node] = first
        if first is node:
            operands[node] = tuple(dict.fromkeys(map(resolve, node.inputs)))
