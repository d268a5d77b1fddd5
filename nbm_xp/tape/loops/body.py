"""The body of a loop: a step, recorded once, and what is known of it.

A step maps slices of sequences and carried values to new carried values and outputs. What it uses from outside is
captured: it is computed once, before the loop. A loop gives the final carried values, the number of steps taken, and
stacked over the steps its outputs and whatever else a step computes: residuals are values of each step that its
gradient turns out to need. What is not asked for is not kept, so that memory grows with the number of steps only where
it must.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..dtypes import as_dtype
from ..graph import OUTPUT, VARIABLE, Node, reachable
from ..lengths import Length, Size, axis_length
from ..operations import Spec
from ..tensor import Tensor, result
from ..variable import Variable

__all__ = ["LoopBody", "varying_in"]


def varying_in(results: Sequence[Node], inner: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """What a step computes, inputs first, and what of it changes from step to step."""
    varying = set(inner)
    order = reachable(results, inner)
    for node in order:
        if any(parent in varying for parent in node.inputs):
            varying.add(node)
    return order, varying


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

    Attributes
    ----------
    captured
        What the step uses from outside.
    call
        The node of the loop.
    count
        How many steps are taken.
    runners
        The compiled loops, by library and by what is needed of the results.
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
    captured: list[Node] = field(default_factory=list, init=False)
    call: Node | None = field(default=None, init=False)
    count: Size = field(default=0, init=False)
    runners: dict[Hashable, Any] = field(default_factory=dict, init=False)
    _specs: dict[int, Spec] = field(default_factory=dict, init=False)

    def results(self) -> list[Node]:
        """What one run of the step computes."""
        return [*self.following, *self.outputs, *([] if self.stop is None else [self.stop])]

    @property
    def steps(self) -> int:
        """The index of the result that holds the number of steps taken."""
        return len(self.carries)

    @property
    def first_tap(self) -> int:
        """The index of the first result that is stacked: the first output."""
        return len(self.carries) + 1

    @cached_property
    def tapped(self) -> list[Node]:
        """What is stacked, as far as it is asked for: the outputs, then all else that changes from step to step."""
        order, varying = varying_in(self.results(), [*self.sequences, *self.carries])
        found = {_identity(node): node for node in order if node in varying and not node.is_call}
        for call in (node for node in order if node in varying and node.is_call):
            loop = call.payload
            count = loop.n_results() if loop is not None else len(call.op.infer(*call.args, **call.attributes))
            for index in range(count):
                if (call, index) not in found:  # which nothing has asked for before
                    found[call, index] = result(call, index).node
        for node in self.outputs:
            found.pop(_identity(node), None)
        return [*self.outputs, *found.values()]

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {_identity(node): place for place, node in reversed([*enumerate(self.tapped)])}

    def n_results(self) -> int:
        """How many results there are."""
        return self.first_tap + len(self.tapped)

    def tap(self, node: Node) -> int:
        """The index of the result that holds a value of each step."""
        if node in self.outputs:
            return self.first_tap + self.outputs.index(node)
        return self.first_tap + self._places[_identity(node)]

    def tapped_at(self, index: int) -> Node:
        """What a result holds of each step."""
        place = index - self.first_tap
        return self.outputs[place] if place < len(self.outputs) else self.tapped[place]

    def spec(self, index: int) -> Spec:
        """Shape and dtype of a result."""
        found = self._specs.get(index)
        return self._specs.setdefault(index, self._spec(index)) if found is None else found

    def _spec(self, index: int) -> Spec:
        """Of a stacked one, a length that only a step knows becomes its own: it is the same in all steps."""
        assert self.call is not None
        if index < self.steps:
            initial = self.call.args[2][index]
            return initial.shape, initial.dtype
        if index == self.steps:
            return (), as_dtype("int64")
        node = self.tapped_at(index)
        inner = frozenset((*self.sequences, *self.carries))
        own = [isinstance(size, Length) and not inner.isdisjoint(reachable(list(size.nodes()))) for size in node.shape]
        shape = (self.count, *node.shape)
        if any(own):
            stack = Node(OUTPUT, (self.call, index), {}, (), node.dtype)
            lengths = (axis_length(stack, axis) if one else node.shape[axis - 1] for axis, one in enumerate(own, 1))
            shape = stack.shape = (self.count, *lengths)
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
            carry.payload: result(call, position)
            for position, carry in enumerate(self.carries)
            if carry.op is VARIABLE and carry.payload.default_update is not None
        }


def _identity(node: Node) -> Hashable:
    """Equal for nodes of one result of a call."""
    return node.args if node.op is OUTPUT else node
