"""How a loop works block by block: all of its steps run within each block.

A carried value may be whole, split, or a sum that every block adds to (the gradient in a weight, added up over the
steps). What the loop carries whole, the states of random draws among it, is also computed once by a loop of its own,
for those who use it outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dtypes import DType, as_dtype
from ..lengths import Size, value_length
from ..loops.body import LoopBody
from ..loops.checkpoint import Remade
from ..loops.node import LOOP, captured_by
from ..node import LEAVES, Node
from ..registry import OPERATIONS
from ..stand_ins import inner_placeholder
from ..tensor import output
from ..traversal import reachable
from .frame import PARTIAL, SPLIT, WHOLE, Value
from .translation import Translator, split_rule

__all__: list[str] = []

_INT64 = as_dtype("int64")


@dataclass
class _Step:
    """A translated step: what stands for its inputs, and what it computes."""

    sequences: list[Node]
    carries: list[Value]
    following: list[Value]
    taps: list[Value]
    stop: Value | None
    changed: bool = field(default=False)


@split_rule("loop")
def _loop(t: Translator, node: Node) -> Sequence[Value]:
    body: LoopBody = node.payload
    n_steps, sequences, initials, captured = node.args
    if t.frame.holds_batch(t.local(n_steps)):
        t.refuse(node, "takes a step for each example")
    count: Size = t.total(n_steps)
    fed = [t.settled(t.value(sequence)) for sequence in sequences]
    if any(sequence.kind == SPLIT and sequence.axis == 0 for sequence in fed):
        t.refuse(node, "goes along the batch step by step")
    begun = [t.settled(t.value(initial)) for initial in initials]
    outside = {other: t.settled(t.value(other)) for other in captured}
    kinds = [(value.kind, value.axis) for value in begun]
    step = _translated(t, node, fed, begun, kinds, outside)
    while step.changed:
        step = _translated(t, node, fed, begun, kinds, outside)
    started = [t.as_part(value) if kind == PARTIAL else value for value, (kind, _) in zip(begun, kinds, strict=True)]
    return _results(t, node, body, count, fed, started, step)


def _translated(
    t: Translator,
    node: Node,
    fed: Sequence[Value],
    begun: Sequence[Value],
    kinds: list[tuple[str, int]],
    outside: dict[Node, Value],
) -> _Step:
    """The step, if its carried values are of these kinds; where one turns out to be a sum of parts, `kinds` says so."""
    body: LoopBody = node.payload
    stage = max((value.stage for value in (*fed, *begun, *outside.values())), default=0)
    sequences = [
        t.frame.enter(Value(inner_placeholder(s.node.shape[1:], s.node.dtype), s.kind, s.axis - 1, stage)) for s in fed
    ]
    carries = [
        t.frame.enter(Value(inner_placeholder(value.node.shape, value.node.dtype), kind, axis, stage))
        for value, (kind, axis) in zip(begun, kinds, strict=True)
    ]
    known = dict(outside)
    known |= zip(body.sequences, sequences, strict=True)
    known |= zip(body.carries, carries, strict=True)
    inner = Translator(t.frame, known, {}, inside=body.name or "scan")
    inner.current = node
    inner.translate(body.results())
    following: list[Value] = []
    changed = False
    for position, (carry, old) in enumerate(zip(carries, body.following, strict=True)):
        value = inner.value(old)
        value = value if value.kind == PARTIAL else inner.settled(value)
        if carry.kind == PARTIAL and value.kind == WHOLE:
            value = inner.as_part(value)
        if carry.kind == WHOLE and value.kind == PARTIAL and value.how == "sum":
            kinds[position], changed = (PARTIAL, 0), True
        elif carry.kind != value.kind or (carry.kind == SPLIT and carry.axis != value.axis):
            t.refuse(node, "carries a value that is split along the batch in one step and not in the next")
        following.append(value)
    taps = [inner.value(tap) for tap in body.taps]
    taps = [tap if tap.kind == PARTIAL and tap.how == "sum" else inner.settled(tap) for tap in taps]
    stop = None if body.stop is None else inner.settled(inner.value(body.stop))
    if stop is not None and stop.kind != WHOLE:
        t.refuse(node, "stops by a condition that is not the same for all blocks")
    return _Step([value.node for value in sequences], carries, following, taps, stop, changed)


def _results(
    t: Translator,
    node: Node,
    body: LoopBody,
    count: Size,
    fed: Sequence[Value],
    started: Sequence[Value],
    step: _Step,
) -> list[Value]:
    """The final carried values, the number of steps, and what was tapped."""
    everything = range(len(started))
    once = [position for position in everything if step.carries[position].kind == WHOLE]
    taps_once = [position for position, tap in enumerate(step.taps) if tap.kind == WHOLE]
    taps_split = [position for position, tap in enumerate(step.taps) if tap.kind != WHOLE]
    whole = _Call(t, node, body, count, fed, started, step, once, taps_once, WHOLE)
    steps = whole.steps() if step.stop is not None else _scalar(t, count)
    taken: Size = value_length(steps.node) if step.stop is not None else count
    split = _Call(t, node, body, taken, fed, started, step, list(everything), taps_split, SPLIT)
    finals = [
        whole.final(once.index(position)) if position in once else split.final(position) for position in everything
    ]
    taps = [
        whole.tap(taps_once.index(position), taken)
        if tap.kind == WHOLE
        else split.tap(taps_split.index(position), taken)
        for position, tap in enumerate(step.taps)
    ]
    return [*finals, steps, *taps]


def _scalar(t: Translator, count: Size) -> Value:
    return t.emit(OPERATIONS["scalar"], (count,), {"dtype": _INT64}, kind=WHOLE)


class _Call:
    """A loop of some of the carried values and of what is tapped."""

    def __init__(
        self,
        t: Translator,
        node: Node,
        body: LoopBody,
        count: Size,
        fed: Sequence[Value],
        started: Sequence[Value],
        step: _Step,
        carried: list[int],
        tapped: list[int],
        kind: str,
    ) -> None:
        read = [position for position, value in enumerate(fed) if kind != WHOLE or value.kind == WHOLE]
        self.t = t
        self.carries = [step.carries[position] for position in carried]
        self.taps = [step.taps[position] for position in tapped]
        self.body = LoopBody(
            sequences=[step.sequences[position] for position in read],
            carries=[value.node for value in self.carries],
            following=[step.following[position].node for position in carried],
            outputs=[value.node for value in self.taps],
            stop=None if step.stop is None else step.stop.node,
            reverse=body.reverse,
            name=body.name,
        )
        self.body.taps = list(self.body.outputs)
        self.body.captured = captured_by(self.body.results(), [*self.body.sequences, *self.body.carries])
        self.starts = [started[position].node for position in carried]
        steps: Any = count if step.stop is None else t.total(node.args[0])
        args = (steps, tuple(fed[position].node for position in read), tuple(self.starts), tuple(self.body.captured))
        self.call = Node(LOOP, args, {}, (), DType("void"), payload=self.body, name=node.name)
        self.call.source_location = node.source_location
        self.stage = max(map(t.frame.stage_of, self.call.inputs), default=0)
        t.frame.enter(Value(self.call, kind, stage=self.stage))
        self.body.count = count
        finals = [(start.shape, start.dtype) for start in self.starts]
        stacked = [((count, *tap.shape), tap.dtype) for tap in self.body.taps]
        self.body.specs = [*finals, ((), _INT64), *stacked]

    def _made(self, index: int, like: Value, axis: int) -> Value:
        node = output(self.call, index, *self.body.specs[index])
        return self.t.frame.enter(Value(node, like.kind, axis, self.stage))

    def final(self, position: int) -> Value:
        """The last of a carried value."""
        like = self.carries[position]
        return self._made(position, like, like.axis)

    def steps(self) -> Value:
        """How many steps were taken."""
        return self.t.frame.enter(Value(output(self.call, self.body.steps, (), _INT64), stage=self.stage))

    def tap(self, position: int, count: Size) -> Value:
        """What all steps tapped."""
        like = self.taps[position]
        self.body.specs[self.body.first_tap + position] = ((count, *like.node.shape), like.node.dtype)
        return self._made(self.body.first_tap + position, like, like.axis + 1)


@split_rule("checkpoint")
def _checkpoint(t: Translator, node: Node) -> Sequence[Value]:
    """One call in each block too, but for what is whole, and where parts have to be combined on the way."""
    payload: Remade = node.payload
    inputs, captured = ([t.settled(t.value(arg)) for arg in args] for args in node.args)
    outside = dict(zip(payload.captured, captured, strict=True))
    plain = Translator(t.frame, outside | dict(zip(payload.inputs, inputs, strict=True)), {}, t.inside)
    plain.current = node
    results = [plain.value(one) for one in payload.outputs]
    stage = max((value.stage for value in (*inputs, *captured)), default=0)
    kept = [position for position, value in enumerate(results) if value.kind != WHOLE]
    if not kept or any(value.stage > stage for value in results):
        return results
    stand_ins = [
        t.frame.enter(Value(inner_placeholder(v.node.shape, v.node.dtype), v.kind, v.axis, stage)) for v in inputs
    ]
    inner = Translator(t.frame, outside | dict(zip(payload.inputs, stand_ins, strict=True)), {}, inside="checkpoint")
    inner.current = node
    made = [inner.value(payload.outputs[position]) for position in kept]
    made = [value if value.kind == PARTIAL else inner.settled(value) for value in made]
    held = {value.node for value in captured}
    stops = {value.node for value in stand_ins}
    nodes = [value.node for value in made]
    used = [n for n in reachable(nodes, stops | held) if n in held or (n.op in LEAVES and n not in stops)]
    again = Remade([value.node for value in stand_ins], nodes, used, payload.again)
    args = (tuple(value.node for value in inputs), tuple(used))
    call = Node(node.op, args, {}, (), DType("void"), payload=again, name=node.name)
    call.source_location = node.source_location
    t.frame.enter(Value(call, SPLIT, stage=stage))
    for place, (position, value) in enumerate(zip(kept, made, strict=True)):
        result = output(call, place, value.node.shape, value.node.dtype)
        results[position] = t.frame.enter(Value(result, value.kind, value.axis, stage, value.how))
    return results
