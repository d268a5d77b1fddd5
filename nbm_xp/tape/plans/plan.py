"""Plans: graphs compiled to Python functions for one array library, and the structural keys of the plan cache."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

from ..dtypes import float64
from ..graph import LEAVES, PLACEHOLDER, VARIABLE, Node, Result, leaf, reachable, walk
from ..lengths import known
from ..operations import IDENTITY_TAG
from .arrangement import frozen
from .writer import PlanWriter, link_plan

_LOCKS = tuple(threading.RLock() for _ in range(61))


class Exclusive:
    """Context manager that holds the locks of variables, acquired in a fixed order.

    Variables share a fixed number of locks, so that they can be copied and pickled without a lock of their own.
    """

    def __init__(self, variables: Iterable[Node]) -> None:
        self._places = sorted({node.serial % len(_LOCKS) for node in variables})

    def __enter__(self) -> None:
        for place in self._places:
            _LOCKS[place].acquire()

    def __exit__(self, *error: object) -> None:
        for place in self._places:
            _LOCKS[place].release()


def may_share(results: Sequence[Result], givens: Mapping[Node, Node] | None = None) -> list[int]:
    """Return the positions of results that may share memory with arguments, variables, constants or other results."""
    replaced = givens or {}
    nodes = [replaced.get(result, result) if isinstance(result, Node) else None for result in results]
    kinds = [None if node is None else _kind(node, replaced) for node in nodes]
    return [
        position
        for position, (node, kind) in enumerate(zip(nodes, kinds, strict=True))
        if node is not None and (node.op in LEAVES or node.call.op.may_overlap or kinds.count(kind) > 1)
    ]


def _kind(node: Node, givens: Mapping[Node, Node]) -> tuple[Hashable, ...]:
    """Return what equal calls, which a plan makes once, have in common: operation, dtype, leaves among arguments."""

    def found(arg: Any) -> Node | None:
        arg = givens.get(arg, arg) if type(arg) is Node else None
        return found(arg.args[0]) if arg and IDENTITY_TAG in arg.op.tags else arg if arg and arg.op in LEAVES else None

    return node.op, node.dtype, *map(found, node.args)


def compile_plan(
    inputs: Sequence[Node],
    outputs: Sequence[Result],
    xp: ModuleType,
    *,
    givens: Mapping[Node, Node] | None = None,
    lazy: bool = False,
) -> Callable[..., tuple[Any, ...]]:
    """Compile the function that computes `outputs` from arrays of library `xp` for `inputs`.

    Parameters
    ----------
    inputs : sequence of Node
        Arguments of the function: leaves or any other nodes.
    outputs : sequence of Node, Length or None
        Results, returned as a tuple.
    xp : module
        Namespace of the library on which the plan runs.
    givens : mapping of Node to Node, optional
        Nodes and their replacements.
    lazy : bool
        Whether the library's values are unknown while the plan runs; both branches of an `ifelse` are then computed and
        one is selected.
    """
    return link_plan(PlanWriter(inputs, outputs, xp, dict(givens or {}), lazy))


def described_plan(plan: Any) -> str:
    """Describe the number of statements of a plan in words."""
    count = sum(bool(calls) for calls in plan.__kwdefaults__["lines"].lines)
    return f"a plan of {count} statement{'s' * (count != 1)}"


class _UnrepeatableError(Exception):
    """Raised for a graph without a structural key."""


def structural_key(
    roots: Sequence[Node], inputs: Sequence[Node], numbers: dict[str, int] | None = None
) -> tuple[Hashable, list[Node]] | None:
    """Return a key, equal for graphs that compute the same function of their leaves, and the leaves in its order.

    With `numbers`, graphs that differ only in the floats of operators have the same key: the repr of each float is
    added to `numbers` with its position among the `number_arguments` of the plan.

    None if a graph contains the state of a random generator, which belongs to one recording only.
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
    """Return the inputs of a node; none for a view of a user's array."""
    return node.inputs if node.reader is None else ()


def number_arguments(
    roots: Sequence[Node], inputs: Sequence[Node], numbers: Mapping[str, int]
) -> tuple[list[Node], dict[Node, Node]]:
    """Return placeholders for the floats of operators, and replacements of the nodes that use these floats."""
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
    """Assign each node its place, and append its description to `entries`."""
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
    """Return the structure of a subgraph: the step of a loop or a checkpointed function."""
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
