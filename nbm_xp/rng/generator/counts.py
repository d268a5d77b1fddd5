"""Draws of a `Generator`: integers, counts and outcomes.

Contract: names, parameters and meaning of `numpy.random.Generator`.
"""

from __future__ import annotations

from typing import Any, Final

from nbm_xp.namespace import dtype_name, dtype_of, floatx, is_array, wide_dtypes
from nbm_xp.namespace.errors import check_flag

from ..distributions.integers import integers_of_draw, require_bounds
from ..parameters import INTEGERS, Size, bounds_of, checked, counts_on, dtype_among, shape_of
from ..rules import TRIALS, integer, interval, require, require_weights
from ..uniforms import DTYPES
from .state import GeneratorState

_FEW_TRIALS: Final = 16  # largest number of trials drawn one by one, as in `RandomStreams`


class Counts(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = "int64",
        endpoint: bool = False,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw integers between two bounds with exactly equal probabilities, by rejection.

        Source: Knuth 1997, section 3.4.1.

        Parameters
        ----------
        low, high : int or array of ints
            Lower bound, included, and upper bound. One bound alone is the upper one; the lower one is then 0.
        size, chunks
            See `Generator`.
        dtype : str
            dtype of the result: an integer dtype or ``bool``, which must hold both bounds.
        endpoint : bool
            Whether the upper bound is included.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).integers(1, 6, 8, endpoint=True).tolist()
        [1, 5, 2, 2, 5, 3, 2, 5]
        """
        low, high = (0, low) if high is None else (low, high)
        check_flag("endpoint", endpoint)
        name, beyond = dtype_among(dtype, (*INTEGERS, "bool")), int(not endpoint)
        known = integer("low", low), integer("high", high)
        xp, converted = self._parameters({"low": low, "high": high})
        low, high = (v if isinstance(v, int) else here for v, here in zip(known, converted, strict=True))
        shape, (least, most) = shape_of(size, low, high), bounds_of(name)
        if not is_array(low) and not is_array(high):
            span: Any = high - low + 1 - beyond
            if low < least or high - beyond > most:
                raise ValueError(f"low and high must be within what {name} holds, {least} to {most}; got {low}, {high}")
            if span < 1:
                raise ValueError(f"high must be {'low or more' if endpoint else 'more than low'}, got {low}, {high}")
            name, bounds = counts_on(xp, name, low, low + span - 1), None
            low = (low + 2**63) % 2**64 - 2**63  # draws are int64 numbers, which wrap around, until they are cast
        else:
            least, most = max(least, -(2**62)), min(most, 2**62)
            bounds = interval(f"within what {name} holds, {least} to {most}", least, most)
            name = counts_on(xp, name)
            with wide_dtypes(xp):
                low, high = (xp.astype(v, dtype_of(xp, "int64")) if is_array(v) else v for v in (low, high))
                require("high", high - beyond, bounds)
                span = high - low + (1 - beyond)
                require_bounds(low, span, bounds)
        return self._draw(xp, integers_of_draw, (low, span), shape, name, chunks=chunks, bounds=bounds)

    def bernoulli(self, p: Any = 0.5, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw ones with probability `p`, and zeros otherwise.

        Parameters
        ----------
        p : number or array
            Probability of a one, from 0 to 1.
        size, chunks
            See `Generator`.
        dtype : str, optional
            Any dtype. Defaults to the dtype of `p` if that is a floating-point array, else ``floatx``.

        Returns
        -------
        array
            1 where a uniform of dtype ``floatx`` is less than `p`, else 0.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(31).bernoulli(0.5, size=8).tolist()
        [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
        """
        if dtype is None:
            own = dtype_name(checked("p", p)) if is_array(p) else ""
            dtype = own if own in DTYPES else floatx()
        return self._ones_added(1, p, size, dtype_name(dtype), chunks)

    def binomial(self, n: Any, p: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the binomial distribution: the number of successes of `n` trials.

        Parameters
        ----------
        n : int or array of ints
            Number of trials, from 0 to 2**53.
        p : number or array
            Probability of success, from 0 to 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        If `n` is a number up to 16, the trials are ones and zeros drawn from the same streams, one after the other, and
        added up, as in `RandomStreams`. Otherwise the distribution function is searched if fewer than 10 successes or
        failures are expected; else the rejection method BTRS [1]_ is used.

        References
        ----------
        .. [1] W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and
           Simulation 46 (1993), 101-110.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(31).binomial(10, 0.5, size=6).tolist()
        [7, 4, 7, 4, 6, 2]
        >>> Generator(31).binomial(10**6, 0.5, size=3).tolist()
        [499803, 499362, 499965]
        """
        n, name = integer("n", n), dtype_name(dtype)
        if isinstance(n, int):
            require("n", n, TRIALS)
            if n <= _FEW_TRIALS:
                return self._ones_added(n, p, size, name, chunks)
        return self._of_table("binomial", (n, p), size, name, chunks)

    def poisson(self, lam: Any = 1.0, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the Poisson distribution: by search below a mean of 10, else by the method PTRS [1]_.

        Parameters
        ----------
        lam : number or array
            Mean, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance:
           Mathematics and Economics 12 (1993), 39-45.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).poisson(4.0, 6).tolist()
        [3, 3, 8, 3, 3, 4]
        """
        return self._of_table("poisson", (lam,), size, dtype, chunks)

    def categorical(self, pvals: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw outcomes with given probabilities, by inversion (Devroye 1986, section 3.2) of a uniform of 53 bits.

        Parameters
        ----------
        pvals : array
            Probabilities of the outcomes 0, 1, …, along the last axis; they add up to 1.
        size : int or tuple of ints
            Shape of the result. By default the shape of `pvals` without its last axis, which must broadcast to it.
        dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Indices of the outcomes.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).categorical([0.2, 0.3, 0.5], 8).tolist()
        [1, 1, 2, 1, 1, 1, 1, 2]
        """
        name = dtype_among(dtype, INTEGERS)
        xp, (p,) = self._parameters({"pvals": pvals})
        require_weights("pvals", p)
        if p.shape[-1] - 1 > bounds_of(name)[1]:
            raise ValueError(f"dtype must hold the numbers of all {p.shape[-1]} outcomes in pvals, got {name}")
        shape = shape_of(size, *([p[..., 0]] if p.ndim > 1 else []))
        return self._outcomes(xp, p, shape, counts_on(xp, name), chunks, name="pvals")

    def geometric(self, p: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the geometric distribution: exponential numbers, rounded up.

        Source: Devroye 1986, section 10.2.

        Parameters
        ----------
        p : number or array
            Probability of success, more than 0 and at most 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Number of trials up to the first success, from 1 to ``2**63 - 1024``.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).geometric(0.3, 6).tolist()
        [4, 3, 1, 3, 3, 3]
        """
        return self._of_table("geometric", (p,), size, dtype, chunks)

    def negative_binomial(self, n: Any, p: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the negative binomial distribution: Poisson numbers whose means are gamma numbers.

        Source: Devroye 1986, section 10.4.

        Parameters
        ----------
        n : number or array
            Number of successes, more than 0; it need not be an integer.
        p : number or array
            Probability of success, more than 0 and at most 1. The expected count must fit 64 bits.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Number of failures before `n` successes.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).negative_binomial(3, 0.3, 6).tolist()
        [8, 5, 3, 11, 4, 7]
        """
        return self._of_table("negative_binomial", (n, p), size, dtype, chunks)

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None
    ) -> Any:
        """Draw samples from the hypergeometric distribution, by the ratio of uniforms [1]_.

        Parameters
        ----------
        ngood, nbad : int or array of ints
            Numbers of good and of bad items in the population; their sum is at most 2**53.
        nsample : int or array of ints
            Number of items drawn without replacement, at most ``ngood + nbad``.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Number of good items drawn.

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
        values = integer("ngood", ngood), integer("nbad", nbad), integer("nsample", nsample)
        return self._of_table("hypergeometric", values, size, dtype, chunks)

    def logseries(self, p: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the logarithmic series distribution: geometric numbers with a random parameter [1]_.

        Parameters
        ----------
        p : number or array
            Shape parameter, from 0 to less than 1.
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
        return self._of_table("logseries", (p,), size, dtype, chunks)

    def zipf(self, a: Any, size: Size = None, dtype: Any = "int64", *, chunks: Any = None) -> Any:
        """Draw samples from the Zipf distribution, by rejection from rounded Pareto numbers (Devroye 1986, 10.6.1).

        Parameters
        ----------
        a : number or array
            Exponent, more than 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            From 1 to ``2**63 - 1024``.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).zipf(2.0, 6).tolist()
        [3, 2, 1, 2, 2, 1]
        """
        return self._of_table("zipf", (a,), size, dtype, chunks)
