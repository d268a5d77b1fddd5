"""Stand-ins: placeholders for what a step of a loop, or a function that is one call, will be given.

They are told apart from a user's placeholders, of which a graph says that they are missing.
"""

from __future__ import annotations

from typing import Any, Final

from .dtypes import as_dtype
from .node import PLACEHOLDER, Node, Shape, leaf

__all__ = ["inner_placeholder", "is_inner"]

_INNER: Final = "inside a step"


def inner_placeholder(shape: Shape, dtype: Any, name: str | None = None, *, free: bool = False) -> Node:
    """A stand-in for a value inside a step, or for one that is free: it depends on nothing."""
    return leaf(PLACEHOLDER, shape, len(shape), as_dtype(dtype), name, None if free else _INNER)  # type: ignore[arg-type]


def is_inner(node: Node) -> bool:
    """Whether a value stands for another one inside a step."""
    return node.op is PLACEHOLDER and node.payload is _INNER
