"""Draws of a `Generator`: further real numbers, such as Pareto, Wald and Student's t numbers.

Contract: as in `real_numbers`.
"""

from __future__ import annotations

from typing import Any

from ..parameters import Size
from .state import GeneratorState


class TailedNumbers(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None, dtype: Any = None, *, chunks: Any = None
    ) -> Any:
        """Draw samples from the log-normal distribution: exponentials of normal numbers by Box and Muller [1]_.

        Parameters
        ----------
        mean, sigma : number or array
            Mean, and standard deviation, 0 or more, of the logarithms.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        The normal numbers are not those of `normal`: each takes three uniforms of its own, and reaches up to 9.2
        standard deviations from the mean.

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
        """Draw samples from the Lomax distribution (Pareto from 0 on), by inversion: ``u ** (-1 / a) - 1``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        a : number or array
            Exponent of the tail, more than 0.
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
        """Draw samples from the power distribution on [0, 1], by inversion: ``u ** (1 / a)``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        a : number or array
            Exponent, more than 0; the density is ``a * x ** (a - 1)``.
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
        """Draw samples from the Weibull distribution: ``(-log(u)) ** (1 / a)`` (Devroye 1986, section 2.2).

        Parameters
        ----------
        a : number or array
            Shape, 0 or more.
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
        """Draw samples from the Rayleigh distribution, by inversion: ``sqrt(-2 log(u)) * scale``.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        scale : number or array
            Mode, 0 or more.
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
        """Draw samples from the standard Cauchy distribution: tangents of uniform angles (Devroye 1986, section 2.2).

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
        """Draw samples from the triangular distribution, by inversion.

        Source: Devroye 1986, section 2.2.

        Parameters
        ----------
        left, mode, right : number or array
            Lower bound, mode and upper bound, ``left <= mode <= right`` and ``left < right``.
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
        """Draw samples from the Wald (inverse Gaussian) distribution, by choosing one of two roots [1]_.

        Parameters
        ----------
        mean, scale : number or array
            Mean and shape parameter, more than 0; the variance is ``mean**3 / scale``.
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
        """Draw angles from the von Mises distribution, by rejection [1]_.

        Parameters
        ----------
        mu : number or array
            Mean angle, in radians.
        kappa : number or array
            Concentration, 0 or more; 0 gives the uniform distribution.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Angles in radians, from -pi to pi.

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
        """Draw samples from the chi-squared distribution: twice gamma numbers (Johnson et al., volume 1, chapter 18).

        Parameters
        ----------
        df : number or array
            Degrees of freedom, more than 0; equal to the mean.
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
        """Draw samples from the noncentral chi-squared distribution: a squared normal plus a chi-squared number.

        Source: Johnson et al., volume 2, chapter 29.

        Parameters
        ----------
        df : number or array
            Degrees of freedom, more than 0.
        nonc : number or array
            Noncentrality, 0 or more; the mean is ``df + nonc``.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        Up to 1 degree of freedom, they are chi-squared numbers with random degrees of freedom: `df` plus twice a
        Poisson number.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).noncentral_chisquare(3.0, 2.0, 3, "float64").round(3).tolist()
        [10.341, 5.569, 0.903]
        """
        return self._of_table("noncentral_chisquare", (df, nonc), size, dtype, chunks)

    def f(self, dfnum: Any, dfden: Any, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw samples from the F distribution: ratios of chi-squared numbers, each divided by its mean.

        Source: Johnson et al., volume 2, chapter 27.

        Parameters
        ----------
        dfnum, dfden : number or array
            Degrees of freedom of the numerator and of the denominator, more than 0.
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
        """Draw samples from the noncentral F distribution: ratios with a noncentral chi-squared numerator.

        Source: Johnson et al., volume 2, chapter 30.

        Parameters
        ----------
        dfnum, dfden : number or array
            Degrees of freedom of the numerator and of the denominator, more than 0.
        nonc : number or array
            Noncentrality of the numerator, 0 or more.
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
        """Draw samples from Student's t distribution: normal numbers over roots of scaled chi-squared numbers.

        Source: Johnson et al., volume 2, chapter 28.

        Parameters
        ----------
        df : number or array
            Degrees of freedom, more than 0.
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
