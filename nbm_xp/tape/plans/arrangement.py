"""What a plan computes: each value once, in which order, in which branch, and which stand inside the use of another.

What decides the order is memory: a value should come into being when it is needed, and what it was computed from should
be free to go at once. So a value is written inside an expression only where no statement would come between, nor
several arrays be kept waiting for the expression's end.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..graph import BranchPath, Result, branch_paths, reachable, walk
from ..lengths import Length
from ..node import IFELSE_NAME, LEAVES, OUTPUT, SUBGRAPH_TAG, Node, nodes_in
from .chains import Chain, chains_of, crosses, in_chains
from .structural_key import merge_equal_calls

__all__ = ["Arrangement", "frugal", "given_to", "inlined", "results_read_by_loops", "written_within"]


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


def results_read_by_loops(
    order: Sequence[Node],
    operands: Mapping[Node, Sequence[Node]],
    resolve: Callable[[Node], Node],
    roots: Collection[Node],
) -> dict[Node, frozenset[int]]:
    """For each loop among the nodes, the positions of its results that nothing uses but loops, as sequences.

    Parameters
    ----------
    order
        The nodes that are computed.
    operands
        What each is computed from.
    resolve
        The node that is computed in the place of another.
    roots
        Those that are asked for.
    """
    loops = [node for node in order if SUBGRAPH_TAG in node.op.tags]
    if len(loops) < 2:
        return {}
    otherwise: set[Node] = set(roots)
    for node in order:
        if SUBGRAPH_TAG in node.op.tags and len(node.args) == 4:
            otherwise.update(_beside_sequences(node, operands[node], resolve))
        else:
            otherwise.update(operands[node])
    found: dict[Node, set[int]] = defaultdict(set)
    for node in order:
        if node.op is OUTPUT and node not in otherwise and SUBGRAPH_TAG in node.args[0].op.tags:
            found[resolve(node.args[0])].add(node.args[1])
    return {call: frozenset(positions) for call, positions in found.items()}


def _beside_sequences(call: Node, operands: Sequence[Node], resolve: Callable[[Node], Node]) -> Iterable[Node]:
    """What a loop uses other than to read it step by step."""
    n_steps, sequences, initials, captured = call.args
    fed = set(map(resolve, sequences))
    beside = {resolve(node) for node in (*nodes_in(n_steps), *initials, *captured)}
    return (node for node in operands if node not in fed or node in beside)


_DEEPEST_EXPRESSION = 12


def frugal(roots: Sequence[Node], operands: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The order of computing, inputs first, that holds few arrays at once.

    Of the operands of a call, that comes first which needs the most arrays at once, as in R. Sethi and J. D. Ullman,
    "The generation of optimal code for arithmetic expressions", Journal of the ACM 17 (1970).
    """
    most: dict[Node, int] = {}
    for node in walk(roots, operands.__getitem__):
        counts = sorted(filter(None, map(most.__getitem__, operands[node])), reverse=True)
        most[node] = max((count + place for place, count in enumerate(counts)), default=int(bool(operands[node])))
    return walk(roots, lambda node: sorted(operands[node], key=most.__getitem__, reverse=True))


def inlined(
    order: Sequence[Node],
    operands: Mapping[Node, Sequence[Node]],
    paths: Mapping[Node, BranchPath],
    candidates: Collection[Node],
    silent: Collection[Node],
    always: Collection[Node] = (),
) -> set[Node]:
    """The values to be written inside the one expression that uses them.

    Parameters
    ----------
    order : sequence of Node
        The values as they are computed.
    operands : mapping of Node to sequence of Node
        What each is computed from.
    paths : mapping of Node to BranchPath
        The branch of an `ifelse` in which it is computed.
    candidates : collection of Node
        Those used once, as an argument, in their own branch.
    silent : collection of Node
        Those that no statement computes: leaves, and the single results of a call.
    always : collection of Node, optional
        Those of the candidates that the one that uses them computes on its way, for which no array is made.
    """
    chosen: set[Node] = set()
    waiting: dict[BranchPath, dict[Node, None]] = defaultdict(dict)  # chosen, but not written yet
    depth: dict[Node, int] = {}
    for node in order:
        if node in silent:
            continue
        here = waiting[paths[node]]
        within = [operand for operand in operands[node] if operand in chosen]
        for operand in within:
            here.pop(operand, None)
        depth[node] = 1 + max((depth[operand] for operand in within), default=0)
        if node in always:
            chosen.add(node)
        elif node in candidates and depth[node] < _DEEPEST_EXPRESSION:
            chosen.add(node)
            here[node] = None
        elif here:  # a statement: what waits is computed before it
            chosen.difference_update(here)
            here.clear()
    return chosen


class Arrangement:
    """The arrangement of one plan.

    Attributes
    ----------
    operands
        What each value is computed from; equal calls are one.
    order
        The values, inputs before their users.
    needed
        Of each call with several results, those that are used.
    paths
        The branch in which each value is computed.
    chain_of
        The chain that a value belongs to.
    unstacked
        Of each loop, the results that other loops alone read.
    inlined
        The values that are used once, and stand inside the expression that uses them.
    """

    def __init__(
        self, inputs: Sequence[Node], outputs: Sequence[Result], givens: dict[Node, Node], lazy: bool, chained: bool
    ) -> None:
        self.givens = givens
        self.given = frozenset(inputs)
        self.same: dict[Node, Node] = {}
        self.operands: dict[Node, Sequence[Node]] = {}
        merge_equal_calls(reachable(outputs, inputs, givens), self.given, self.resolve, self.same, self.operands)
        roots = [self.resolve(node) for result in outputs for node in nodes_in(result)]
        self.order = frugal(roots, self.operands)
        self.paths, self.needed = branch_paths(self.order, roots, self.operands.__getitem__, self.resolve, both=lazy)
        self.order = [node for node in self.order if node in self.paths]
        self.operands = {node: [one for one in self.operands[node] if one in self.paths] for node in self.order}
        self.chain_of: dict[Node, Chain] = {}
        if chained:
            outside = self.given | written_within(self.order, self.resolve, self.operands)
            chains = chains_of(self.order, self.operands, self.paths, self.resolve, outside, roots)
            self.order = in_chains(self.order, self.operands, chains)
            self.chain_of = {node: chain for chain in chains for node in chain.members}
        self.unstacked = results_read_by_loops(self.order, self.operands, self.resolve, roots)
        self.inlined = self._choose_inlined(roots)

    def resolve(self, node: Node) -> Node:
        """The node that is computed in the place of another."""
        node = self.givens.get(node, node)
        return self.same.get(node, node)

    def _choose_inlined(self, roots: Sequence[Node]) -> set[Node]:
        """Nodes that are used exactly once, as an argument, in the branch where they are computed."""
        uses: dict[Node, int] = defaultdict(int)
        fixed: set[Node] = set(roots)
        silent: set[Node] = set()
        for node in self.order:
            if node in self.given or node.op in LEAVES:
                silent.add(node)
                continue
            for value in (*node.args, *node.attributes.values()) if node.attributes else node.args:
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, Node):
                        uses[self.resolve(item)] += 1
                    elif isinstance(item, (Length, tuple, slice)):
                        fixed.update(self.resolve(other) for other in nodes_in(item))
            if node.op is OUTPUT:
                silent.add(node)
            if node.op is OUTPUT or node.op.name == IFELSE_NAME:
                fixed.update(self.operands[node])
            elif self.paths[node]:
                fixed.update(other for other in self.operands[node] if self.paths[other] != self.paths[node])
            if self.chain_of:
                fixed.update(other for other in self.operands[node] if crosses(self.chain_of, other, node))
        candidates = {
            node
            for node in self.order
            if uses.get(node) == 1 and node not in fixed and node not in silent and not node.is_call
        }
        within = written_within(self.order, self.resolve, candidates)
        return inlined(self.order, self.operands, self.paths, candidates, silent, within)
