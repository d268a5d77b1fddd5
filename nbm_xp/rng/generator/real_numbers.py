"""Uniforms, normal numbers and those made of a few uniforms, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`. Uniforms and normal numbers are the same whether a
kernel makes them in one go, the portable form, or a task for each block; the others are made in float64 and rounded
once to the dtype asked for, so that those of one dtype are those of another, rounded.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace.compiling import current_trace

from ..parameters import Size
from ..uniforms import HOST
from .state import FEW, GeneratorState

__all__ = ["RealNumbers"]

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
        """Draw uniforms between two bounds.

        Parameters
        ----------
        low, high : number or array
            The bounds, finite and so that their difference is; `high` is not below `low`.
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
        """Draw normal numbers, by the method of Box and Muller [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation, which is 0 or more.
        size, dtype, chunks, out
            See `Generator`.

        Returns
        -------
        array
            Of float64 none is further from the mean than 9.3 standard deviations, which the smallest uniform, 2**-62,
            gives; of the others 6.6, of 2**-31.

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
        """Draw normal numbers of mean 0 and standard deviation 1: see `normal`.

        Parameters
        ----------
        size, dtype, out, chunks
            As for `normal`.

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
        """Draw exponential numbers, by inversion (Devroye 1986, section 2.2): ``-log(u) * scale``.

        Parameters
        ----------
        scale : number or array
            The mean, 0 or more.
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
        """Draw exponential numbers of mean 1: see `exponential`.

        Parameters
        ----------
        size, dtype, out, chunks
            See `Generator`.
        method : {"inv"}
            Inversion, the one method there is: it takes one uniform for each number, whatever that is.

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
        """Draw numbers of Laplace's distribution, by inversion (Devroye 1986, section 2.2).

        Parameters
        ----------
        loc, scale : number or array
            Mean, and the mean distance from it, 0 or more.
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
        """Draw numbers of the logistic distribution, by inversion: ``log(u / (1 - u)) * scale + loc``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        loc, scale : number or array
            Mean and scale, 0 or more.
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
        """Draw numbers of Gumbel's distribution of largest values, by inversion: ``-log(-log(u)) * scale + loc``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        loc, scale : number or array
            Mode and scale, 0 or more.
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
        """Draw normal numbers within two standard deviations, by inversion [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation, 0 or more, of the normal distribution.
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
        """Draw gamma numbers, by the rejection method of Marsaglia and Tsang [1]_.

        Parameters
        ----------
        shape, scale : number or array
            0 or more; the mean is their product.
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
        """Draw gamma numbers of scale 1: see `gamma`.

        Parameters
        ----------
        shape : number or array
            0 or more; the mean.
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
        """Draw beta numbers, from two gamma numbers [1]_ each: ``x / (x + y)``.

        Parameters
        ----------
        a, b : number or array
            More than 0; the mean is ``a / (a + b)``.
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
