"""Which values of a graph belong to one branch of an `ifelse` alone, and matter only if that branch is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .node import IFELSE_NAME, OUTPUT, Node

__all__ = ["BranchPath", "branch_paths", "common_path"]

BranchPath: TypeAlias = tuple[tuple[Node, int], ...]
"""The way into nested branches, from outside in: a condition, and which of its branches.

Two choices by one condition share their branches.
"""


def common_path(a: BranchPath, b: BranchPath) -> BranchPath:
    """The innermost branch that holds both."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return a[:length]


def branch_paths(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, BranchPath]:
    """The innermost branch that holds all uses of each value; no entries where there are no branches.

    Parameters
    ----------
    order
        The values, inputs before their users.
    roots
        Those that are asked for outside all branches.
    """
    if not any(node.op.name == IFELSE_NAME for node in order):
        return {}
    paths: dict[Node, BranchPath] = dict.fromkeys(roots, ())
    for node in reversed(order):
        uses: list[tuple[Node, BranchPath]]
        if node.op.name == IFELSE_NAME:
            condition, *branches = node.args
            inside = [(*paths[node], (condition, branch)) for branch in range(len(branches))]
            uses = [(condition, paths[node])]
            uses += [(value, path) for values, path in zip(branches, inside, strict=True) for value in values]
        else:
            uses = [(other, paths[node]) for other in node.inputs]
        for other, path in uses:
            paths[other] = common_path(paths[other], path) if other in paths else path
    for node in order:
        if node.op is OUTPUT:  # a result is where its call is
            paths[node] = paths[node.args[0]]
    return paths
