"""Draws whose elements are vectors along the last axis, Dirichlet's, normal, hypergeometric ones; and orders of rows.

Contract: what `tasks` promises; sums and products over the components are made one by one, in
order, since a library's own sum, or product of matrices, may round otherwise.

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, sections 11.2 and 11.4.
.. [2] G. H. Golub and C. F. Van Loan, "Matrix computations", fourth edition, 2013, section 4.2: Cholesky's factor.
.. [3] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.2: random orders.
"""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from nbm_xp.namespace import (
    Derivatives,
    array_namespace,
    asarray,
    concrete_int,
    dtype_of,
    get_namespace,
    promote_types,
    wide_dtypes,
)
from nbm_xp.namespace.compiling import is_traced

from ..elementary import exp, log, quotient
from ..parameters import LARGEST
from ..rules import FINITE, NOT_NEGATIVE, TRIALS, Rule, require, require_held
from .counting import hypergeometric
from .derivatives import logit_beta_in_a
from .element_uniforms import ElementUniforms, of_block
from .fine_uniforms import normal_number, root
from .rejection import log_gamma
from .tasks import Elements
from .whole_numbers import order_keys

__all__ = ["Dirichlets", "Hypergeometrics", "NormalVectors", "RowOrders", "cholesky", "require_sample"]

_LEAST: Final = 2.0**-1000
_FARTHEST: Final = 700.0
_ROUNDING: Final = 2.0**-50
_SOME: Final = Rule("above 0 in one component at least", lambda total: total > 0)


@dataclass(frozen=True, slots=True)
class _Vectors(Elements):
    """A task whose elements are vectors; `whole` has the components along its last axis, which is not split."""

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        xp = get_namespace(self.library)
        with wide_dtypes(xp):
            parameters = self.checked(*(xp.astype(block, dtype_of(xp, "float64")) for block in blocks))
            if 0 in shape:
                return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
            uniforms = of_block(self.state, self.whole[:-1], offset[:-1], shape[:-1], self.library)
            return self.finished(xp.stack(self.components(uniforms, shape, *parameters), axis=-1), shape)

    def checked(self, *parameters: Any) -> tuple[Any, ...]:
        """What the components are made from: the parameters, once they are known to be allowed."""
        raise NotImplementedError(f"{type(self).__name__} is what tasks have in common")

    def components(self, uniforms: ElementUniforms, shape: tuple[int, ...], *parameters: Any) -> list[Any]:
        """The components, each of shape (count,)."""
        raise NotImplementedError(f"{type(self).__name__} is what tasks have in common")


@dataclass(frozen=True, slots=True)
class Dirichlets(_Vectors):
    """Proportions: gamma numbers over their sum [1]_, by their logarithms, so that none is lost.

    Parameters
    ----------
    in_shapes : bool
        Whether to make, in place of each proportion, its derivative in its own shape before they are divided by their
        sum, that of its beta marginal's logit: see `gradients`.
    """

    in_shapes: bool = False

    def derivatives(self) -> Derivatives:
        """The derivatives in the shapes."""
        return Derivatives("Dirichlet's distribution", ("alpha",), self.derivative, simplex=True)

    def differentiated(self, k: int, dtype: str) -> Dirichlets:
        """What makes the derivatives in the shapes, in the wider of the two dtypes."""
        return replace(self, in_shapes=True, dtype=promote_types(self.dtype, dtype) if dtype in LARGEST else self.dtype)

    def checked(self, *parameters: Any) -> tuple[Any, ...]:
        """Refuse shapes below 0, and those that are all 0."""
        (alpha,) = parameters
        require("alpha", alpha, NOT_NEGATIVE)
        if alpha.shape[-1]:
            require("alpha", array_namespace(alpha).max(alpha, axis=-1), _SOME)
        return parameters

    def components(self, uniforms: ElementUniforms, shape: tuple[int, ...], *parameters: Any) -> list[Any]:
        """The proportions."""
        xp, (alpha,), outcomes = uniforms.xp, parameters, shape[-1]
        alpha = xp.reshape(xp.broadcast_to(alpha, shape), (-1, outcomes))
        some = [alpha[:, k] > 0.0 for k in range(outcomes)]
        logs = [
            log_gamma(uniforms.every(k, outcomes), xp.where(some[k], xp.maximum(alpha[:, k], _LEAST), 1.0))
            for k in range(outcomes)
        ]
        largest = reduce(xp.maximum, (xp.where(k, x, -xp.inf) for k, x in zip(some, logs, strict=True)))
        sizes = [
            xp.where(k, exp(xp.maximum(xp.minimum(x - largest, 0.0), -_FARTHEST)), 0.0)
            for k, x in zip(some, logs, strict=True)
        ]
        total = reduce(operator.add, sizes)
        if not self.in_shapes:
            return [size / total for size in sizes]
        shapes, slopes = xp.sum(alpha, axis=-1), []
        for k, (size, x) in enumerate(zip(sizes, logs, strict=True)):
            logit = xp.minimum(x - largest, 0.0) - log(xp.maximum(total - size, _LEAST))
            slope = logit_beta_in_a(alpha[:, k], shapes - alpha[:, k], logit)
            slopes.append(xp.where(some[k], size / total * slope, 0.0))
        return slopes


@dataclass(frozen=True, slots=True)
class NormalVectors(_Vectors):
    """Normal vectors: a mean, and a factor of the covariance times independent normal numbers [1]_.

    Parameters
    ----------
    check_valid : {"warn", "raise", "ignore"}
        What is done where the factor is none of the covariance.
    tol : float
        How far it may be from one.
    """

    check_valid: str = "warn"
    tol: float = 1e-8

    def checked(self, *parameters: Any) -> tuple[Any, ...]:
        """The mean, and the columns of the factor."""
        mean, cov = parameters
        xp = array_namespace(cov)
        require("mean", mean, FINITE)
        require("cov", cov, FINITE)
        columns, left = cholesky(cov)
        wrong = xp.abs(left) > self.tol + self.tol * xp.abs(cov)
        count = xp.sum(xp.astype(wrong, dtype_of(xp, "int32")))
        if self.check_valid != "ignore" and not is_traced([count]) and concrete_int(count):
            message = "cov must be symmetric and positive semidefinite"
            if self.check_valid == "raise":
                raise ValueError(f"{message}, to within tol={self.tol:g}")
            warnings.warn(f"{message}; its lower triangle is taken as far as it is", RuntimeWarning, stacklevel=2)
        return mean, columns

    def components(self, uniforms: ElementUniforms, shape: tuple[int, ...], *parameters: Any) -> list[Any]:
        """The components, each a sum over those before it."""
        (mean, columns), axes = parameters, shape[-1]
        z = [normal_number(uniforms.every(k, axes)) for k in range(axes)]
        return [
            reduce(operator.add, (columns[j][k : k + 1] * z[j] for j in range(k + 1))) + mean[k : k + 1]
            for k in range(axes)
        ]


def cholesky(cov: Any) -> tuple[list[Any], Any]:
    """Factor a matrix that is symmetric and positive semidefinite, in sums and products of its elements alone [2]_.

    Parameters
    ----------
    cov : array
        float64, of shape (n, n). Its lower triangle is read.

    Returns
    -------
    columns : list of arrays
        Those of a lower triangle.
    left : array
        What the product of that and its transpose lacks; not 0 where there is no such factor.

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


class Hypergeometrics(_Vectors):
    """How many of each color are in a sample; the number of the sample is in `numbers`.

    Each count is hypergeometric, given those before it [1]_.
    """

    __slots__ = ()

    def checked(self, *parameters: Any) -> tuple[Any, ...]:
        """Refuse colors of which there are too few, or too many."""
        require_sample(parameters[0], self.numbers[0])
        return parameters

    def components(self, uniforms: ElementUniforms, shape: tuple[int, ...], *parameters: Any) -> list[Any]:
        """The counts."""
        xp, (colors,), n = uniforms.xp, parameters, shape[-1]
        left = xp.broadcast_to(asarray([self.numbers[0]], xp, "float64"), (uniforms.count,))
        rest, counts = xp.sum(colors, keepdims=True), []
        for k in range(n - 1):
            own = colors[k : k + 1]
            rest = rest - own
            counts.append(hypergeometric(uniforms.every(k, n), own, rest, left))
            left = left - counts[-1]
        require_held(xp.stack([*counts, left]), self.dtype)
        return [*counts, left]


def require_sample(colors: Any, nsample: int) -> None:
    """Refuse colors that a sample cannot be of; nothing is known of a Dask array."""
    require("colors", colors, TRIALS)
    xp = array_namespace(colors)
    with wide_dtypes(xp):
        total = xp.sum(xp.astype(colors, dtype_of(xp, "float64")))
        require("colors in all", total, TRIALS)
        require("nsample less all colors", nsample - total, Rule("0 or less", lambda x: x <= 0))


@dataclass(frozen=True, slots=True)
class RowOrders(Elements):
    """The elements along one axis in a random order, for each place of the others its own [3]_.

    Parameters
    ----------
    axis : int
        Which; it is not split.
    """

    axis: int = 0

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place; without one to take from, the places in order."""
        xp = get_namespace(self.library)
        if 0 in shape:
            return blocks[0] if blocks else xp.zeros(shape, dtype=dtype_of(xp, "int64"))
        with wide_dtypes(xp):
            keys = xp.reshape(order_keys(self.uniforms(offset, shape)), shape)
            order = xp.astype(xp.argsort(keys, axis=self.axis, stable=True), dtype_of(xp, "int64"))
            return xp.take_along_axis(blocks[0], order, axis=self.axis) if blocks else order
