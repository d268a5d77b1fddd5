"""How products, linear algebra and choices by value work block by block.

A product over the batch is a sum over blocks: ``x.T @ h`` adds up what each block gives. Functions of matrices take
the batch as a stack of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import DType
from ..lengths import same_length
from ..node import IFELSE_NAME, MATRICES_TAG, Node
from ..tensor import output
from .frame import PARTIAL, SPLIT, WHOLE, Value
from .translation import Translator, split_rule

__all__: list[str] = []

_SUMMED, _ROWS, _COLUMNS, _STACK = "summed", "rows", "columns", "stack"


def _role(x: Value, left: bool) -> str | None:
    """What the batch is in a factor; None where that is whole."""
    if x.kind != SPLIT:
        return None
    if x.ndim == 1:
        return _SUMMED
    roles = (_ROWS, _SUMMED) if left else (_SUMMED, _COLUMNS)
    return roles[x.axis - x.ndim + 2] if x.axis >= x.ndim - 2 else _STACK


@split_rule("matmul")
def _matmul(t: Translator, node: Node) -> Value:
    x, y = t.arguments(node)
    left, right = _role(x, True), _role(y, False)
    if left is None and right is None:
        return t.emit(node.op, (x, y), kind=WHOLE)
    if left == right == _SUMMED:
        return t.emit(node.op, (x, y), kind=PARTIAL)
    ndim, columns = len(node.shape), int(y.ndim > 1)
    if left == _ROWS and right is None:
        return t.emit(node.op, (x, y), kind=SPLIT, axis=ndim - 1 - columns)
    if right == _COLUMNS and left is None:
        return t.emit(node.op, (x, y), kind=SPLIT, axis=ndim - 1)
    if not {left, right} <= {_STACK, None}:
        everyone = {left, right} == {_ROWS, _COLUMNS}
        t.refuse(node, "pairs each example with every other" if everyone else "meets the batch with another axis")
    return t.emit(node.op, (x, y), kind=SPLIT, axis=_stack_axis(t, node, x, y))


@split_rule("rows_times")
def _rows_times(t: Translator, node: Node) -> Value:
    x, matrix = t.arguments(node)
    last = x.ndim - 1
    if x.kind == matrix.kind == SPLIT and x.axis == last and matrix.axis == 0:
        return t.emit(node.op, (x, matrix), kind=PARTIAL)
    if x.kind == SPLIT and x.axis < last and matrix.kind == WHOLE:
        return t.emit(node.op, (x, matrix), kind=SPLIT, axis=x.axis)
    if x.kind == WHOLE and matrix.kind == SPLIT and matrix.axis == 1:
        return t.emit(node.op, (x, matrix), kind=SPLIT, axis=last)
    return _whole_product(t, node, x, matrix)


@split_rule("sum_of_outer_products")
def _sum_of_outer_products(t: Translator, node: Node) -> Value:
    x, y = t.arguments(node)
    last = x.ndim - 1
    if x.kind == y.kind == SPLIT and x.axis == y.axis < last:
        return t.emit(node.op, (x, y), kind=PARTIAL)
    for place, (one, other) in enumerate(((x, y), (y, x))):
        if one.kind == SPLIT and one.axis == last and other.kind == WHOLE:
            return t.emit(node.op, (x, y), kind=SPLIT, axis=place)
    return _whole_product(t, node, x, y)


def _whole_product(t: Translator, node: Node, x: Value, y: Value) -> Value:
    if x.kind == SPLIT or y.kind == SPLIT:
        t.refuse(node, "pairs an axis that is the batch with one that is not")
    return t.emit(node.op, (x, y), kind=WHOLE)


def _stack_axis(t: Translator, node: Node, x: Value, y: Value) -> int:
    """Where the batch is among the leading axes of a product of stacks."""
    stack = max(x.ndim - 2, y.ndim - 2)
    axes = {value.axis - value.ndim + 2 + stack for value in (x, y) if value.kind == SPLIT}
    if len(axes) > 1:
        t.refuse(node, "brings two axes together of which one is the batch")
    (axis,) = axes
    for value in (x, y):
        own = axis - stack + value.ndim - 2
        if value.kind == WHOLE and own >= 0 and same_length(value.node.shape[own], 1) is not True:
            t.refuse(node, f"meets the batch with {value.node!r}, which has an axis there but is not split")
    return axis


@split_rule(tag=MATRICES_TAG)
def _of_matrices(t: Translator, node: Node) -> Value | Sequence[Value]:
    args = t.arguments(node)
    values = [arg for arg in args if isinstance(arg, Value)]
    ndim = max(value.ndim for value in values)
    tolerances = values[1:] if node.op.name in ("linalg.matrix_rank", "linalg.pinv") else []
    if any(value.ndim for value in tolerances):
        t.refuse(node, "has a tolerance for each matrix")
    axis = t.aligned(node, values, ndim)
    attributes = t.renewed(node.attributes, t.total)
    if axis is not None and axis >= ndim - 2:
        t.refuse(node, "takes the batch for rows or columns of a matrix")
    kind, place = (WHOLE, 0) if axis is None else (SPLIT, axis)
    if node.dtype == "void":
        return several(t, node, args, attributes, kind, place)
    return t.emit(node.op, args, attributes, kind=kind, axis=place)


def several(
    t: Translator, node: Node, args: Sequence[Any], attributes: dict[str, Any], kind: str, axis: int
) -> list[Value]:
    """The results of a call that has several, all of one kind."""
    plain = tuple(arg.node if isinstance(arg, Value) else arg for arg in args)
    call = Node(node.op, plain, attributes, (), DType("void"), name=node.name, payload=node.payload)
    call.source_location = node.source_location
    stage = max(map(t.frame.stage_of, call.inputs), default=0)
    t.frame.enter(Value(call, kind, stage=stage))
    specs = node.op.infer(*plain, **attributes)
    made = [Value(output(call, index, *spec), kind, axis, stage) for index, spec in enumerate(specs)]
    for value in made:
        if kind == SPLIT:
            t.keep_batch(value.node, axis)
        t.frame.enter(value)
    return made


@split_rule("linalg.solve")
def _solve(t: Translator, node: Node) -> Value:
    a, b = t.arguments(node)
    vectors = b.ndim == 1
    for value, core in ((a, 2), (b, 1 if vectors else 2)):
        if value.kind == SPLIT and value.axis >= value.ndim - core:
            columns = value is b and not vectors and value.axis == value.ndim - 1
            if columns and a.kind == WHOLE:
                return t.emit(node.op, (a, b), kind=SPLIT, axis=len(node.shape) - 1)
            t.refuse(node, "takes the batch for rows or columns of a matrix")
    if a.kind == b.kind == WHOLE:
        return t.emit(node.op, (a, b), kind=WHOLE)
    if vectors:
        return t.emit(node.op, (a, b), kind=SPLIT, axis=a.axis)
    return t.emit(node.op, (a, b), kind=SPLIT, axis=_stack_axis(t, node, a, b))


@split_rule(IFELSE_NAME)
def _ifelse(t: Translator, node: Node) -> Sequence[Value]:
    """One choice among what is whole, one among what is split; both by the same condition."""
    condition = t.settled(t.value(node.args[0]))
    if condition.kind != WHOLE:
        t.refuse(node, "chooses by a condition that is not the same for all blocks")
    pairs = [(t.settled(t.value(a)), t.settled(t.value(b))) for a, b in zip(node.args[1], node.args[2], strict=True)]
    for a, b in pairs:
        if (a.kind, a.axis) != (b.kind, b.axis):
            t.refuse(node, "chooses between a value that is split along the batch and one that is not")
    found: dict[int, Value] = {}
    for kind in (WHOLE, SPLIT):
        chosen = [index for index, (a, _) in enumerate(pairs) if a.kind == kind]
        branches = [tuple(pairs[index][side].node for index in chosen) for side in (0, 1)]
        call = Node(node.op, (condition.node, *branches), {}, (), DType("void"), name=node.name)
        call.source_location = node.source_location
        stage = max(map(t.frame.stage_of, call.inputs))
        t.frame.enter(Value(call, kind, stage=stage))
        for place, index in enumerate(chosen):
            first = pairs[index][0]
            result = output(call, place, first.node.shape, first.node.dtype)
            found[index] = t.frame.enter(Value(result, kind, first.axis, stage))
    return [found[index] for index in range(len(pairs))]
