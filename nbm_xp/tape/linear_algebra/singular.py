"""Singular values, the factors that come with them, and norms.

Seeger, Hetzel, Dai, Meissner, Lawrence (2017), "Auto-differentiating linear algebra", and Wan and Zhang (2019),
"Automatic differentiation for complex valued SVD", here with the term of two singular values split in two: what the
factors turn together, over the difference of the values, and what they turn apart, over the sum. The factors are
unique only up to signs, or phases: so should be what is differentiated. Singular values have finite gradients also at a
matrix of deficient rank.

Gradients of norms are finite everywhere: zero where there is a corner, at the zero vector, an element or a singular
value that is zero; where several elements, rows, columns or singular values are the largest (smallest) they share the
gradient equally.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..lengths import maximum_length, minimum_length, same_length
from ..node import Node
from ..standard.creation import conj, zeros
from ..standard.data_types import cast, finfo, floating, real_of
from ..standard.elementwise import abs as abs_
from ..standard.elementwise import where
from ..standard.manipulation import concat, expand_dims, matrix_transpose
from ..standard.manipulation import sum as sum_
from ..standard.products import matmul
from ..standard.shapes import axes_of, of_matrices
from ..standard.statistical import any as any_
from ..standard.statistical import max as max_
from ..standard.statistical import min as min_
from ..standard.statistical import root, squared_size
from ..tensor import Tensor, as_tensor, record, record_several
from .matrices import (
    adjoint,
    by_columns,
    check_matrices,
    diagonal_matrix,
    over_difference,
    over_gap,
    over_sum,
    rounding,
    skew,
)
from .solving import tolerance_argument

__all__ = ["SVDResult", "matrix_norm", "matrix_rank", "svd", "svdvals", "vector_norm"]


class SVDResult(NamedTuple):
    """The factors of a singular value decomposition, ``U @ diag(S) @ Vh``."""

    U: Tensor
    S: Tensor
    Vh: Tensor


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
    inner = diagonal_matrix(g[1]) if 1 in g else None
    if g_u is not None or g_v is not None:
        turns = _turns(s, tolerance, _pull(own_u, g_u, rank), _pull(own_v, g_v, rank))
        inner = turns if inner is None else inner + turns
    result = matmul(matmul(own_u, inner), adjoint(own_v))
    rows, columns = x.node.shape[-2:]
    if g_u is not None and same_length(rows, rank) is not True:
        outside = _outside(u, own_u, g_u, rank, full_matrices)
        result = result + matmul(over_gap(outside, expand_dims(s, -2), s, tolerance, [g_u]), adjoint(own_v))
    if g_v is not None and same_length(columns, rank) is not True:
        outside = _outside(v, own_v, g_v, rank, full_matrices)
        result = result + matmul(own_u, adjoint(over_gap(outside, expand_dims(s, -2), s, tolerance, [g_v])))
    return conj(result)


def _pull(factor: Tensor, g: Tensor | None, rank: Any) -> Tensor | None:
    """What the cotangent of a factor is among its columns."""
    return None if g is None else matmul(adjoint(factor), g[..., :rank])


def _turns(s: Tensor, tolerance: Tensor, of_u: Tensor | None, of_v: Tensor | None) -> Tensor:
    """How the cotangents of the factors turn their columns into each other: together, and apart."""
    pulls = [pull for pull in (of_u, of_v) if pull is not None]
    if of_u is not None and of_v is not None:
        together, apart = skew(of_u + of_v), skew(of_u - of_v)
    else:
        together = skew(pulls[0])
        apart = -together if of_u is None else together
    difference = over_difference(together, s, tolerance, pulls)
    return (difference + over_sum(apart, s, tolerance, pulls)) * 0.5


def _outside(factor: Tensor, own: Tensor, g: Tensor, rank: Any, full_matrices: bool) -> Tensor:
    """The part of a cotangent that leads out of the space of the columns that belong to singular values."""
    mine = g[..., :rank] if full_matrices else g
    result = mine - matmul(own, matmul(adjoint(own), mine))
    if full_matrices:  # as the space grows into the others, they turn back
        others, g_others = factor[..., rank:], g[..., rank:]
        result = result - matmul(others, matmul(adjoint(g_others), own))
    return result


_SVD = of_matrices("linalg.svd", _infer_svd, (_svd_rule,))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular value decomposition."""
    return SVDResult(*record_several(_SVD, floating(x), full_matrices=full_matrices))


def _svdvals_rule(g: Tensor, out: Tensor, x: Tensor) -> Tensor:
    factors = svd(x, full_matrices=False)
    return conj(matmul(by_columns(factors.U, g), factors.Vh))


_SVDVALS = of_matrices("linalg.svdvals", lambda x: _infer_svd(x, full_matrices=False)[1], (_svdvals_rule,))


def svdvals(x: Any, /) -> Tensor:
    """The singular values, the largest first."""
    return record(_SVDVALS, floating(x))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than `rtol` times the largest."""
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
    """The norm of vectors along axes, of any order, 0 and infinite ones included."""
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
    # with a negative order one element that is zero makes the norm zero
    some = any_(none, **options)
    finite = sum_(where(none, 1.0, powers), **options)
    return where(some, 0.0, where(some, 1.0, finite) ** (1 / ord))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norm of matrices: ``'fro'``, ``'nuc'``, or that of order 1, 2, inf, -1, -2, -inf."""
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
            added = -2 if ord in (1, -1) else -1
            result = extreme(sum_(abs_(x), axis=added), axis=-1)
    return expand_dims(result, (-2, -1)) if keepdims else result
