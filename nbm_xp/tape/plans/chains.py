"""Chains of element-wise functions of one shape, and sums of their results, which a plan runs in blocks.

A chain is computed as a unit, so no node outside it may depend on one of its nodes and be an input of another. Each
node has a stage, which increases wherever a value leaves the element-wise functions of a shape; connected nodes with
the same stage and shape are a chain. The stage of a node is the latest that its users allow, so that values needed only
by the reverse pass of a gradient are computed there and not stored longer than before.

Unknown lengths are assumed to be equal; if they are not when the plan runs, whole arrays are computed.
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

# Dtypes that a library sums in an order that blocks can reproduce.
_SUMMED = frozenset({"float32", "float64", "int64", "uint64"})


@dataclass(eq=False)
class Chain:
    """Nodes that are computed together: all nodes in order, and those used outside the chain."""

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
    """Return the chains of a plan.

    Parameters
    ----------
    order : sequence of Node
        Nodes of the plan, inputs before their users.
    operands : mapping of Node to sequence of Node
        Arguments of each node.
    paths : mapping of Node to BranchPath
        Branch of each node; chains are outside of branches.
    resolve : callable
        Function that returns the replacement of a node.
    outside, roots : collection of Node
        Nodes excluded from chains, and results of the plan.
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
            is_same = kinds.get(operand) == kinds[node] and stage[operand] == stage[node]
            if is_same and not operand.op.adds_up:
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
    """Return the node that replaces a value in a block, before broadcasting, and the broadcasts between the two."""
    between, node = [], resolve(node)
    while node in inside and (step := _step(node)) is not None:
        between.append(node)
        node = resolve(step.value)
    return node, between


def _given_through(node: Node, resolve: Callable[[Node], Node], inside: Collection[Node]) -> list[Node]:
    """Return the broadcasts between a value and the block's input that replaces it; none if the block computes that."""
    found, between = _stand_in(node, resolve, inside)
    return [] if found in inside else between


def _step(node: Node) -> ChainStep | None:
    return None if node.op.chain_step is None else node.op.chain_step(node)


def _pays(chain: Chain, resolve: Callable[[Node], Node]) -> bool:
    """Return whether a chain has several functions to run in blocks and input arrays to split."""
    inside = frozenset(chain.members)
    taken = (resolve(arg) for node in chain.members for arg in node.array_args())
    arrays = (other for other in taken if other.shape and other not in inside)
    return sum(map(_computes, chain.members)) > 1 and any(True for _ in arrays)


def _computes(node: Node) -> bool:
    return node.op.chain_step is None


def _kinds(
    order: Sequence[Node], paths: Mapping[Node, BranchPath], resolve: Callable[[Node], Node], outside: Collection[Node]
) -> dict[Node, Hashable]:
    """Return, for each node that can be in a chain, the key that all nodes of the chain share: the known shape."""
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
    """Return whether a sum is over leading or trailing axes, in a dtype whose order of summation blocks reproduce."""
    axes, ndim = sorted(node.attributes["axis"]), len(first.shape)
    as_they_are = node.dtype == first.dtype or (node.dtype.kind in "iu" and first.dtype.kind in "biu")
    ordered = axes == [*range(len(axes))] or axes == [*range(ndim - len(axes), ndim)]
    return str(node.dtype) in _SUMMED and as_they_are and ordered


def _is_elementwise(node: Node) -> bool:
    return ELEMENTWISE_TAG in node.op.tags or node.op.name in ("astype", "clip", "where")


def _plain_arguments(node: Node) -> bool:
    """Return whether all arguments are nodes, numbers, dtypes or None."""
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
    """Return the stage of each node: the latest that does not change the stages of its users."""

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
    for node in order:  # sums stay with their arguments
        if node in kinds and node.op.adds_up:
            late[node] = late[operands[node][0]]
    return late


def in_chains(order: Sequence[Node], operands: Mapping[Node, Sequence[Node]], chains: Sequence[Chain]) -> list[Node]:
    """Return an order in which the nodes of each chain are adjacent and others keep their place if possible.

    A chain is computed at the place of its last node, or as late as its users allow.
    """
    members = {chain.members[-1]: chain.members for chain in chains}
    unit = {node: last for last, nodes in members.items() for node in nodes}

    def needed(node: Node) -> list[Node]:
        found = [unit.get(one, one) for member in members.get(node, (node,)) for one in operands[member]]
        return [one for one in dict.fromkeys(found) if one is not node]

    units = walk([node for node in order if unit.get(node, node) is node], needed)
    return [member for node in units for member in members.get(node, (node,))]


def crosses(chain_of: Mapping[Node, Chain], other: Node, node: Node) -> bool:
    """Return whether a value needs a name for its user because only one of them is in a chain, or they are in two."""
    chain = chain_of.get(other)
    return chain is not chain_of.get(node) and (chain is not None or other.op.name != "scalar")


class Block(NamedTuple):
    """The computation of one block of a chain.

    Attributes
    ----------
    given
        Inputs.
    values
        Results of the chain before reductions.
    reductions
        Reduction of each result, or None.
    shapes
        Shapes that must all be equal when the chain runs.
    replaced
        Replacements of nodes in the block.
    """

    given: tuple[Node, ...]
    values: tuple[Node, ...]
    reductions: tuple[Reduction | None, ...]
    shapes: tuple[Shape, ...]
    replaced: dict[Node, Node]


def block_of(chain: Chain, resolve: Callable[[Node], Node]) -> Block:
    """Return the computation of one block of a chain; `resolve` returns the replacement of a node."""
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
