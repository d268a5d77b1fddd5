"""What a plan calls: an operation's `run`, bound to a library."""

from __future__ import annotations

from functools import partial
from typing import Any

__all__ = ["BoundRun"]


class BoundRun(partial[Any]):
    """A `run` bound to its library, equal to another of the same, so that equal plans are found again."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundRun) and self.func is other.func and self.args[0] is other.args[0]

    def __hash__(self) -> int:
        return hash((self.func, id(self.args[0])))
