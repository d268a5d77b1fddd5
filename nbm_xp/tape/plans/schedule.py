"""In what order a plan computes, and which values stand inside the expression that uses them.

What decides is memory: a value should come into being when it is needed, and what it was computed from should be free
to go at once. So a value is written inside an expression only where no statement would come between, nor several arrays
be kept waiting for the expression's end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from ..branches import BranchPath
from ..node import Node
from ..traversal import walk

__all__ = ["frugal", "inlined"]

_DEEPEST_EXPRESSION = 12
_MOST_ENDING = 2
_SMALL = 1000


def frugal(roots: Sequence[Node], operands: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The order of computing, inputs first, that holds the fewest arrays at once.

    There are two to choose from: operands are computed as they stand, or as they were recorded. The one is best for a
    sum over a list of expressions, the other for gradients, whose rules name what they need in any order.
    """
    as_they_stand = walk(roots, operands.__getitem__)
    by_age = {
        node: nodes if len(nodes) < 2 else sorted(nodes, key=lambda other: other.serial)
        for node, nodes in operands.items()
    }
    as_recorded = walk(roots, by_age.__getitem__)
    if _most_held(as_they_stand, operands, roots) < _most_held(as_recorded, operands, roots):
        return as_they_stand
    return as_recorded


def _most_held(order: Sequence[Node], operands: Mapping[Node, Sequence[Node]], roots: Sequence[Node]) -> int:
    """How many arrays are held at once, when each is let go after its last use."""
    users: dict[Node, int] = dict.fromkeys(order, 0)
    for node in order:
        for operand in operands[node]:
            users[operand] += 1
    for root in roots:
        users[root] += 1
    held = most = 0
    for node in order:
        if not operands[node]:
            continue
        if node.shape:
            held += 1
            most = max(most, held)
        for operand in operands[node]:
            users[operand] -= 1
            if not users[operand] and operand.shape and operands[operand]:
                held -= 1
    return most


def _matters(node: Node) -> bool:
    """Whether a value takes memory worth freeing early."""
    size = 1
    for length in node.shape:
        if type(length) is not int:
            return True
        size *= length
    return size >= _SMALL


def _may_overwrite(node: Node) -> bool:
    """Whether a library may compute a node in the memory of an operand that nobody else holds."""
    return node.op.emit is not None and all(isinstance(arg, Node) for arg in node.args)


def inlined(
    order: Sequence[Node],
    operands: Mapping[Node, Sequence[Node]],
    paths: Mapping[Node, BranchPath],
    candidates: Collection[Node],
    silent: Collection[Node],
    always: Collection[Node] = (),
) -> set[Node]:
    """The values to be written inside the one expression that uses them.

    An operator on arrays may write its result over an operand that has no name, so expressions of operators are worth
    keeping a few arrays for; a function, or an operator beside a number, gains nothing.

    Parameters
    ----------
    order : sequence of Node
        The values as they are computed.
    operands : mapping of Node to sequence of Node
        What each is computed from.
    paths : mapping of Node to BranchPath
        The branch of an `ifelse` in which it is computed.
    candidates : collection of Node
        Those used once, as an argument, in their own branch.
    silent : collection of Node
        Those that no statement computes: leaves, and the single results of a call.
    always : collection of Node, optional
        Those of the candidates that the one that uses them computes on its way, for which no array is made.
    """
    chosen: set[Node] = set()
    waiting: dict[BranchPath, dict[Node, None]] = defaultdict(dict)  # chosen, but not written yet
    depth: dict[Node, int] = {}
    ending: dict[Node, int] = {}  # how many arrays the expression is the last to use
    users: dict[Node, int] = defaultdict(int)
    user: dict[Node, Node] = {}
    for node in order:
        for operand in operands[node]:
            users[operand] += 1
            user[operand] = node
    for node in order:
        if node in silent:
            continue
        deep, ends = 1, 0
        here = waiting[paths[node]]
        for operand in operands[node]:
            users[operand] -= 1
            if operand in chosen:
                here.pop(operand, None)
                deep = max(deep, depth[operand] + 1)
                ends += ending[operand]
            elif not users[operand] and operand not in silent and _matters(operand):
                ends += 1
        if node in always:
            chosen.add(node)
            depth[node], ending[node] = deep, ends
        elif (
            node in candidates
            and deep < _DEEPEST_EXPRESSION
            and ends <= (_MOST_ENDING if _may_overwrite(user[node]) else 0)
        ):
            chosen.add(node)
            here[node] = None
            depth[node], ending[node] = deep, ends
        elif here:  # a statement: what waits is computed before it
            chosen.difference_update(here)
            here.clear()
    return chosen
