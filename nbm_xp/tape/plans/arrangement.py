"""What a plan computes: each value once, in which order, in which branch, and which stand inside the use of another.

What decides the order is memory: a value should come into being when it is needed, and what it was computed from should
be free to go at once. So a value is written inside an expression only where no statement would come between, nor
several arrays be kept waiting for the expression's end.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from ..control import IFELSE, BranchPath, branch_paths
from ..dtypes import DTYPE_CLASSES
from ..graph import LEAVES, OUTPUT, Node, Result, nodes_in, reachable, walk
from ..lengths import Length
from ..operations import IDENTITY_TAG, SUBGRAPH_TAG
from .chains import Chain, chains_of, crosses, in_chains

__all__ = ["Arrangement", "frozen"]

_DEEPEST_EXPRESSION = 12


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
        Of each loop, the results that other loops alone read, as sequences.
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
        self._merge_equal_calls(reachable(outputs, inputs, givens))
        roots = [self.resolve(node) for result in outputs for node in nodes_in(result)]
        self.order = frugal(roots, self.operands)
        self.paths, self.needed = branch_paths(self.order, roots, self.operands.__getitem__, self.resolve, both=lazy)
        self.order = [node for node in self.order if node in self.paths]
        self.operands = {node: [one for one in self.operands[node] if one in self.paths] for node in self.order}
        self.chain_of: dict[Node, Chain] = {}
        if chained:
            outside = self.given | self._computed_within(self.operands)
            chains = chains_of(self.order, self.operands, self.paths, self.resolve, outside, roots)
            self.order = in_chains(self.order, self.operands, chains)
            self.chain_of = {node: chain for chain in chains for node in chain.members}
        self.unstacked = self._read_by_loops(roots)
        self.inlined = self._used_once(roots)

    def resolve(self, node: Node) -> Node:
        """The node that is computed in the place of another."""
        node = self.givens.get(node, node)
        return self.same.get(node, node)

    def _merge_equal_calls(self, order: Sequence[Node]) -> None:
        """Find the first of equal calls, and what it is computed from."""
        by_key: dict[Hashable, Node] = {}
        for node in order:
            if node in self.given or node.op in LEAVES:
                self.same[node] = node
                self.operands[node] = ()
                continue
            if IDENTITY_TAG in node.op.tags:
                self.same[node] = self.resolve(node.args[0])
                continue
            try:
                args = tuple(
                    [self.resolve(arg) if type(arg) is Node else frozen(arg, self.resolve) for arg in node.args]
                )
                options = frozen(node.attributes, self.resolve) if node.attributes else None
                first = by_key.setdefault((node.op, args, options, id(node.payload)), node)
            except TypeError:
                first = node
            self.same[node] = first
            if first is node:
                self.operands[node] = tuple(dict.fromkeys(map(self.resolve, node.inputs)))

    def given_to(self, names: Sequence[str], arg: Any) -> list[Any] | None:
        """What operations of some names are given that compute an argument, one within another, the outermost first.

        What the innermost is given, then what else the outer ones are; None where others compute the argument, or
        something else needs what is computed on the way.
        """
        path = self._path(names, arg, self.inlined)
        if path is None:
            return None
        given = list(path[-1].args)
        for outer, inner in reversed(list(itertools.pairwise(path))):
            given += [other for other in outer.args if not (isinstance(other, Node) and self.resolve(other) is inner)]
        return given

    def _path(self, names: Sequence[str], arg: Any, alone: Collection[Node]) -> list[Node] | None:
        """The operations of some names that compute an argument, one within another, the outermost first."""
        node = self.resolve(arg) if isinstance(arg, Node) else None
        if node is None or node not in alone or node.op.name != names[0] or node.attributes:
            return None
        if len(names) == 1:
            return [node]
        paths = (self._path(names[1:], inner, alone) for inner in node.args)
        return next(([node, *path] for path in paths if path is not None), None)

    def _computed_within(self, alone: Collection[Node]) -> set[Node]:
        """The values that operations compute on the way to their own, by the first of their ways that can be gone."""
        found: set[Node] = set()
        for node in self.order:
            ways = (self._path(names, node.args[position], alone) for position, *names in node.op.fused)
            found.update(next((way for way in ways if way is not None), ()))
        return found

    def _read_by_loops(self, roots: Collection[Node]) -> dict[Node, frozenset[int]]:
        """For each loop, the positions of its results that nothing uses but loops, as sequences."""
        if sum(SUBGRAPH_TAG in node.op.tags for node in self.order) < 2:
            return {}
        otherwise: set[Node] = set(roots)
        for node in self.order:
            if SUBGRAPH_TAG in node.op.tags and len(node.args) == 4:
                n_steps, sequences, initials, captured = node.args
                fed = set(map(self.resolve, sequences))
                fed.difference_update(map(self.resolve, (*nodes_in(n_steps), *initials, *captured)))
                otherwise.update(one for one in self.operands[node] if one not in fed)
            else:
                otherwise.update(self.operands[node])
        found: dict[Node, set[int]] = defaultdict(set)
        for node in self.order:
            if node.op is OUTPUT and node not in otherwise and SUBGRAPH_TAG in node.args[0].op.tags:
                found[self.resolve(node.args[0])].add(node.args[1])
        return {call: frozenset(positions) for call, positions in found.items()}

    def _candidates(self, roots: Iterable[Node]) -> tuple[set[Node], set[Node]]:
        """The values used once, as an argument, in the branch where they are computed; what no statement computes."""
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
            if node.op is OUTPUT or node.op is IFELSE:
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
        return candidates, silent

    def _used_once(self, roots: Iterable[Node]) -> set[Node]:
        """The values to be written inside the one expression that uses them."""
        candidates, silent = self._candidates(roots)
        always = self._computed_within(candidates)
        chosen: set[Node] = set()
        waiting: dict[BranchPath, dict[Node, None]] = defaultdict(dict)  # chosen, but not written yet
        depth: dict[Node, int] = {}
        for node in self.order:
            if node in silent:
                continue
            here = waiting[self.paths[node]]
            within = [operand for operand in self.operands[node] if operand in chosen]
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
