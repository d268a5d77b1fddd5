"""Trees of values: nested tuples, lists and dicts of arrays, which functions take and return.

Everything except tuples, lists and dicts is a leaf. Rebuilt trees keep their types and keys, including named tuples.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree, from left to right.

    Examples
    --------
    >>> leaves({"w": [1, (2, 3)], "b": None})
    [1, 2, 3, None]
    """
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Return the tree with `change` applied to every leaf.

    Examples
    --------
    >>> mapped(str, {"w": [1, (2, 3)]})
    {'w': ['1', ('2', '3')]}
    """
    if isinstance(tree, dict):
        made = copy.copy(tree)  # keeps subclasses such as OrderedDict and defaultdict
        made.update((key, mapped(change, item)) for key, item in tree.items())
        return made
    if isinstance(tree, tuple):
        parts = [mapped(change, item) for item in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [mapped(change, item) for item in tree]
    return change(tree)


def rebuilt(tree: Any, values: Iterable[Any]) -> Any:
    """Return the tree with its leaves replaced by `values`, from left to right.

    Examples
    --------
    >>> rebuilt({"w": [1, (2, 3)]}, "abc")
    {'w': ['a', ('b', 'c')]}
    """
    rest = iter(values)
    return mapped(lambda leaf: next(rest), tree)


def leaves_as(pattern: Any, tree: Any, name: str) -> list[Any]:
    """Return the leaves of a tree with the structure of `pattern`, in the order of the pattern.

    Raises
    ------
    TypeError
        If the tree has another structure; the message calls it `name`.

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
