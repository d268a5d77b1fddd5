"""Which calls are done on the parts of a sum instead of the sum: those that are linear, and make no part larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lengths import same_length, same_shape
from ..node import LINEAR_TAG, Memory, Node
from .frame import PARTIAL, WHOLE, Frame, values_in

__all__ = ["stays_in_parts"]


def stays_in_parts(frame: Frame, node: Node, args: Sequence[Any]) -> bool:
    """Whether the sum over blocks may come after a call with these arguments instead of before."""
    values = values_in(args)
    parts = [value for value in values if value.kind == PARTIAL]
    if not parts or any(value.how != "sum" for value in parts):
        return False
    name, first = node.op.name, parts[0]
    if name in ("add", "subtract"):
        return (
            len(parts) == 2
            and parts[0].stage == parts[1].stage
            and same_shape(parts[0].node.shape, parts[1].node.shape)
        )
    if len(parts) > 1 or (args[0] is not first and name != "multiply"):
        return False
    if name in ("multiply", "divide"):
        factors = [value for value in values if value is not first]
        return all(f.kind == WHOLE and f.stage <= first.stage and _fits(f.node, first.node) for f in factors)
    if name in ("astype", "sum"):
        return first.node.dtype[0] in "fc" and node.dtype[0] in "fc"
    linear = LINEAR_TAG in node.op.tags and node.op.memory is not Memory.SPREAD
    return linear and len(values) == 1 and not frame.mentions_batch((args[1:], node.attributes))


def _fits(factor: Node, part: Node) -> bool:
    """Whether a factor does not make a part larger, so that it may as well be scaled before it is added up."""
    extra = len(part.shape) - len(factor.shape)
    return extra >= 0 and all(
        same_length(n, 1) is True or same_length(n, part.shape[i + extra]) is True for i, n in enumerate(factor.shape)
    )
