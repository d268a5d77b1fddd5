"""The body of a loop: a step, recorded once, and what is known of it.

A step maps slices of sequences and carried values to new carried values and outputs. What it uses from outside is
captured: it is computed once, before the loop. A loop gives the final carried values, the number of steps taken, and
stacked over the steps whatever is tapped: its outputs, and the residuals, values of each step that its gradient turns
out to need. What is not asked for is not kept, so that memory grows with the number of steps only where it must.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lengths import Length, Size, axis_length
from ..node import OUTPUT, VARIABLE, Node, Spec
from ..tensor import Tensor, output
from ..traversal import reachable
from ..variable import Variable

__all__ = ["LoopBody"]

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
    captured: list[Node] = field(default_factory=list)
    taps: list[Node] = field(default_factory=list)
    specs: list[Spec] = field(default_factory=list)
    count: Size = 0
    call: Node | None = None
    runners: dict[Hashable, Any] = field(default_factory=dict)

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
