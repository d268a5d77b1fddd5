"""The source of a loop: the statements of its step inside a ``for``, with locals for the carried values."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from ..node import Node
from ..plans.writer import Line, PlanWriter

__all__ = ["LoopWriter"]


class LoopWriter(PlanWriter):
    """Writes ``plan(count, rows, carries, captured)``, which takes the steps and keeps what is tapped in lists.

    `rows` holds, for each sequence, an iterable of what the steps read; the results are the final carried values, the
    lists, and the number of steps taken.
    """

    def __init__(
        self,
        sequences: Sequence[Node],
        carries: Sequence[Node],
        captured: Sequence[Node],
        following: Sequence[Node],
        taps: Sequence[Node],
        stop: Node | None,
        xp: ModuleType,
        lazy: bool,
    ) -> None:
        results = [*following, *taps, *([] if stop is None else [stop])]
        super().__init__([*sequences, *carries, *captured], results, xp, {}, lazy)
        names = super().parameters()
        self.rows = names[: len(sequences)]
        self.carried = names[len(sequences) : len(sequences) + len(carries)]
        self.held = names[len(sequences) + len(carries) :]
        self.stops = stop is not None

    def parameters(self) -> list[str]:
        """The names that the function is called with."""
        return ["_count", "_rows", "_carries", "_captured"]

    def framed(self, statements: list[Line], results: list[str]) -> list[Line]:
        """The statements of the step inside the loop."""
        n = len(self.carried)
        following, taps = results[:n], results[n : len(results) - self.stops]
        lists = [f"_kept{i}" for i in range(len(taps))]
        lines = [f"{_tuple(self.held)} = _captured", f"{_tuple(self.carried)} = _carries"]
        lines += [f"{name} = []" for name in lists]
        lines += [f"_put{i} = {name}.append" for i, name in enumerate(lists)]
        if self.stops:
            lines.append("_most, _count = _count, 0")
        after = [f"_put{i}({value})" for i, value in enumerate(taps)]
        after += [f"{', '.join(self.carried)} = {', '.join(following)}"] if n else []
        after += ["_count += 1", f"if {results[-1]}: break"] if self.stops else []
        return [
            *((line, None) for line in lines),
            (self._head(), None),
            *((f"    {text}", node) for text, node in statements),
            *((f"    {line}", None) for line in after or ["pass"]),
            (f"return {_tuple(self.carried)}, {_tuple(lists)}, _count", None),
        ]

    def _head(self) -> str:
        if not self.rows:
            return f"for _ in range({'_most' if self.stops else '_count'}):"
        if len(self.rows) == 1:
            return f"for {self.rows[0]} in _rows[0]:"
        return f"for {', '.join(self.rows)} in zip(*_rows):"


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"
