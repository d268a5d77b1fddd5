"""How indexing works block by block: along the batch only as a whole, along other axes at will.

Places along the batch that were counted (``arange``) and used to index it are those of the block's own examples.
"""

from __future__ import annotations

from typing import Any

from ..node import Node
from ..registry import OPERATIONS
from .frame import PARTIAL, SPLIT, WHOLE, Value
from .rules import linear
from .translation import Translator, split_rule

__all__: list[str] = []


def _is_full(part: Any) -> bool:
    """Whether a slice is the whole axis."""
    return isinstance(part, slice) and part.start in (None, 0) and part.stop is None and part.step in (None, 1)


def _place_in_result(t: Translator, node: Node, x_axis: int, index: tuple[Any, ...]) -> int:
    """Where an axis of the indexed array is in the result of a basic index that takes it whole."""
    axis = place = 0
    for item in index:
        if item is None:
            place += 1
            continue
        if axis == x_axis:
            if not _is_full(item):
                t.refuse(node, "takes single examples, or a part of the batch")
            return place
        axis += 1
        place += isinstance(item, slice)
    return place + x_axis - axis


@split_rule("getitem")
def _getitem(t: Translator, node: Node) -> Value:
    part = linear(t, node)
    if part is not None:
        return part
    x, index = t.settled(t.value(node.args[0])), t.renewed(node.args[1], t.total)
    if x.kind == WHOLE:
        return t.emit(node.op, (x, index), kind=WHOLE)
    return t.emit(node.op, (x, index), kind=SPLIT, axis=_place_in_result(t, node, x.axis, index))


@split_rule("take")
def _take(t: Translator, node: Node) -> Value:
    x, places = t.arguments(node)
    axis, attributes = node.attributes["axis"], t.renewed(node.attributes)
    if x.kind == WHOLE and places.kind == WHOLE:
        return t.emit(node.op, (x, places), attributes, kind=WHOLE)
    if x.kind == SPLIT and (places.kind == SPLIT or x.axis == axis):
        t.refuse(node, "takes examples of the batch by their places")
    if places.kind == SPLIT:
        return t.emit(node.op, (x, places), attributes, kind=SPLIT, axis=axis)
    return t.emit(node.op, (x, places), attributes, kind=SPLIT, axis=x.axis + (places.ndim - 1) * (axis < x.axis))


@split_rule("index_add")
def _index_add(t: Translator, node: Node) -> Value:
    """Into a shape with the batch, block by block; into one without it, each block adds its own."""
    part = linear(t, node) if not any(isinstance(item, Node) for item in _items(node.args[1])) else None
    if part is not None:
        return part
    values = t.settled(t.value(node.args[0]))
    found = [t.value(item) if isinstance(item, Node) else t.renewed(item, t.total) for item in _items(node.args[1])]
    shape = t.shape(node.args[2])
    batch = t.batch_axis_of(node, shape)
    arrays = [item for item in found if isinstance(item, Value)]
    axis = -1
    for item in found:
        axis += item is not None
        if axis != batch or item is None:
            continue
        if not (_is_full(item) or (isinstance(item, Value) and item.local and len(arrays) > 1)):
            t.refuse(node, "adds at single examples, or a part of the batch")
    settled = [_local_or_settled(t, item) if isinstance(item, Value) else item for item in found]
    if batch is None and values.kind == WHOLE and all(a.kind == WHOLE for a in settled if isinstance(a, Value)):
        return t.emit(node.op, (values, settled, shape), kind=WHOLE)
    if batch is None and values.kind == SPLIT:
        return t.emit(node.op, (values, settled, shape), kind=PARTIAL)
    if batch is None or values.kind == WHOLE or (len(arrays) == 1 and arrays[0].kind == SPLIT):
        t.refuse(node, "adds at places that differ from block to block")
    return t.emit(node.op, (values, settled, shape), kind=SPLIT, axis=batch)


def _items(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _local_or_settled(t: Translator, value: Value) -> Value:
    return value if value.local else t.settled(value)


@split_rule("setitem")
def _setitem(t: Translator, node: Node) -> Value:
    x, values = (t.settled(arg) if isinstance(arg, Value) else arg for arg in t.loose_arguments(node)[:2])
    index = t.renewed(node.args[2], t.total)
    if x.kind == WHOLE and not (isinstance(values, Value) and values.kind == SPLIT):
        return t.emit(node.op, (x, values, index), kind=WHOLE)
    if x.kind == WHOLE:
        t.refuse(node, "puts values that are split along the batch into an array that is not")
    place = _place_in_result(t, node, x.axis, index)
    if isinstance(values, Value):
        chosen = t.emit(OPERATIONS["getitem"], (x, index), kind=SPLIT, axis=place)
        t.aligned(node, [chosen, values], chosen.ndim)
    return t.emit(node.op, (x, values, index), kind=SPLIT, axis=x.axis)


@split_rule("put")
def _put(t: Translator, node: Node) -> Value:
    x, places, values = t.arguments(node)
    axis, attributes = node.attributes["axis"], t.renewed(node.attributes)
    if places.kind == SPLIT or (isinstance(values, Value) and values.kind == SPLIT and x.kind == WHOLE):
        t.refuse(node, "puts values at places that differ from block to block")
    if x.kind == WHOLE:
        return t.emit(node.op, (x, places, values), attributes, kind=WHOLE)
    if x.axis == axis:
        t.refuse(node, "takes examples of the batch by their places")
    if isinstance(values, Value) and values.ndim:
        t.aligned(node, [x, values], x.ndim)
    return t.emit(node.op, (x, places, values), attributes, kind=SPLIT, axis=x.axis)


@split_rule("isin")
def _isin(t: Translator, node: Node) -> Value:
    x, elements = t.arguments(node)
    if elements.kind == SPLIT:
        t.refuse(node, "searches among all examples")
    return t.emit(node.op, (x, elements), t.renewed(node.attributes), kind=x.kind, axis=x.axis)


@split_rule("searchsorted")
def _searchsorted(t: Translator, node: Node) -> Value:
    x, places = t.arguments(node)
    if x.kind == SPLIT:
        t.refuse(node, "searches among all examples")
    return t.emit(node.op, (x, places), t.renewed(node.attributes), kind=places.kind, axis=places.axis)
