"""How the standard's functions work block by block: for each kind of function, where the batch is in its result.

A rule gets the call as it was recorded and its translated arguments, of which one at least is split, or a length that
of the batch. What it does not provide for it refuses, with the reason: a wrong number is never the answer.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import as_dtype
from ..lengths import Size, product, same_length, value_length
from ..node import ALONG_AXES_TAG, ELEMENTWISE_TAG, Memory, Node, Operation, same_as_first
from ..registry import OPERATIONS, declare
from ..standard.statistical import mean
from ..tensor import Tensor
from .frame import PARTIAL, SPLIT, WHOLE, Value, values_in
from .translation import Translator, split_rule

__all__: list[str] = []


@split_rule("astype", "clip", "copy", "where", "scalar", tag=ELEMENTWISE_TAG)
def _elementwise(t: Translator, node: Node, *args: Any) -> int | None:
    return t.aligned(node, args, len(node.shape))


def _without(axis: int, gone: tuple[int, ...], keepdims: bool = False) -> int:
    """Where an axis is once others are gone."""
    return axis if keepdims else axis - len([other for other in gone if other < axis])


def _of_block(name: str) -> Operation:
    """An extremum that a block without elements has no part in."""

    def run(xp: Any, x: Any, *, axis: tuple[int, ...], **attributes: Any) -> Any:
        if 0 in [x.shape[i] for i in axis]:
            return None
        return getattr(xp, name)(x, axis=axis, **attributes)

    return declare(f"{name}_of_block", OPERATIONS[name].infer, run=run, memory=Memory.OWN)


_EXTREMA = {name: _of_block(name) for name in ("max", "min")}


@split_rule("sum", "prod", "max", "min", "any", "all")
def _reduction(t: Translator, node: Node, x: Value) -> int | Value:
    name, axis = node.op.name, node.attributes["axis"]
    if x.axis not in axis:
        return _without(x.axis, axis, node.attributes["keepdims"])
    return t.again(node, (x,), PARTIAL, op=_EXTREMA.get(name), how=name)


def _run_share(xp: Any, x: Any, count: float, correction: float) -> Any:
    degrees = count - correction
    return x / degrees if degrees > 0 else x + xp.nan


_SHARE = declare("share", same_as_first, run=_run_share, memory=Memory.OWN)
"""A sum over its count, in a mean or variance: of nothing it is nan, without a warning."""


def _shared(t: Translator, node: Node, x: Value, correction: float) -> Value:
    """The mean of `x` over the axes of a call that reduces the batch."""
    axis, keepdims = node.attributes["axis"], node.attributes["keepdims"]
    count = t.total(product(node.args[0].shape[i] for i in axis))
    if node.dtype == "float16":  # whose sums overflow where means do not
        x = t.emit(OPERATIONS["astype"], (x, as_dtype("float32")), kind=SPLIT, axis=x.axis)
    attributes = {"axis": axis, "keepdims": keepdims, "dtype": x.node.dtype}
    total = t.emit(OPERATIONS["sum"], (x,), attributes, kind=PARTIAL)
    mean = t.emit(_SHARE, (total, count, correction), kind=PARTIAL)
    return mean if mean.node.dtype == node.dtype else t.emit(OPERATIONS["astype"], (mean, node.dtype), kind=PARTIAL)


@split_rule("mean")
def _mean(t: Translator, node: Node, x: Value) -> int | Value:
    axis = node.attributes["axis"]
    return _shared(t, node, x, 0) if x.axis in axis else _without(x.axis, axis, node.attributes["keepdims"])


@split_rule("var", "std")
def _variance(t: Translator, node: Node, x: Value) -> int | Value:
    """In two rounds: the mean, then that of the squares of what is apart from it."""
    axis = node.attributes["axis"]
    if x.axis not in axis:
        return _without(x.axis, axis, node.attributes["keepdims"])
    old = Tensor(node.args[0])
    apart = t.value((old - mean(old, axis=axis, keepdims=True)).node)
    squares = t.emit(OPERATIONS["multiply"], (apart, apart), kind=SPLIT, axis=apart.axis)
    found = _shared(t, node, squares, node.attributes["correction"])
    return found if node.op.name == "var" else t.emit(OPERATIONS["sqrt"], (t.settled(found),), kind=WHOLE)


@split_rule("zeros", "ones", "empty", "full")
def _made(t: Translator, node: Node, shape: tuple[Size, ...], *rest: Any) -> int | None:
    """What a shape is given to: the batch is where the shape has it."""
    return t.batch_axis_of(node, shape)


@split_rule("broadcast_to")
def _spread(t: Translator, node: Node, x: Value, shape: tuple[Size, ...]) -> int | None:
    axis = t.batch_axis_of(node, shape)
    if x.kind == SPLIT and axis != x.axis - x.ndim + len(shape):
        t.refuse(node, "makes a shape in which the batch is not one axis")
    if x.kind == WHOLE and axis is not None:
        own = axis - len(shape) + x.ndim
        if own >= 0 and same_length(x.node.shape[own], 1) is not True:
            t.refuse(node, f"meets the batch with {x.node!r}, which has an axis there but is not split")
    return axis


@split_rule("arange")
def _arange(t: Translator, node: Node, start: Any, stop: Any, step: Any) -> Value:
    """Places along the batch: counted from the start of the block, and moved on by what comes before it."""
    if not t.frame.holds_batch(t.local(node.shape[0])):
        return t.again(node, tuple(map(t.total, node.args)), WHOLE)
    each = t.frame.multiple(stop)
    if start != 0 or step != 1 or each is None:
        t.refuse(node, "counts along the batch otherwise than from 0 to its length")
    places = t.again(node, (0, stop, 1), SPLIT)
    return t.adopt(Tensor(places.node) + value_length(t.frame.offset) * each, SPLIT)


def _of_all(t: Translator, node: Node, x: Value) -> Value:
    """The call that gives something whole another shape, as long as all blocks are together."""
    return t.again(node, (x, tuple(map(t.total, node.args[1]))), WHOLE)


@split_rule("sum_to")
def _sum_to(t: Translator, node: Node, x: Value, shape: tuple[Size, ...]) -> int | Value:
    if x.kind == WHOLE:
        return _of_all(t, node, x)
    own = x.axis - x.ndim + len(shape)
    if own >= 0 and t.frame.holds_batch(shape[own]):
        return own
    if own >= 0 and same_length(shape[own], 1) is not True:
        t.refuse(node, "sums the batch to a length that is not known to be 1")
    return t.again(node, (x, shape), PARTIAL)


@split_rule("sum_of_broadcast")
def _sum_of_broadcast(t: Translator, node: Node, x: Value, total: tuple[Size, ...]) -> Value:
    shape = t.shape(node.args[1])
    if t.batch_axis_of(node, shape) != x.axis - x.ndim + len(shape):
        t.refuse(node, "makes a shape in which the batch is not one axis")
    return t.again(node, (x, shape), SPLIT, x.axis)


@split_rule("reshape")
def _reshape(t: Translator, node: Node, x: Value, shape: tuple[Size, ...]) -> Value:
    if x.kind == WHOLE:
        return _of_all(t, node, x)
    shape = _with_batch(t, x, shape)
    axis = t.batch_axis_of(node, shape)
    if axis is None or not _same_place(t, x, shape, axis):
        t.refuse(node, "merges the batch with an axis before it, or splits it")
    return t.again(node, (x, shape), SPLIT, axis)


def _same_place(t: Translator, x: Value, shape: tuple[Size, ...], axis: int) -> bool:
    """Whether as many entries lie before the batch, or after each example, as did before."""
    if same_length(product(shape[:axis]), product(x.node.shape[: x.axis])) is True:
        return True
    own, new = t.frame.multiple(x.node.shape[x.axis]), t.frame.multiple(shape[axis])
    if own is None or new is None:
        return False
    return same_length(own * product(x.node.shape[x.axis + 1 :]), new * product(shape[axis + 1 :])) is True


def _with_batch(t: Translator, x: Value, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape, a length in it that was divided out (-1) written as a multiple of the batch."""
    axes = [axis for axis, size in enumerate(shape) if t.frame.holds_batch(size)]
    if len(axes) != 1 or t.frame.multiple(shape[axes[0]]) is not None:
        return shape
    (axis,) = axes
    others = product(size for i, size in enumerate(x.node.shape) if i != x.axis)
    count = x.node.shape[x.axis] * (others // product(size for i, size in enumerate(shape) if i != axis))
    t.frame.written_as[shape[axis]] = count
    return (*shape[:axis], count, *shape[axis + 1 :])


split_rule("transpose")(lambda t, node, x: 1 - x.axis)
split_rule("permute_dims")(lambda t, node, x, axes: axes.index(x.axis))
split_rule("squeeze")(lambda t, node, x: _without(x.axis, node.attributes["axis"]))
split_rule("matrix_transpose")(lambda t, node, x: x.axis if x.axis < x.ndim - 2 else 2 * x.ndim - 3 - x.axis)


def _axes_used(node: Node, ndim: int) -> tuple[int, ...]:
    """The axes along which a call goes."""
    for name in ("axis", "axes"):
        if name in node.attributes:
            used = node.attributes[name]
            if used is None:
                return tuple(range(ndim))
            return tuple(axis % ndim for axis in (used if isinstance(used, tuple) else (used,)))
    return tuple(range(ndim))


@split_rule(tag=ALONG_AXES_TAG)
def _along(t: Translator, node: Node, *args: Any) -> int | None:
    """What goes along other axes than the batch works in blocks."""
    ndim = values_in(args)[0].ndim
    axis, used = t.aligned(node, args, ndim), _axes_used(node, ndim)
    if axis in used:
        t.refuse(node, "goes along the batch, where an entry needs those of other blocks")
    return axis if axis is None or len(node.shape) == ndim else _without(axis, used)


@split_rule("concat", "stack")
def _joined(t: Translator, node: Node, arrays: tuple[Value, ...]) -> int | None:
    place, axis = node.attributes["axis"], t.aligned(node, arrays, arrays[0].ndim)
    if axis is not None and any(array.kind == WHOLE for array in arrays):
        t.refuse(node, "joins what is split along the batch with what is not")
    if node.op.name == "concat":
        if place == axis:
            t.refuse(node, "joins arrays along the batch")
        return axis
    return None if axis is None else axis + (place <= axis)


@split_rule("tile")
def _tile(t: Translator, node: Node, x: Value, repetitions: tuple[Size, ...]) -> int:
    if same_length(repetitions[x.axis], 1) is not True:
        t.refuse(node, "repeats the batch as a whole")
    return x.axis


@split_rule("repeat")
def _repeat(t: Translator, node: Node, x: Value, repeats: Any) -> int:
    if isinstance(repeats, Value) and (repeats.kind != WHOLE or x.axis == node.attributes["axis"]):
        t.refuse(node, "repeats each example as often as data say")
    return x.axis
