"""How products, linear algebra and choices by value work block by block.

A product over the batch is a sum over blocks: ``x.T @ h`` adds up what each block gives. Functions of matrices take
the batch as a stack of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lengths import same_length
from ..node import IFELSE_NAME, MATRICES_TAG, Node
from .frame import PARTIAL, SPLIT, WHOLE, Value, values_in
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
def _matmul(t: Translator, node: Node, x: Value, y: Value) -> int | Value:
    left, right = _role(x, True), _role(y, False)
    if left == right == _SUMMED:
        return t.again(node, (x, y), PARTIAL)
    last = len(node.shape) - 1
    if left == _ROWS and right is None:
        return last - int(y.ndim > 1)
    if right == _COLUMNS and left is None:
        return last
    if not {left, right} <= {_STACK, None}:
        everyone = {left, right} == {_ROWS, _COLUMNS}
        t.refuse(node, "pairs each example with every other" if everyone else "meets the batch with another axis")
    return _stack_axis(t, node, x, y)


@split_rule("rows_times")
def _rows_times(t: Translator, node: Node, x: Value, matrix: Value) -> int | Value:
    last = x.ndim - 1
    if x.kind == matrix.kind == SPLIT and x.axis == last and matrix.axis == 0:
        return t.again(node, (x, matrix), PARTIAL)
    if x.kind == SPLIT and x.axis < last and matrix.kind == WHOLE:
        return x.axis
    if x.kind == SPLIT or matrix.axis != 1:
        t.refuse(node, "pairs an axis that is the batch with one that is not")
    return last


@split_rule("sum_of_outer_products")
def _sum_of_outer_products(t: Translator, node: Node, x: Value, y: Value) -> int | Value:
    last = x.ndim - 1
    if x.kind == y.kind == SPLIT and x.axis == y.axis < last:
        return t.again(node, (x, y), PARTIAL)
    if x.kind == y.kind or max(x.axis, y.axis) != last:
        t.refuse(node, "pairs an axis that is the batch with one that is not")
    return 0 if x.kind == SPLIT else 1


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
def _of_matrices(t: Translator, node: Node, *args: Any) -> int | None:
    values = values_in(args)
    ndim = max(value.ndim for value in values)
    if node.op.name in ("linalg.matrix_rank", "linalg.pinv") and any(value.ndim for value in values[1:]):
        t.refuse(node, "has a tolerance for each matrix")
    axis = t.aligned(node, values, ndim)
    if axis is not None and axis >= ndim - 2:
        t.refuse(node, "takes the batch for rows or columns of a matrix")
    return axis


@split_rule("linalg.solve")
def _solve(t: Translator, node: Node, a: Value, b: Value) -> int:
    vectors = b.ndim == 1
    for value, core in ((a, 2), (b, 1 if vectors else 2)):
        if value.kind == SPLIT and value.axis >= value.ndim - core:
            columns = value is b and not vectors and value.axis == value.ndim - 1
            if columns and a.kind == WHOLE:
                return len(node.shape) - 1
            t.refuse(node, "takes the batch for rows or columns of a matrix")
    return a.axis if vectors else _stack_axis(t, node, a, b)


@split_rule(IFELSE_NAME)
def _ifelse(
    t: Translator, node: Node, condition: Value, taken: tuple[Value, ...], otherwise: tuple[Value, ...]
) -> Sequence[Value]:
    """One choice among what is whole, one among what is split; both by the same condition."""
    if condition.kind != WHOLE:
        t.refuse(node, "chooses by a condition that is not the same for all blocks")
    for a, b in zip(taken, otherwise, strict=True):
        if (a.kind, a.axis) != (b.kind, b.axis):
            t.refuse(node, "chooses between a value that is split along the batch and one that is not")
    found: dict[int, Value] = {}
    for kind in (WHOLE, SPLIT):
        chosen = [index for index, value in enumerate(taken) if value.kind == kind]
        branches = [tuple(values[index] for index in chosen) for values in (taken, otherwise)]
        call = t.again(node, (condition, *branches), kind)
        for place, index in enumerate(chosen):
            like = taken[index]
            found[index] = t.result(call, place, (like.node.shape, like.node.dtype), like)
    return [found[index] for index in range(len(taken))]
