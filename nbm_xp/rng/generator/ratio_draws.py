"""Gamma, chi-squared, F and Student's numbers, as draws of a `Generator`.

Contract: what `real_draws` promises.
"""

from __future__ import annotations

from typing import Any

from ..parameters import Size
from .real_draws import RealDraws

__all__ = ["RatioDraws"]


class RatioDraws(RealDraws):
    """See `nbm_xp.rng.Generator`."""

    def standard_gamma(
        self,
        shape: Any,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        chunks: Any = None,
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
        return self._independent("gamma", size, dtype, chunks, out, shape=shape, scale=1.0)

    def chisquare(
        self,
        df: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw chi-squared numbers: twice gamma numbers [1]_ of half the shape.

        Parameters
        ----------
        df : number or array
            The degrees of freedom, more than 0; the mean.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 1,
           second edition, Wiley, 1994, chapter 18.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).chisquare(3.0, 3, "float64").round(3).tolist()
        [1.028, 2.299, 1.889]
        """
        return self._independent("chisquare", size, dtype, chunks, df=df)

    def noncentral_chisquare(
        self,
        df: Any,
        nonc: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw noncentral chi-squared numbers: a normal number's square and central ones [1]_.

        Parameters
        ----------
        df : number or array
            The degrees of freedom, more than 0.
        nonc : number or array
            The noncentrality, 0 or more; the mean is the sum of both.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        Up to 1 degree of freedom, they are chi-squared numbers of degrees of freedom that are drawn: `df` and two
        for each event of Poisson's distribution.

        References
        ----------
        .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2,
           second edition, Wiley, 1995, chapter 29.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).noncentral_chisquare(3.0, 2.0, 3, "float64").round(3).tolist()
        [10.341, 5.569, 0.903]
        """
        return self._independent("noncentral_chisquare", size, dtype, chunks, df=df, nonc=nonc)

    def f(
        self,
        dfnum: Any,
        dfden: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of the F distribution: quotients of chi-squared numbers over their means [1]_.

        Parameters
        ----------
        dfnum, dfden : number or array
            The degrees of freedom above and below, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2,
           second edition, Wiley, 1995, chapter 27.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).f(3.0, 5.0, 3, "float64").round(3).tolist()
        [1.437, 0.745, 0.457]
        """
        return self._independent("f", size, dtype, chunks, dfnum=dfnum, dfden=dfden)

    def noncentral_f(
        self,
        dfnum: Any,
        dfden: Any,
        nonc: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of the noncentral F distribution: quotients whose numerator is noncentral [1]_.

        Parameters
        ----------
        dfnum, dfden : number or array
            The degrees of freedom above and below, more than 0.
        nonc : number or array
            The noncentrality of the numerator, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2,
           second edition, Wiley, 1995, chapter 30.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).noncentral_f(3.0, 5.0, 2.0, 3, "float64").round(3).tolist()
        [1.691, 1.58, 0.336]
        """
        return self._independent("noncentral_f", size, dtype, chunks, dfnum=dfnum, dfden=dfden, nonc=nonc)

    def standard_t(
        self,
        df: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of Student's distribution: normal numbers over roots of chi-squared ones [1]_.

        Parameters
        ----------
        df : number or array
            The degrees of freedom, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2,
           second edition, Wiley, 1995, chapter 28.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_t(3.0, 3, "float64").round(3).tolist()
        [0.605, 0.459, -1.421]
        """
        return self._independent("standard_t", size, dtype, chunks, df=df)
