"""The body of a loop: a step, recorded once, its properties, and its execution.

A step maps entries of sequences and carried values to new carried values and outputs. Values from outside the step are
captured and computed once, before the loop. The results of a loop are the final carried values, the number of steps
taken and, stacked over the steps, the outputs and any other values of the step: residuals are the values that its
gradient needs. Unused results are not stored, so that memory grows with the number of steps only if necessary.

A loop runs as repeated calls of the compiled step, or as the library's own loop if it has one. A runner contains
compiled functions and no part of the graph, so that it can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from types import ModuleType
from typing import Any

from nbm_xp.namespace import concrete_int, is_lazy, kernel, running_dtype

from ..dtypes import as_dtype
from ..graph import OUTPUT, VARIABLE, Node, reachable
from ..lengths import Length, Size, axis_length
from ..operations import Spec
from ..plans.plan import compile_plan
from ..tensor import Tensor, result
from ..variable import Variable


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


class LoopRunner:
    """A loop compiled for a library and a set of needed results.

    Parameters
    ----------
    body
        Body of the loop.
    xp
        Namespace of the library.
    needed
        Indices of the needed results.
    unstacked
        Indices of the results that may be lists with an entry for each step.
    """

    def __init__(self, body: LoopBody, xp: ModuleType, needed: frozenset[int], unstacked: frozenset[int]) -> None:
        self.xp = xp
        self.lazy = is_lazy(xp)
        self.label = body.name or "scan"
        self.reverse = body.reverse
        self.stops = body.stop is not None
        self.first_tap = body.first_tap
        self.needed = sorted(needed)
        self.kept = sorted(index for index in needed if index >= body.first_tap)
        self.stacked = [index not in unstacked for index in self.kept]
        taps = [body.tapped_at(index) for index in self.kept]
        finals = [position for position in range(len(body.carries)) if position in needed]
        self.live, self.read = _alive(body, finals, taps)
        self.specs = [(tuple(n if type(n) is int else None for n in node.shape), node.dtype) for node in taps]
        sequences = [body.sequences[position] for position in self.read]
        carries = [body.carries[position] for position in self.live]
        following = [body.following[position] for position in self.live]
        results = [*following, *taps, *([] if body.stop is None else [body.stop])]
        self.step = compile_plan([*sequences, *carries, *body.captured], results, xp, lazy=self.lazy)
        self.own = kernel("compiling.loop", xp)
        self.compiled: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": {}}

    def __call__(
        self, n_steps: Any, sequences: tuple[Any, ...], initials: tuple[Any, ...], captured: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Run the loop and return the needed results, in order."""
        count = concrete_int(n_steps)
        rows = [sequences[position] for position in self.read]
        for sequence in sequences:
            length = len(sequence) if isinstance(sequence, list) else sequence.shape[0]
            if length < count:
                raise ValueError(f"n_steps of {self.label} is {count}, but a sequence has only {length} entries")
        if count < 0:
            raise ValueError(f"n_steps of {self.label} must be 0 or more, got {count}")
        carries = tuple(initials[position] for position in self.live)
        if not count:
            finals, stacks, taken = carries, self._of_no_steps(rows, carries, captured), 0
        else:
            finals, stacks, taken = self._taken(count, rows, carries, captured)
        found = {self.first_tap - 1: taken, **dict(zip(self.live, finals, strict=True))}
        found |= zip(self.kept, stacks, strict=True)
        return tuple([found[index] for index in self.needed])

    def _taken(self, count: int, rows: list[Any], carries: tuple[Any, ...], captured: tuple[Any, ...]) -> Any:
        if self.lazy and self.stops:
            return self._lazily_until(count, rows, carries, captured)
        if self.own is not None:
            own = self.own(self.step, count, rows, carries, captured, self.reverse, self.stops, self.compiled)
            if own is not None:
                return own
        entries = [self._entries(sequence, count) for sequence in rows]
        finals, lists, taken = self._step_by_step(
            zip(*entries, strict=True) if rows else repeat((), count), carries, captured
        )
        if self.reverse:
            for items in lists:
                items.reverse()
        stacks = zip(lists, self.stacked, strict=True)
        return finals, [_stacked(self.xp, items, self.lazy) if apart else items for items, apart in stacks], taken

    def _step_by_step(self, entries: Iterable[tuple[Any, ...]], carries: tuple[Any, ...], captured: Any) -> Any:
        """Return the final carried values, the stored values of each step and the number of steps taken."""
        step, stops, n_carries, taken = self.step, self.stops, len(carries), 0
        lists: list[list[Any]] = [[] for _ in self.kept]
        puts = [items.append for items in lists]
        for entry in entries:
            results = step(*entry, *carries, *captured)
            carries = results[:n_carries]
            for put, value in zip(puts, results[n_carries:]):  # noqa: B905  (the condition comes last)
                put(value)
            taken += 1
            if stops and results[-1]:
                break
        return carries, lists, taken

    def _entries(self, sequence: Any, count: int) -> Sequence[Any]:
        """Return the entries of a sequence in the order of the steps."""
        if isinstance(sequence, list):
            rows = sequence if len(sequence) == count else sequence[:count]
        elif sequence.ndim > 1 and not self.lazy:
            rows = self.xp.unstack(sequence if sequence.shape[0] == count else sequence[:count, ...], axis=0)
        else:  # entries must be arrays; iteration may yield scalars
            rows = [sequence[t, ...] for t in range(count)]
        return rows[::-1] if self.reverse else rows

    def _of_no_steps(self, rows: list[Any], carries: tuple[Any, ...], captured: tuple[Any, ...]) -> list[Any]:
        """Return stacks of length 0 with the shapes of the step's results."""
        shapes = [shape for shape, _ in self.specs]
        if any(None in shape for shape in shapes):  # found by running the step on ones
            ones = [self.xp.ones(tuple(sequence.shape[1:]), dtype=sequence.dtype) for sequence in rows]
            results = self.step(*ones, *carries, *captured)[len(self.live) :]
            shapes = [tuple(value.shape) for value in results[: len(self.kept)]]
        return [
            self.xp.zeros((0, *shape), dtype=running_dtype(self.xp, dtype))
            for shape, (_, dtype) in zip(shapes, self.specs, strict=True)
        ]

    def _lazily_until(self, count: int, rows: list[Any], carries: tuple[Any, ...], captured: tuple[Any, ...]) -> Any:
        """Run every step, but keep the carried values after the first step in which the condition is true."""
        if self.kept:
            raise TypeError(
                f"{self.label} with until cannot stack its outputs on a lazy library: how many steps there are "
                "depends on data; use only the last value, outputs[-1]"
            )
        xp, stopped = self.xp, None
        for t in range(count):
            *new, stop = self.step(*[sequence[t, ...] for sequence in rows], *carries, *captured)
            if stopped is not None:
                new = [xp.where(stopped, old, value) for old, value in zip(carries, new, strict=True)]
                stop = xp.logical_or(stopped, stop)
            carries, stopped = tuple(new), stop
        return carries, [], None


def loop_runner(xp: ModuleType, body: LoopBody, needed: frozenset[int], unstacked: frozenset[int]) -> LoopRunner:
    """Return the loop compiled for a library and a set of needed results, cached in the body."""
    key = (xp, needed, unstacked)
    found: LoopRunner | None = body.runners.get(key)
    if found is None:
        found = body.runners.setdefault(key, LoopRunner(body, xp, needed, unstacked))
    return found


def _alive(body: LoopBody, finals: Sequence[int], taps: Sequence[Node]) -> tuple[list[int], list[int]]:
    """Return the positions of the carried values and sequences on which the wanted results depend."""
    inner = [*body.sequences, *body.carries]

    def reached(live: set[int]) -> set[Node]:
        return set(reachable([*taps, body.stop, *(body.following[position] for position in live)], inner))

    live = set(finals)
    used = reached(live)
    while more := {position for position, node in enumerate(body.carries) if node in used} - live:
        live |= more
        used = reached(live)
    return sorted(live), [position for position, node in enumerate(body.sequences) if node in used]


def _stacked(xp: ModuleType, items: list[Any], lazy: bool) -> Any:
    """Stack arrays; arrays of one shape are concatenated and reshaped, which is much faster than a new axis."""
    shape = items[0].shape
    if lazy or not shape or any(item.shape != shape for item in items):
        return xp.stack(items, axis=0)
    return xp.reshape(xp.concat(items, axis=0), (len(items), *shape))
