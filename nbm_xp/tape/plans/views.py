"""Which results of a plan share memory with something that is not theirs to share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..node import CONSTANT, VARIABLE, Node
from ..traversal import Result

__all__ = ["VIEWS", "to_be_copied"]

VIEWS = frozenset({
    "argument", "astype", "broadcast_to", "copy", "flip", "getitem", "matrix_transpose", "permute_dims", "reshape",
    "squeeze", "stop_gradient", "sum_to", "transpose",
})  # fmt: skip
"""Operations whose result may be a view of their first argument, or that argument itself."""


def to_be_copied(
    results: Sequence[Result], count: int, inputs: Sequence[Node], givens: Mapping[Node, Node]
) -> list[int]:
    """Which of the results, `count` outputs and then the updates, share memory that is not theirs to share.

    An output must not be a view of a variable, old or new, nor be read-only; a variable none of the caller's arrays.
    """
    viewed: list[tuple[Node | None, bool]] = []
    for result in results:
        node, spread = givens.get(result, result) if isinstance(result, Node) else None, False
        while node is not None and node.op.name in VIEWS and node not in inputs:
            spread = spread or node.op.name == "broadcast_to"
            node = givens.get(node.args[0], node.args[0])
        viewed.append((node, spread))
    kept = {node for node, _ in viewed[count:]}
    return [
        position
        for position, (node, spread) in enumerate(viewed)
        if node is not None
        and (
            spread
            or node.op is CONSTANT
            or node.op.name == "argument"  # the caller's array
            or ((node.op is VARIABLE or node in kept) if position < count else node in inputs)
        )
    ]
