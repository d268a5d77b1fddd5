"""What each line of a plan computes, so that an error there names the user's line that recorded it.

A plan carries its table along and asks it only when an error has been raised: a run without one pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from types import FrameType, TracebackType
from typing import Any, cast

from ..lengths import Length, Size, known
from ..node import Node
from ..printing import call_name
from ..source_locations import add_note, explain, met, recorded_as

__all__ = ["LineTable"]


class _Notes:
    """The notes alone, ready to be sent to another process."""

    def __init__(self, notes: Sequence[str | None]) -> None:
        self.notes = notes

    def explain(self, error: BaseException) -> None:
        """Say which call raised an error in the plan."""
        note = self.notes[cast("TracebackType", error.__traceback__).tb_lineno]
        if note is not None:
            add_note(error, note)


class LineTable:
    """The nodes that the lines of a plan compute, counted from 1; None for a line that computes nothing.

    What wrote the plan, a `PlanWriter`, knows the names of values there.
    """

    __slots__ = ("nodes", "source", "writer")

    def __init__(self, nodes: Sequence[Node | None], source: str, writer: Any) -> None:
        self.nodes = nodes
        self.source = source
        self.writer = writer

    def explain(self, error: Exception) -> None:
        """Say which call raised an error in the plan, and in a note on what, and where it was recorded."""
        traceback = cast("TracebackType", error.__traceback__)
        statement = self.nodes[traceback.tb_lineno]
        if statement is None:
            return
        node = self._failed(statement, self._segment(traceback))
        operands = [text for arg in node.args for text in self._operand(arg, traceback.tb_frame)]
        explain(error, call_name(node), operands, node.source_location)

    def __reduce__(self) -> tuple[Any, ...]:
        notes = [
            None if node is None else recorded_as(call_name(node), [], node.source_location) for node in self.nodes
        ]
        return _Notes, (notes,)

    def _segment(self, traceback: TracebackType) -> str | None:
        """The part of the line that failed."""
        positions = traceback.tb_frame.f_code.co_positions()
        first, last, start, end = next(islice(positions, traceback.tb_lasti // 2, None), (None,) * 4)
        if first is None or first != last or start is None:
            return None
        return self.source.splitlines()[first - 1].encode()[start:end].decode()

    def _failed(self, statement: Node, segment: str | None) -> Node:
        """The innermost call of a statement that the failed part of the line belongs to."""
        if segment is None:
            return statement
        found = [(len(text), node) for node, text in self._calls(statement) if segment in text]
        return min(found, key=lambda pair: pair[0])[1] if found else statement

    def _calls(self, node: Node) -> Iterator[tuple[Node, str]]:
        yield node, self.writer.expression(node)
        for operand in self.writer.operands[node]:
            if operand in self.writer.inlined:
                yield from self._calls(operand)

    def _operand(self, arg: Any, frame: FrameType) -> list[str]:
        """The dtype and shape of an argument as it was met, as far as the plan still holds it."""
        if isinstance(arg, tuple):
            return [text for item in arg for text in self._operand(item, frame)]
        if not isinstance(arg, Node):
            return []
        name = self.writer.names.get(self.writer.resolve(arg))
        value = frame.f_locals.get(name) if name is not None else None
        if hasattr(value, "shape"):
            return met([value])
        lengths = [self._length(length, frame) for length in arg.shape]
        return [f"{arg.dtype}[{', '.join(lengths)}]"]

    def _length(self, length: Size, frame: FrameType) -> str:
        number = known(length)
        if number is None and isinstance(length, Length):
            try:
                number = eval(self.writer.written(length), frame.f_globals, frame.f_locals)
            except (ArithmeticError, AttributeError, LookupError, NameError, TypeError):  # not computed, or gone
                return "?"
        return str(number)
