"""The reverse of a loop: a loop in the other direction, in which each step is differentiated by itself.

The reverse step reads the values of the forward step that it needs, which the forward loop keeps; only what costs next
to nothing is computed again. The gradient in what was captured is a sum over all steps: where it is a sum of matrix
products, it becomes one product after the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..backward import vjp
from ..extreme_lengths import minimum_length
from ..lengths import Length, Size, same_length, value_length
from ..node import Node
from ..registry import register_gradient
from ..stand_ins import inner_placeholder
from ..standard.casting import astype
from ..standard.creation import asarray, zeros, zeros_like
from ..standard.joining import concat
from ..tensor import Tensor, result
from .body import LoopBody
from .hoist import varying_in
from .node import LOOP, loop
from .residuals import residuals_of
from .sums import Sums, sums_over_steps

__all__ = ["loop_rule"]


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
        if carry.dtype[0] in "fc"
    }
    tapped = {index: body.tapped_at(index) for index in sorted(g) if index >= body.first_tap}
    slices = [inner_placeholder(g[index].node.shape[1:], g[index].dtype) for index in tapped]
    roots = [*(body.following[position] for position in back), *tapped.values()]
    seeds = list(map(Tensor, [*back.values(), *slices]))
    targets = [*body.sequences, *body.carries, *body.captured]
    partial = dict(zip(targets, vjp(roots, seeds, targets, as_leaves=True), strict=True))
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
