"""Quotients over differences of eigenvalues or singular values, where these are equal, or zero.

The vectors that belong to equal values may be any of their space, and what turns them into each other in a gradient
rule is 0 over 0 there. Where a cotangent depends on the matrix by way of the vectors alone, it is that of their space,
and the limit is zero. Otherwise the standard rule has no limit, and the gradient is NaN, as in JAX. A limit is known at
this matrix alone, so its own slope is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from nbm_xp.tape.node import ELEMENTWISE_TAG, LEAVES, OUTPUT, Memory, Node
from nbm_xp.tape.registry import declare
from nbm_xp.tape.standard.choices import where
from nbm_xp.tape.standard.data_types import finfo
from nbm_xp.tape.standard.elementwise import abs as abs_
from nbm_xp.tape.standard.elementwise import maximum
from nbm_xp.tape.standard.manipulation import expand_dims
from nbm_xp.tape.standard.statistical import any as any_
from nbm_xp.tape.standard.sums import sum as sum_
from nbm_xp.tape.tensor import Tensor, record
from nbm_xp.tape.traversal import walk

from .matrices import diagonal_mask

__all__ = ["over_difference", "over_gap", "over_sum"]

_NEAR = 0.625
"""The power of the rounding error below which the limit is nearer to the truth than the quotient is."""


def over_difference(numerator: Tensor, values: Tensor, tolerance: Tensor, of: Sequence[Tensor]) -> Tensor:
    """A matrix over each column's value less each row's; its limit where they are equal, and zero on the diagonal."""
    same = diagonal_mask(values.node.shape[-1])
    sizes = abs_(values)
    near = (expand_dims(sizes, -2) + expand_dims(sizes, -1)) * finfo(values).eps ** _NEAR
    gap = where(same, 1.0, expand_dims(values, -2) - expand_dims(values, -1))
    return where(same, 0.0, over_gap(numerator, gap, values, maximum(tolerance, near), of))


def over_sum(numerator: Tensor, values: Tensor, tolerance: Tensor, of: Sequence[Tensor]) -> Tensor:
    """A matrix over each column's value and each row's together; its limit where both are zero."""
    return over_gap(numerator, expand_dims(values, -2) + expand_dims(values, -1), values, tolerance, of)


def over_gap(numerator: Tensor, gap: Tensor, values: Tensor, tolerance: Tensor, of: Sequence[Tensor]) -> Tensor:
    """A numerator, made of the matrices `of`, over what is computed from values; its limit where that is zero."""
    none = abs_(gap) <= tolerance
    quotient = numerator / where(none, 1.0, gap)
    if _depends_on_values(of, values.node):
        return where(none, numerator * float("nan"), quotient)
    here = record(_KNOWN_HERE, expand_dims(values, -2), any_(none, axis=(-2, -1), keepdims=True))
    first, *others = (sum_(abs_(part), axis=(-2, -1), keepdims=True) for part in of)
    unknown = none & (abs_(numerator) > sum(others, first) * finfo(values).eps ** 0.5)
    # a factor, so that what is linear in the numerator knows as well that there is no answer
    return where(none, here * 0.0, quotient) + numerator * where(unknown, float("nan"), 0.0)


def _depends_on_values(of: Sequence[Tensor], values: Node) -> bool:
    """Whether cotangents depend on the decomposed matrix otherwise than by way of its vectors."""
    call = values.call

    def operands(node: Node) -> Sequence[Node]:
        is_of_vectors = node.op is OUTPUT and node.args[0] is call and node.args[1] != values.args[1]
        return () if is_of_vectors else tuple(node.array_args())

    own = {node for node in walk([call.args[0]], operands) if node.op in LEAVES}
    return not own.isdisjoint(walk([part.node for part in of], operands))


_KNOWN_HERE = declare(
    "known_here",
    lambda values, where: (values.shape, values.dtype),
    (lambda g, out, values, here: g * where(here, float("nan"), 0.0), None),
    run=lambda xp, values, where: xp.ones_like(values),
    tags=frozenset({ELEMENTWISE_TAG}),
    memory=Memory.OWN,
)
"""A factor 1 that says of a product that its slope in the values is not known where a condition holds."""
