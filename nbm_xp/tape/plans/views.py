"""Which results of a plan share memory with something that is not theirs to share.

What an operation says of its result's memory (`Memory`) decides; what says nothing may share memory with anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ..node import CONSTANT, LEAVES, OUTPUT, VARIABLE, Memory, Node
from ..traversal import Result

__all__ = ["to_be_copied"]


def to_be_copied(
    results: Sequence[Result], count: int, inputs: Sequence[Node], givens: Mapping[Node, Node]
) -> list[int]:
    """Which of the results, `count` outputs and then the updates, share memory that is not theirs to share.

    An output must not be a view of a variable, old or new, nor of another output, nor be read-only; a variable none of
    the caller's arrays.
    """
    viewed: list[tuple[Node | None, bool]] = []
    for result in results:
        node, unsafe, part = givens.get(result, result) if isinstance(result, Node) else None, False, False
        while node is not None and node not in inputs and node.op not in LEAVES:
            memory = node.op.memory
            unsafe = unsafe or memory is Memory.SPREAD or _may_be_anything(node, part)
            if node.op is OUTPUT or memory in (Memory.OWN, Memory.ANY):
                break
            part = part or memory is Memory.FIRST
            node = givens.get(node.args[0], node.args[0])
        viewed.append((node, unsafe))
    kept = {_likeness(node) for node, _ in viewed[count:] if node is not None}
    first = {node: position for position, (node, _) in reversed([*enumerate(viewed)])}
    return [
        position
        for position, (node, unsafe) in enumerate(viewed)
        if node is not None
        and (
            unsafe
            or node.op is CONSTANT
            or node.op.name == "argument"  # the caller's array
            or ((node.op is VARIABLE or _likeness(node) in kept) if position < count else node in inputs)
            or (first[node] < position < count)
        )
    ]


def _likeness(node: Node) -> Hashable:
    """Equal for values that a plan may find to be the same and compute once."""
    return node.op, node.dtype, len(node.shape)


def _may_be_anything(node: Node, part: bool) -> bool:
    """Whether a result, or a part of it, may be an array that the call was given: a branch, or a carried value."""
    if node.op is not OUTPUT:
        return node.op.memory is Memory.ANY
    call, index = node.args
    if call.op.name == "loop":  # the last of the stacked values may be taken before they are stacked
        return part or index < call.payload.first_tap
    return call.op.memory is Memory.ANY
