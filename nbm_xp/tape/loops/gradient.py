"""The reverse of a loop: a loop in the other direction, in which each step is differentiated by itself.

The reverse step reads the values of the forward step that it needs, which the forward loop keeps; only what costs next
to nothing is computed again. The gradient in what was captured is a sum over all steps: where it is a sum of matrix
products, it becomes one product after the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..backward import vjp
from ..lengths import Length, Size, minimum_length, same_length, value_length
from ..node import Node
from ..registry import register_gradient
from ..stand_ins import inner_placeholder
from ..standard.casting import astype
from ..standard.creation import asarray, zeros, zeros_like
from ..standard.joining import concat
from ..tensor import Tensor, output
from .body import LoopBody
from .hoist import varying_in
from .node import LOOP, loop
from .residuals import residuals_of
from .sums import sums_over_steps

__all__ = ["loop_rule"]


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
    count = n_steps if body.stop is None else value_length(out[body.steps].node)
    first: Size = 0
    if body.truncate is not None:
        kept = minimum_length((body.truncate, count))
        first, count = count - kept, kept

    def window(x: Tensor) -> Tensor:
        return x if type(first) is int and first == 0 else x[first:]

    # cotangents: of final values they start the reverse loop, of what was tapped they come in step by step
    smooth = [position for position, carry in enumerate(body.carries) if carry.dtype[0] in "fc"]
    back = {p: inner_placeholder(body.carries[p].shape, body.carries[p].dtype) for p in smooth}
    start = [g.get(p, zeros_like(initials[p])) for p in smooth]
    arriving = [
        (node, inner_placeholder(g[index].node.shape[1:], g[index].dtype), window(g[index]))
        for index, node in enumerate(body.taps, body.first_tap)
        if index in g
    ]
    roots = [*(body.following[p] for p in smooth), *(node for node, _, _ in arriving)]
    seeds = [*(Tensor(back[p]) for p in smooth), *(Tensor(inner) for _, inner, _ in arriving)]
    targets = [*body.sequences, *body.carries, *body.captured]
    partial = dict(zip(targets, vjp(roots, seeds, targets, as_leaves=True), strict=True))

    flowing = [node for node in body.sequences if partial[node] is not None]
    outputs = [_node_of(partial[node]) for node in flowing]
    roots = [tensor.node for tensor in partial.values() if tensor is not None]
    starts = [*body.sequences, *body.carries, *back.values(), *(inner for _, inner, _ in arriving)]
    _, varying = varying_in(roots, starts)
    sums = {n: sums_over_steps(_node_of(partial[n]), varying) for n in body.captured if partial[n] is not None}
    outputs += [factor for found in sums.values() for term in found.after for factor in term.factors]
    following = [_or_zeros(partial[body.carries[p]], body.carries[p]) for p in smooth]
    totals: dict[Node, Node] = {}
    for node, found in sums.items():
        if found.inside is not None:
            totals[node] = inner_placeholder(node.shape, node.dtype)
            following.append((Tensor(totals[node]) + Tensor(found.inside)).node)
            start.append(zeros_like(Tensor(node)))

    # what the reverse step reads: sequences, values of the forward steps, cotangents
    needed = residuals_of(body, [*following, *outputs])
    given = dict(zip(body.sequences, sequences, strict=True))
    stacks = {node: window(given[node]) if node in given else window(out[body.tap(node)]) for node in needed}
    stacks |= {inner: gradient for _, inner, gradient in arriving}
    outside = {node: stack for node, stack in stacks.items() if node in outputs}
    outputs = list(dict.fromkeys(node for node in outputs if node not in outside))
    reverse = LoopBody(
        sequences=list(stacks),
        carries=[*back.values(), *totals.values()],
        following=following,
        outputs=outputs,
        reverse=not body.reverse,
        name=f"gradient of {body.name or 'scan'}",
    )
    if not reverse.carries and not outputs and not outside:
        return [None, [None] * len(sequences), [None] * len(initials), [None] * len(captured)]
    call = loop(reverse, count, list(stacks.values()), start)

    def result(index: int) -> Tensor:
        return Tensor(output(call, index, *reverse.specs[index]))

    def stacked(node: Node) -> Tensor:
        """A value of all reverse steps, as many entries as there are steps."""
        if node not in outside:
            return result(reverse.tap(node))
        stack = outside[node]
        return stack if same_length(stack.node.shape[0], count) is True else stack[:count]

    def total(node: Node) -> Tensor:
        """The gradient in a captured value."""
        parts = [term.finish([stacked(factor) for factor in term.factors]) for term in sums[node].after]
        if node in totals:
            parts.append(result(len(smooth) + list(totals).index(node)))
        return sum(parts[1:], start=parts[0])

    finals = {p: result(position) for position, p in enumerate(smooth)}
    to_initials = [_reaching_start(p, finals, body.shifts, first) for p in range(len(body.carries))]
    to_captured = [total(node) if node in sums else None for node in body.captured]
    to_sequences = [
        None if partial[node] is None else _padded(stacked(_node_of(partial[node])), first, sequence)
        for node, sequence in zip(body.sequences, sequences, strict=True)
    ]
    return [None, to_sequences, to_initials, to_captured]


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
