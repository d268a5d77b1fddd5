"""Residuals: the values of its steps that a loop keeps for its gradient."""

from __future__ import annotations

from collections.abc import Sequence

from ..branches import recorded_paths
from ..lengths import known, product
from ..node import IDENTITY_TAG, Node
from ..traversal import walk
from .body import LoopBody
from .hoist import varying_in
from .shortcuts import taken

__all__ = ["residuals_of"]

_LARGE = 2**14
"""From how many elements on memory is dearer than one pass over it."""


def residuals_of(body: LoopBody, results: Sequence[Node]) -> list[Node]:
    """The values of a forward step from which the reverse step computes its results; sequences are among them.

    Views, and large values that one pass over kept ones gives, are computed again; so is what belongs to one branch of
    an `ifelse`, which must not be computed where that branch is not taken. All else is kept as it was computed.
    """
    inner = [*body.sequences, *body.carries]
    order, varying = varying_in(body.results(), inner)
    paths = recorded_paths(order, body.results())
    place = {node: index for index, node in enumerate(order) if node in varying}
    ends = {*inner, *body.captured}
    recomputing = taken().recomputing

    def keepable(node: Node) -> bool:
        value = node.call  # which is there, though nothing may have asked for this result of it before
        if node.op.memory.is_view and recomputing:  # in place of a view, what it shows is kept
            return False
        return value in place and not node.is_call and not paths.get(node, paths.get(value))

    def kept(node: Node) -> bool:
        return (node in ends and node in place) or keepable(node)

    def behind(node: Node) -> Sequence[Node]:
        if node in ends or kept(node):
            return ()
        return node.inputs[:1] if IDENTITY_TAG in node.op.tags else node.inputs

    found = dict.fromkeys(node for node in walk(results, behind) if kept(node))
    if not recomputing:
        return list(found)
    sequences, carries = frozenset(body.sequences), frozenset(body.carries)
    again: set[Node] = set()
    for node in sorted(found, key=lambda node: place.get(node, len(order))):
        if node in sequences or node in carries or not _is_cheap(node):
            continue
        if all(other in found or other in sequences or other not in varying for other in node.inputs):
            again.add(node)
    for node in again:
        found.update((other, None) for other in node.inputs if other in sequences)
    return [node for node in found if node not in again]


def _is_cheap(node: Node) -> bool:
    if node.op.name == "getitem":
        return True
    size = known(product(node.shape))
    return node.op.cheap and size is not None and size >= _LARGE
