"""Counts of trials, failures, samples and ranks, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`.
"""

from __future__ import annotations

from typing import Any

from ..parameters import Size, counting_dtype, known_integer
from ..rules import require_integer
from .count_draws import CountDraws

__all__ = ["TallyDraws"]


class TallyDraws(CountDraws):
    """See `nbm_xp.rng.Generator`."""

    def geometric(
        self,
        p: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw how many trials the first success takes, by inversion [1]_: exponential numbers, rounded up.

        Parameters
        ----------
        p : number or array
            The probability of success, more than 0 and at most 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            1 or more, and ``2**63 - 1024`` at most.

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 10.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).geometric(0.3, 6).tolist()
        [4, 3, 1, 3, 3, 3]
        """
        return self._independent("geometric", size, counting_dtype(dtype), chunks, counts=True, p=p)

    def negative_binomial(
        self,
        n: Any,
        p: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw how many failures come before `n` successes: Poisson numbers of gamma means [1]_.

        Parameters
        ----------
        n : number or array
            How many successes, more than 0; it need not be whole.
        p : number or array
            The probability of success, more than 0 and at most 1; not so small that counts beyond 64 bits are to be
            expected.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 10.4.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).negative_binomial(3, 0.3, 6).tolist()
        [8, 5, 3, 11, 4, 7]
        """
        return self._independent("negative_binomial", size, counting_dtype(dtype), chunks, counts=True, n=n, p=p)

    def hypergeometric(
        self,
        ngood: Any,
        nbad: Any,
        nsample: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw how many of a sample without replacement are good, by the ratio of uniforms [1]_.

        Parameters
        ----------
        ngood, nbad : int or array of ints
            How many there are that are good, and that are not; together at most 2**53.
        nsample : int or array of ints
            How many are drawn, at most all.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] E. Stadlober, "The ratio of uniforms approach for generating discrete random variates",
           Journal of Computational and Applied Mathematics 31 (1990), 181-189.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).hypergeometric(15, 30, 10, 6).tolist()
        [4, 4, 3, 3, 2, 5]
        """
        require_integer("ngood", ngood)
        require_integer("nbad", nbad)
        require_integer("nsample", nsample)
        ngood, nbad, nsample = map(known_integer, (ngood, nbad, nsample))
        return self._independent(
            "hypergeometric",
            size,
            counting_dtype(dtype),
            chunks,
            counts=True,
            ngood=ngood,
            nbad=nbad,
            nsample=nsample,
        )

    def logseries(
        self,
        p: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of the logarithmic series: geometric ones of a parameter that is drawn too [1]_.

        Parameters
        ----------
        p : number or array
            From 0 to less than 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            1 or more.

        References
        ----------
        .. [1] A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables",
           Applied Statistics 30 (1981), 249-253.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).logseries(0.9, 6).tolist()
        [2, 3, 1, 1, 2, 4]
        """
        return self._independent("logseries", size, counting_dtype(dtype), chunks, counts=True, p=p)

    def zipf(
        self,
        a: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of Zipf's distribution, by rejection [1]_ from rounded Pareto numbers.

        Parameters
        ----------
        a : number or array
            The exponent, more than 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            1 or more, and ``2**63 - 1024`` at most.

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 10.6.1.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).zipf(2.0, 6).tolist()
        [3, 2, 1, 2, 2, 1]
        """
        return self._independent("zipf", size, counting_dtype(dtype), chunks, counts=True, a=a)
