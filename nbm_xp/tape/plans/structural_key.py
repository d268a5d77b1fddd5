"""The structure of a graph as a hashable key, so that what was compiled for one recording serves the next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ..lengths import Length, known
from ..node import LEAVES, VARIABLE, Node
from ..traversal import reachable

__all__ = ["structural_key"]


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
    return (tuple(entries), tuple(place[root] for root in roots)), leaves


def _enter(order: Sequence[Node], place: dict[Node, int], entries: list[Hashable], leaves: list[Node]) -> None:
    """Give each node its place, and add what it is."""
    for node in order:
        if node in place:
            continue
        if node.op in LEAVES:
            if node.op is VARIABLE and node.payload.default_update is not None:
                raise _UnrepeatableError
            leaves.append(node)
            entries.append((node.op, *_leaf_entry(node)))
        elif node.payload is not None:
            entries.append((node.op, _frozen(node.args, place), _inside(node.payload, place)))
        else:
            entries.append((node.op, _frozen(node.args, place), _frozen(node.attributes, place)))
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


def _frozen(value: Any, place: Mapping[Node, int]) -> Hashable:
    if isinstance(value, Node):
        return ("node", place[value])
    if isinstance(value, (tuple, list)):
        return tuple(_frozen(item, place) for item in value)
    if isinstance(value, frozenset):
        return frozenset(_frozen(item, place) for item in value)
    if isinstance(value, dict):
        return tuple((key, _frozen(item, place)) for key, item in value.items())
    if isinstance(value, slice):
        return ("slice", _frozen((value.start, value.stop, value.step), place))
    if isinstance(value, Length):
        return ("length", _frozen_length(value, place))
    if isinstance(value, (bool, int, float, complex)):
        return (type(value), repr(value))  # repr tells -0.0 from 0.0 and one NaN is like another
    if isinstance(value, Hashable):
        return value
    raise _UnrepeatableError


def _frozen_length(length: Length, place: Mapping[Node, int]) -> Hashable:
    return frozenset(
        (frozenset((_frozen(atom, place), power) for atom, power in monomial), coefficient)
        for monomial, coefficient in length.terms.items()
    )
