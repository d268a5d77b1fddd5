"""How the standard's functions work block by block: for each kind of function, where the batch is in its result.

A rule gets the call as it was recorded and gives the translated value. What it does not provide for it refuses, with
the reason: a wrong number is never the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import as_dtype
from ..lengths import Size, product, same_length
from ..node import ALONG_AXES_TAG, ELEMENTWISE_TAG, LINEAR_TAG, Memory, Node, Operation
from ..registry import OPERATIONS, declare
from ..standard.statistical import mean
from ..tensor import Tensor
from .frame import PARTIAL, SPLIT, WHOLE, Value
from .translation import Translator, split_rule

__all__ = ["linear", "on_axis", "without"]

_SCALED = {"multiply", "divide"}


def _is_linear(node: Node, args: list[Any]) -> bool:
    """Whether the sum over blocks may come after an element-wise call instead of before."""
    values = [arg for arg in args if isinstance(arg, Value)]
    partial = [value for value in values if value.kind == PARTIAL]
    if any(value.how != "sum" for value in partial):
        return False
    name, first = node.op.name, partial[0]
    if LINEAR_TAG in node.op.tags:
        return True
    if name == "astype":
        return first.node.dtype[0] in "fc" and node.dtype[0] in "fc"
    if name in ("add", "subtract"):
        return (
            len(partial) == 2 and partial[0].stage == partial[1].stage and _same_shape(partial[0].node, partial[1].node)
        )
    if name not in _SCALED or len(partial) != 1 or (name == "divide" and args[0] is not first):
        return False
    others = [value for value in values if value is not first]
    return all(other.kind == WHOLE and other.stage <= first.stage and _fits(other.node, first.node) for other in others)


def _same_shape(a: Node, b: Node) -> bool:
    return len(a.shape) == len(b.shape) and all(
        same_length(m, n) is True for m, n in zip(a.shape, b.shape, strict=True)
    )


def _fits(factor: Node, part: Node) -> bool:
    """Whether a factor does not make a part larger, so that it may as well be scaled before it is added up."""
    extra = len(part.shape) - len(factor.shape)
    return extra >= 0 and all(
        same_length(n, 1) is True or same_length(n, part.shape[i + extra]) is True for i, n in enumerate(factor.shape)
    )


@split_rule("astype", "clip", "where", tag=ELEMENTWISE_TAG)
def _elementwise(t: Translator, node: Node) -> Value:
    args = t.loose_arguments(node)
    attributes = t.renewed(node.attributes, t.total)
    if any(isinstance(arg, Value) and arg.kind == PARTIAL for arg in args):
        if t.inside is not None and node.op.name in ("add", "subtract"):
            args = [t.as_part(arg) if isinstance(arg, Value) and arg.kind == WHOLE else arg for arg in args]
        if _is_linear(node, args):
            return t.emit(node.op, args, attributes, kind=PARTIAL)
        args = [t.settled(arg) if isinstance(arg, Value) else arg for arg in args]
    args = [t.settled(arg) if isinstance(arg, Value) else arg for arg in args]
    axis = t.aligned(node, [arg for arg in args if isinstance(arg, Value)], len(node.shape))
    if axis is None:
        return t.emit(node.op, args, attributes, kind=WHOLE)
    return t.emit(node.op, args, attributes, kind=SPLIT, axis=axis)


def linear(t: Translator, node: Node) -> Value | None:
    """The call on a part, if its first argument is a partial sum and lengths do not mention the batch."""
    first = t.value(node.args[0])
    rest = t.renewed((node.args[1:], node.attributes))
    if first.kind != PARTIAL or first.how != "sum" or _mentions_batch(t, rest):
        return None
    return t.emit(node.op, (first, *rest[0]), rest[1], kind=PARTIAL)


def _mentions_batch(t: Translator, value: Any) -> bool:
    if isinstance(value, dict):
        return any(_mentions_batch(t, item) for item in value.values())
    if isinstance(value, tuple):
        return any(_mentions_batch(t, item) for item in value)
    return t.frame.holds_batch(value)


def without(axis: int, gone: tuple[int, ...], keepdims: bool = False) -> int:
    """Where an axis is once others are gone."""
    return axis if keepdims else axis - len([other for other in gone if other < axis])


def on_axis(t: Translator, node: Node, x: Value, axis: int, *others: Any) -> Value:
    """The call on the blocks of its first argument; the batch is at `axis` of the result."""
    return t.emit(node.op, (x, *others), t.renewed(node.attributes), kind=SPLIT, axis=axis)


def _again(t: Translator, node: Node, x: Value) -> Value:
    """The call on what is whole by now."""
    return t.emit(node.op, (x, *t.renewed(node.args[1:])), t.renewed(node.attributes), kind=WHOLE)


def _of_block(name: str) -> Operation:
    """An extremum that a block without elements has no part in."""

    def run(xp: Any, x: Any, *, axis: tuple[int, ...], **attributes: Any) -> Any:
        if 0 in [x.shape[i] for i in axis]:
            return None
        return getattr(xp, name)(x, axis=axis, **attributes)

    return declare(Operation(f"{name}_of_block", OPERATIONS[name].infer, run=run, memory=Memory.OWN))


_EXTREMA = {name: _of_block(name) for name in ("max", "min")}


@split_rule("sum", "prod", "max", "min", "any", "all")
def _reduction(t: Translator, node: Node) -> Value:
    name, axis, keepdims = node.op.name, node.attributes["axis"], node.attributes["keepdims"]
    part = linear(t, node) if name == "sum" and node.dtype[0] in "fc" else None
    if part is not None:
        return part
    x = t.settled(t.value(node.args[0]))
    if x.kind == WHOLE:
        return _again(t, node, x)
    if x.axis not in axis:
        return on_axis(t, node, x, without(x.axis, axis, keepdims))
    op = _EXTREMA.get(name, node.op)
    return t.emit(op, (x, *t.renewed(node.args[1:])), t.renewed(node.attributes), kind=PARTIAL, how=name)


def _run_share(xp: Any, x: Any, count: float, correction: float) -> Any:
    degrees = count - correction
    return x / degrees if degrees > 0 else x + xp.nan


_SHARE = declare(Operation("share", lambda x, count, correction: (x.shape, x.dtype), run=_run_share, memory=Memory.OWN))
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
def _mean(t: Translator, node: Node) -> Value:
    x = t.settled(t.value(node.args[0]))
    if x.kind == WHOLE:
        return _again(t, node, x)
    axis, keepdims = node.attributes["axis"], node.attributes["keepdims"]
    if x.axis not in axis:
        return on_axis(t, node, x, without(x.axis, axis, keepdims))
    return _shared(t, node, x, 0)


@split_rule("var", "std")
def _variance(t: Translator, node: Node) -> Value:
    """In two rounds: the mean, then that of the squares of what is apart from it."""
    x = t.settled(t.value(node.args[0]))
    if x.kind == WHOLE:
        return _again(t, node, x)
    axis, keepdims = node.attributes["axis"], node.attributes["keepdims"]
    if x.axis not in axis:
        return on_axis(t, node, x, without(x.axis, axis, keepdims))
    old = Tensor(node.args[0])
    apart = t.value((old - mean(old, axis=axis, keepdims=True)).node)
    squares = t.emit(OPERATIONS["multiply"], (apart, apart), kind=SPLIT, axis=apart.axis)
    found = _shared(t, node, squares, node.attributes["correction"])
    return found if node.op.name == "var" else t.emit(OPERATIONS["sqrt"], (t.settled(found),), kind=WHOLE)


@split_rule("broadcast_to", "zeros", "ones", "empty", "full")
def _spread(t: Translator, node: Node) -> Value:
    """What a shape is given to: the batch is where the shape has it."""
    x = t.settled(t.value(node.args[0])) if node.op.name == "broadcast_to" else None
    sizes = node.args[0] if x is None else node.args[1]
    shape = t.shape(sizes)
    axis = t.batch_axis_of(node, shape)
    values = [] if x is None else [x]
    if x is not None and x.kind == SPLIT and axis != x.axis - x.ndim + len(shape):
        t.refuse(node, "makes a shape in which the batch is not one axis")
    if x is not None and x.kind == WHOLE and axis is not None:
        own = axis - len(shape) + x.ndim
        if own >= 0 and same_length(x.node.shape[own], 1) is not True:
            t.refuse(node, f"meets the batch with {x.node!r}, which has an axis there but is not split")
    rest = t.renewed(node.args[1 if x is None else 2 :], t.total)
    attributes = t.renewed(node.attributes)
    if axis is None:
        return t.emit(node.op, (*values, shape, *rest), attributes, kind=WHOLE)
    return t.emit(node.op, (*values, shape, *rest), attributes, kind=SPLIT, axis=axis)


@split_rule("scalar")
def _scalar(t: Translator, node: Node) -> Value:
    return t.emit(node.op, t.renewed(node.args, t.total), t.renewed(node.attributes), kind=WHOLE)


@split_rule("arange")
def _arange(t: Translator, node: Node) -> Value:
    """Places along the batch: counted from the start of the block, to be moved on where they are used as numbers."""
    start, stop, step = node.args
    length = t.local(node.shape[0])
    if not t.frame.holds_batch(length):
        return t.emit(node.op, t.renewed(node.args, t.total), t.renewed(node.attributes), kind=WHOLE)
    if start != 0 or step != 1 or t.frame.multiple(t.local(stop)) is None:
        t.refuse(node, "counts along the batch otherwise than from 0 to its length")
    found = t.emit(node.op, (0, t.local(stop), 1), t.renewed(node.attributes), kind=SPLIT, axis=0)
    return Value(found.node, SPLIT, 0, found.stage, local=True)


@split_rule("sum_to")
def _sum_to(t: Translator, node: Node) -> Value:
    part = linear(t, node)
    if part is not None:
        return part
    x, shape = t.settled(t.value(node.args[0])), t.shape(node.args[1])
    if x.kind == WHOLE:
        return _again(t, node, x)
    own = x.axis - x.ndim + len(shape)
    if own >= 0 and t.frame.holds_batch(shape[own]):
        return t.emit(node.op, (x, shape), kind=SPLIT, axis=own)
    if own >= 0 and same_length(shape[own], 1) is not True:
        t.refuse(node, "sums the batch to a length that is not known to be 1")
    return t.emit(node.op, (x, shape), kind=PARTIAL)


@split_rule("sum_of_broadcast")
def _sum_of_broadcast(t: Translator, node: Node) -> Value:
    x = t.value(node.args[0])
    if x.kind == SPLIT:
        shape = t.shape(node.args[1])
        if t.batch_axis_of(node, shape) != x.axis - x.ndim + len(shape):
            t.refuse(node, "makes a shape in which the batch is not one axis")
        return t.emit(node.op, (t.settled(x), shape), kind=SPLIT, axis=x.axis)
    x = x if x.kind == PARTIAL and x.how == "sum" else t.settled(x)
    return t.emit(node.op, (x, tuple(map(t.total, node.args[1]))), kind=x.kind)


@split_rule("reshape")
def _reshape(t: Translator, node: Node) -> Value:
    part = linear(t, node)
    if part is not None:
        return part
    x = t.value(node.args[0])
    x = x if x.local else t.settled(x)
    shape = t.shape(node.args[1])
    if x.kind == WHOLE:
        return _again(t, node, x)
    shape = _with_batch(t, x, shape)
    axis = t.batch_axis_of(node, shape)
    if axis is None or not _same_place(t, x, shape, axis):
        t.refuse(node, "merges the batch with an axis before it, or splits it")
    found = t.emit(node.op, (x, shape), t.renewed(node.attributes), kind=SPLIT, axis=axis)
    same = x.local and shape[axis] == x.node.shape[x.axis]
    if x.local and not same:
        t.refuse(node, "splits places along the batch")
    return Value(found.node, SPLIT, axis, found.stage, local=x.local)


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


def _moved(where: Callable[[Node, Value], int]) -> Callable[[Translator, Node], Value]:
    """A rule for what only moves axes: `where` says where one goes."""

    def rule(t: Translator, node: Node) -> Value:
        part = linear(t, node)
        if part is not None:
            return part
        x = t.settled(t.value(node.args[0]))
        if x.kind == WHOLE:
            return _again(t, node, x)
        return on_axis(t, node, x, where(node, x), *t.renewed(node.args[1:]))

    return rule


split_rule("transpose")(_moved(lambda node, x: 1 - x.axis))
split_rule("permute_dims")(_moved(lambda node, x: node.args[1].index(x.axis)))
split_rule("squeeze")(_moved(lambda node, x: without(x.axis, node.attributes["axis"])))
split_rule("matrix_transpose")(_moved(lambda node, x: x.axis if x.axis < x.ndim - 2 else 2 * x.ndim - 3 - x.axis))


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
def _along(t: Translator, node: Node) -> Value:
    """What goes along other axes than the batch works in blocks."""
    args = t.arguments(node)
    values = [arg for arg in args if isinstance(arg, Value)]
    axis = t.aligned(node, values, values[0].ndim)
    attributes = t.renewed(node.attributes)
    if axis is None:
        return t.emit(node.op, args, attributes, kind=WHOLE)
    used = _axes_used(node, values[0].ndim)
    if axis in used:
        t.refuse(node, "goes along the batch, where an entry needs those of other blocks")
    if len(node.shape) < values[0].ndim:
        axis = without(axis, used)
    return t.emit(node.op, args, attributes, kind=SPLIT, axis=axis)


@split_rule("concat", "stack")
def _joined(t: Translator, node: Node) -> Value:
    arrays, place = [t.settled(t.value(arg)) for arg in node.args[0]], node.attributes["axis"]
    axis = t.aligned(node, arrays, arrays[0].ndim)
    attributes = t.renewed(node.attributes)
    if axis is None:
        return t.emit(node.op, (arrays,), attributes, kind=WHOLE)
    if any(array.kind == WHOLE for array in arrays):
        t.refuse(node, "joins what is split along the batch with what is not")
    if node.op.name == "stack":
        axis += place <= axis
    elif place == axis:
        t.refuse(node, "joins arrays along the batch")
    return t.emit(node.op, (arrays,), attributes, kind=SPLIT, axis=axis)


@split_rule("tile")
def _tile(t: Translator, node: Node) -> Value:
    x = t.settled(t.value(node.args[0]))
    repetitions = t.renewed(node.args[1], t.total)
    if x.kind == WHOLE:
        return t.emit(node.op, (x, repetitions), kind=WHOLE)
    if same_length(repetitions[x.axis], 1) is not True:
        t.refuse(node, "repeats the batch as a whole")
    return t.emit(node.op, (x, repetitions), kind=SPLIT, axis=x.axis)


@split_rule("repeat")
def _repeat(t: Translator, node: Node) -> Value:
    args = t.arguments(node)
    x, repeats = args[0], args[1]
    if isinstance(repeats, Value) and (repeats.kind != WHOLE or x.axis == node.attributes["axis"]):
        t.refuse(node, "repeats each example as often as data say")
    return t.emit(node.op, args, t.renewed(node.attributes), kind=x.kind, axis=x.axis)
