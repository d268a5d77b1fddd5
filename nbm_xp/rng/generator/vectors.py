"""Vectors of proportions, of normal numbers and of counts, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`; a vector lies along the last axis, which Dask does
not split.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import is_array, is_lazy
from nbm_xp.namespace.errors import check_choice

from ..distributions import vectors
from ..parameters import (
    COUNTING,
    Size,
    any_tensor,
    chunks_of,
    counts_on,
    dtype_among,
    is_number,
    real_dtype,
    shape_of,
    with_whole_axis,
)
from ..rules import FINITE, NOT_NEGATIVE, TRIALS, integer, require
from .state import GeneratorState

__all__ = ["Vectors"]


class Vectors(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def dirichlet(self, alpha: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw proportions that add up to 1, of Dirichlet's distribution: gamma numbers over their sum.

        Source: Devroye 1986, section 11.4.

        Parameters
        ----------
        alpha : array
            The shapes of the gamma numbers along the last axis, 0 or more and not all 0.
        size : int or tuple of ints
            The shape without the axis of proportions: that of the rows of `alpha`, by default.
        dtype, chunks
            See `Generator`; the axis of proportions is not split.

        Returns
        -------
        array
            With a last axis of proportions.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).dirichlet([1.0, 2.0, 3.0], 2, "float64").round(3).tolist()
        [[0.102, 0.257, 0.641], [0.168, 0.293, 0.539]]
        """
        xp, (alpha,) = self._parameters({"alpha": alpha}, recordable=True)
        if is_number(alpha) or not alpha.ndim:
            raise TypeError(f"alpha must be an array of shapes, got {alpha!r}")
        require("alpha", alpha, NOT_NEGATIVE)
        name, rows = real_dtype(dtype, alpha), [alpha[..., 0]] if alpha.ndim > 1 and alpha.shape[-1] else []
        shape = (*shape_of(size, *rows), *shape_of(None, alpha)[-1:])
        chunks = with_whole_axis(chunks_of(chunks, shape[:-1], *rows), shape)
        return self._draw(xp, vectors.dirichlet, (alpha,), shape, name, n=math.prod(shape[:-1]), chunks=chunks)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        dtype: Any = None,
        *,
        method: str = "svd",
        chunks: Any = None,
    ) -> Any:
        """Draw normal vectors: a factor of the covariance times independent normal numbers.

        Source: Devroye 1986, section 11.2.

        Parameters
        ----------
        mean : array
            Of shape (n,).
        cov : array
            The covariance, of shape (n, n): symmetric and positive semidefinite.
        size : int or tuple of ints
            The shape without the axis of components.
        check_valid : {"warn", "raise", "ignore"}
            What to do where `cov` is not as it must be.
        tol : float
            How far it may be from that.
        dtype, chunks
            See `Generator`; the axis of components is not split.
        method : {"svd", "eigh", "cholesky"}
            Of no effect: the factor is always Cholesky's, made of sums and products, since no decomposition of a
            library has the same bits as another's. A covariance that is singular has one too.

        Returns
        -------
        array
            With a last axis of components.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> cov = [[2.0, 1.0], [1.0, 2.0]]
        >>> Generator(234).multivariate_normal([0.0, 1.0], cov, 2, dtype="float64").round(3).tolist()
        [[1.989, 3.097], [-1.258, 0.951]]
        """
        check_choice("check_valid", check_valid, ("warn", "raise", "ignore"))
        check_choice("method", method, ("svd", "eigh", "cholesky"))
        if not is_number(tol) or not 0 <= tol < float("inf"):
            raise ValueError(f"tol must be a number, finite and 0 or more, got {tol!r}")
        xp, (mean, cov) = self._parameters({"mean": mean, "cov": cov}, recordable=True)
        for parameter, value, axes in (("mean", mean, 1), ("cov", cov, 2)):
            if is_number(value) or value.ndim != axes or len(set(value.shape)) > 1:
                found = repr(value) if is_number(value) else f"shape {tuple(value.shape)}"
                raise ValueError(f"{parameter} must have shape {'(n,)' if axes == 1 else '(n, n)'}, got {found}")
            require(parameter, value, FINITE)
        if mean.shape[0] != cov.shape[0]:
            raise ValueError(f"mean and cov must be of one length, got {mean.shape[0]} and {cov.shape[0]}")
        shape, name = (*shape_of(size), *shape_of(None, mean)), real_dtype(dtype, mean, cov)
        n, chunks = math.prod(shape[:-1]), with_whole_axis(chunks, shape)
        if any_tensor(mean, cov):
            z = self._draw(xp, vectors.standard_normal_vectors, (), shape, name, n=n, recorded=True)
            factor = xp.linalg.cholesky(xp.astype(cov, name))
            return xp.astype(mean, name) + xp.matmul(z, factor.mT)
        options: dict[str, Any] = {"args": (mean, cov), "check_valid": check_valid, "tol": float(tol)}
        return self._draw(xp, vectors.normal_vectors, (), shape, name, n=n, chunks=chunks, **options)

    def multivariate_hypergeometric(
        self,
        colors: Any,
        nsample: int,
        size: Size = None,
        method: str = "marginals",
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw how many of each color are in a sample without replacement, each given those before it.

        Source: Devroye 1986, section 11.1.4.

        Parameters
        ----------
        colors : array of ints
            How many there are of each color, of shape (n,).
        nsample : int
            How many are drawn, at most all of them.
        size : int or tuple of ints
            The shape without the axis of colors.
        method : {"marginals", "count"}
            Of no effect: one color comes after the other.
        dtype, chunks
            See `Generator`; the axis of colors is not split.

        Returns
        -------
        array
            With a last axis of colors.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).multivariate_hypergeometric([16, 8, 4], 6, 2).tolist()
        [[3, 3, 0], [3, 2, 1]]
        """
        check_choice("method", method, ("marginals", "count"))
        integer("colors", colors)
        name, nsample = dtype_among(dtype, COUNTING), integer("nsample", nsample)
        xp, (colors,) = self._parameters({"colors": colors})
        if not is_array(colors) or colors.ndim != 1:
            raise ValueError(f"colors must have shape (n,), got {colors!r}")
        if not isinstance(nsample, int):
            raise TypeError(f"nsample must be an int, got {nsample!r}")
        require("nsample", nsample, TRIALS)
        name = counts_on(xp, name, most=nsample)
        if not is_lazy(xp):
            vectors.require_sample(colors, nsample)
        shape = (*shape_of(size), colors.shape[0])
        n, how = math.prod(shape[:-1]), {"chunks": with_whole_axis(chunks, shape), "args": (colors,)}
        return self._draw(xp, vectors.hypergeometrics, (nsample,), shape, name, n=n, **how)
