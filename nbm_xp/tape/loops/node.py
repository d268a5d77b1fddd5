"""The loop node: a step, recorded once, that runs many times.

A step maps slices of sequences and carried values to new carried values and outputs. What it uses from outside is
captured: it is computed once, before the loop. A loop gives the final carried values, the number of steps taken, and
stacked over the steps whatever is tapped: its outputs, and the values of each step that its gradient turns out to need.
What is not asked for is not kept, so that memory grows with the number of steps only where it must.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from ..dtypes import DType, as_dtype
from ..gradients import declare
from ..lengths import Length, Size, axis_length, value_length
from ..node import OUTPUT, PLACEHOLDER, SUBGRAPH_TAG, VARIABLE, Joint, Node, Operation, Shape, Spec, leaf
from ..tensor import Tensor, output
from ..traversal import reachable
from ..variable import Variable
from .hoist import hoisted, varying_in
from .run import LoopRunner

__all__ = [
    "LOOP", "LoopBody", "automatic_updates", "captured_by", "inner_placeholder", "last_entry", "loop", "results_of",
    "stands_for_last",
]  # fmt: skip

_tapping = threading.Lock()


@dataclass(eq=False)
class LoopBody:
    """The recorded step of a loop.

    Parameters
    ----------
    sequences, carries
        The nodes that stand for a slice of each sequence and for each carried value inside the step.
    following
        What each carried value becomes.
    outputs
        What each step puts out.
    stop
        A scalar that ends the loop after the step in which it is true.
    reverse
        Whether steps are taken from the last to the first; outputs are stacked in the order of the sequences.
    fed_back
        Which output is the new value of which carried one, by position.
    shifts
        Which carried value is only what another one was a step before, by position: an older tap of an output.
    truncate
        How many steps a gradient goes back; all of them for None.
    call
        The node of the loop, once there is one.
    """

    sequences: list[Node]
    carries: list[Node]
    following: list[Node]
    outputs: list[Node]
    stop: Node | None = None
    reverse: bool = False
    fed_back: Mapping[int, int] = field(default_factory=dict)
    shifts: Mapping[int, int] = field(default_factory=dict)
    truncate: int | None = None
    name: str | None = None
    captured: list[Node] = field(default_factory=list)
    taps: list[Node] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    count: Size = 0
    call: Node | None = None
    _runners: dict[tuple[ModuleType, frozenset[int], frozenset[int]], LoopRunner] = field(default_factory=dict)

    def results(self) -> list[Node]:
        """What one run of the step computes."""
        return [*self.following, *self.taps, *([] if self.stop is None else [self.stop])]

    @property
    def steps(self) -> int:
        """The index of the result that holds the number of steps taken."""
        return len(self.carries)

    @property
    def first_tap(self) -> int:
        """The index of the first result that is stacked: the first output."""
        return len(self.carries) + 1

    def tap(self, node: Node) -> int:
        """The index of the result that holds a value of each step; made if it is not there."""
        with _tapping:
            if node not in self.taps:
                self.specs.append(self.stacked_spec(len(self.specs), node))
                self.taps.append(node)
            return self.first_tap + self.taps.index(node)

    def stacked_spec(self, index: int, node: Node) -> Spec:
        """Shape and dtype of the result that holds a value of each step.

        A length that only a step knows becomes the result's own: it is the same in all steps.
        """
        inner = frozenset((*self.sequences, *self.carries))
        own = [isinstance(size, Length) and not inner.isdisjoint(reachable(list(size.nodes()))) for size in node.shape]
        shape = (self.count, *node.shape)
        if any(own):
            result = Node(OUTPUT, (self.call, index), {}, (), node.dtype)
            lengths = (axis_length(result, axis) if one else node.shape[axis - 1] for axis, one in enumerate(own, 1))
            shape = result.shape = (self.count, *lengths)
        return shape, node.dtype

    def within(self) -> tuple[list[Node], list[Node], list[Node], Hashable]:
        """What stands for the values of a step, what is captured, what a step computes, and the form of the loop.

        Two recordings for which these are alike run and differentiate alike.
        """
        back, shifts = tuple(self.fed_back.items()), tuple(self.shifts.items())
        form = (len(self.sequences), len(self.carries), len(self.outputs), self.stop is not None, self.reverse)
        settings = (*form, back, shifts, self.truncate, self.name)
        return [*self.sequences, *self.carries], self.captured, self.results(), settings

    def state_updates(self, call: Node) -> dict[Variable, Tensor]:
        """How the states of random draws among the carried values move on past the loop."""
        return {
            carry.payload: Tensor(output(call, position, *self.specs[position]))
            for position, carry in enumerate(self.carries)
            if carry.op is VARIABLE and carry.payload.default_update is not None
        }

    def runner(self, xp: ModuleType, needed: frozenset[int], unstacked: frozenset[int]) -> LoopRunner:
        """The compiled loop for a library.

        Parameters
        ----------
        xp
            The library.
        needed
            The results that are used.
        unstacked
            Those of them that only other loops read: a list of steps will do.
        """
        key = (xp, needed, unstacked)
        found = self._runners.get(key)
        return self._runners.setdefault(key, LoopRunner(self, xp, needed, unstacked)) if found is None else found


_INNER: Final = "inside a step"


def inner_placeholder(shape: Shape, dtype: Any, name: str | None = None, *, free: bool = False) -> Node:
    """A stand-in for a value inside a step, or for one that is free: it depends on nothing."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name, None if free else _INNER)  # type: ignore[arg-type]


def is_inner(node: Node) -> bool:
    """Whether a value stands for another one inside a step."""
    return node.op is PLACEHOLDER and node.payload is _INNER


def captured_by(results: Sequence[Node], inner: Sequence[Node]) -> list[Node]:
    """What a step uses that does not change from step to step, as far out as possible."""
    order, varying = varying_in(results, inner)
    given = frozenset(inner)
    found: dict[Node, None] = {}
    for node in order:
        if node in varying and node not in given:
            found.update((parent, None) for parent in node.inputs if parent not in varying)
    found.update((node, None) for node in results if node not in varying)
    calls = [node for node in found if node.dtype == "void"]
    for call in calls:  # a call with several results is captured result by result
        del found[call]
    return list(found)


def loop(body: LoopBody, n_steps: Size, sequences: Sequence[Tensor], initials: Sequence[Tensor]) -> Node:
    """Record a loop; its results are `output` nodes of the call that is returned."""
    body.taps = list(body.outputs)
    if body.stop is None:
        body.sequences, sequences = hoisted(body.results(), body.sequences, body.carries, sequences, n_steps)
    body.captured = captured_by(body.results(), [*body.sequences, *body.carries])
    args = (n_steps, tuple(t.node for t in sequences), tuple(t.node for t in initials), tuple(body.captured))
    call = Node(LOOP, args, {}, (), DType("void"), payload=body, name=body.name)
    body.count = n_steps
    if body.stop is not None:
        body.count = value_length(output(call, body.steps, (), as_dtype("int64")))
    finals = [(initial.node.shape, initial.dtype) for initial in initials]
    body.call = call
    body.specs = [*finals, ((), as_dtype("int64"))]
    for node in body.taps:
        body.specs.append(body.stacked_spec(len(body.specs), node))
    return call


def results_of(call: Node) -> tuple[list[Tensor], list[Tensor]]:
    """The final carried values of a loop, and its stacked outputs."""
    body: LoopBody = call.payload
    n = len(body.carries)
    finals = [Tensor(output(call, i, *body.specs[i])) for i in range(n)]
    stacked = [
        Tensor(output(call, i, *body.specs[i])) for i in range(body.first_tap, body.first_tap + len(body.outputs))
    ]
    for position, carry in body.fed_back.items():
        stands_for_last(stacked[position].node, finals[carry].node)
    return finals, stacked


_last: weakref.WeakKeyDictionary[Node, Node] = weakref.WeakKeyDictionary()


def stands_for_last(stacked: Node, final: Node) -> None:
    """Remember that the last entry of an array is a value at hand, for which the others need not be kept."""
    _last[stacked] = final


def last_entry(stacked: Node) -> Node | None:
    """The value that is the last entry of an array, where there is one at hand."""
    return _last.get(stacked)


def _rule(*args: Any, **attributes: Any) -> list[Any]:
    from .gradient import loop_rule

    return loop_rule(*args, **attributes)


LOOP = declare(
    Operation(
        "loop", lambda *args, payload: payload.specs, gradient=Joint(_rule), run=None, tags=frozenset({SUBGRAPH_TAG})
    )
)


def automatic_updates(nodes: Sequence[Node]) -> dict[Variable, Tensor]:
    """How the states of random draws among these nodes move on: past the call that drew from them, or by one draw."""
    updates: dict[Variable, Tensor] = {}
    for node in nodes:
        if node.op is VARIABLE and node.payload.default_update is not None:
            updates.setdefault(node.payload, node.payload.default_update)
        elif SUBGRAPH_TAG in node.op.tags:
            updates |= node.payload.state_updates(node)
    return updates
