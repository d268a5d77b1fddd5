"""How a loop works block by block: all of its steps run within each block.

A carried value may be whole, split, or a sum that every block adds to (the gradient in a weight, added up over the
steps). What the loop carries whole, the states of random draws among it, is also computed once by a loop of its own,
for those who use it outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..dtypes import as_dtype
from ..lengths import Size, value_length
from ..loops.body import LoopBody
from ..loops.checkpoint import Remade
from ..loops.node import LOOP, captured_by
from ..node import LEAVES, Node
from ..registry import OPERATIONS
from ..traversal import reachable
from .frame import PARTIAL, SPLIT, WHOLE, Value
from .translation import Translator, split_rule

__all__: list[str] = []

_INT64 = as_dtype("int64")


@dataclass
class _Step:
    """A translated step: what stands for its inputs, and what it computes."""

    sequences: list[Value]
    carries: list[Value]
    following: list[Value]
    taps: dict[int, Value]
    stop: Value | None


@split_rule("loop")
def _loop(
    t: Translator,
    node: Node,
    n_steps: Size,
    fed: tuple[Value, ...],
    begun: tuple[Value, ...],
    captured: tuple[Value, ...],
) -> dict[int, Value]:
    """The final carried values, the number of steps, and what is needed of each step."""
    body: LoopBody = node.payload
    if t.frame.holds_batch(n_steps):
        t.refuse(node, "takes a step for each example")
    if any(sequence.kind == SPLIT and sequence.axis == 0 for sequence in fed):
        t.refuse(node, "goes along the batch step by step")
    kinds = [(value.kind, value.axis) for value in begun]
    step = _translated(t, node, fed, begun, kinds, captured)
    while step is None:
        step = _translated(t, node, fed, begun, kinds, captured)
    starts = [t.as_part(value) if kind == PARTIAL else value for value, (kind, _) in zip(begun, kinds, strict=True)]
    once = [position for position, carry in enumerate(step.carries) if carry.kind == WHOLE]
    taps_once = [index for index, tap in step.taps.items() if tap.kind == WHOLE]
    taps_split = [index for index, tap in step.taps.items() if tap.kind != WHOLE]

    whole = _recorded(t, node, n_steps, fed, starts, step, once, taps_once, WHOLE)
    first = len(once)
    if step.stop is None:
        count, steps = n_steps, t.emit(OPERATIONS["scalar"], (n_steps,), {"dtype": _INT64}, kind=WHOLE)
    else:
        steps = t.result(whole, first, ((), _INT64), whole)
        count = value_length(steps.node)
    every = list(range(len(starts)))
    split = _recorded(t, node, n_steps, fed, starts, step, every, taps_split, SPLIT)

    def result(call: Value, index: int, like: Value, *stacked: Size) -> Value:
        spec = ((*stacked, *like.node.shape), like.node.dtype)
        return t.result(call, index, spec, replace(like, axis=like.axis + len(stacked)))

    found = {body.steps: steps}
    for index, carry in enumerate(step.carries):
        found[index] = result(whole, once.index(index), carry) if index in once else result(split, index, carry)
    for calls, taps, before in ((whole, taps_once, first), (split, taps_split, len(every))):
        for place, index in enumerate(taps, before + 1):
            found[index] = result(calls, place, step.taps[index], count)
    return found


def _translated(
    t: Translator,
    node: Node,
    fed: Sequence[Value],
    begun: Sequence[Value],
    kinds: list[tuple[str, int]],
    captured: Sequence[Value],
) -> _Step | None:
    """The step, if its carried values are of these kinds; where one turns out to be a sum of parts, `kinds` says so."""
    body: LoopBody = node.payload
    stage = max((value.stage for value in (*fed, *begun, *captured)), default=0)
    sequences = [t.stand_in(s.node.shape[1:], replace(s, axis=s.axis - 1, stage=stage)) for s in fed]
    carries = [
        t.stand_in(value.node.shape, replace(value, kind=kind, axis=axis, stage=stage))
        for value, (kind, axis) in zip(begun, kinds, strict=True)
    ]
    known = zip((*body.captured, *body.sequences, *body.carries), (*captured, *sequences, *carries), strict=True)
    inner = Translator(t.frame, dict(known), {}, inside=body.name or "scan")
    inner.current = node
    tapped = {index: body.tapped_at(index) for index in sorted(t.needed[node]) if index >= body.first_tap}
    inner.translate([*body.results(), *tapped.values()])
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
    if changed:
        return None
    taps = {index: inner.value(tap) for index, tap in tapped.items()}
    taps = {i: v if v.kind == PARTIAL and v.how == "sum" else inner.settled(v) for i, v in taps.items()}
    stop = None if body.stop is None else inner.settled(inner.value(body.stop))
    if stop is not None and stop.kind != WHOLE:
        t.refuse(node, "stops by a condition that is not the same for all blocks")
    return _Step(sequences, carries, following, taps, stop)


def _recorded(
    t: Translator,
    node: Node,
    n_steps: Size,
    fed: Sequence[Value],
    starts: Sequence[Value],
    step: _Step,
    carried: list[int],
    tapped: list[int],
    kind: str,
) -> Value:
    """A loop of some of the carried values and of what is tapped."""
    read = [position for position, value in enumerate(fed) if kind != WHOLE or value.kind == WHOLE]
    old: LoopBody = node.payload
    body = LoopBody(
        sequences=[step.sequences[position].node for position in read],
        carries=[step.carries[position].node for position in carried],
        following=[step.following[position].node for position in carried],
        outputs=[step.taps[index].node for index in tapped],
        stop=None if step.stop is None else step.stop.node,
        reverse=old.reverse,
        name=old.name,
    )
    body.captured = captured_by(body.results(), [*body.sequences, *body.carries])
    args = (n_steps, tuple(fed[p] for p in read), tuple(starts[p] for p in carried), tuple(body.captured))
    return t.call(LOOP, args, kind=kind, payload=body)


@split_rule("checkpoint")
def _checkpoint(t: Translator, node: Node, inputs: tuple[Value, ...], captured: tuple[Value, ...]) -> Sequence[Value]:
    """One call in each block too, but for what is whole, and where parts have to be combined on the way."""
    payload: Remade = node.payload
    outside = dict(zip(payload.captured, captured, strict=True))
    plain = Translator(t.frame, outside | dict(zip(payload.inputs, inputs, strict=True)), {}, t.inside)
    plain.current = node
    plain.translate(payload.outputs)
    results = [plain.value(one) for one in payload.outputs]
    stage = max((value.stage for value in (*inputs, *captured)), default=0)
    kept = [position for position, value in enumerate(results) if value.kind != WHOLE]
    if not kept or any(value.stage > stage for value in results):
        return results
    stand_ins = [t.stand_in(value.node.shape, replace(value, stage=stage)) for value in inputs]
    inner = Translator(t.frame, outside | dict(zip(payload.inputs, stand_ins, strict=True)), {}, inside="checkpoint")
    inner.current = node
    made = [inner.value(payload.outputs[position]) for position in kept]
    made = [value if value.kind == PARTIAL else inner.settled(value) for value in made]
    held = {value.node for value in captured}
    stops = {value.node for value in stand_ins}
    nodes = [value.node for value in made]
    used = [n for n in reachable(nodes, stops | held) if n in held or (n.op in LEAVES and n not in stops)]
    again = Remade([value.node for value in stand_ins], nodes, used, payload.again)
    call = t.call(node.op, (inputs, tuple(used)), kind=SPLIT, payload=again)
    for place, (position, value) in enumerate(zip(kept, made, strict=True)):
        results[position] = t.result(call, place, (value.node.shape, value.node.dtype), value)
    return results
