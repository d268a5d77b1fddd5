"""What values become along a batch, and what all translations within one graph share.

Lengths follow the blocks: in shapes, the length of the batch stands for that of a block; in arithmetic (the mean's
divisor), for the number of all examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..dtypes import as_dtype
from ..lengths import Length, Size, axis_length
from ..node import PLACEHOLDER, Node, leaf

__all__ = ["PARTIAL", "SPLIT", "WHOLE", "Frame", "Value", "values_in"]

WHOLE, SPLIT, PARTIAL = "whole", "split", "partial"


@dataclass(frozen=True, eq=False)
class Value:
    """A translated value.

    Parameters
    ----------
    node
        What computes it: for a whole value once, else in each block.
    kind
        ``WHOLE``, ``SPLIT`` or ``PARTIAL``.
    axis
        The axis of a split value along which blocks lie.
    stage
        How many rounds of combining parts come before it.
    how
        What combines the parts of a partial value: ``"sum"``, ``"prod"``, ``"max"``, ``"min"``, ``"any"``, ``"all"``.
    """

    node: Node
    kind: str = WHOLE
    axis: int = 0
    stage: int = 0
    how: str = "sum"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)


def values_in(args: Iterable[Any]) -> list[Value]:
    """The translated values among arguments, and in tuples of them."""
    found: list[Value] = []
    for arg in args:
        if isinstance(arg, Value):
            found.append(arg)
        elif isinstance(arg, tuple):
            found += values_in(arg)
    return found


def _number(name: str, dtype: str = "int64") -> Node:
    return leaf(PLACEHOLDER, (), 0, as_dtype(dtype), name)


class Frame:
    """What all translations within one graph share: the symbols of a block, and where each new value is computed.

    Attributes
    ----------
    extent
        A stand-in whose only axis is as long as a block.
    total, offset, first
        The number of all examples, how many come before this block, whether this is the first one.
    blocks, stages
        The stage of each value computed in blocks, and of each whole one where that is not 0.
    combined, how
        For each partial value that is asked for whole, the whole, and how its parts are combined.
    written_as
        Lengths whose form does not show that they are multiples of the batch, and the same in a form that does.
    """

    def __init__(self) -> None:
        self.extent = leaf(PLACEHOLDER, None, 1, as_dtype("int64"), "extent")
        self.total, self.offset, self.first = _number("total"), _number("offset"), _number("first", "bool")
        self.batch = axis_length(self.extent, 0)
        self.blocks: dict[Node, int] = {self.extent: 0, self.offset: 0, self.first: 0}
        self.stages: dict[Node, int] = {}
        self.combined: dict[Node, Value] = {}
        self.how: dict[Node, str] = {}
        self.written_as: dict[Size, Size] = {}
        self._multiples: dict[Size, Size | None] = {}

    def stage_of(self, node: Node) -> int:
        """The stage in which a new value is computed."""
        return self.blocks.get(node, self.stages.get(node, 0))

    def enter(self, value: Value) -> Value:
        """Note where a value is computed."""
        (self.stages if value.kind == WHOLE else self.blocks)[value.node] = value.stage
        return value

    def holds_batch(self, size: Any) -> bool:
        """Whether the length of a block decides a length."""
        return isinstance(size, Length) and any(node is self.extent for node in size.nodes())

    def mentions_batch(self, value: Any) -> bool:
        """Whether the length of a block decides a length among arguments or attributes."""
        if isinstance(value, dict):
            return any(map(self.mentions_batch, value.values()))
        if isinstance(value, (tuple, list)):
            return any(map(self.mentions_batch, value))
        return self.holds_batch(value)

    def multiple(self, size: Size) -> Size | None:
        """How many entries each example has along an axis of this length; None if that cannot be told."""
        if not self.holds_batch(size):
            return None
        if size not in self._multiples:
            rest: Any = size % self.batch
            count: Any = size // self.batch
            is_one = type(rest) is int and rest == 0 and not self.holds_batch(count)
            self._multiples[size] = count if is_one else None
        return self._multiples[size]
