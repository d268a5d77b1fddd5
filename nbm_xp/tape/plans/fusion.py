"""Which operations are computed for another alone, so that one call can take the place of all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..node import Node

__all__ = ["given_to", "written_within"]


def _path(
    names: Sequence[str], arg: Any, resolve: Callable[[Node], Node], alone: Collection[Node]
) -> list[Node] | None:
    """The operations of some names that compute an argument, one within another, the outermost first."""
    node = resolve(arg) if isinstance(arg, Node) else None
    if node is None or node not in alone or node.op.name != names[0] or node.attributes:
        return None
    if len(names) == 1:
        return [node]
    for inner in node.args:
        path = _path(names[1:], inner, resolve, alone)
        if path is not None:
            return [node, *path]
    return None


def given_to(
    names: Sequence[str], arg: Any, resolve: Callable[[Node], Node], alone: Collection[Node]
) -> list[Any] | None:
    """What operations of some names are given that compute an argument, one within another.

    Parameters
    ----------
    names : sequence of str
        The outermost operation first.
    arg : Any
        The argument.
    resolve : callable
        Gives the node that is computed in the place of another.
    alone : collection of Node
        Those that are used once.

    Returns
    -------
    list or None
        What the innermost is given, then what else the outer ones are; None where others compute the argument, or
        something else needs what is computed on the way.
    """
    path = _path(names, arg, resolve, alone)
    if path is None:
        return None
    given = list(path[-1].args)
    for outer, inner in reversed(list(itertools.pairwise(path))):
        given += [other for other in outer.args if not (isinstance(other, Node) and resolve(other) is inner)]
    return given


def written_within(order: Iterable[Node], resolve: Callable[[Node], Node], alone: Collection[Node]) -> set[Node]:
    """The values that operations compute on the way to their own: each by the first of its ways that can be gone."""
    found: set[Node] = set()
    for node in order:
        ways = (_path(names, node.args[position], resolve, alone) for position, *names in node.op.fused)
        found.update(next((way for way in ways if way is not None), ()))
    return found
