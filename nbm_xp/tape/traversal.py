"""The walk over a graph, depth first and without recursion, so that its depth does not matter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

from .lengths import Length
from .node import Node, nodes_in

__all__ = ["Result", "reachable", "walk"]

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
