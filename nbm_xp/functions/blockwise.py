"""How the functions that are calls of their own work block by block along the batch (see `nbm_xp.tape.function`).

Examples lie along the first axis of images and windows. A kernel is the same for all of them, and its gradient a sum
over them.
"""

from __future__ import annotations

from nbm_xp.tape.blockwise.frame import PARTIAL, SPLIT, WHOLE, Value
from nbm_xp.tape.blockwise.translation import Translator
from nbm_xp.tape.node import Node

__all__ = ["at_places", "of_computed", "of_each_block", "of_examples", "outer", "with_kernel"]


def _values(t: Translator, node: Node) -> list[Value]:
    """The array arguments; those that are split must be so along the first axis."""
    values = [t.settled(t.value(arg)) for arg in node.array_args()]
    if any(value.kind == SPLIT and value.axis != 0 for value in values):
        t.refuse(node, "takes the batch for another axis than the first")
    return values


def of_examples(t: Translator, node: Node) -> Value:
    """What is done for each example by itself."""
    values = _values(t, node)
    kinds = {value.kind for value in values}
    if len(kinds) > 1:
        t.refuse(node, "joins what is split along the batch with what is not")
    return t.emit(node.op, values, t.renewed(node.attributes, t.total), kind=kinds.pop(), axis=0)


def with_kernel(t: Translator, node: Node) -> Value:
    """Examples with a kernel that is the same for all."""
    images, kernel = _values(t, node)
    if kernel.kind != WHOLE:
        t.refuse(node, "has a kernel that is split along the batch")
    return t.emit(node.op, (images, kernel), t.renewed(node.attributes, t.total), kind=images.kind, axis=0)


def outer(t: Translator, node: Node) -> Value:
    """The gradient of a kernel, a sum over examples."""
    images, results = _values(t, node)
    if images.kind != results.kind:
        t.refuse(node, "joins what is split along the batch with what is not")
    kind = PARTIAL if images.kind == SPLIT else WHOLE
    return t.emit(node.op, (images, results), t.renewed(node.attributes, t.total), kind=kind)


def at_places(t: Translator, node: Node) -> Value:
    """Rows added up at places: a sum over examples."""
    values, places = _values(t, node)
    if values.kind != places.kind or t.frame.holds_batch(t.local(node.attributes["length"])):
        t.refuse(node, "adds at places that differ from block to block")
    kind = PARTIAL if values.kind == SPLIT else WHOLE
    return t.emit(node.op, (values, places), t.renewed(node.attributes, t.total), kind=kind)


def of_computed(t: Translator, node: Node) -> Value:
    """The costs, which have been computed; the other arguments are for the gradient."""
    cost, *others = t.arguments(node)
    return t.emit(node.op, (cost, *others), t.renewed(node.attributes), kind=cost.kind, axis=cost.axis)


def of_each_block(t: Translator, node: Node) -> Value:
    """Each block prints its own."""
    x = t.settled(t.value(node.args[0]))
    return t.emit(node.op, (x,), t.renewed(node.attributes), kind=x.kind, axis=x.axis)
