"""The reverse of a loop: a loop in the other direction, in which each step is differentiated by itself.

The reverse step reads the values of the forward step that it needs, the residuals, which the forward loop keeps; only
what costs next to nothing is computed again. The gradient in what was captured is a sum over all steps: where it is a
sum of matrix products, or over axes, it becomes one operation on stacks after the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import is_lazy

from ..gradients import pull_back
from ..graph import inner_placeholder, recorded_paths, walk
from ..lengths import Length, Size, known, minimum_length, product, same_length, same_shape, value_length
from ..node import IDENTITY_TAG, LINEAR_TAG, Node, Spec, declare, nodes_in, register_gradient
from ..standard.creation import asarray, zeros, zeros_like
from ..standard.data_types import astype
from ..standard.manipulation import concat, matrix_transpose, reshape, sum_to
from ..standard.manipulation import sum as sum_
from ..standard.products import matmul
from ..tensor import Tensor, record, result
from .body import LoopBody, varying_in
from .run import LOOP, loop

__all__ = ["VIEWS", "Sums", "Term", "loop_rule", "residuals_of", "sums_over_steps"]

VIEWS = frozenset({"broadcast_to", "permute_dims", "reshape", "transpose"})
"""What costs nothing, for all of it is there already."""


def residuals_of(body: LoopBody, results: Sequence[Node]) -> list[Node]:
    """The values of a forward step from which the reverse step computes its results; sequences are among them.

    Views are taken again; so is what belongs to one branch of an `ifelse`, which must not be computed where that branch
    is not taken. All else is kept as it was computed.
    """
    inner = [*body.sequences, *body.carries]
    order, varying = varying_in(body.results(), inner)
    paths = recorded_paths(order, body.results())
    place = {node: index for index, node in enumerate(order) if node in varying}
    ends = {*inner, *body.captured}

    def keepable(node: Node) -> bool:
        value = node.call  # which is there, though nothing may have asked for this result of it before
        if node.op.name in VIEWS:  # in place of a view, what it shows is kept
            return False
        return value in place and not node.is_call and not paths.get(node, paths.get(value))

    def kept(node: Node) -> bool:
        return (node in ends and node in place) or keepable(node)

    def behind(node: Node) -> Sequence[Node]:
        if node in ends or kept(node):
            return ()
        return node.inputs[:1] if IDENTITY_TAG in node.op.tags else node.inputs

    return [node for node in walk(results, behind) if kept(node)]


def _as_rows(xp: Any, x: Any) -> Any:
    return x if x.ndim == 2 else xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _run_sum_of_outer_products(xp: Any, x: Any, y: Any) -> Any:
    if is_lazy(xp):
        leading = tuple(range(x.ndim - 1))
        return xp.tensordot(x, y, axes=(leading, leading))
    return xp.matmul(_as_rows(xp, x).T, _as_rows(xp, y))


def _infer_outer(x: Node, y: Node) -> Spec:
    return (x.shape[-1], y.shape[-1]), x.dtype


_SUM_OF_OUTER_PRODUCTS = declare(
    "sum_of_outer_products",
    _infer_outer,
    (
        lambda g, out, x, y: matmul(y, matrix_transpose(g)),
        lambda g, out, x, y: matmul(x, g),
    ),
    run=_run_sum_of_outer_products,
)


def sum_of_outer_products(x: Tensor, y: Tensor) -> Tensor:
    """The matrix that is the sum, over all leading axes, of the outer products of the rows of two arrays."""
    return record(_SUM_OF_OUTER_PRODUCTS, x, y)


_LARGE_FACTOR = 2**17
"""From how many elements in a step on its factors are not kept for later."""


@dataclass
class Term:
    """A sum over steps that is taken of the stacks of its factors."""

    factors: tuple[Node, ...]
    finish: Callable[[Sequence[Tensor]], Tensor]


@dataclass
class Sums:
    """What is to be added up: terms after the loop, and the rest, of each step, in it."""

    after: list[Term]
    inside: Node | None


def sums_over_steps(node: Node, varying: Collection[Node]) -> Sums:
    """How to add up a value over the steps.

    Parameters
    ----------
    node
        The value of one step.
    varying
        What changes from step to step.
    """
    after: list[Term] = []
    inside: list[Node] = []
    for term in _summands(node):
        found = _term(term, varying)
        if found is None or not all(_is_kept_easily(factor, varying) for factor in found.factors):
            inside.append(term)
        else:
            after.append(found)
    if not after:
        return Sums([], node)
    rest = None
    for term in inside:
        rest = Tensor(term) if rest is None else rest + Tensor(term)
    return Sums(after, None if rest is None else rest.node)


def _is_kept_easily(factor: Node, varying: Collection[Node]) -> bool:
    size = known(product(factor.shape))
    return factor in varying and (size is None or size < _LARGE_FACTOR)


def _summands(node: Node) -> list[Node]:
    """The values whose sum this is, all of its shape."""
    found: list[Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        parts = [arg for arg in one.args if isinstance(arg, Node)]
        if one.op.name == "add" and len(parts) == 2 and all(same_shape(part.shape, node.shape) for part in parts):
            stack += reversed(parts)
        else:
            found.append(one)
    return found


def _term(node: Node, varying: Collection[Node]) -> Term | None:
    """A value as a linear function of factors, taken of their stacks."""
    name = node.op.name
    if name in _OUTER:
        left = node.args[0]
        found = _matrix_product(node) if name == "matmul" else Term(node.args, _outer)
        return found if left in varying else None
    if name in ("sum", "sum_to"):
        return Term((node.args[0],), _sum_after(node))
    others = node.args[1:]
    linear = LINEAR_TAG in node.op.tags and not any(other in varying for other in nodes_in(others))
    inner = _term(node.args[0], varying) if linear else None
    if inner is None:
        return None
    finish = inner.finish
    return Term(inner.factors, lambda stacks: record(node.op, finish(stacks), *others, **node.attributes))


_OUTER = frozenset({"matmul", "sum_of_outer_products"})


def _outer(stacks: Sequence[Tensor]) -> Tensor:
    return sum_of_outer_products(stacks[0], stacks[1])


def _transposed(node: Node) -> Node:
    turned = matrix_transpose(Tensor(node)).node
    inner: Node = node.args[0] if node.args else node
    if node.op is turned.op and node.args[1:] == turned.args[1:]:
        return inner
    return turned


def _matrix_product(node: Node) -> Term | None:
    left, right = node.args
    return Term((_transposed(left), right), _outer) if len(left.shape) == len(right.shape) == 2 else None


def _sum_after(node: Node) -> Callable[[Sequence[Tensor]], Tensor]:
    if node.op.name == "sum_to":
        return lambda stacks: sum_to(stacks[0], node.shape)
    axes = (0, *(axis + 1 for axis in node.attributes["axis"]))

    def total(stacks: Sequence[Tensor]) -> Tensor:
        summed = sum_(stacks[0], axis=axes, dtype=node.dtype)
        return reshape(summed, node.shape) if node.attributes["keepdims"] else summed

    return total


@dataclass
class _Window:
    """The steps that a gradient goes back through: `count` of them, from the step `first` on."""

    first: Size
    count: Size

    def of(self, x: Tensor) -> Tensor:
        """The entries of a stack that belong to them, and what follows."""
        return x if type(self.first) is int and self.first == 0 else x[self.first :]


@dataclass
class _ReverseStep:
    """One step differentiated by itself.

    Parameters
    ----------
    back
        By position of a carried value, the stand-in for the cotangent of what it becomes.
    arriving
        For the stand-in of each cotangent that comes in step by step, those of all steps.
    partial
        The gradients in what the step reads.
    """

    back: dict[int, Node]
    arriving: dict[Node, Tensor]
    partial: dict[Node, Tensor | None]

    def sums(self, body: LoopBody) -> dict[Node, Sums]:
        """How the gradient in each captured value is added up over the steps."""
        found = {node: _node_of(gradient) for node, gradient in self.partial.items() if gradient is not None}
        starts = [*body.sequences, *body.carries, *self.back.values(), *self.arriving]
        _, varying = varying_in(list(found.values()), starts)
        return {node: sums_over_steps(found[node], varying) for node in body.captured if node in found}


@dataclass
class _ReverseLoop:
    """The recorded loop, and the stacks that it reads step by step."""

    body: LoopBody
    call: Node
    stacks: dict[Node, Tensor]
    count: Size

    def stacked(self, node: Node) -> Tensor:
        """A value of all its steps, as many entries as there are steps."""
        stack = self.stacks.get(node)
        if stack is None:
            return result(self.call, self.body.tap(node))
        return stack if same_length(stack.node.shape[0], self.count) is True else stack[: self.count]


def _window(body: LoopBody, n_steps: Any, out: Any) -> _Window:
    count = n_steps if body.stop is None else value_length(out[body.steps].node)
    if body.truncate is None:
        return _Window(0, count)
    last = minimum_length((body.truncate, count))
    return _Window(count - last, last)


def _reverse_step(body: LoopBody, g: dict[int, Tensor], window: _Window) -> _ReverseStep:
    """Differentiate a step: cotangents of carried values come from the step after it, others step by step."""
    back = {
        position: inner_placeholder(carry.shape, carry.dtype)
        for position, carry in enumerate(body.carries)
        if carry.dtype.kind in "fc"
    }
    tapped = {index: body.tapped_at(index) for index in sorted(g) if index >= body.first_tap}
    slices = [inner_placeholder(g[index].node.shape[1:], g[index].dtype) for index in tapped]
    roots = [*(body.following[position] for position in back), *tapped.values()]
    seeds = list(map(Tensor, [*back.values(), *slices]))
    targets = [*body.sequences, *body.carries, *body.captured]
    partial = dict(zip(targets, pull_back(roots, seeds, targets, as_leaves=True), strict=True))
    arriving = {one: window.of(g[index]) for one, index in zip(slices, tapped, strict=True)}
    return _ReverseStep(back, arriving, partial)


def loop_rule(
    g: dict[int, Tensor],
    out: Any,
    n_steps: Any,
    sequences: tuple[Tensor, ...],
    initials: tuple[Tensor, ...],
    captured: tuple[Tensor, ...],
    *,
    payload: LoopBody,
) -> list[Any]:
    """The gradients in the sequences, the initial values and what was captured."""
    body = payload
    window = _window(body, n_steps, out)
    step = _reverse_step(body, g, window)
    sums = step.sums(body)

    following = [_or_zeros(step.partial[body.carries[position]], body.carries[position]) for position in step.back]
    start = [g.get(position, zeros_like(initials[position])) for position in step.back]
    totals: dict[Node, Node] = {}
    for node, found in sums.items():
        if found.inside is not None:
            totals[node] = inner_placeholder(node.shape, node.dtype)
            following.append((Tensor(totals[node]) + Tensor(found.inside)).node)
            start.append(zeros_like(Tensor(node)))
    to_rows = [gradient.node for node in body.sequences if (gradient := step.partial[node]) is not None]
    factors = [factor for found in sums.values() for term in found.after for factor in term.factors]

    needed = residuals_of(body, [*following, *to_rows, *factors])
    given = dict(zip(body.sequences, sequences, strict=True))
    stacks = {node: window.of(given[node] if node in given else out[body.tap(node)]) for node in needed}
    stacks |= step.arriving
    outputs = list(dict.fromkeys(node for node in (*to_rows, *factors) if node not in stacks))
    reverse = LoopBody(
        sequences=list(stacks),
        carries=[*step.back.values(), *totals.values()],
        following=following,
        outputs=outputs,
        reverse=not body.reverse,
        name=f"gradient of {body.name or 'scan'}",
    )
    if not reverse.carries and not to_rows and not factors:
        return [None, [None] * len(sequences), [None] * len(initials), [None] * len(captured)]
    made = _ReverseLoop(reverse, loop(reverse, window.count, list(stacks.values()), start), stacks, window.count)

    def total(node: Node) -> Tensor:
        """The gradient in a captured value."""
        parts = [term.finish([made.stacked(factor) for factor in term.factors]) for term in sums[node].after]
        if node in totals:
            parts.append(result(made.call, len(step.back) + list(totals).index(node)))
        return sum(parts[1:], start=parts[0])

    finals = {position: result(made.call, index) for index, position in enumerate(step.back)}
    to_sequences = [
        None
        if (gradient := step.partial[node]) is None
        else _padded(made.stacked(gradient.node), window.first, sequence)
        for node, sequence in zip(body.sequences, sequences, strict=True)
    ]
    to_initials = [_reaching_start(p, finals, body.shifts, window.first) for p in range(len(body.carries))]
    return [None, to_sequences, to_initials, [total(node) if node in sums else None for node in body.captured]]


def _reaching_start(
    position: int, finals: Mapping[int, Tensor], shifts: Mapping[int, int], first: Size
) -> Tensor | None:
    """The gradient in an initial value: of the steps that are not differentiated, only those count that hand it on."""
    found: Tensor | None = None
    carrier: int | None = position
    distance = 0
    while carrier is not None and carrier in finals:
        part = finals[carrier]
        if isinstance(first, Length):
            reached = asarray(first) == distance
            part = part * astype(reached, part.dtype)
        if isinstance(first, Length) or first == distance:
            found = part if found is None else found + part
        carrier = next((after for after, before in shifts.items() if before == carrier), None)
        distance += 1
    return found


def _or_zeros(gradient: Tensor | None, node: Node) -> Node:
    return _node_of(zeros_like(Tensor(node)) if gradient is None else gradient)


def _node_of(tensor: Tensor | None) -> Node:
    assert tensor is not None
    return tensor.node


def _padded(gradient: Tensor, first: Size, sequence: Tensor) -> Tensor:
    """Zeros for the entries that the loop did not read, or that the gradient does not reach."""
    length, have = sequence.node.shape[0], gradient.node.shape[0]
    rest = sequence.node.shape[1:]
    parts = [gradient]
    if isinstance(first, Length) or first:
        parts.insert(0, zeros((first, *rest), dtype=gradient.dtype))
    if same_length(first + have, length) is not True:
        parts.append(zeros((length - first - have, *rest), dtype=gradient.dtype))
    return parts[0] if len(parts) == 1 else concat(parts, axis=0)


register_gradient(LOOP.name, joint=loop_rule)
