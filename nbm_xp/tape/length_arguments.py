"""Lengths that are given as recorded integers."""

from __future__ import annotations

from typing import Any

from .concrete import lasting_number
from .lengths import Length, Size, value_length
from .node import Node
from .public_lengths import as_length
from .tensor import Tensor

__all__ = ["integer_length", "recorded_length"]


def integer_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes; an int where nothing can change it."""
    length = recorded_length(value)
    if isinstance(value, Tensor) and isinstance(length, Length):
        lasting = lasting_number(value.node)
        return length if lasting is None else lasting
    return length


def recorded_length(value: Any) -> Any:
    """A length from an int, a Length or an integer Tensor without axes, as it was recorded: nothing is looked at."""
    if not isinstance(value, Tensor):
        return as_length(value)
    if value.ndim or value.dtype[0] not in "iu":
        raise TypeError(f"a length must be an integer Tensor without axes, got {value!r}")
    return _recorded_length(value.node)


def _recorded_length(node: Node) -> Size:
    """The length that a scalar was made of (``shape(x)[0]``), or the scalar's value."""
    if node.op.name == "getitem" and node.args[0].op.name == "stack" and type(node.args[1][0]) is int:
        node = node.args[0].args[0][node.args[1][0]]
    if node.op.name == "scalar" and isinstance(node.args[0], (int, Length)):
        return node.args[0]
    return value_length(node)
