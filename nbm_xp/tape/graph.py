"""Walks over a graph: what is needed, in which branch of an `ifelse`, and which derivatives are in progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from .dtypes import as_dtype
from .lengths import Length
from .node import (
    ELEMENTWISE_TAG,
    IDENTITY_TAG,
    IFELSE_NAME,
    OUTPUT,
    PLACEHOLDER,
    Node,
    Shape,
    declare,
    leaf,
    nodes_in,
    same_as_first,
)

__all__ = [
    "ARGUMENT", "BranchPath", "IN_PROGRESS", "Result", "STOP", "branch_paths", "inner_placeholder", "is_differentiated",
    "reachable", "recorded_paths", "refuse_cut", "walk",
]  # fmt: skip

Result: TypeAlias = "Node | Length | None"
"""What a plan can be asked for."""

_inputs: Callable[[Node], Sequence[Node]] = attrgetter("inputs")


def reachable(
    roots: Sequence[Result], stop: Collection[Node] = (), givens: Mapping[Node, Node] | None = None
) -> list[Node]:
    """What the roots need, inputs first, with `givens` put in the place of their keys; `stop` needs nothing."""
    found = [node for result in roots for node in nodes_in(result)]
    if not givens:
        return walk(found, _inputs, frozenset(stop))
    replaced = givens.get
    return walk(
        [replaced(node, node) for node in found],
        lambda node: [replaced(parent, parent) for parent in node.inputs],
        frozenset(stop),
    )


def walk(
    roots: Iterable[Node], operands: Callable[[Node], Sequence[Node]], stop: frozenset[Node] = frozenset()
) -> list[Node]:
    """What the roots need, inputs first, where `operands` says what each node is computed from; `stop` of nothing."""
    opened: set[Node] = set()
    placed: dict[Node, None] = {}
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node in opened:  # all that it needs has been placed by now
            placed[node] = None
            continue
        opened.add(node)
        parents = None if node in stop else operands(node)
        if parents:
            stack.append(node)
            stack += [parent for parent in reversed(parents) if parent not in opened]
        else:
            placed[node] = None
    return list(placed)


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


def inner_placeholder(shape: Shape, dtype: Any, name: str | None = None) -> Node:
    """A stand-in for a value inside a step, or for one that is free: it depends on nothing."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name)  # type: ignore[arg-type]


STOP = declare("stop_gradient", same_as_first, gradient=(None,), tags=frozenset({IDENTITY_TAG}), may_overlap=True)
"""The value itself, through which no gradient flows."""

ARGUMENT = declare(
    "argument",
    same_as_first,
    (lambda g, out, x: g,),
    tags=frozenset({IDENTITY_TAG, ELEMENTWISE_TAG}),
    may_overlap=True,
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
    if not IN_PROGRESS or node.dtype.kind not in "fc":
        return False
    stops = [one for one in reachable([node]) if one.op is STOP]
    return any(one in IN_PROGRESS for one in reachable([node], stops))
