"""Equal structure: of whole graphs, compiled once for all of them, and of calls, computed once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from ..graph import reachable
from ..lengths import Length, known
from ..node import IDENTITY_TAG, LEAVES, VARIABLE, Node

__all__ = ["frozen", "merge_equal_calls", "structural_key"]


class _UnrepeatableError(Exception):
    """Raised for a graph that no other recording can equal."""


def structural_key(roots: Sequence[Node], inputs: Sequence[Node]) -> tuple[Hashable, list[Node]] | None:
    """A key equal for graphs that compute the same from their leaves, and those leaves in the key's order.

    None where a graph holds what belongs to one recording only: the state of a random generator.
    """
    place: dict[Node, int] = {node: index for index, node in enumerate(inputs)}
    leaves = list(inputs)
    entries: list[Hashable] = [_leaf_entry(node) for node in inputs]
    try:
        _enter(reachable(roots, inputs), place, entries, leaves)
    except _UnrepeatableError:
        return None
    key = tuple(entries), tuple(place[root] for root in roots)
    try:
        hash(key)
    except TypeError:
        return None
    return key, leaves


def _enter(order: Sequence[Node], place: dict[Node, int], entries: list[Hashable], leaves: list[Node]) -> None:
    """Give each node its place, and add what it is."""

    def stand_in(node: Node) -> Hashable:
        return "node", place[node]

    for node in order:
        if node in place:
            continue
        if node.op in LEAVES:
            if node.op is VARIABLE and node.payload.default_update is not None:
                raise _UnrepeatableError
            leaves.append(node)
            entries.append((node.op, *_leaf_entry(node)))
        else:
            options = _inside(node.payload, place) if node.payload is not None else frozen(node.attributes, stand_in)
            entries.append((node.op, frozen(node.args, stand_in), options))
        place[node] = len(place)


def _leaf_entry(node: Node) -> tuple[Hashable, ...]:
    return node.dtype, tuple(map(known, node.shape))


def _inside(payload: Any, place: Mapping[Node, int]) -> Hashable:
    """The structure of a graph within a call: the step of a loop, or what a checkpointed function computes."""
    if not hasattr(payload, "within"):
        raise _UnrepeatableError
    inner, captured, results, settings = payload.within()
    if any(node.op is VARIABLE for node in inner):
        raise _UnrepeatableError
    local = dict(place)
    for node in inner:
        local[node] = len(local)
    entries: list[Hashable] = [_leaf_entry(node) for node in inner]
    _enter(reachable(results, [*inner, *captured]), local, entries, [])
    return settings, len(inner), tuple(entries), tuple(local[node] for node in results)


def frozen(value: Any, stand_in: Callable[[Node], Hashable]) -> Hashable:
    """An argument or attribute as a key, with what stands for each node in it; what cannot be hashed stays so."""
    if isinstance(value, Node):
        return stand_in(value)
    if isinstance(value, (tuple, list)):
        return tuple([frozen(item, stand_in) for item in value])
    if isinstance(value, frozenset):
        return frozenset([frozen(item, stand_in) for item in value])
    if isinstance(value, dict):
        return tuple([(key, frozen(item, stand_in)) for key, item in value.items()])
    if isinstance(value, slice):
        return ("slice", frozen((value.start, value.stop, value.step), stand_in))
    if isinstance(value, Length):
        return frozenset(
            [
                (frozenset([(frozen(atom, stand_in), power) for atom, power in monomial]), coefficient)
                for monomial, coefficient in value.terms.items()
            ]
        )
    if isinstance(value, (bool, int, float, complex)):
        return (type(value), repr(value))  # repr tells -0.0 from 0.0 and one NaN is like another
    return value  # type: ignore[no-any-return]


def merge_equal_calls(
    order: Sequence[Node],
    given: Collection[Node],
    resolve: Callable[[Node], Node],
    same: dict[Node, Node],
    operands: dict[Node, Sequence[Node]],
) -> None:
    """Find the first of equal calls, and what it is computed from.

    Parameters
    ----------
    order : sequence of Node
        The values, inputs before their users.
    given : collection of Node
        What the plan is called with.
    resolve : callable
        Gives the node that is computed in the place of another, by what stands in `same`.
    same, operands : dict
        Filled: for each node the one that is computed in its place, and for those what they are computed from.
    """
    by_key: dict[Hashable, Node] = {}
    for node in order:
        if node in given or node.op in LEAVES:
            same[node] = node
            operands[node] = ()
            continue
        if IDENTITY_TAG in node.op.tags:
            same[node] = resolve(node.args[0])
            continue
        try:
            args = tuple([resolve(arg) if type(arg) is Node else frozen(arg, resolve) for arg in node.args])
            key = (node.op, args, frozen(node.attributes, resolve) if node.attributes else None, id(node.payload))
            first = by_key.setdefault(key, node)
        except TypeError:
            first = node
        same[node] = first
        if first is node:
            operands[node] = tuple(dict.fromkeys(map(resolve, node.inputs)))
