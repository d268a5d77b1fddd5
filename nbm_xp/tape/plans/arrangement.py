"""What a plan computes: each value once, in which order, in which branch, and which stand inside the use of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType

from nbm_xp.namespace import chains as library

from ..branches import branch_paths
from ..lengths import Length
from ..node import IFELSE_NAME, LEAVES, OUTPUT, Node, nodes_in
from ..traversal import Result, reachable
from .chains import Chain, chains_of, crosses, in_chains
from .fusion import written_within
from .merging import merge_equal_calls
from .schedule import frugal, inlined
from .unstacked import results_read_by_loops

__all__ = ["Arrangement"]


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
        self, inputs: Sequence[Node], outputs: Sequence[Result], xp: ModuleType, givens: dict[Node, Node], lazy: bool
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
        self.chain_of: dict[Node, Chain] = {}
        if names := library.chain_steps(xp):
            chains = chains_of(self.order, self.operands, self.paths, self.resolve, self.given, roots, names)
            self.order = in_chains(self.order, self.operands, chains)
            self.chain_of = {node: chain for chain in chains for node in chain.members}
        self.unstacked = results_read_by_loops(self.order, self.operands, self.resolve, roots)
        self.inlined = self._choose_inlined(roots)

    def resolve(self, node: Node) -> Node:
        """The node that is computed in the place of another."""
        node = self.givens.get(node, node)
        return self.same.get(node, node)

    def forget(self) -> None:
        """Let go of what only the whole source takes to write, not a single expression."""
        self.order, self.paths = [], {}

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
