"""The body of a loop: a step, recorded once, and its properties.

A step maps entries of sequences and carried values to new carried values and outputs. Values from outside the step are
captured and computed once, before the loop. The results of a loop are the final carried values, the number of steps
taken and, stacked over the steps, the outputs and any other values of the step: residuals are the values that its
gradient needs. Unused results are not stored, so that memory grows with the number of steps only if necessary.
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
    """Return the nodes of a step, inputs first, and those that change from step to step."""
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
        Placeholders of the entry of each sequence and of each carried value inside the step.
    following
        New values of the carried values.
    outputs
        Outputs of the step.
    stop
        Scalar that ends the loop after the step in which it is true.
    reverse
        Whether steps run from the last to the first; outputs are stacked in the order of the sequences.
    fed_back
        Positions of outputs, mapped to the positions of the carried values that they replace.
    shifts
        Positions of carried values that are the previous value of another one (an older tap of an output), mapped to
        the position of the other.
    truncate
        Number of steps over which gradients are propagated back; None for all.

    Attributes
    ----------
    captured
        Values from outside the step.
    call
        Node of the loop.
    count
        Number of steps taken.
    runners
        Compiled loops by library and needed results.
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
        """Return the results of one step."""
        return [*self.following, *self.outputs, *([] if self.stop is None else [self.stop])]

    @property
    def steps(self) -> int:
        """Index of the result that is the number of steps taken."""
        return len(self.carries)

    @property
    def first_tap(self) -> int:
        """Index of the first stacked result, the first output."""
        return len(self.carries) + 1

    @cached_property
    def tapped(self) -> list[Node]:
        """Nodes of the results that can be stacked: the outputs, then all others that change from step to step."""
        order, varying = varying_in(self.results(), [*self.sequences, *self.carries])
        found = {_identity(node): node for node in order if node in varying and not node.is_call}
        for call in (node for node in order if node in varying and node.is_call):
            loop = call.payload
            count = loop.n_results() if loop is not None else len(call.op.infer(*call.args, **call.attributes))
            for index in range(count):
                if (call, index) not in found:  # not used so far
                    found[call, index] = result(call, index).node
        for node in self.outputs:
            found.pop(_identity(node), None)
        return [*self.outputs, *found.values()]

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {_identity(node): place for place, node in reversed([*enumerate(self.tapped)])}

    def n_results(self) -> int:
        """Return the number of results."""
        return self.first_tap + len(self.tapped)

    def tap(self, node: Node) -> int:
        """Return the index of the result that stacks a value of the step."""
        if node in self.outputs:
            return self.first_tap + self.outputs.index(node)
        return self.first_tap + self._places[_identity(node)]

    def tapped_at(self, index: int) -> Node:
        """Return the node of the step that a result stacks."""
        place = index - self.first_tap
        return self.outputs[place] if place < len(self.outputs) else self.tapped[place]

    def spec(self, index: int) -> Spec:
        """Return the shape and dtype of a result."""
        found = self._specs.get(index)
        return self._specs.setdefault(index, self._spec(index)) if found is None else found

    def _spec(self, index: int) -> Spec:
        """Return the shape and dtype of a result; lengths known only inside a step become symbols of the result."""
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
        """Return the placeholders of the step, the captured values, the step's results and the settings of the loop.

        Loops for which these are equal have the same values and gradients.
        """
        back, shifts = tuple(self.fed_back.items()), tuple(self.shifts.items())
        form = (len(self.sequences), len(self.carries), len(self.outputs), self.stop is not None, self.reverse)
        settings = (*form, back, shifts, self.truncate, self.name)
        return [*self.sequences, *self.carries], self.captured, self.results(), settings

    def state_updates(self, call: Node) -> dict[Variable, Tensor]:
        """Return the states after the loop of the random generators among the carried values."""
        return {
            carry.payload: result(call, position)
            for position, carry in enumerate(self.carries)
            if carry.op is VARIABLE and carry.payload.default_update is not None
        }


def _identity(node: Node) -> Hashable:
    """Return a key that is equal for nodes of the same result of a call."""
    return node.args if node.op is OUTPUT else node
