"""Which results of a plan share memory with something that is not theirs to share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from ..node import CONSTANT, IFELSE_NAME, OUTPUT, VARIABLE, Node
from ..traversal import Result

__all__ = ["VIEWS", "to_be_copied"]

VIEWS = frozenset({
    "argument", "astype", "broadcast_to", "conj", "copy", "flip", "getitem", "imag", "linalg.diagonal",
    "matrix_transpose", "permute_dims", "real", "reshape", "squeeze", "stop_gradient", "sum_to", "transpose",
})  # fmt: skip
"""Operations whose result may be a view of their first argument, or that argument itself."""


def to_be_copied(
    results: Sequence[Result], count: int, inputs: Sequence[Node], givens: Mapping[Node, Node]
) -> list[int]:
    """Which of the results, `count` outputs and then the updates, share memory that is not theirs to share.

    An output must not be a view of a variable, old or new, nor of another output, nor be read-only; a variable none of
    the caller's arrays.
    """
    viewed: list[tuple[Node | None, bool]] = []
    for result in results:
        node, spread, part = givens.get(result, result) if isinstance(result, Node) else None, False, False
        while node is not None and node.op.name in VIEWS and node not in inputs:
            spread = spread or node.op.name in ("broadcast_to", "linalg.diagonal")
            part = part or node.op.name == "getitem"
            node = givens.get(node.args[0], node.args[0])
        viewed.append((node, spread or (node is not None and node not in inputs and _is_passed_on(node, part))))
    kept = {_likeness(node) for node, _ in viewed[count:] if node is not None}
    first = {node: position for position, (node, _) in reversed([*enumerate(viewed)])}
    return [
        position
        for position, (node, spread) in enumerate(viewed)
        if node is not None
        and (
            spread
            or node.op is CONSTANT
            or node.op.name == "argument"  # the caller's array
            or ((node.op is VARIABLE or _likeness(node) in kept) if position < count else node in inputs)
            or (first[node] < position < count)
        )
    ]


def _likeness(node: Node) -> Hashable:
    """Equal for values that a plan may find to be the same and compute once."""
    return node.op, node.dtype, len(node.shape)


def _is_passed_on(node: Node, part: bool) -> bool:
    """Whether a result, or a part of it, may be an array that the call was given: a branch, or a carried value."""
    if node.op is not OUTPUT:
        return False
    call, index = node.args
    if call.op.name == "loop":  # the last of the stacked values may be taken before they are stacked
        return part or index < call.payload.first_tap
    return call.op.name in (IFELSE_NAME, "checkpoint")
