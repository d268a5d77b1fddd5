"""Equal structure of graphs, which are compiled once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..graph import reachable
from ..lengths import Length, known
from ..node import LEAVES, VARIABLE, Node

__all__ = ["frozen", "structural_key"]


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
        key = tuple(entries), tuple(place[root] for root in roots)
        hash(key)
    except (_UnrepeatableError, TypeError):
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
