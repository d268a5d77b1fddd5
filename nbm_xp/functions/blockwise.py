"""How the functions that are calls of their own work block by block along the batch (see `nbm_xp.tape.function`).

Examples lie along the first axis of images and windows. A kernel is the same for all of them, and its gradient a sum
over them.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.blockwise.frame import PARTIAL, SPLIT, Value, values_in
from nbm_xp.tape.blockwise.translation import Translator
from nbm_xp.tape.node import Node

__all__ = ["at_places", "of_computed", "of_each_block", "of_examples", "outer", "with_kernel"]


def of_examples(t: Translator, node: Node, *args: Any) -> int:
    """What is done for each example by itself."""
    values = values_in(args)
    if any(value.kind == SPLIT and value.axis != 0 for value in values):
        t.refuse(node, "takes the batch for another axis than the first")
    if any(value.kind != SPLIT for value in values):
        t.refuse(node, "joins what is split along the batch with what is not")
    return 0


def with_kernel(t: Translator, node: Node, images: Value, kernel: Value) -> int:
    """Examples with a kernel that is the same for all."""
    if kernel.kind == SPLIT:
        t.refuse(node, "has a kernel that is split along the batch")
    return of_examples(t, node, images)


def outer(t: Translator, node: Node, images: Value, results: Value) -> Value:
    """The gradient of a kernel, a sum over examples."""
    of_examples(t, node, images, results)
    return t.again(node, (images, results), PARTIAL)


def at_places(t: Translator, node: Node, values: Value, places: Value) -> Value:
    """Rows added up at places: a sum over examples."""
    if values.kind != places.kind or t.frame.mentions_batch(t.renewed(node.attributes)):
        t.refuse(node, "adds at places that differ from block to block")
    return outer(t, node, values, places)


def of_computed(t: Translator, node: Node, cost: Value, *others: Any) -> int:
    """The costs, which have been computed; the other arguments are for the gradient."""
    return cost.axis


def of_each_block(t: Translator, node: Node, x: Value) -> int:
    """Each block prints its own."""
    return x.axis
