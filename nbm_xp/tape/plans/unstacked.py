"""Which results of a loop are read by other loops alone: those can stay a list of steps and need not be stacked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..node import OUTPUT, SUBGRAPH_TAG, Node, nodes_in

__all__ = ["results_read_by_loops"]


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
