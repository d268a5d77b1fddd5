"""Chains of elementwise functions of one shape, and sums of what they give, which a plan runs in blocks.

A chain runs as one, so nothing outside it may depend on part of it and be needed by another part. Each value gets a
stage, which rises wherever a value leaves the elementwise functions of a shape; what has one stage, one shape and hangs
together is a chain. A value's stage is the latest that its users allow, so that what only the way back of a gradient
needs is computed there and held no longer than it was.

Lengths that are not known yet are taken to be equal; the chain looks when it runs, and steps aside where they are not.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nbm_xp.namespace import chains as library

from ..dtypes import DTYPE_CLASSES
from ..graph import BranchPath
from ..lengths import Length, known
from ..node import LEAVES, Node, nodes_in
from ..operators import is_number

__all__ = ["Chain", "as_program", "call_lines", "chains_of", "crosses", "in_chains"]

_SUMMED = frozenset({"float32", "float64", "int64", "uint64"})
"""The dtypes that a library adds up in an order which blocks can keep."""


@dataclass(eq=False)
class Chain:
    """Values that are computed together: all of them in their order, and those that are needed outside."""

    members: list[Node]
    outputs: list[Node] = field(default_factory=list)


def chains_of(
    order: Sequence[Node],
    operands: Mapping[Node, Sequence[Node]],
    paths: Mapping[Node, BranchPath],
    resolve: Callable[[Node], Node],
    given: Collection[Node],
    roots: Collection[Node],
    names: Collection[str],
) -> list[Chain]:
    """The chains among the values of a plan.

    Parameters
    ----------
    order : sequence of Node
        The values, inputs before their users.
    operands : mapping of Node to sequence of Node
        What each is computed from.
    paths : mapping of Node to BranchPath
        The branch of an `ifelse` in which it is computed; chains are outside of branches.
    resolve : callable
        Gives the node that is computed in the place of another.
    given, roots : collection of Node
        What the plan is called with, and what it returns.
    names : collection of str
        The functions that the library runs in blocks.
    """
    kinds = _kinds(order, paths, resolve, given, names)
    if not kinds:
        return []
    operands = _among(order, operands)
    stage = _stages(order, operands, kinds, roots)
    leader: dict[Node, Node] = {}

    def find(node: Node) -> Node:
        while leader[node] is not node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for node in order:
        if node not in kinds:
            continue
        leader[node] = node
        for operand in operands[node]:
            alike = kinds.get(operand) == kinds[node] and stage[operand] == stage[node]
            if alike and not operand.op.adds_up:
                leader[find(operand)] = find(node)
    groups: dict[Node, Chain] = defaultdict(lambda: Chain([]))
    for node in order:
        if node in kinds:
            groups[find(node)].members.append(node)
    found = [chain for chain in groups.values() if _pays(chain, resolve)]
    belongs = {node: chain for chain in found for node in chain.members}
    outside = dict.fromkeys(roots)
    for node in order:
        for operand in operands[node]:
            if belongs.get(operand) is not belongs.get(node):
                outside[operand] = None
    for chain in found:
        chain.outputs = [node for node in chain.members if node in outside]
    return found


def _pays(chain: Chain, resolve: Callable[[Node], Node]) -> bool:
    """Whether there are several functions to run in blocks, and arrays to take apart."""
    inside = frozenset(chain.members)
    taken = (resolve(arg) for node in chain.members for arg in node.array_args())
    arrays = (other for other in taken if other.shape and other not in inside)
    return sum(map(_computes, chain.members)) > 1 and any(True for _ in arrays)


def _among(order: Sequence[Node], operands: Mapping[Node, Sequence[Node]]) -> dict[Node, list[Node]]:
    """What each value is computed from, without values of branches that nothing needs."""
    present = frozenset(order)
    return {node: [operand for operand in operands[node] if operand in present] for node in order}


def _computes(node: Node) -> bool:
    return node.op.chain_step is None


def _kinds(
    order: Sequence[Node],
    paths: Mapping[Node, BranchPath],
    resolve: Callable[[Node], Node],
    given: Collection[Node],
    names: Collection[str],
) -> dict[Node, Hashable]:
    """For each value that may be in a chain, what all values of the chain must have in common: the shape as known."""
    kinds: dict[Node, Hashable] = {}
    fused = set(_fused(order, resolve))
    for node in order:
        if node in given or node.op in LEAVES or node in fused or paths[node] or node.payload is not None:
            continue
        shape = tuple(map(known, node.shape))
        if node.op.adds_up:
            first = resolve(node.args[0])
            if first in kinds and _computes(first) and not first.op.adds_up and _is_in_order(node, first):
                kinds[node] = kinds[first]
        elif not shape:
            continue
        elif node.op.chain_step is not None:
            step = node.op.chain_step(node)
            if step is not None and not any(resolve(one) in kinds for one in nodes_in(step.shape)):
                kinds[node] = shape
        elif node.op.name in names and not node.attributes and _plain_arguments(node):
            kinds[node] = shape
    return kinds


def _is_in_order(node: Node, first: Node) -> bool:
    """Whether numbers are added up that a library adds in an order which blocks can keep, over first or last axes."""
    axes, ndim = sorted(node.attributes["axis"]), len(first.shape)
    return str(node.dtype) in _SUMMED and (axes == [*range(len(axes))] or axes == [*range(ndim - len(axes), ndim)])


def _plain_arguments(node: Node) -> bool:
    """Whether a function is called on values, numbers and dtypes alone."""
    return all(
        isinstance(arg, Node) or type(arg) in DTYPE_CLASSES or arg is None or is_number(arg) for arg in node.args
    )


def _fused(order: Sequence[Node], resolve: Callable[[Node], Node]) -> Iterator[Node]:
    """The values that an operation may compute on the way to its own: these are its business."""
    for node in order:
        for position, *names in node.op.fused:
            yield from _computed_within(node.args[position], names, resolve)


def _computed_within(arg: Any, names: Sequence[str], resolve: Callable[[Node], Node]) -> Iterator[Node]:
    node = resolve(arg) if isinstance(arg, Node) else None
    if names and node is not None and node.op.name == names[0]:
        yield node
        for inner in node.args:
            yield from _computed_within(inner, names[1:], resolve)


def _stages(
    order: Sequence[Node],
    operands: Mapping[Node, Sequence[Node]],
    kinds: Mapping[Node, Hashable],
    roots: Collection[Node],
) -> dict[Node, int]:
    """The stage of each value: the latest that leaves those of its users as they are."""

    def rise(operand: Node, node: Node) -> int:
        kind = kinds.get(operand)
        return int(kind is not None and (kind != kinds.get(node) or operand.op.adds_up))

    early: dict[Node, int] = {}
    for node in order:
        early[node] = max((early[operand] + rise(operand, node) for operand in operands[node]), default=0)
    late: dict[Node, int] = {node: early[node] for node in roots}
    for node in reversed(order):
        here = late.setdefault(node, early[node])
        for operand in operands[node]:
            most = here - rise(operand, node)
            late[operand] = min(late.get(operand, most), most)
    for node in order:  # a sum takes what it sums while it is there
        if node in kinds and node.op.adds_up:
            late[node] = late[operands[node][0]]
    return late


def in_chains(order: Sequence[Node], operands: Mapping[Node, Sequence[Node]], chains: Sequence[Chain]) -> list[Node]:
    """The order of computing in which the values of a chain stand together, and others where they stood if they can.

    A chain is computed where the last of its values was, or as late as its users allow.
    """
    if not chains:
        return list(order)
    operands = _among(order, operands)
    place = {node: index for index, node in enumerate(order)}
    unit: dict[Node, int] = dict(place)
    members: dict[int, list[Node]] = {index: [node] for node, index in place.items()}
    for chain in chains:
        last = max(place[node] for node in chain.members)
        for node in chain.members:
            del members[place[node]]
            unit[node] = last
        members[last] = chain.members
    waits: dict[int, int] = {}
    users: dict[int, list[int]] = defaultdict(list)
    for index, nodes in members.items():
        needed = {unit[operand] for node in nodes for operand in operands[node]} - {index}
        waits[index] = len(needed)
        for other in needed:
            users[other].append(index)
    ready = [index for index, count in waits.items() if not count]
    heapq.heapify(ready)
    found: list[Node] = []
    while ready:
        index = heapq.heappop(ready)
        found += members[index]
        for user in users[index]:
            waits[user] -= 1
            if not waits[user]:
                heapq.heappush(ready, user)
    return found


def crosses(chain_of: Mapping[Node, Chain], other: Node, node: Node) -> bool:
    """Whether a value must have a name for another, because one of them is in a chain that the other is not in."""
    chain = chain_of.get(other)
    return chain is not chain_of.get(node) and (chain is not None or bool(other.shape))


_MOST_ASKED = 3


def as_program(
    chain: Chain, resolve: Callable[[Node], Node], written: Callable[[Any], str]
) -> tuple[library.Program, list[str], str]:
    """A chain as data, the source of what it is called with, and of whether its arrays are large.

    Parameters
    ----------
    chain
        The chain.
    resolve
        Gives the node that is computed in the place of another.
    written
        Gives the source of an argument.
    """
    return _Describing(chain, resolve, written).described()


class _Describing:
    def __init__(self, chain: Chain, resolve: Callable[[Node], Node], written: Callable[[Any], str]) -> None:
        self.chain = chain
        self.resolve = resolve
        self.written = written
        self.given: dict[str, int] = {}
        self.arrays: dict[Node, str] = {}
        self.steps: list[library.Step] = []
        self.step_of: dict[Node, int] = {}
        self.full: dict[Hashable, int | tuple[int, ...]] = {}

    def described(self) -> tuple[library.Program, list[str], str]:
        values = [node for node in self.chain.members if not node.op.adds_up]
        for node in values:
            self._add(node)
        results = tuple(map(self._result, self.chain.outputs))
        program = library.Program(
            len(values[0].shape), tuple(self.steps), results, tuple(dict.fromkeys(self.full.values()))
        )
        return program, list(self.given), self._size(values[0])

    def _size(self, value: Node) -> str:
        """Source of whether the values have many elements: one of the arrays has as many, or they broadcast to it."""
        shape = tuple(map(known, value.shape))
        sizes = {
            node.shape: f"{name}.size" for node, name in self.arrays.items() if tuple(map(known, node.shape)) == shape
        }
        found = list(sizes.values())[:_MOST_ASKED] or [" * ".join(f"{name}.size" for name in self.arrays.values())]
        large = " or ".join(f"{size} >= {library.LARGE}" for size in found)
        return f"({large})" if len(found) > 1 else large

    def _place(self, value: Any) -> int:
        """The place of an argument among those that the chain is called with."""
        return self.given.setdefault(self.written(value), len(self.given))

    def _add(self, node: Node) -> None:
        step = None if node.op.chain_step is None else node.op.chain_step(node)
        name, args = (node.op.name, node.args) if step is None else step[:2]
        if step is not None:
            self._require_shape(step.shape)
        if name == "same" and self.resolve(args[0]) not in self.step_of:
            self.full[self.resolve(args[0]).shape] = (self._place(args[0]),)
        taken = tuple(self._argument(arg) for arg in args)
        if step is None and node.shape not in self.full:
            nodes = [self.resolve(arg) for arg in args if isinstance(arg, Node)]
            if not any(one in self.step_of for one in nodes):
                self.full[node.shape] = tuple(self._place(one) for one in nodes if one.shape)
        self.step_of[node] = len(self.steps)
        self.steps.append(library.Step("same" if name == "broadcast" else name, taken))

    def _require_shape(self, shape: Any) -> None:
        self.full["shape", self.written(shape)] = self._place(shape)

    def _argument(self, arg: Any) -> tuple[str, Any]:
        if type(arg) in DTYPE_CLASSES:
            return "is", str(arg)
        if isinstance(arg, Length):
            return "given", self._place(arg)
        if not isinstance(arg, Node):
            return "is", arg
        node = self.resolve(arg)
        if node in self.step_of:
            return "step", self.step_of[node]
        if node.op.name == "scalar" and is_number(node.args[0]) and not isinstance(node.args[0], Length):
            self.steps.append(library.Step("fill", (("is", node.args[0]), ("is", str(node.dtype)))))
            return "step", len(self.steps) - 1
        place = self._place(node)
        if node.shape:
            self.arrays[node] = self.written(node)
        return "given", place

    def _result(self, node: Node) -> library.Result:
        if not node.op.adds_up:
            return library.Result(self.step_of[node])
        step = self.step_of[self.resolve(node.args[0])]
        options = node.attributes
        return library.Result(step, node.op.name, tuple(options["axis"]), bool(options["keepdims"]))


def call_lines(large: str, call: str, results: str) -> list[str]:
    """The head of a chain: the call, where it applies; the statements that take its place follow, indented."""
    return [f"if {large} and (blocks := {call}) is not None:", f"    ({results}), blocks = blocks, None", "else:"]
