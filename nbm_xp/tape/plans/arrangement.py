"""The arrangement of a plan: the order and branch of each value, and the values inlined into expressions.

Each value is computed once. The order saves memory: a value is computed when it is needed, so that its arguments can be
released immediately. A value is inlined only if no statement lies between it and its use and if the expression does not
keep several arrays alive until its end.
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

_DEEPEST_EXPRESSION = 12


_PLAIN = frozenset({int, bool, str, type(None), *DTYPE_CLASSES})
_LENGTHS = frozenset({int, type(None)})


def frozen(value: Any, stand_in: Callable[[Node], Hashable]) -> Hashable:
    """Convert an argument or attribute to a key, with `stand_in` of each node; unhashable values stay unhashable."""
    kind = type(value)
    if kind is Node:
        return stand_in(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, (tuple, list)):
        if _LENGTHS.issuperset(map(type, value)):  # fast path for shapes, axes and slice bounds
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
        return kind, repr(value)  # by repr, -0.0 differs from 0.0 and all NaNs are equal
    return value  # type: ignore[no-any-return]


def frugal(roots: Sequence[Node], operands: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """Return an order of evaluation, inputs first, with few arrays alive at once.

    The operand that needs the most arrays at once is computed first, as in R. Sethi and J. D. Ullman, "The generation
    of optimal code for arithmetic expressions", Journal of the ACM 17 (1970).
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
        Arguments of each node; equal calls are merged.
    order
        Nodes, inputs before their users.
    needed
        Indices of the used results of each call with several results.
    paths
        Branch in which each node is computed.
    chain_of
        Chain of each node in a chain.
    unstacked
        Indices of the results of each loop that only other loops read, as sequences.
    inlined
        Nodes that are used once and written inside the expression that uses them.
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
        """Return the node that replaces a node: its given, or the first of equal calls."""
        node = self.givens.get(node, node)
        return self.same.get(node, node)

    def _merge_equal_calls(self, order: Sequence[Node]) -> None:
        """Map each call to the first equal call, and find its operands."""
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
        """Return the arguments of nested operations of these names (outermost first) that compute an argument.

        The arguments of the innermost operation come first, followed by the remaining arguments of the outer ones. None
        if other operations compute the argument or an intermediate value is used elsewhere.
        """
        path = self._path(names, arg, self.inlined)
        if path is None:
            return None
        given = list(path[-1].args)
        for outer, inner in reversed(list(itertools.pairwise(path))):
            given += [other for other in outer.args if not (isinstance(other, Node) and self.resolve(other) is inner)]
        return given

    def _path(self, names: Sequence[str], arg: Any, alone: Collection[Node]) -> list[Node] | None:
        """Return the nested operations of these names that compute an argument, outermost first, or None."""
        node = self.resolve(arg) if isinstance(arg, Node) else None
        if node is None or node not in alone or node.op.name != names[0] or node.attributes:
            return None
        if len(names) == 1:
            return [node]
        paths = (self._path(names[1:], inner, alone) for inner in node.args)
        return next(([node, *path] for path in paths if path is not None), None)

    def _computed_within(self, alone: Collection[Node]) -> set[Node]:
        """Return the nodes that fused operations compute, for the first match of each operation."""
        found: set[Node] = set()
        for node in self.order:
            ways = (self._path(names, node.args[position], alone) for position, *names in node.op.fused)
            found.update(next((way for way in ways if way is not None), ()))
        return found

    def _read_by_loops(self, roots: Collection[Node]) -> dict[Node, frozenset[int]]:
        """Return, for each loop, the indices of the results that are used only as sequences of other loops."""
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
        """Return the nodes used once, as an argument in their own branch, and the nodes that need no statement."""
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
        """Return the nodes to inline into the expression that uses them."""
        candidates, silent = self._candidates(roots)
        always = self._computed_within(candidates)
        chosen: set[Node] = set()
        waiting: dict[BranchPath, dict[Node, None]] = defaultdict(dict)  # chosen but not written
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
            elif here:  # a statement: waiting nodes are computed before it
                chosen.difference_update(here)
                here.clear()
        return chosen
