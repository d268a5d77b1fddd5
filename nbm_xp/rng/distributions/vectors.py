"""Draws of vectors along the last axis, which is not split: Dirichlet, normal and hypergeometric vectors.

Contract: sums and products over the components are computed one by one, in order, because a library's own sum or matrix
product may round differently.

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, sections 11.2 and 11.4.
.. [2] G. H. Golub and C. F. Van Loan, "Matrix computations", fourth edition, 2013, section 4.2: Cholesky's factor.
"""

from __future__ import annotations

import operator
import warnings
from functools import reduce
from typing import Any, Final

from nbm_xp.namespace import array_namespace, asarray, concrete_int, dtype_of, wide_dtypes
from nbm_xp.namespace.compiling import is_traced
from nbm_xp.namespace.elementary import exp, log, quotient

from ..rules import FINITE, NOT_NEGATIVE, TRIALS, Rule, require, require_held
from ..tasks import Draw
from ..uniforms import Shape
from .counts import hypergeometric
from .derivatives import logit_beta_in_a
from .gammas import log_gamma
from .sampling import normal_number, root

_LEAST: Final = 2.0**-1000
_FARTHEST: Final = 700.0
_ROUNDING: Final = 2.0**-50
_SOME: Final = Rule("above 0 in one component at least", lambda total: total > 0)


def _finished(draw: Draw, components: list[Any], shape: Shape) -> Any:
    return draw.finished(draw.xp.stack(components, axis=-1), shape)


def dirichlet(draw: Draw, offset: Shape, shape: Shape, alpha: Any, *, in_shapes: bool = False) -> Any:
    """Compute a block of proportions: gamma numbers over their sum [1]_, from logarithms to avoid underflow.

    If `in_shapes`, compute the derivative of each proportion in its own shape instead, before normalisation: the
    derivative of the logit of its beta marginal.
    """
    xp, count, uniforms = draw.xp, shape[-1], draw.uniforms(offset, shape, 1)
    alpha = xp.astype(alpha, dtype_of(xp, "float64"))
    require("alpha", alpha, NOT_NEGATIVE)
    require("alpha", xp.max(alpha, axis=-1), _SOME)
    alpha = xp.reshape(xp.broadcast_to(alpha, shape), (-1, count))
    shapes = [alpha[:, k] for k in range(count)]
    some = [a > 0.0 for a in shapes]
    positive = [xp.where(k, xp.maximum(a, _LEAST), 1.0) for k, a in zip(some, shapes, strict=True)]
    logs = [log_gamma(uniforms.every(k, count), a) for k, a in enumerate(positive)]
    largest = reduce(xp.maximum, (xp.where(k, y, -xp.inf) for k, y in zip(some, logs, strict=True)))
    logs = [xp.minimum(y - largest, 0.0) for y in logs]
    sizes = [xp.where(k, exp(xp.maximum(y, -_FARTHEST)), 0.0) for k, y in zip(some, logs, strict=True)]
    total = reduce(operator.add, sizes)
    if not in_shapes:
        return _finished(draw, [size / total for size in sizes], shape)
    together, slopes = xp.sum(alpha, axis=-1), []
    for a, size, y in zip(shapes, sizes, logs, strict=True):
        logit = y - log(xp.maximum(total - size, _LEAST))
        slopes.append(xp.where(a > 0.0, size / total * logit_beta_in_a(a, together - a, logit), 0.0))
    return _finished(draw, slopes, shape)


def _standard(draw: Draw, offset: Shape, shape: Shape) -> list[Any]:
    """Return the components of vectors of independent normal numbers."""
    uniforms = draw.uniforms(offset, shape, 1)
    return [normal_number(uniforms.every(k, shape[-1])) for k in range(shape[-1])]


def standard_normal_vectors(draw: Draw, offset: Shape, shape: Shape) -> Any:
    """Compute a block of vectors of independent normal numbers."""
    return _finished(draw, _standard(draw, offset, shape), shape)


def normal_vectors(
    draw: Draw, offset: Shape, shape: Shape, mean: Any, cov: Any, *, check_valid: str, tol: float
) -> Any:
    """Compute a block of normal vectors: the mean plus a factor of the covariance times normal numbers [1]_."""
    xp = draw.xp
    mean, cov = (xp.astype(x, dtype_of(xp, "float64")) for x in (mean, cov))
    require("mean", mean, FINITE)
    require("cov", cov, FINITE)
    columns, left = cholesky(cov)
    wrong = xp.sum(xp.astype(xp.abs(left) > tol + tol * xp.abs(cov), dtype_of(xp, "int32")))
    if check_valid != "ignore" and not is_traced([wrong]) and concrete_int(wrong):
        message = "cov must be symmetric and positive semidefinite"
        if check_valid == "raise":
            raise ValueError(f"{message}, to within tol={tol:g}")
        warnings.warn(f"{message}; its lower triangle is taken as far as it is", RuntimeWarning, stacklevel=2)
    z = _standard(draw, offset, shape)
    sums = (reduce(operator.add, (columns[j][k : k + 1] * z[j] for j in range(k + 1))) for k in range(shape[-1]))
    return _finished(draw, [total + mean[k : k + 1] for k, total in enumerate(sums)], shape)


def cholesky(cov: Any) -> tuple[list[Any], Any]:
    """Factor a symmetric positive semidefinite matrix using only sums and products of its elements [2]_.

    Returns the columns of a lower triangular matrix, and the difference between the given matrix and the product of the
    triangle and its transpose, which is not 0 if there is no such factor.

    Examples
    --------
    >>> import numpy as np
    >>> columns, left = cholesky(np.asarray([[4.0, 2.0], [2.0, 1.0]]))
    >>> [column.tolist() for column in columns], left.tolist()
    ([[2.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    """
    xp, n = array_namespace(cov), cov.shape[0]
    places = xp.arange(n)
    largest = xp.max(xp.abs(cov)) if n else 0.0
    columns, left = [], cov
    for j in range(n):
        pivot = left[j, j : j + 1]
        some = pivot > largest * (n * _ROUNDING)
        column = xp.where(some & (places >= j), quotient(left[:, j], root(xp.where(some, pivot, 1.0))), 0.0)
        left = left - column[:, None] * column[None, :]
        columns.append(column)
    return columns, left


def hypergeometrics(draw: Draw, offset: Shape, shape: Shape, colors: Any) -> Any:
    """Compute a block of counts of each color in a sample of the size in `numbers`, each given the counts before it."""
    xp, n, (sample,), uniforms = draw.xp, shape[-1], draw.numbers, draw.uniforms(offset, shape, 1)
    colors = xp.astype(colors, dtype_of(xp, "float64"))
    require_sample(colors, sample)
    left = xp.broadcast_to(asarray([sample], xp, "float64"), (uniforms.count,))
    rest, counts = xp.sum(colors, keepdims=True), []
    for k in range(n - 1):
        own = colors[k : k + 1]
        rest = rest - own
        counts.append(hypergeometric(uniforms.every(k, n), own, rest, left))
        left = left - counts[-1]
    require_held(xp.stack([*counts, left]), draw.dtype)
    return _finished(draw, [*counts, left], shape)


def require_sample(colors: Any, nsample: int) -> None:
    """Raise an error if colors are invalid or fewer than the sample; a Dask array is not checked."""
    require("colors", colors, TRIALS)
    xp = array_namespace(colors)
    with wide_dtypes(xp):
        total = xp.sum(xp.astype(colors, dtype_of(xp, "float64")))
        require("colors in all", total, TRIALS)
        require("nsample less all colors", nsample - total, Rule("0 or less", lambda x: x <= 0))
