"""How indexing works block by block: along the batch only as a whole, along other axes at will."""

from __future__ import annotations

from typing import Any

from ..lengths import Size
from ..node import Node
from ..registry import OPERATIONS
from .frame import PARTIAL, SPLIT, WHOLE, Value, values_in
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
def _getitem(t: Translator, node: Node, x: Value, index: tuple[Any, ...]) -> int:
    return _place_in_result(t, node, x.axis, index)


@split_rule("take")
def _take(t: Translator, node: Node, x: Value, places: Value) -> int:
    axis: int = node.attributes["axis"]
    if x.kind == SPLIT and (places.kind == SPLIT or x.axis == axis):
        t.refuse(node, "takes examples of the batch by their places")
    return axis if places.kind == SPLIT else x.axis + (places.ndim - 1) * (axis < x.axis)


@split_rule("index_add")
def _index_add(t: Translator, node: Node, values: Value, index: tuple[Any, ...], shape: tuple[Size, ...]) -> Any:
    """Into a shape with the batch, block by block; into one without it, each block adds its own."""
    batch = t.batch_axis_of(node, shape)
    if batch is None and values.kind == SPLIT:
        return t.again(node, (values, index, shape), PARTIAL)
    if batch is None or values.kind == WHOLE or any(place.kind == SPLIT for place in values_in(index)):
        t.refuse(node, "adds at places that differ from block to block")
    named = [item for item in index if item is not None]
    if batch < len(named) and not _is_full(named[batch]):
        t.refuse(node, "adds at single examples, or a part of the batch")
    return batch


@split_rule("setitem")
def _setitem(t: Translator, node: Node, x: Value, values: Any, index: tuple[Any, ...]) -> int | None:
    if x.kind == WHOLE:
        t.refuse(node, "puts values that are split along the batch into an array that is not")
    place = _place_in_result(t, node, x.axis, index)
    if isinstance(values, Value):
        chosen = t.emit(OPERATIONS["getitem"], (x, index), kind=SPLIT, axis=place)
        t.aligned(node, [chosen, values], chosen.ndim)
    return x.axis


@split_rule("put")
def _put(t: Translator, node: Node, x: Value, places: Value, values: Any) -> int:
    if places.kind == SPLIT or x.kind == WHOLE:
        t.refuse(node, "puts values at places that differ from block to block")
    if x.axis == node.attributes["axis"]:
        t.refuse(node, "takes examples of the batch by their places")
    if isinstance(values, Value) and values.ndim:
        t.aligned(node, [x, values], x.ndim)
    return x.axis


@split_rule("isin")
def _isin(t: Translator, node: Node, x: Value, elements: Value) -> int:
    if elements.kind == SPLIT:
        t.refuse(node, "searches among all examples")
    return x.axis


@split_rule("searchsorted")
def _searchsorted(t: Translator, node: Node, x: Value, places: Value) -> int:
    if x.kind == SPLIT:
        t.refuse(node, "searches among all examples")
    return places.axis
