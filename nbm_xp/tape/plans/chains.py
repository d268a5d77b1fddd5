"""Chains of elementwise functions of one shape, and sums of what they give, which a plan runs in blocks.

A chain runs as one, so nothing outside it may depend on part of it and be needed by another part. Each value gets a
stage, which rises wherever a value leaves the elementwise functions of a shape; what has one stage, one shape and hangs
together is a chain. A value's stage is the latest that its users allow, so that what only the way back of a gradient
needs is computed there and held no longer than it was.

Lengths that are not known yet are taken to be equal; where they turn out not to be, whole arrays are computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nbm_xp.namespace.chains import Reduction

from ..control import BranchPath
from ..dtypes import DTYPE_CLASSES
from ..graph import LEAVES, ChainStep, Node, nodes_in, walk
from ..lengths import Length, is_number, known
from ..operations import ELEMENTWISE_TAG, Shape

__all__ = ["Block", "Chain", "block_of", "chains_of", "crosses", "in_chains"]

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
    outside: Collection[Node],
    roots: Collection[Node],
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
    outside, roots : collection of Node
        What is in no chain, and what the plan returns.
    """
    kinds = _kinds(order, paths, resolve, outside)
    if not kinds:
        return []
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
    needed = dict.fromkeys(roots)
    for node in order:
        for operand in operands[node]:
            if belongs.get(operand) is not belongs.get(node):
                needed[operand] = None
    for chain in found:
        inside = frozenset(chain.members)
        apart = {one for node in chain.members if node in needed for one in _given_through(node, resolve, inside)}
        chain.members = [node for node in chain.members if node not in apart]
        chain.outputs = [node for node in chain.members if node in needed]
    return found


def _stand_in(node: Node, resolve: Callable[[Node], Node], inside: Collection[Node]) -> tuple[Node, list[Node]]:
    """What stands for a value in a block, where it may broadcast, and the broadcasts between the two."""
    between, node = [], resolve(node)
    while node in inside and (step := _step(node)) is not None:
        between.append(node)
        node = resolve(step.value)
    return node, between


def _given_through(node: Node, resolve: Callable[[Node], Node], inside: Collection[Node]) -> list[Node]:
    """The broadcasts between a value and what a block is given in its place; none where the block computes that."""
    found, between = _stand_in(node, resolve, inside)
    return [] if found in inside else between


def _step(node: Node) -> ChainStep | None:
    return None if node.op.chain_step is None else node.op.chain_step(node)


def _pays(chain: Chain, resolve: Callable[[Node], Node]) -> bool:
    """Whether there are several functions to run in blocks, and arrays to take apart."""
    inside = frozenset(chain.members)
    taken = (resolve(arg) for node in chain.members for arg in node.array_args())
    arrays = (other for other in taken if other.shape and other not in inside)
    return sum(map(_computes, chain.members)) > 1 and any(True for _ in arrays)


def _computes(node: Node) -> bool:
    return node.op.chain_step is None


def _kinds(
    order: Sequence[Node],
    paths: Mapping[Node, BranchPath],
    resolve: Callable[[Node], Node],
    outside: Collection[Node],
) -> dict[Node, Hashable]:
    """For each value that may be in a chain, what all values of the chain must have in common: the shape as known."""
    kinds: dict[Node, Hashable] = {}
    for node in order:
        if node in outside or node.op in LEAVES or paths[node] or node.payload is not None:
            continue
        shape = tuple(map(known, node.shape))
        if node.op.adds_up:
            first = resolve(node.args[0])
            if first in kinds and _computes(first) and not first.op.adds_up and _is_in_order(node, first):
                kinds[node] = kinds[first]
        elif not shape:
            continue
        elif node.op.chain_step is not None:
            step = _step(node)
            if step is not None and not any(resolve(one) in kinds for one in nodes_in(step.shape)):
                kinds[node] = shape
        elif _is_elementwise(node) and not node.attributes and _plain_arguments(node):
            kinds[node] = shape
    return kinds


def _is_in_order(node: Node, first: Node) -> bool:
    """Whether numbers are added up that a library adds in an order which blocks can keep, over first or last axes."""
    axes, ndim = sorted(node.attributes["axis"]), len(first.shape)
    as_they_are = node.dtype == first.dtype or (node.dtype.kind in "iu" and first.dtype.kind in "biu")
    ordered = axes == [*range(len(axes))] or axes == [*range(ndim - len(axes), ndim)]
    return str(node.dtype) in _SUMMED and as_they_are and ordered


def _is_elementwise(node: Node) -> bool:
    return ELEMENTWISE_TAG in node.op.tags or node.op.name in ("astype", "clip", "where")


def _plain_arguments(node: Node) -> bool:
    """Whether a function is called on values, numbers and dtypes alone."""
    return all(
        isinstance(arg, Node) or type(arg) in DTYPE_CLASSES or arg is None or _is_plain_number(arg) for arg in node.args
    )


def _is_plain_number(value: Any) -> bool:
    return is_number(value) and not isinstance(value, Length)


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
    members = {chain.members[-1]: chain.members for chain in chains}
    unit = {node: last for last, nodes in members.items() for node in nodes}

    def needed(node: Node) -> list[Node]:
        found = [unit.get(one, one) for member in members.get(node, (node,)) for one in operands[member]]
        return [one for one in dict.fromkeys(found) if one is not node]

    units = walk([node for node in order if unit.get(node, node) is node], needed)
    return [member for node in units for member in members.get(node, (node,))]


def crosses(chain_of: Mapping[Node, Chain], other: Node, node: Node) -> bool:
    """Whether a value must have a name for another, because one of them is in a chain that the other is not in."""
    chain = chain_of.get(other)
    return chain is not chain_of.get(node) and (chain is not None or other.op.name != "scalar")


class Block(NamedTuple):
    """What is computed of one block of a chain.

    Attributes
    ----------
    given
        What it is computed from.
    values
        What is computed: the results of the chain, before they are added up.
    reductions
        How they are.
    shapes
        What must be the shape of all values of the chain.
    replaced
        What stands for other values in a block.
    """

    given: tuple[Node, ...]
    values: tuple[Node, ...]
    reductions: tuple[Reduction | None, ...]
    shapes: tuple[Shape, ...]
    replaced: dict[Node, Node]


def block_of(chain: Chain, resolve: Callable[[Node], Node]) -> Block:
    """What is computed of one block of a chain, of which `resolve` gives what is computed in the place of a value."""
    inside = frozenset(chain.members)
    given: dict[Node, None] = {}
    shapes: dict[Shape, None] = {}
    replaced: dict[Node, Node] = {}
    for node in chain.members:
        step = _step(node)
        if step is not None:
            shapes[step.shape] = None
        for arg in (node,) if step is not None else node.array_args():
            replaced[arg] = one = _stand_in(arg, resolve, inside)[0]
            if one not in inside and not (one.op.name == "scalar" and _is_plain_number(one.args[0])):
                given[one] = None
    taken = [_stand_in(n.args[0] if n.op.adds_up else n, resolve, inside)[0] for n in chain.outputs]
    reductions = [
        Reduction(node.op.name, tuple(node.attributes["axis"]), bool(node.attributes["keepdims"]))
        if node.op.adds_up
        else None
        for node in chain.outputs
    ]
    replaced = {node: other for node, other in replaced.items() if node is not other}
    return Block(tuple(given), tuple(taken), tuple(reductions), tuple(shapes), replaced)
