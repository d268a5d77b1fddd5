"""Execution of loops: repeated calls of the compiled step, or the library's own loop if it has one.

A runner contains compiled functions and no part of the graph, so that it can be sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from types import ModuleType
from typing import Any

from nbm_xp.namespace import concrete_int, is_lazy, kernel, running_dtype

from ..graph import VARIABLE, Node, reachable
from ..operations import SUBGRAPH_TAG
from ..plans.plan import compile_plan
from ..tensor import Tensor
from ..variable import Variable
from .body import LoopBody

__all__ = ["LoopRunner", "automatic_updates", "loop_runner"]


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
    used = set(reachable([*taps, *([] if body.stop is None else [body.stop])], inner))
    live = set(finals)
    pending = list(finals)
    while True:
        pending += [p for p, node in enumerate(body.carries) if node in used and p not in live and p not in pending]
        if not pending:
            break
        live.update(pending)
        used.update(reachable([body.following[position] for position in pending], inner))
        pending = []
    return sorted(live), [position for position, node in enumerate(body.sequences) if node in used]


def _stacked(xp: ModuleType, items: list[Any], lazy: bool) -> Any:
    """Stack arrays; arrays of one shape are concatenated and reshaped, which is much faster than a new axis."""
    shape = items[0].shape
    if lazy or not shape or any(item.shape != shape for item in items):
        return xp.stack(items, axis=0)
    return xp.reshape(xp.concat(items, axis=0), (len(items), *shape))


def automatic_updates(nodes: Sequence[Node]) -> dict[Variable, Tensor]:
    """Return the new states of the random generators among these nodes: after one draw, or after a call with draws."""
    updates: dict[Variable, Tensor] = {}
    for node in nodes:
        if node.op is VARIABLE and node.payload.default_update is not None:
            updates.setdefault(node.payload, node.payload.default_update)
        elif SUBGRAPH_TAG in node.op.tags:
            updates |= node.payload.state_updates(node)
    return updates
