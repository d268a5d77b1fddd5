"""What a step computes of its sequences alone, computed for all steps at once where one product does the work of many.

Only products of a sequence with a matrix that stays the same: element-wise work costs less in the loop, on values that
are still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..branches import recorded_paths
from ..lengths import Size, known, same_length
from ..node import Node
from ..tensor import Tensor
from ..traversal import reachable
from .products import rows_times
from .shortcuts import taken

__all__ = ["hoisted", "varying_in"]

_MOST_GROWTH = 4
"""How many times as much memory as the sequence its product may take."""


def varying_in(results: Sequence[Node], inner: Sequence[Node]) -> tuple[list[Node], set[Node]]:
    """What a step computes, inputs first, and what of it changes from step to step."""
    varying = set(inner)
    order = reachable(results, inner)
    for node in order:
        if any(parent in varying for parent in node.inputs):
            varying.add(node)
    return order, varying


def hoisted(
    results: Sequence[Node], inner: Sequence[Node], carries: Sequence[Node], sequences: Sequence[Tensor], count: Size
) -> tuple[list[Node], list[Tensor]]:
    """The sequences of a loop, and further ones in the place of what can be computed from them beforehand.

    Parameters
    ----------
    results
        What a step computes.
    inner
        The nodes that stand for a slice of each sequence.
    carries
        Those that stand for the carried values.
    sequences
        The sequences.
    count
        How many steps there are.
    """
    if not taken().hoisting:
        return list(inner), list(sequences)
    fed = dict(zip(inner, sequences, strict=True))
    order, varying = varying_in(results, [*inner, *carries])
    products = [node for node in order if node.op.name == "matmul" and _is_product_of_rows(node, fed, varying)]
    paths = recorded_paths(order, results) if products else {}
    found, made = list(inner), list(sequences)
    for node in products:
        if not paths or paths.get(node) == ():  # what is in a branch may not be computed
            row, matrix = node.args
            found.append(node)
            made.append(rows_times(_first(fed[row], count), Tensor(matrix)))
    return found, made


def _is_product_of_rows(node: Node, fed: dict[Node, Tensor], varying: set[Node]) -> bool:
    row, matrix = node.args
    if node in fed or row not in fed or matrix in varying or len(matrix.shape) != 2:
        return False
    before, after = known(matrix.shape[0]), known(matrix.shape[1])
    return before is None or after is None or after <= _MOST_GROWTH * before


def _first(sequence: Tensor, count: Size) -> Tensor:
    """The entries that the loop reads."""
    return sequence if same_length(sequence.node.shape[0], count) is True else sequence[:count]
