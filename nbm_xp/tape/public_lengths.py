"""Lengths as users see them, and as they hand them over.

What is known now is an int; that of a variable remembers that it may change.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .lengths import Length, Size, is_size

__all__ = ["KnownLength", "as_length", "public_length"]


class KnownLength(int):
    """The length of a Variable's axis: an integer now, which remembers that it may change.

    Python's own arithmetic sees an int. What is recorded with it stays right when the variable is set to an array of
    another shape.
    """

    length: Length

    def __new__(cls, length: Length) -> KnownLength:
        """An int of the value that the length has now."""
        made = super().__new__(cls, length.__index__())
        made.length = length
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def _public(left: Any, right: Any, operate: Callable[[Any, Any], Any]) -> Any:
    """Arithmetic on what users see of lengths: exact where both are integers, Python's own otherwise."""
    plain = operate(*(int(side) if type(side) is KnownLength else side for side in (left, right)))
    if type(plain) is not int or not (is_size(left) and is_size(right)):
        return plain
    return public_length(operate(as_length(left), as_length(right)))


def _operators(operate: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda self, other: _public(self, other, operate), lambda self, other: _public(other, self, operate)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    for _side, _operator in zip(("", "r"), _operators(getattr(operator, _name)), strict=True):
        setattr(KnownLength, f"__{_side}{_name}__", _operator)


def as_length(size: Any) -> Any:
    """What is recorded of a length that a user gives: a symbol for a known one of a variable."""
    return size.length if type(size) is KnownLength else size


def public_length(size: Size) -> Size:
    """What users see of a length: an int wherever it can be told now."""
    if isinstance(size, Length) and size.hint is not None:
        return KnownLength(size)
    return size
