"""What the chapters of linear algebra share: checks of shapes, adjoints, diagonals, quotients over equal values.

Papers on derivatives of matrix functions pair a cotangent with its conjugate: a loss changes by the real part of
``tr(adjoint(G) @ dX)``. Here the rules of gradients pair it as it stands (see `elementwise`), so that rules which
follow such a paper conjugate the cotangent when it comes and the gradient when it goes: `conj`, which does nothing to
real numbers.

The vectors that belong to equal eigenvalues or singular values may be any of their space, and what turns them into each
other in a gradient rule is 0 over 0 there. Where a cotangent depends on the matrix by way of the vectors alone, it is
that of their space, and the limit is zero. Otherwise the standard rule has no limit, and the gradient is NaN, as in
JAX. A limit is known at this matrix alone, so its own slope is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..graph import walk
from ..lengths import Size, maximum_length, minimum_length, same_length
from ..node import ELEMENTWISE_TAG, LEAVES, OUTPUT, Node, declare
from ..standard.creation import arange, conj, zeros
from ..standard.data_types import finfo
from ..standard.elementwise import abs as abs_
from ..standard.elementwise import maximum, where
from ..standard.manipulation import concat, expand_dims, matrix_transpose
from ..standard.manipulation import sum as sum_
from ..standard.shapes import not_written, of_matrices, written
from ..standard.statistical import any as any_
from ..tensor import Tensor, as_tensor, record

__all__ = [
    "adjoint", "by_columns", "check_matrices", "check_square", "diagonal", "diagonal_mask", "diagonal_matrix",
    "over_difference", "over_gap", "over_sum", "rounding", "skew", "square_infer", "trace",
]  # fmt: skip


def check_matrices(x: Node, name: str) -> None:
    """Raise for what is no matrix and no stack of matrices."""
    if len(x.shape) < 2:
        raise ValueError(f"{name} needs matrices, got shape {written(x.shape)}")


def check_square(x: Node, name: str) -> None:
    """Raise for what is not square."""
    if len(x.shape) < 2 or same_length(x.shape[-1], x.shape[-2]) is False:
        raise ValueError(f"{name} needs square matrices, got shape {written(x.shape)}")


def square_infer(name: str) -> Any:
    """The shape and dtype rule of a function of square matrices that gives matrices of the same shape."""

    def infer(x: Node, **attributes: Any) -> Any:
        check_square(x, name)
        return x.shape, x.dtype

    return infer


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


def skew(x: Tensor) -> Tensor:
    """The matrix less its adjoint."""
    return x - adjoint(x)


def by_columns(x: Tensor, factors: Tensor) -> Tensor:
    """Each column of `x` times its factor."""
    return x * expand_dims(factors, -2)


def diagonal_mask(n: Size) -> Tensor:
    """Where a matrix of n rows has its diagonal."""
    places = arange(n)
    return expand_dims(places, 1) == expand_dims(places, 0)


def diagonal_matrix(values: Tensor) -> Tensor:
    """Matrices with these values on the diagonal, and zeros."""
    return where(diagonal_mask(values.node.shape[-1]), expand_dims(values, -1), 0.0)


def rounding(values: Tensor) -> Tensor:
    """The difference below which two of these singular or eigenvalues count as equal: several units in their sum."""
    total = sum_(abs_(values), axis=-1, keepdims=True)
    return total * float(8 * finfo(values).eps)


def _diagonal_length(rows: Size, columns: Size, offset: int) -> Size:
    inside = minimum_length((rows, columns - offset) if offset >= 0 else (rows + offset, columns))
    return maximum_length((inside, 0)) if offset else inside


def _undiagonal(g: Tensor, x: Tensor, offset: int) -> Tensor:
    """A matrix with `g` on a diagonal: one value for each row, placed where row and column meet there."""
    rows, columns = x.node.shape[-2:]
    length = g.node.shape[-1]
    before = minimum_length((-offset, rows)) if offset < 0 else 0
    after = rows - length - before
    parts = [g]
    for place, count in ((0, before), (len(parts), after)):
        if same_length(count, 0) is not True:
            none = zeros((*g.node.shape[:-1], count), dtype=g.dtype)
            parts.insert(place if place == 0 else len(parts), none)
    by_row = parts[0] if len(parts) == 1 else concat(parts, axis=-1)
    i, j = arange(rows), arange(columns)
    on = expand_dims(i, 1) + offset == expand_dims(j, 0)
    return where(on, expand_dims(by_row, -1), 0.0)


_DIAGONAL = of_matrices(
    "linalg.diagonal",
    lambda x, *, offset: ((*x.shape[:-2], _diagonal_length(x.shape[-2], x.shape[-1], offset)), x.dtype),
    (lambda g, out, x, *, offset: _undiagonal(g, x, offset),),
    may_overlap=True,
    written=not_written,
)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The elements on a diagonal of matrices."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs matrices, got shape {written(x.node.shape)}")
    return record(_DIAGONAL, x, offset=offset)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of matrices."""
    return sum_(diagonal(x, offset=offset), axis=-1, dtype=dtype)


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
    safe = where(none, 1.0, gap)
    here = record(_KNOWN_HERE, expand_dims(values, -2), any_(none, axis=(-2, -1), keepdims=True))
    if _depends_on_values(of, values.node):  # vectors that nothing depends on have cotangents that are exactly zero
        unused = none & (numerator == 0) & (gap != 0)
        return where(unused, here * 0.0, numerator * where(none, float("nan"), 1.0 / safe))
    first, *others = (sum_(abs_(part), axis=(-2, -1), keepdims=True) for part in of)
    unknown = none & (abs_(numerator) > sum(others, first) * finfo(values).eps ** 0.5)
    # a factor, so that what is linear in the numerator knows as well that there is no answer
    return where(none, here * 0.0, numerator / safe) + numerator * where(unknown, float("nan"), 0.0)


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
)
"""A factor 1 that says of a product that its slope in the values is not known where a condition holds."""
