"""Equal structure of graphs, which are compiled once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ..dtypes import DTYPE_CLASSES, float64
from ..graph import reachable, walk
from ..lengths import Length, known
from ..node import LEAVES, PLACEHOLDER, VARIABLE, Node, leaf

__all__ = ["frozen", "number_arguments", "structural_key"]


class _UnrepeatableError(Exception):
    """Raised for a graph that no other recording can equal."""


def structural_key(
    roots: Sequence[Node], inputs: Sequence[Node], numbers: dict[str, int] | None = None
) -> tuple[Hashable, list[Node]] | None:
    """A key equal for graphs that compute the same from their leaves, and those leaves in the key's order.

    With `numbers`, graphs in which operators take other numbers have the same key: a number is entered into `numbers`,
    as Python writes it, with its place among the `number_arguments` of the plan.

    None where a graph holds what belongs to one recording only: the state of a random generator.
    """
    place: dict[Node, int] = {node: index for index, node in enumerate(inputs)}
    leaves = list(inputs)
    entries: list[Hashable] = [_leaf_entry(node) for node in inputs]
    try:
        _enter(walk(roots, _operands, frozenset(inputs)), place, entries, leaves, numbers)
        key = tuple(entries), tuple(place[root] for root in roots)
        hash(key)
    except (_UnrepeatableError, TypeError):
        return None
    return key, leaves


def _operands(node: Node) -> Sequence[Node]:
    """What is computed before a node; nothing for what is an array of the user's already."""
    return node.inputs if node.reader is None else ()


def number_arguments(
    roots: Sequence[Node], inputs: Sequence[Node], numbers: Mapping[str, int]
) -> tuple[list[Node], dict[Node, Node]]:
    """Placeholders for numbers that operators take, and what computes with these in the place of each such node."""
    arguments = {number: leaf(PLACEHOLDER, (), 0, float64, None) for number in numbers}
    givens: dict[Node, Node] = {}
    for node in reachable(roots, inputs):
        if node.op.emit is not None and float in map(type, node.args):
            args = tuple(arguments[repr(arg)] if type(arg) is float else arg for arg in node.args)
            givens[node] = given = Node(node.op, args, node.attributes, node.shape, node.dtype)
            given.source_location = node.source_location
    return list(arguments.values()), givens


def _enter(
    order: Sequence[Node],
    place: dict[Node, int],
    entries: list[Hashable],
    leaves: list[Node],
    numbers: dict[str, int] | None = None,
) -> None:
    """Give each node its place, and add what it is."""
    stand_in = place.__getitem__

    def argument(arg: Any) -> Hashable:
        if type(arg) is Node:
            return place[arg]
        if numbers is not None and type(arg) is float:
            return float, numbers.setdefault(repr(arg), len(numbers))
        return frozen(arg, stand_in)

    for node in order:
        if node in place:
            continue
        op = node.op
        if node.reader is not None:
            leaves.append(node)
            entries.append((VARIABLE, *_leaf_entry(node)))
        elif op in LEAVES:
            if op is VARIABLE and node.payload.default_update is not None:
                raise _UnrepeatableError
            leaves.append(node)
            entries.append((op, *_leaf_entry(node)))
        else:
            args = frozen(node.args, stand_in) if op.emit is None else tuple([argument(arg) for arg in node.args])
            if node.payload is not None:
                entries.append((op, args, _inside(node.payload, place)))
            elif node.attributes:
                entries.append((op, args, frozen(node.attributes, stand_in)))
            else:
                entries.append((op, args))
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


_PLAIN = frozenset({int, bool, str, type(None), *DTYPE_CLASSES})
_LENGTHS = frozenset({int, type(None)})


def frozen(value: Any, stand_in: Callable[[Node], Hashable]) -> Hashable:
    """An argument or attribute as a key, with what stands for each node in it; what cannot be hashed stays so."""
    kind = type(value)
    if kind is Node:
        return stand_in(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, (tuple, list)):
        if _LENGTHS.issuperset(map(type, value)):  # shapes, axes and bounds of slices: most of what there is
            return int, tuple(value)
        return tuple([frozen(item, stand_in) for item in value])
    if isinstance(value, frozenset):
        return frozenset([frozen(item, stand_in) for item in value])
    if isinstance(value, dict):
        return tuple([(key, frozen(item, stand_in)) for key, item in value.items()])
    if isinstance(value, slice):
        return slice, frozen((value.start, value.stop, value.step), stand_in)
    if isinstance(value, Length):
        return frozenset(
            [
                (frozenset([(frozen(atom, stand_in), power) for atom, power in monomial]), coefficient)
                for monomial, coefficient in value.terms.items()
            ]
        )
    if isinstance(value, (bool, int, float, complex)):
        return kind, repr(value)  # repr tells -0.0 from 0.0 and one NaN is like another
    return value  # type: ignore[no-any-return]
