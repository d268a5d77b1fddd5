"""Short lengths: how much arithmetic the length of an axis carries along before it starts anew.

The length of an axis is written out in the lengths of leaves, so that equal ones are seen to be equal. Left alone, the
thousandth slice of a slice would have a length that takes a page to write. Past a bound, an axis becomes a symbol of
its own, whose value a plan reads off the array. What it was computed from is kept aside, to tell its value where
nothing but variables decides it.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol, TypeVar

from .lengths import Length, Size, axis_length, known

__all__ = ["Hidden", "shapes_changed", "with_short_lengths"]

_LONGEST = 32


class _HasShape(Protocol):
    """A node, as far as its shape goes."""

    shape: Any
    hidden: Any


N = TypeVar("N", bound=_HasShape)

_changes = itertools.count(1)
_version = 0


def shapes_changed() -> None:
    """Say that a variable has got a value of another shape."""
    global _version
    _version = next(_changes)


class Hidden:
    """The lengths behind a node's own symbols, and what they are now."""

    __slots__ = ("lengths", "numbers", "version")

    def __init__(self, lengths: tuple[Size, ...]) -> None:
        self.lengths = lengths
        self.numbers: tuple[int | None, ...] = ()
        self.version = -1

    def values(self) -> tuple[int | None, ...]:
        """The lengths that variables decide, as they are now; found without recursion, however long the history."""
        now = _version
        stack = [self] if self.version != now else []
        while stack:
            hidden = stack[-1]
            behind = [node.hidden for size in hidden.lengths if isinstance(size, Length) for node in size.nodes()]
            waiting = [other for other in behind if other is not None and other.version != now]
            if waiting:
                stack += waiting
                continue
            hidden.numbers = tuple(map(known, hidden.lengths))
            hidden.version = now
            stack.pop()
        return self.numbers


def with_short_lengths(node: N) -> N:
    """The node, its lengths replaced by symbols of its own where they take too long to write."""
    for length in node.shape:
        if type(length) is Length and length.weight > _LONGEST:
            node.hidden = Hidden(node.shape)
            node.shape = tuple(
                axis_length(node, axis) if isinstance(size, Length) and size.weight > _LONGEST else size
                for axis, size in enumerate(node.shape)
            )
            node.hidden.values()
            break
    return node
