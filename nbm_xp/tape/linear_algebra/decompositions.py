"""Eigenvalues, singular values, and the norms computed from them.

Eigenvalues: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation". Singular values: Seeger, Hetzel, Dai, Meissner, Lawrence (2017), "Auto-differentiating linear
algebra", and Wan and Zhang (2019), "Automatic differentiation for complex valued SVD", with the term of each pair of
singular values split in two: the common rotation of both factors, divided by the difference of the values, and the
opposite rotation, divided by their sum.

Vectors are unique only up to signs or phases, and differentiated functions should not depend on these. The vectors of
equal eigenvalues or singular values are an arbitrary basis of their space, and the terms of the gradient rules that
rotate them into each other are 0 / 0. If the cotangent depends on the matrix only through the vectors, it is a function
of their space and the limit is zero. Otherwise the rule has no limit and the gradient is NaN, as in JAX. A limit is
known at this matrix only, so its derivative is NaN.

Gradients of norms are finite everywhere: zero at kinks (the zero vector, zero elements and zero singular values); if
several elements, rows, columns or singular values are the largest (smallest), they share the gradient equally.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace.overlay import EighResult, EigResult, SVDResult

from ..graph import LEAVES, OUTPUT, Node, walk
from ..lengths import maximum_length, minimum_length, same_length
from ..operations import ELEMENTWISE_TAG, declare
from ..standard.creation import conj, real, zeros
from ..standard.data_types import cast, complex_of, finfo, floating, real_of
from ..standard.elementwise import abs as abs_
from ..standard.elementwise import maximum, where
from ..standard.manipulation import concat, expand_dims, matrix_transpose
from ..standard.shapes import axes_of, of_matrices
from ..standard.statistical import all as all_
from ..standard.statistical import any as any_
from ..standard.statistical import max as max_
from ..standard.statistical import min as min_
from ..standard.statistical import root, squared_size
from ..standard.sums import matmul
from ..standard.sums import sum as sum_
from ..tensor import Tensor, as_tensor, record, record_several
from .matrices import (
    added,
    adjoint,
    by_columns,
    check_matrices,
    diagonal,
    diagonal_mask,
    inv,
    of_square,
    tolerance_argument,
)

__all__ = ["eig", "eigh", "eigvals", "eigvalsh", "matrix_norm", "matrix_rank", "svd", "svdvals", "vector_norm"]


def skew(x: Tensor) -> Tensor:
    """Return a matrix minus its adjoint."""
    return x - adjoint(x)


def rounding(values: Tensor) -> Tensor:
    """Return the difference below which eigenvalues or singular values count as equal: 8 eps times the sum of all."""
    total = sum_(abs_(values), axis=-1, keepdims=True)
    return total * float(8 * finfo(values).eps)


# Power of eps, relative to the values, below which the limit is more accurate than the quotient.
_NEAR = 0.625


def over_difference(numerator: Tensor, values: Tensor, tolerance: Tensor, of: Sequence[Tensor]) -> Tensor:
    """Divide a matrix by column's minus row's value; the limit where these are equal, and zero on the diagonal."""
    same = diagonal_mask(values.node.shape[-1])
    sizes = abs_(values)
    near = (expand_dims(sizes, -2) + expand_dims(sizes, -1)) * finfo(values).eps ** _NEAR
    gap = where(same, 1.0, expand_dims(values, -2) - expand_dims(values, -1))
    return where(same, 0.0, over_gap(numerator, gap, values, maximum(tolerance, near), of))


def over_gap(numerator: Tensor, gap: Tensor, values: Tensor, tolerance: Tensor, of: Sequence[Tensor]) -> Tensor:
    """Divide a numerator, computed from the matrices `of`, by a gap between values; the limit where the gap is zero."""
    none = abs_(gap) <= tolerance
    safe = where(none, 1.0, gap)
    here = record(_KNOWN_HERE, expand_dims(values, -2), any_(none, axis=(-2, -1), keepdims=True))
    if _depends_on_values(of, values.node):  # cotangents of unused vectors are exactly zero
        unused = none & (numerator == 0) & (gap != 0)
        return where(unused, here * 0.0, numerator * where(none, float("nan"), 1.0 / safe))
    first, *others = (sum_(abs_(part), axis=(-2, -1), keepdims=True) for part in of)
    unknown = none & (abs_(numerator) > sum(others, first) * finfo(values).eps ** 0.5)
    # a factor of the numerator, so that functions linear in it become NaN too
    return where(none, here * 0.0, numerator / safe) + numerator * where(unknown, float("nan"), 0.0)


def _depends_on_values(of: Sequence[Tensor], values: Node) -> bool:
    """Return whether cotangents depend on the decomposed matrix other than through its vectors."""
    call = values.call

    def operands(node: Node) -> Sequence[Node]:
        is_of_vectors = node.op is OUTPUT and node.args[0] is call and node.args[1] != values.args[1]
        return () if is_of_vectors else tuple(node.array_args())

    own = {node for node in walk([call.args[0]], operands) if node.op in LEAVES}
    return not own.isdisjoint(walk([part.node for part in of], operands))


# The factor 1, whose derivative in the values is NaN where a condition is true.
_KNOWN_HERE = declare(
    "known_here",
    lambda values, where: (values.shape, values.dtype),
    (lambda g, out, values, here: g * where(here, float("nan"), 0.0), None),
    run=lambda xp, values, where: xp.ones_like(values),
    tags=frozenset({ELEMENTWISE_TAG}),
)


def _turned(numerator: Tensor, values: Tensor, of: Tensor) -> Tensor:
    """Divide the rotation of eigenvectors into each other by the differences of their eigenvalues."""
    return over_difference(numerator, values, expand_dims(rounding(values), -1), [of])


def _eigh_rule(g: dict[int, Tensor], out: Any, x: Tensor) -> Tensor:
    values, vectors = out[0], out[1]
    turning = None
    if 1 in g:
        pull = matmul(adjoint(vectors), conj(g[1]))
        turning = matmul(vectors, _turned(skew(pull) * 0.5, values, pull))
    return conj(matmul(added(by_columns(vectors, g[0]) if 0 in g else None, turning), adjoint(vectors)))


_EIGH = of_square("linalg.eigh", _eigh_rule, lambda x: [(x.shape[:-1], real_of(x.dtype)), (x.shape, x.dtype)])


def eigh(x: Any, /) -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*record_several(_EIGH, floating(x)))


_EIGVALSH = of_square(
    "linalg.eigvalsh", lambda g, out, x: _eigh_rule({0: g}, eigh(x), x), lambda x: (x.shape[:-1], real_of(x.dtype))
)


def eigvalsh(x: Any, /) -> Tensor:
    """Return the eigenvalues of Hermitian matrices, in ascending order."""
    return record(_EIGVALSH, floating(x))


def _eig_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, dtype: Any) -> Tensor:
    """Return the gradient for eigenvectors of norm 1 and arbitrary phase.

    It is NaN for defective matrices, whose eigenvalues are not smooth.
    """
    values, vectors = out[0], out[1]
    back = matrix_transpose(vectors)
    turning = None
    if 1 in g:
        pull = matmul(back, g[1])
        growing = by_columns(conj(matmul(adjoint(vectors), vectors)), real(diagonal(pull)))
        turning = matmul(_turned(pull - growing, values, pull), back)
    inverse = inv(back)
    small = abs_(inverse) * finfo(vectors).eps ** 0.5 <= 1.0
    enough = all_(small, axis=(-2, -1), keepdims=True)
    return where(enough, matmul(inverse, added(expand_dims(g[0], -1) * back if 0 in g else None, turning)), math.nan)


_EIG = of_square(  # results are complex even if all eigenvalues are real
    "linalg.eig",
    _eig_rule,
    lambda x: [(x.shape[:-1], complex_of(x.dtype)), (x.shape, complex_of(x.dtype))],
    run=lambda xp, x, *, dtype: tuple(xp.astype(part, dtype) for part in xp.linalg.eig(x)),
)


def eig(x: Any, /) -> EigResult[Tensor]:
    """Return the eigenvalues and eigenvectors of square matrices, always complex."""
    x = floating(x)
    return EigResult(*record_several(_EIG, x, dtype=complex_of(x.dtype)))


_EIGVALS = of_square(
    "linalg.eigvals",
    lambda g, out, x, *, dtype: _eig_rule({0: g}, eig(x), x, dtype=dtype),
    lambda x: (x.shape[:-1], complex_of(x.dtype)),
    run=lambda xp, x, *, dtype: xp.astype(xp.linalg.eigvals(x), dtype),
)


def eigvals(x: Any, /) -> Tensor:
    """Return the eigenvalues of square matrices, always complex."""
    x = floating(x)
    return record(_EIGVALS, x, dtype=complex_of(x.dtype))


def _infer_svd(x: Node, *, full_matrices: bool) -> Any:
    check_matrices(x, "svd")
    *batch, rows, columns = x.shape
    rank = minimum_length((rows, columns))
    left, right = (rows, columns) if full_matrices else (rank, rank)
    real = real_of(x.dtype)
    return [((*batch, rows, left), x.dtype), ((*batch, rank), real), ((*batch, right, columns), x.dtype)]


def _svd_rule(g: dict[int, Tensor], out: Any, x: Tensor, *, full_matrices: bool) -> Tensor:
    s = out[1]
    tolerance = expand_dims(rounding(s), -1)
    u, g_u = out[0], conj(g[0]) if 0 in g else None
    v, g_v = adjoint(out[2]), matrix_transpose(g[2]) if 2 in g else None
    rank = s.node.shape[-1]
    own_u, own_v = (f[..., :rank] if full_matrices else f for f in (u, v))
    pull_u, pull_v = (
        None if part is None else matmul(adjoint(own), part[..., :rank]) for own, part in ((own_u, g_u), (own_v, g_v))
    )
    pulls = [pull for pull in (pull_u, pull_v) if pull is not None]
    turns = None
    if pulls:  # rotations of the factors' columns into each other: common and opposite
        together = over_difference(skew(added(*pulls)), s, tolerance, pulls)
        difference = added(pull_u, None if pull_v is None else -pull_v)
        apart = over_gap(skew(difference), expand_dims(s, -2) + expand_dims(s, -1), s, tolerance, pulls)
        turns = matmul(own_u, (together + apart) * 0.5)
    result = matmul(added(by_columns(own_u, g[1]) if 1 in g else None, turns), adjoint(own_v))
    rows, columns = x.node.shape[-2:]
    if g_u is not None and same_length(rows, rank) is not True:
        outside = _outside(u, own_u, g_u, rank, full_matrices)
        result = result + matmul(over_gap(outside, expand_dims(s, -2), s, tolerance, [g_u]), adjoint(own_v))
    if g_v is not None and same_length(columns, rank) is not True:
        outside = _outside(v, own_v, g_v, rank, full_matrices)
        result = result + matmul(own_u, adjoint(over_gap(outside, expand_dims(s, -2), s, tolerance, [g_v])))
    return conj(result)


def _outside(factor: Tensor, own: Tensor, g: Tensor, rank: Any, full_matrices: bool) -> Tensor:
    """Return the part of a cotangent outside the space of the singular vectors."""
    mine = g[..., :rank] if full_matrices else g
    result = mine - matmul(own, matmul(adjoint(own), mine))
    if full_matrices:  # the other columns rotate by the opposite amount
        others, g_others = factor[..., rank:], g[..., rank:]
        result = result - matmul(others, matmul(adjoint(g_others), own))
    return result


_SVD = of_matrices("linalg.svd", _infer_svd, (_svd_rule,))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition."""
    return SVDResult(*record_several(_SVD, floating(x), full_matrices=full_matrices))


_SVDVALS = of_matrices(
    "linalg.svdvals",
    lambda x: _infer_svd(x, full_matrices=False)[1],
    (lambda g, out, x: _svd_rule({1: g}, svd(x, full_matrices=False), x, full_matrices=False),),
)


def svdvals(x: Any, /) -> Tensor:
    """Return the singular values, in descending order."""
    return record(_SVDVALS, floating(x))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """Return the number of singular values larger than `rtol` times the largest."""
    x = floating(x)
    check_matrices(x.node, "matrix_rank")
    rows, columns = x.node.shape[-2:]
    values = svdvals(x)
    if rtol is None:
        relative: Any = maximum_length((rows, columns)) * finfo(values).eps
    else:
        tolerance = tolerance_argument(rtol, "matrix_rank")
        relative = expand_dims(tolerance, -1) if isinstance(tolerance, Tensor) else tolerance
    none = zeros((*values.node.shape[:-1], 1), dtype=values.dtype)
    largest = max_(concat([values, none], axis=-1), axis=-1, keepdims=True)
    return sum_(values > largest * relative, axis=-1)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Return the norm of vectors along axes, of any order including 0, inf and -inf."""
    x = floating(x)
    options: dict[str, Any] = {"axis": axes_of(axis, x.ndim), "keepdims": keepdims}
    if ord == 2:
        return root(sum_(squared_size(x), **options), 2)
    if ord == 0:
        return sum_(cast(as_tensor(x != 0), abs_(x).dtype), **options)
    size = abs_(x)
    if ord == 1:
        return sum_(size, **options)
    if math.isinf(ord):
        return (max_ if ord > 0 else min_)(size, **options)
    none = size == 0
    powers = where(none, 0.0 if ord > 0 else math.inf, where(none, 1.0, size) ** ord)
    if ord > 0:
        return root(sum_(powers, **options), ord)
    # for a negative order, a single zero element makes the norm zero
    some = any_(none, **options)
    finite = sum_(where(none, 1.0, powers), **options)
    return where(some, 0.0, where(some, 1.0, finite) ** (1 / ord))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return the norm of matrices: ``'fro'``, ``'nuc'``, or of order 1, 2, inf, -1, -2 or -inf."""
    x = floating(x)
    check_matrices(x.node, "matrix_norm")
    if ord is None or (isinstance(ord, str) and ord == "fro"):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, str) and ord == "nuc":
        result = sum_(svdvals(x), axis=-1)
    elif isinstance(ord, str) or ord not in (1, 2, math.inf, -1, -2, -math.inf):
        raise ValueError(f"ord must be 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf in matrix_norm, got {ord!r}")
    else:
        extreme = max_ if ord > 0 else min_
        if ord in (2, -2):
            result = extreme(svdvals(x), axis=-1)
        else:
            summed = -2 if ord in (1, -1) else -1
            result = extreme(sum_(abs_(x), axis=summed), axis=-1)
    return expand_dims(result, (-2, -1)) if keepdims else result
