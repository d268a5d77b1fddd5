"""Walks over a graph: without recursion, so that its depth does not matter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from .lengths import Length
from .node import Node, nodes_in

__all__ = ["Result", "reachable"]

Result: TypeAlias = "Node | Length | None"
"""What a plan can be asked for."""


def reachable(
    roots: Sequence[Result], stop: Collection[Node] = (), givens: Mapping[Node, Node] | None = None
) -> list[Node]:
    """What the roots need, inputs first, with `givens` put in the place of their keys."""
    givens, halt = givens or {}, frozenset(stop)
    order: list[Node] = []
    seen: set[Node] = set()

    def parents(node: Node) -> Iterator[Node]:
        return iter(() if node in halt else [givens.get(parent, parent) for parent in node.inputs])

    for root in (node for result in roots for node in nodes_in(result)):
        root = givens.get(root, root)
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, parents(root))]
        while stack:
            node, pending = stack[-1]
            for parent in pending:
                if parent not in seen:
                    seen.add(parent)
                    stack.append((parent, parents(parent)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order
