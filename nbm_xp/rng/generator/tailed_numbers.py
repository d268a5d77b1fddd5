"""Real numbers with long tails and others, as draws of a `Generator`: Pareto's, Wald's, Student's and their like.

Contract: that of `real_numbers`.
"""

from __future__ import annotations

from typing import Any

from ..parameters import Size
from .state import GeneratorState

__all__ = ["TailedNumbers"]


class TailedNumbers(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw exponentials of normal numbers, which are by the method of Box and Muller [1]_.

        Parameters
        ----------
        mean, sigma : number or array
            Mean and standard deviation of the logarithms, the second 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        The normal numbers are not those of `normal`: each is of three uniforms of its own, and up to 9.2 standard
        deviations from the mean.

        References
        ----------
        .. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals
           of Mathematical Statistics 29 (1958), 610-611.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).lognormal(size=3, dtype="float64").round(3).tolist()
        [1.373, 0.249, 0.814]
        """
        return self._of_table("lognormal", (mean, sigma), size, dtype, chunks)

    def pareto(self, a: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Lomax's distribution, which is Pareto's from 0 on, by inversion: ``u ** (-1 / a) - 1``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        a : number or array
            The exponent of the tail, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).pareto(3.0, 3, "float64").round(3).tolist()
        [0.577, 0.381, 0.01]
        """
        return self._of_table("pareto", (a,), size, dtype, chunks)

    def power(self, a: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers from 0 to 1 whose density is a power, by inversion: ``u ** (1 / a)``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        a : number or array
            The exponent of the density and 1, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).power(3.0, 3, "float64").round(3).tolist()
        [0.634, 0.724, 0.99]
        """
        return self._of_table("power", (a,), size, dtype, chunks)

    def weibull(self, a: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Weibull's distribution, by inversion (Devroye 1986, section 2.2): ``(-log(u)) ** (1 / a)``.

        Parameters
        ----------
        a : number or array
            The shape, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).weibull(3.0, 3, "float64").round(3).tolist()
        [1.11, 0.989, 0.308]
        """
        return self._of_table("weibull", (a,), size, dtype, chunks)

    def rayleigh(self, scale: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Rayleigh's distribution, by inversion: ``sqrt(-2 log(u)) * scale``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        scale : number or array
            The mode, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).rayleigh(2.0, 3, "float64").round(3).tolist()
        [3.307, 2.783, 0.483]
        """
        return self._of_table("rayleigh", (scale,), size, dtype, chunks)

    def standard_cauchy(self, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Cauchy's distribution, by inversion (Devroye 1986, section 2.2): tangents of uniform angles.

        Parameters
        ----------
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_cauchy(3, "float64").round(3).tolist()
        [-0.97, -0.396, 11.053]
        """
        return self._of_table("standard_cauchy", (), size, dtype, chunks)

    def triangular(
        self, left: Any, mode: Any, right: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw numbers whose density rises to a mode and falls from there in straight lines, by inversion.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        left, mode, right : number or array
            In ascending order, and the first less than the last.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).triangular(-1.0, 0.0, 3.0, 3, "float64").round(3).tolist()
        [0.01, 0.272, 2.413]
        """
        return self._of_table("triangular", (left, mode, right), size, dtype, chunks)

    def wald(self, mean: Any, scale: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Wald's distribution, the inverse Gaussian one, as one of two roots [1]_.

        Parameters
        ----------
        mean, scale : number or array
            More than 0; the variance is ``mean**3 / scale``.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using
           transformations with multiple roots", The American Statistician 30 (1976), 88-90.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).wald(2.0, 3.0, 3, "float64").round(3).tolist()
        [0.539, 0.49, 5.882]
        """
        return self._of_table("wald", (mean, scale), size, dtype, chunks)

    def vonmises(self, mu: Any, kappa: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw angles of von Mises' distribution, by rejection [1]_.

        Parameters
        ----------
        mu : number or array
            The mean angle.
        kappa : number or array
            The concentration, 0 or more; at 0 all angles are as likely.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            From minus to plus pi.

        References
        ----------
        .. [1] D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", Applied
           Statistics 28 (1979), 152-157.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).vonmises(0.5, 3.0, 3, "float64").round(3).tolist()
        [-0.044, 0.273, 0.307]
        """
        return self._of_table("vonmises", (mu, kappa), size, dtype, chunks)

    def chisquare(self, df: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw chi-squared numbers: twice gamma numbers (Johnson et al., volume 1, chapter 18) of half the shape.

        Parameters
        ----------
        df : number or array
            The degrees of freedom, more than 0; the mean.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).chisquare(3.0, 3, "float64").round(3).tolist()
        [1.028, 2.299, 1.889]
        """
        return self._of_table("chisquare", (df,), size, dtype, chunks)

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw noncentral chi-squared numbers: a normal number's square and central ones.

        Source: Johnson et al., volume 2, chapter 29.

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

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).noncentral_chisquare(3.0, 2.0, 3, "float64").round(3).tolist()
        [10.341, 5.569, 0.903]
        """
        return self._of_table("noncentral_chisquare", (df, nonc), size, dtype, chunks)

    def f(self, dfnum: Any, dfden: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of the F distribution: quotients of chi-squared numbers over their means.

        Source: Johnson et al., volume 2, chapter 27.

        Parameters
        ----------
        dfnum, dfden : number or array
            The degrees of freedom above and below, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).f(3.0, 5.0, 3, "float64").round(3).tolist()
        [1.437, 0.745, 0.457]
        """
        return self._of_table("f", (dfnum, dfden), size, dtype, chunks)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw numbers of the noncentral F distribution: quotients whose numerator is noncentral.

        Source: Johnson et al., volume 2, chapter 30.

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

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).noncentral_f(3.0, 5.0, 2.0, 3, "float64").round(3).tolist()
        [1.691, 1.58, 0.336]
        """
        return self._of_table("noncentral_f", (dfnum, dfden, nonc), size, dtype, chunks)

    def standard_t(self, df: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw numbers of Student's distribution: normal numbers over roots of chi-squared ones.

        Source: Johnson et al., volume 2, chapter 28.

        Parameters
        ----------
        df : number or array
            The degrees of freedom, more than 0.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_t(3.0, 3, "float64").round(3).tolist()
        [0.605, 0.459, -1.421]
        """
        return self._of_table("standard_t", (df,), size, dtype, chunks)
