"""Draws of a `Generator`: uniforms, normal numbers and numbers made of a few uniforms.

Contract: names, parameters and meaning of `numpy.random.Generator`. Uniforms and normal numbers are the same from a
kernel, the portable form, and one task for each block; the others are computed in float64 and rounded once to the
dtype, so that a draw in float32 is the draw in float64, rounded.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace.compiling import current_trace
from nbm_xp.namespace.libraries import HOST

from ..parameters import Size
from .state import FEW, GeneratorState

_TABLES = ("float32", "float64")


class RealNumbers(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def random(
        self, size: Size = None, dtype: Any = None, out: Any = None, *, chunks: Any = None, bits: int | None = None
    ) -> Any:
        """Draw uniforms between 0 and 1, both excluded.

        Parameters
        ----------
        size, dtype, out, chunks, bits
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).random((2, 2), "float64").round(3).tolist()
        [[0.255, 0.38], [0.971, 0.423]]
        """
        if type(size) is int and 0 < size <= FEW and out is None and bits is None and chunks is None:
            ahead, rows = self._ahead
            if ahead == dtype and current_trace() is None and (row := next(rows, None)) is not None:
                return row[:size].copy()
            if dtype in _TABLES and self._library == HOST and not self._is_leaf:
                return self._few(size, dtype)
        return self.uniform(0.0, 1.0, size, dtype, chunks=chunks, bits=bits, out=out)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        bits: int | None = None,
        out: Any = None,
    ) -> Any:
        """Draw samples from the uniform distribution between two bounds.

        Parameters
        ----------
        low, high : number or array
            Bounds, ``low <= high``; they and their difference are finite.
        size, dtype, chunks, bits, out
            See `Generator`.

        Returns
        -------
        array
            ``u * (high - low) + low``.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).uniform(np.asarray([0.0, 10.0]), np.asarray([1.0, 20.0])).round(3).tolist()
        [0.255, 13.799]
        """
        return self._of_table("uniform", (low, high), size, dtype, chunks, out, bits=bits)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        out: Any = None,
    ) -> Any:
        """Draw samples from the normal distribution, by the method of Box and Muller [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean, and standard deviation, 0 or more.
        size, dtype, chunks, out
            See `Generator`.

        Returns
        -------
        array
            Numbers within 9.3 standard deviations of the mean in float64, where the smallest uniform is 2**-62; within
            6.6 in the other dtypes, where it is 2**-31.

        References
        ----------
        .. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of
           Mathematical Statistics 29 (1958), 610-611.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).normal(size=3, dtype="float64").round(3).tolist()
        [-0.89, -0.584, -0.003]
        """
        return self._of_table("normal", (loc, scale), size, dtype, chunks, out, pairs=True)

    def standard_normal(self, size: Size = None, dtype: Any = None, out: Any = None, *, chunks: Any = None) -> Any:
        """Draw samples from the standard normal distribution: see `normal`.

        Parameters
        ----------
        size, dtype, out, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_normal(3, "float64").round(3).tolist()
        [-0.89, -0.584, -0.003]
        """
        return self.normal(0.0, 1.0, size, dtype, chunks=chunks, out=out)

    def exponential(
        self, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None, out: Any = None
    ) -> Any:
        """Draw samples from the exponential distribution: ``-log(u) * scale`` (Devroye 1986, section 2.2).

        Parameters
        ----------
        scale : number or array
            Mean, 0 or more.
        size, dtype, chunks, out
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).exponential(2.0, 3, "float64").round(3).tolist()
        [2.734, 1.936, 0.058]
        """
        return self._of_table("exponential", (scale,), size, dtype, chunks, out)

    def standard_exponential(
        self, size: Size = None, dtype: Any = None, method: str = "inv", out: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the exponential distribution of mean 1: see `exponential`.

        Parameters
        ----------
        size, dtype, out, chunks
            See `Generator`.
        method : {"inv"}
            Inversion, the only method: it takes one uniform for each number.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_exponential(3, "float64").round(3).tolist()
        [1.367, 0.968, 0.029]
        """
        if str(method) != "inv":
            raise ValueError(f"method must be 'inv', inversion, got {method!r}")
        return self.exponential(1.0, size, dtype, chunks=chunks, out=out)

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the Laplace distribution, by inversion (Devroye 1986, section 2.2).

        Parameters
        ----------
        loc, scale : number or array
            Mean, and mean absolute deviation from it, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).laplace(size=3, dtype="float64").round(3).tolist()
        [-0.674, -0.275, 2.857]
        """
        return self._of_table("laplace", (loc, scale), size, dtype, chunks)

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the logistic distribution, by inversion: ``log(u / (1 - u)) * scale + loc``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        loc, scale : number or array
            Mean, and scale, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).logistic(size=3, dtype="float64").round(3).tolist()
        [-1.073, -0.49, 3.521]
        """
        return self._of_table("logistic", (loc, scale), size, dtype, chunks)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the Gumbel distribution of maxima, by inversion: ``-log(-log(u)) * scale + loc``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        loc, scale : number or array
            Mode, and scale, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).gumbel(size=3, dtype="float64").round(3).tolist()
        [-0.312, 0.033, 3.536]
        """
        return self._of_table("gumbel", (loc, scale), size, dtype, chunks)

    def truncated_normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the normal distribution truncated at two standard deviations, by inversion [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean, and standard deviation, 0 or more, before truncation.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
           37 (1988), 477-484.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).truncated_normal(size=3, dtype="float64").round(3).tolist()
        [-0.625, -0.292, 1.643]
        """
        return self._of_table("truncated_normal", (loc, scale), size, dtype, chunks)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw samples from the gamma distribution, by the rejection method of Marsaglia and Tsang [1]_.

        Parameters
        ----------
        shape, scale : number or array
            Shape and scale, 0 or more; the mean is their product.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
           Mathematical Software 26 (2000), 363-372.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).gamma(2.0, 3.0, 3, "float64").round(3).tolist()
        [2.56, 4.938, 4.194]
        """
        return self._of_table("gamma", (shape, scale), size, dtype, chunks)

    def standard_gamma(
        self, shape: Any, size: Size = None, dtype: Any = None, out: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the gamma distribution of scale 1: see `gamma`.

        Parameters
        ----------
        shape : number or array
            Shape, 0 or more; equal to the mean.
        size, dtype, out, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_gamma(2.0, 3, "float64").round(3).tolist()
        [0.853, 1.646, 1.398]
        """
        return self._of_table("gamma", (shape, 1.0), size, dtype, chunks, out)

    def beta(self, a: Any, b: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw samples from the beta distribution, ``x / (x + y)`` of two gamma numbers [1]_.

        Parameters
        ----------
        a, b : number or array
            Shape parameters, more than 0; the mean is ``a / (a + b)``.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
           Mathematical Software 26 (2000), 363-372.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).beta(2.0, 3.0, 3, "float64").round(3).tolist()
        [0.476, 0.341, 0.26]
        """
        return self._of_table("beta", (a, b), size, dtype, chunks)
