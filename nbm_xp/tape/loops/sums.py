"""Sums over the steps of a loop that can be taken after it, of the stacked factors of what each step would add.

The sum over all steps of a matrix product, or of a sum over axes, is one operation on stacks; in the loop it would be
an operation and an addition for every step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ..lengths import known, product, same_shape
from ..node import LINEAR_TAG, Node, nodes_in
from ..standard.broadcasting import sum_to
from ..standard.manipulation import matrix_transpose, reshape
from ..standard.sums import sum as sum_
from ..tensor import Tensor, record
from .products import sum_of_outer_products
from .shortcuts import taken

__all__ = ["Sums", "Term", "sums_over_steps"]

_LARGE = 2**17
"""From how many elements in a step on its factors are not kept for later."""


@dataclass
class Term:
    """A sum over steps that is taken of the stacks of its factors."""

    factors: tuple[Node, ...]
    finish: Callable[[Sequence[Tensor]], Tensor]


@dataclass
class Sums:
    """What is to be added up: terms after the loop, and the rest, of each step, in it."""

    after: list[Term]
    inside: Node | None


def sums_over_steps(node: Node, varying: Collection[Node]) -> Sums:
    """How to add up a value over the steps.

    Parameters
    ----------
    node
        The value of one step.
    varying
        What changes from step to step.
    """
    if not taken().sums_after:
        return Sums([], node)
    after: list[Term] = []
    inside: list[Node] = []
    for term in _summands(node):
        found = _term(term, varying)
        if found is None or not all(_is_kept_easily(factor, varying) for factor in found.factors):
            inside.append(term)
        else:
            after.append(found)
    if not after:
        return Sums([], node)
    rest = None
    for term in inside:
        rest = Tensor(term) if rest is None else rest + Tensor(term)
    return Sums(after, None if rest is None else rest.node)


def _is_kept_easily(factor: Node, varying: Collection[Node]) -> bool:
    size = known(product(factor.shape))
    return factor in varying and (size is None or size < _LARGE)


def _summands(node: Node) -> list[Node]:
    """The values whose sum this is, all of its shape."""
    found: list[Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        parts = [arg for arg in one.args if isinstance(arg, Node)]
        if one.op.name == "add" and len(parts) == 2 and all(same_shape(part.shape, node.shape) for part in parts):
            stack += reversed(parts)
        else:
            found.append(one)
    return found


def _term(node: Node, varying: Collection[Node]) -> Term | None:
    """A value as a linear function of factors, taken of their stacks."""
    name = node.op.name
    if name in _OUTER:
        left = node.args[0]
        found = _matrix_product(node) if name == "matmul" else Term(node.args, _outer)
        return found if left in varying else None
    if name in ("sum", "sum_to"):
        return _leading_sum(node) or Term((node.args[0],), _sum_after(node))
    others = node.args[1:]
    linear = LINEAR_TAG in node.op.tags and not any(other in varying for other in nodes_in(others))
    inner = _term(node.args[0], varying) if linear else None
    if inner is None:
        return None
    finish = inner.finish
    return Term(inner.factors, lambda stacks: record(node.op, finish(stacks), *others, **node.attributes))


_OUTER = frozenset({"matmul", "sum_of_outer_products"})


def _outer(stacks: Sequence[Tensor]) -> Tensor:
    return sum_of_outer_products(stacks[0], stacks[1])


def _transposed(node: Node) -> Node:
    if node.op.name in ("matrix_transpose", "transpose"):
        inner: Node = node.args[0]
        return inner
    return matrix_transpose(Tensor(node)).node


def _matrix_product(node: Node) -> Term | None:
    left, right = node.args
    return Term((_transposed(left), right), _outer) if len(left.shape) == len(right.shape) == 2 else None


def _leading_sum(node: Node) -> Term | None:
    """Products of matrices summed over all axes before their own."""
    inner = node.args[0]
    leading = len(inner.shape) - 2
    if inner.op.name != "matmul" or leading < 1 or not same_shape(node.shape, inner.shape[leading:]):
        return None
    left, right = inner.args
    if not same_shape(left.shape[:-2], inner.shape[:leading]) or not same_shape(right.shape[:-2], left.shape[:-2]):
        return None
    return Term((_transposed(left), right), _outer)


def _sum_after(node: Node) -> Callable[[Sequence[Tensor]], Tensor]:
    if node.op.name == "sum_to":
        return lambda stacks: sum_to(stacks[0], node.shape)
    axes = (0, *(axis + 1 for axis in node.attributes["axis"]))

    def total(stacks: Sequence[Tensor]) -> Tensor:
        summed = sum_(stacks[0], axis=axes, dtype=node.dtype)
        return reshape(summed, node.shape) if node.attributes["keepdims"] else summed

    return total
