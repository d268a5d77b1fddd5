"""The loop as a node: recording one, its results, and how the states of random draws in it move on."""

from __future__ import annotations

from collections.abc import Sequence

from ..lengths import Size, value_length
from ..node import SUBGRAPH_TAG, VARIABLE, Node, call_of
from ..registry import declare
from ..standard.indexing import stands_for_last
from ..tensor import Tensor, result
from ..variable import Variable
from .body import LoopBody
from .hoist import hoisted, varying_in
from .run import loop_runner

__all__ = ["LOOP", "automatic_updates", "captured_by", "loop", "results_of"]


def captured_by(results: Sequence[Node], inner: Sequence[Node]) -> list[Node]:
    """What a step uses that does not change from step to step, as far out as possible."""
    order, varying = varying_in(results, inner)
    given = frozenset(inner)
    found: dict[Node, None] = {}
    for node in order:
        if node in varying and node not in given:
            found.update((parent, None) for parent in node.inputs if parent not in varying)
    found.update((node, None) for node in results if node not in varying)
    calls = [node for node in found if node.is_call]
    for call in calls:  # a call with several results is captured result by result
        del found[call]
    return list(found)


def loop(body: LoopBody, n_steps: Size, sequences: Sequence[Tensor], initials: Sequence[Tensor]) -> Node:
    """Record a loop; its results are `output` nodes of the call that is returned."""
    if body.stop is None:
        body.sequences, sequences = hoisted(body.results(), body.sequences, body.carries, sequences, n_steps)
    body.captured = captured_by(body.results(), [*body.sequences, *body.carries])
    args = (n_steps, tuple(t.node for t in sequences), tuple(t.node for t in initials), tuple(body.captured))
    call = call_of(LOOP, args, payload=body, name=body.name)
    body.call = call
    body.count = n_steps if body.stop is None else value_length(result(call, body.steps).node)
    return call


def results_of(call: Node) -> tuple[list[Tensor], list[Tensor]]:
    """The final carried values of a loop, and its stacked outputs."""
    body: LoopBody = call.payload
    finals = [result(call, index) for index in range(len(body.carries))]
    stacked = [result(call, body.first_tap + place) for place in range(len(body.outputs))]
    for position, carry in body.fed_back.items():
        stands_for_last(stacked[position].node, finals[carry].node)
    return finals, stacked


LOOP = declare("loop", lambda *args: (), run=loop_runner, tags=frozenset({SUBGRAPH_TAG}), length_at=0)
"""Its gradient rule is given in `gradient`."""


def automatic_updates(nodes: Sequence[Node]) -> dict[Variable, Tensor]:
    """How the states of random draws among these nodes move on: past the call that drew from them, or by one draw."""
    updates: dict[Variable, Tensor] = {}
    for node in nodes:
        if node.op is VARIABLE and node.payload.default_update is not None:
            updates.setdefault(node.payload, node.payload.default_update)
        elif SUBGRAPH_TAG in node.op.tags:
            updates |= node.payload.state_updates(node)
    return updates
