"""Which values of a graph belong to one branch of an `ifelse` alone, and matter only if that branch is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TypeAlias

from .node import IFELSE_NAME, OUTPUT, Node

__all__ = ["BranchPath", "branch_paths", "recorded_paths"]

BranchPath: TypeAlias = tuple[tuple[Node, int], ...]
"""The way into nested branches, from outside in: a condition, and which of its branches.

Two choices by one condition share their branches.
"""


def _common_path(a: BranchPath, b: BranchPath) -> BranchPath:
    """The innermost branch that holds both."""
    length = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        length += 1
    return a[:length]


def branch_paths(
    order: Sequence[Node],
    roots: Iterable[Node],
    operands: Callable[[Node], Sequence[Node]] = attrgetter("inputs"),
    resolve: Callable[[Node], Node] = lambda node: node,
    *,
    both: bool = False,
) -> tuple[dict[Node, BranchPath], dict[Node, set[int]]]:
    """The innermost branch that holds all uses of each value that is needed, and which results of each call are.

    Parameters
    ----------
    order
        The values, inputs before their users.
    roots
        Those that are asked for outside all branches.
    operands
        What each is computed from.
    resolve
        Gives the node that is computed in the place of another.
    both
        Whether both branches are computed, so that there are none to be inside of.
    """
    paths: dict[Node, BranchPath] = dict.fromkeys(roots, ())
    needed: dict[Node, set[int]] = defaultdict(set)
    for node in reversed(order):
        path = paths.get(node)
        if path is None:  # such as an unused value of a branch
            continue
        uses: list[tuple[Node, BranchPath]]
        if node.op.name == IFELSE_NAME and not both:
            condition, *branches = node.args
            chosen = resolve(condition)
            inside = [(*path, (chosen, branch)) for branch in range(len(branches))]
            uses = [(resolve(branches[branch][i]), way) for branch, way in enumerate(inside) for i in needed[node]]
            uses.append((chosen, path))
        else:
            others = operands(node)
            uses = [(other, path) for other in others]
            if others and node.op is OUTPUT:  # and none that is given
                needed[resolve(node.args[0])].add(node.args[1])
        for other, way in uses:
            before = paths.get(other)
            paths[other] = way if before is None or before == way else _common_path(before, way)
    return paths, needed


def recorded_paths(order: Sequence[Node], roots: Iterable[Node]) -> dict[Node, BranchPath]:
    """The branch of each value of a graph as it was recorded, a result where its call is; empty without branches."""
    if not any(node.op.name == IFELSE_NAME for node in order):
        return {}
    paths, _ = branch_paths(order, roots)
    return paths | {node: paths[node.args[0]] for node in order if node.op is OUTPUT and node in paths}
