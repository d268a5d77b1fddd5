"""Trees of values: arrays in tuples, lists and dicts, as functions take and return them, taken apart and put together.

What is no tuple, list or dict is a leaf. A tree is put together again after its own pattern, so that a named tuple
stays one and a dict keeps its keys.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["leaves", "leaves_as", "mapped", "rebuilt"]


def leaves(tree: Any) -> list[Any]:
    """Everything in a tree that is no tuple, list or dict, from left to right.

    Examples
    --------
    >>> leaves({"w": [1, (2, 3)], "b": None})
    [1, 2, 3, None]
    """
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with every leaf changed.

    Examples
    --------
    >>> mapped(str, {"w": [1, (2, 3)]})
    {'w': ['1', ('2', '3')]}
    """
    if isinstance(tree, dict):
        made = copy.copy(tree)  # of its own kind, an OrderedDict or a defaultdict too
        made.update((key, mapped(change, item)) for key, item in tree.items())
        return made
    if isinstance(tree, tuple):
        parts = [mapped(change, item) for item in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [mapped(change, item) for item in tree]
    return change(tree)


def rebuilt(tree: Any, values: Iterable[Any]) -> Any:
    """The same tree with these leaves, from left to right.

    Examples
    --------
    >>> rebuilt({"w": [1, (2, 3)]}, "abc")
    {'w': ['a', ('b', 'c')]}
    """
    rest = iter(values)
    return mapped(lambda leaf: next(rest), tree)


def leaves_as(pattern: Any, tree: Any, name: str) -> list[Any]:
    """The leaves of a tree that has its leaves where `pattern` has them, in the order of the pattern.

    Raises
    ------
    TypeError
        If the tree is built otherwise; the message calls it `name`.

    Examples
    --------
    >>> leaves_as({"w": [1, 2], "b": 3}, {"b": 6, "w": (4, 5)}, "tangents")
    [4, 5, 6]
    """
    found: list[Any] = []

    def walk(mould: Any, part: Any) -> None:
        if isinstance(mould, dict):
            if not isinstance(part, dict) or set(part) != set(mould):
                raise TypeError(f"{name} must have a dict with the keys {list(mould)} here, got {_told(part)}")
            for key, item in mould.items():
                walk(item, part[key])
        elif isinstance(mould, (tuple, list)):
            if not isinstance(part, (tuple, list)) or len(part) != len(mould):
                raise TypeError(f"{name} must have a tuple or list of {len(mould)} here, got {_told(part)}")
            for item, piece in zip(mould, part, strict=True):
                walk(item, piece)
        elif isinstance(part, (tuple, list, dict)):
            raise TypeError(f"{name} must have an array here, got {_told(part)}")
        else:
            found.append(part)

    walk(pattern, tree)
    return found


def _told(part: Any) -> str:
    if isinstance(part, dict):
        return f"a dict with the keys {list(part)}"
    if isinstance(part, (tuple, list)):
        return f"a {type(part).__name__} of {len(part)}"
    return f"one {type(part).__name__}"
