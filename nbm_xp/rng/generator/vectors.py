"""Draws of a `Generator`: vectors of proportions, of normal numbers and of counts.

Contract: names, parameters and meaning of `numpy.random.Generator`; vectors lie along the last axis, which Dask does
not split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace import is_array, is_lazy
from nbm_xp.namespace.errors import check_choice

from ..distributions import vectors
from ..distributions.integers import multinomial
from ..parameters import Size, any_tensor, chunks_of, counting_dtype, is_number, real_dtype, shape_of, with_whole_axis
from ..rules import FINITE, NOT_NEGATIVE, TRIALS, integer, require, require_weights
from .state import GeneratorState


class Vectors(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def dirichlet(self, alpha: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw samples from the Dirichlet distribution: gamma numbers divided by their sum.

        Source: Devroye 1986, section 11.4.

        Parameters
        ----------
        alpha : array
            Parameters of the components along the last axis, 0 or more and not all 0.
        size : int or tuple of ints
            Shape of the result without its last axis. By default that of `alpha` without its last axis.
        dtype, chunks
            See `Generator`; the axis of proportions is not split.

        Returns
        -------
        array
            Proportions that add up to 1 along the last axis.

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
        rows, length = [alpha[..., 0]] if alpha.ndim > 1 and alpha.shape[-1] else [], shape_of(None, alpha)[-1]
        return self._of_rows(xp, vectors.dirichlet, (alpha,), size, rows, length, real_dtype(dtype, alpha), chunks)

    def multinomial(self, n: Any, pvals: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the multinomial distribution: each count is binomial, given the counts before it.

        Source: Devroye 1986, section 11.1.4.

        Parameters
        ----------
        n : int or array of ints
            Number of trials, from 0 to 2**53.
        pvals : array
            Probabilities of the outcomes along the last axis; they add up to 1.
        size : int or tuple of ints
            Shape of the result without its last axis. By default `n` and the rows of `pvals`, broadcast.
        dtype, chunks
            See `Generator`; the axis of outcomes is not split.

        Returns
        -------
        array
            Counts of the outcomes along the last axis.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).multinomial(20, [0.2, 0.3, 0.5], 2).tolist()
        [[3, 4, 13], [3, 4, 13]]
        """
        integer("n", n)
        xp, (n, p) = self._parameters({"n": n, "pvals": pvals})
        require("n", n, TRIALS)
        require_weights("pvals", p)
        rows = [n, *([p[..., 0]] if p.ndim > 1 else [])]
        n = n[..., None] if is_array(n) else n
        return self._of_rows(xp, multinomial, (n, p), size, rows, p.shape[-1], counting_dtype(xp, dtype), chunks)

    def _of_rows(
        self,
        xp: Any,
        make: Callable[..., Any],
        parameters: Sequence[Any],
        size: Size,
        rows: Sequence[Any],
        length: int,
        dtype: str,
        chunks: Any,
        **how: Any,
    ) -> Any:
        """Draw vectors of some length, in the shape `size` or the one that `rows` broadcast to."""
        shape = shape_of(size, *rows)
        whole = with_whole_axis(chunks_of(chunks, shape, *rows), (*shape, length))
        return self._draw(xp, make, parameters, (*shape, length), dtype, n=math.prod(shape), chunks=whole, **how)

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
        """Draw samples from the multivariate normal distribution: a factor of the covariance times normal numbers.

        Source: Devroye 1986, section 11.2.

        Parameters
        ----------
        mean : array
            Mean, of shape (n,).
        cov : array
            Covariance, of shape (n, n): symmetric and positive semidefinite.
        size : int or tuple of ints
            Shape of the result without its last axis.
        check_valid : {"warn", "raise", "ignore"}
            Whether to warn, raise `ValueError` or do nothing if `cov` is not symmetric and positive semidefinite.
        tol : float
            Absolute and relative tolerance of that check.
        dtype, chunks
            See `Generator`; the axis of components is not split.
        method : {"svd", "eigh", "cholesky"}
            Ignored: the factor is always Cholesky's, of sums and products, because decompositions differ in their last
            bits between libraries. Singular covariances are factored too.

        Returns
        -------
        array
            Vectors along the last axis.

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
        name, (length,) = real_dtype(dtype, mean, cov), shape_of(None, mean)
        if any_tensor(mean, cov):
            z = self._of_rows(xp, vectors.standard_normal_vectors, (), size, (), length, name, chunks, recorded=True)
            factor = xp.linalg.cholesky(xp.astype(cov, name))
            return xp.astype(mean, name) + xp.matmul(z, factor.mT)
        how: dict[str, Any] = {"args": (mean, cov), "check_valid": check_valid, "tol": float(tol)}
        return self._of_rows(xp, vectors.normal_vectors, (), size, (), length, name, chunks, **how)

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
        """Draw samples from the multivariate hypergeometric distribution: each count is given those before it.

        Source: Devroye 1986, section 11.1.4.

        Parameters
        ----------
        colors : array of ints
            Number of items of each color, of shape (n,).
        nsample : int
            Number of items drawn without replacement, at most the sum of `colors`.
        size : int or tuple of ints
            Shape of the result without its last axis.
        method : {"marginals", "count"}
            Ignored: colors are always drawn one after the other.
        dtype, chunks
            See `Generator`; the axis of colors is not split.

        Returns
        -------
        array
            Counts of the colors along the last axis.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).multivariate_hypergeometric([16, 8, 4], 6, 2).tolist()
        [[3, 3, 0], [3, 2, 1]]
        """
        check_choice("method", method, ("marginals", "count"))
        integer("colors", colors)
        nsample = integer("nsample", nsample)
        xp, (colors,) = self._parameters({"colors": colors})
        if not is_array(colors) or colors.ndim != 1:
            raise ValueError(f"colors must have shape (n,), got {colors!r}")
        if not isinstance(nsample, int):
            raise TypeError(f"nsample must be an int, got {nsample!r}")
        require("nsample", nsample, TRIALS)
        name = counting_dtype(xp, dtype, nsample)
        if not is_lazy(xp):
            vectors.require_sample(colors, nsample)
        length = colors.shape[0]
        return self._of_rows(xp, vectors.hypergeometrics, (nsample,), size, (), length, name, chunks, args=(colors,))
