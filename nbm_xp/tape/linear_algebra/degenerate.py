"""Limits where eigenvalues, or singular values, are equal, or the sum of singular values is zero.

The vectors that belong to equal values may be any of their space. A function of the matrix is none of their choice, so
what turns them into each other in a rule, a numerator over a gap of the values, is 0 over 0 there. Its limit is the one
that is met on the way through matrices with the same vectors whose values are made unequal, along `_steps`: what the
numerator gains on the way over what the gap does, which is L'Hopital's rule. How a numerator depends on the values is
in the graph: it was recorded from them. Where a function of the matrix is smooth, every way leads to the same limit.

Where that cannot be said the limit is NaN: where another way leads elsewhere; of a function that is none of the matrix
alone, such as of one vector of many; where the numerator was computed from other decompositions of what the matrix was
computed from; inside a loop or a checkpoint, which does not know what comes after it. A limit is known at this matrix
alone, so its own slope is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nbm_xp.tape.growth import grown
from nbm_xp.tape.node import ELEMENTWISE_TAG, LEAVES, OUTPUT, Memory, Node
from nbm_xp.tape.registry import declare
from nbm_xp.tape.stand_ins import is_inner
from nbm_xp.tape.standard.choices import where
from nbm_xp.tape.standard.data_types import finfo
from nbm_xp.tape.standard.elementwise import abs as abs_
from nbm_xp.tape.standard.elementwise import maximum
from nbm_xp.tape.standard.manipulation import expand_dims
from nbm_xp.tape.standard.promotion import real_of
from nbm_xp.tape.standard.sequences import arange
from nbm_xp.tape.standard.statistical import any as any_
from nbm_xp.tape.standard.sums import sum as sum_
from nbm_xp.tape.tensor import Tensor, record
from nbm_xp.tape.traversal import reachable

from .matrices import diagonal_mask

__all__ = ["over_difference", "over_sum", "over_values"]

_FAMILIES = ({"linalg.eigh", "linalg.eigvalsh"}, {"linalg.eig", "linalg.eigvals"}, {"linalg.svd", "linalg.svdvals"})
_PLACES = {"linalg.eigh": 0, "linalg.eig": 0, "linalg.svd": 1}
"""Which of its results the values are; the others have no other result."""
_NEAR = 0.625
"""The power of the rounding error below which the limit is nearer to the truth than the quotient is."""


def over_difference(numerator: Tensor, values: Tensor, tolerance: Tensor, x: Tensor, of: Sequence[Tensor]) -> Tensor:
    """A matrix over each column's value less each row's; its limit where they are equal, and zero on the diagonal."""
    same = diagonal_mask(values.node.shape[-1])
    sizes = abs_(values)
    near = (expand_dims(sizes, -2) + expand_dims(sizes, -1)) * finfo(values).eps ** _NEAR
    tolerance = maximum(tolerance, near)  # closer ones, though not equal, leave few digits in a quotient

    def gaps(v: Tensor) -> Tensor:
        return where(same, 1.0, expand_dims(v, -2) - expand_dims(v, -1))

    return where(same, 0.0, _quotient(numerator, gaps, values, tolerance, x, of))


def over_sum(numerator: Tensor, values: Tensor, tolerance: Tensor, x: Tensor, of: Sequence[Tensor]) -> Tensor:
    """A matrix over each column's value and each row's together; its limit where both are zero."""
    return _quotient(numerator, lambda v: expand_dims(v, -2) + expand_dims(v, -1), values, tolerance, x, of)


def over_values(numerator: Tensor, values: Tensor, tolerance: Tensor, x: Tensor, of: Sequence[Tensor]) -> Tensor:
    """Columns over the values that they belong to; the limit where these are zero."""
    return _quotient(numerator, lambda v: expand_dims(v, -2), values, tolerance, x, of)


def _steps(values: Tensor, power: float) -> Tensor:
    """By how much the values are changed on a way: positive, and each by another amount."""
    return arange(1, values.node.shape[-1] + 1, dtype=real_of(values.dtype)) ** power


def _quotient(
    numerator: Tensor,
    gaps: Callable[[Tensor], Tensor],
    values: Tensor,
    tolerance: Tensor,
    x: Tensor,
    of: Sequence[Tensor],
) -> Tensor:
    """Where it is 0 over 0, the limit; the numerator is of differences in `of`, and so are its errors of rounding."""
    gap, rounded = gaps(values), finfo(values).eps ** 0.5
    none = abs_(gap) <= tolerance
    quotient = numerator / where(none, 1.0, gap)
    if not _is_known(numerator, values, x):
        return where(none, numerator * float("nan"), quotient)
    here = record(_KNOWN_HERE, expand_dims(values, -2), any_(none, axis=(-2, -1), keepdims=True))
    one, other = (_steps(values, power) for power in (1.0, 1.5))
    gained, again = (_gained(numerator, values, x, steps) for steps in (one, other))
    limit, fits = here * 0.0, abs_(numerator) <= _size(of) * rounded
    if gained is not None and again is not None:
        limit, elsewhere = (gain / gaps(steps) for gain, steps in ((gained, one), (again, other)))
        grown_of = [part for part in (_gained(part, values, x, other) for part in of) if part is not None]
        fits = fits & (abs_(limit - elsewhere) <= _size(grown_of) * rounded)
        limit = limit * here
    # a factor, so that what is linear in the numerator knows as well that there is no answer
    return where(none, limit, quotient) + numerator * where(none & ~fits, float("nan"), 0.0)


def _size(of: Sequence[Tensor]) -> Tensor:
    """The sum of the absolute values of all elements."""
    first, *others = (sum_(abs_(part), axis=(-2, -1), keepdims=True) for part in of)
    return sum(others, first)


_KNOWN_HERE = declare(
    "known_here",
    lambda values, where: (values.shape, values.dtype),
    (lambda g, out, values, here: g * where(here, float("nan"), 0.0), None),
    run=lambda xp, values, where: xp.ones_like(values),
    tags=frozenset({ELEMENTWISE_TAG}),
    memory=Memory.OWN,
)
"""A factor 1 that says of a product that its slope in the values is not known where a condition holds."""


def _is_known(numerator: Tensor, values: Tensor, x: Tensor) -> bool:
    """Whether it can be said how a value grows with the eigenvalues of `x`."""
    order = reachable([numerator.node])
    if any(is_inner(node) for node in order) or _has_others(order, _family(values), x.node):
        return False
    try:
        _gained(numerator, values, x, _steps(values, 1.0))
    except NotImplementedError:  # something on the way has no second derivative
        return False
    return True


def _gained(numerator: Tensor, values: Tensor, x: Tensor, steps: Tensor) -> Tensor | None:
    """How a value grows as the eigenvalues of `x` take steps; None for not at all."""
    order, family = reachable([numerator.node]), _family(values)
    own = [node for node in order if _is_of(node.call, family, x.node) and _holds_values(node)]
    return grown(numerator, own, [steps] * len(own)) if own else None


def _family(values: Tensor) -> set[str]:
    return next(names for names in _FAMILIES if values.node.call.op.name in names)


def _is_of(call: Node, family: set[str], x: Node) -> bool:
    return call.op.name in family and call.args[0] is x


def _holds_values(node: Node) -> bool:
    return node.args[1] == _PLACES[node.call.op.name] if node.op is OUTPUT else node.op.name not in _PLACES


def _has_others(order: Sequence[Node], family: set[str], x: Node) -> bool:
    """Whether other decompositions are involved that change with the matrix, and not it with them."""
    below = reachable([x])
    leaves, known = {node for node in below if node.op in LEAVES}, set(below)
    every = set().union(*_FAMILIES)
    calls = [node for node in order if node.op.name in every and node not in known and not _is_of(node, family, x)]
    return any(not leaves.isdisjoint(reachable([call.args[0]])) for call in calls)
