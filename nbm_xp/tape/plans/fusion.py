"""Which operations are computed for another alone, so that one call can take the place of all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..node import Node

__all__ = ["given_to"]


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
    node = resolve(arg) if isinstance(arg, Node) else None
    if node is None or node not in alone or node.op.name != names[0] or node.attributes:
        return None
    if len(names) == 1:
        return list(node.args)
    for position, inner in enumerate(node.args):
        given = given_to(names[1:], inner, resolve, alone)
        if given is not None:
            return [*given, *node.args[:position], *node.args[position + 1 :]]
    return None
