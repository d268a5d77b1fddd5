"""Which values of a graph belong to one branch of an `ifelse` alone, and matter only if that branch is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..node import IFELSE_NAME, OUTPUT, Node

__all__ = ["Block", "blocks_of", "common_block"]

Block: TypeAlias = tuple[tuple[Node, int], ...]
"""The path of (condition, branch) from outside all branches. Two choices by one condition share their branches."""


def common_block(a: Block, b: Block) -> Block:
    """The innermost block that holds both."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return a[:length]


def blocks_of(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, Block]:
    """The block that holds all uses of each value; no entries where there are no branches.

    Parameters
    ----------
    order
        The values, inputs before their users.
    roots
        Those that are asked for outside all branches.
    """
    if not any(node.op.name == IFELSE_NAME for node in order):
        return {}
    blocks: dict[Node, Block] = dict.fromkeys(roots, ())
    for node in reversed(order):
        uses: list[tuple[Node, Block]]
        if node.op.name == IFELSE_NAME:
            condition, *branches = node.args
            inside = [(*blocks[node], (condition, branch)) for branch in range(len(branches))]
            uses = [(condition, blocks[node])]
            uses += [(value, block) for values, block in zip(branches, inside, strict=True) for value in values]
        else:
            uses = [(other, blocks[node]) for other in node.inputs]
        for other, block in uses:
            blocks[other] = common_block(blocks[other], block) if other in blocks else block
    for node in order:
        if node.op is OUTPUT:  # a result is where its call is
            blocks[node] = blocks[node.args[0]]
    return blocks
