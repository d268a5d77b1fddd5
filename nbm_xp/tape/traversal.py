"""Walks over a graph: without recursion, so that its depth does not matter."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from .lengths import Length
from .node import Node, nodes_in

__all__ = ["Result", "reachable", "walk"]

Result: TypeAlias = "Node | Length | None"
"""What a plan can be asked for."""


def reachable(
    roots: Sequence[Result], stop: Collection[Node] = (), givens: Mapping[Node, Node] | None = None
) -> list[Node]:
    """What the roots need, inputs first, with `givens` put in the place of their keys."""
    halt = frozenset(stop)
    opened: set[Node] = set()
    placed: dict[Node, None] = {}
    found = [node for result in roots for node in nodes_in(result)]
    stack = [givens.get(node, node) for node in found] if givens else found
    stack.reverse()
    while stack:
        node = stack.pop()
        if node in opened:  # all that it needs has been placed by now
            placed[node] = None
            continue
        opened.add(node)
        if node in halt or not node.inputs:
            placed[node] = None
            continue
        stack.append(node)
        inputs = [givens.get(parent, parent) for parent in node.inputs] if givens else node.inputs
        stack += [parent for parent in reversed(inputs) if parent not in opened]
    return list(placed)


def walk(roots: Sequence[Node], operands: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """What the roots need, inputs first, where `operands` says what each node is computed from."""
    opened: set[Node] = set()
    placed: dict[Node, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in opened:
            placed[node] = None
            continue
        opened.add(node)
        stack.append(node)
        stack += [parent for parent in reversed(operands[node]) if parent not in opened]
    return list(placed)
