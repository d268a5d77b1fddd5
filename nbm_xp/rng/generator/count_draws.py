"""Whole numbers, as draws of a `Generator`: integers, counts, outcomes.

Contract: names, parameters and meaning of `numpy.random.Generator`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from nbm_xp.namespace import dtype_name, dtype_of, is_array, is_lazy, library_name, wide_dtypes
from nbm_xp.namespace.mrg31k3p.integers import State

from ..blocks import library_of_blocks
from ..distributions.tasks import Integers, Multinomials, Outcomes, made, watched
from ..distributions.whole_numbers import SPAN_OF_TWO
from ..parameters import (
    Size,
    chunks_of,
    counting_dtype,
    counts_on,
    flag,
    integer_dtype,
    known_integer,
    most_of,
    shape_of,
)
from ..rules import TRIALS, Rule, require, require_integer, weights_of, within
from .tail_draws import TailDraws
from .uniform_draws import UniformDraws

__all__ = ["CountDraws", "with_whole_axis"]

FEW_TRIALS: Final = 16
"""Up to so many trials are drawn one by one, as `RandomStreams` does."""

_BOUNDS: Final = {"bool": (0, 1)} | {
    f"{sign}int{bits}": (-(2 ** (bits - 1)) * (not sign), 2 ** (bits - (not sign)) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}


def _is_span(x: Any) -> Any:
    return (x > 0) & (x <= SPAN_OF_TWO)


_SPAN: Final = Rule("more than 0 and at most (2**31 - 1)**2 where a bound is an array", _is_span)


class CountDraws(UniformDraws, TailDraws):
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
        """Draw integers between two bounds, all with exactly the same probability, by rejection [1]_.

        Parameters
        ----------
        low, high : int or array of ints
            The bounds; the first is included. With one alone, it is the upper bound, and the lower one is 0.
        size, chunks
            See `Generator`.
        dtype : str
            The dtype, of integers or ``bool``, which must hold both bounds.
        endpoint : bool
            Whether the upper bound is included.

        Returns
        -------
        array

        References
        ----------
        .. [1] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.1.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).integers(1, 6, 8, endpoint=True).tolist()
        [1, 5, 2, 2, 5, 3, 2, 5]
        """
        low, high = (0, low) if high is None else (low, high)
        endpoint = flag("endpoint", endpoint)
        name = integer_dtype(dtype, "bool")
        for bound, value in (("low", low), ("high", high)):
            require_integer(bound, value)
        xp, converted = self._parameters(low=low, high=high)
        known = known_integer(low), known_integer(high)
        low, high = (v if isinstance(v, int) else here for v, here in zip(known, converted, strict=True))
        shape, (least, most) = shape_of(size, low, high), _BOUNDS[name]
        if not is_array(low) and not is_array(high):
            span: Any = high - low + endpoint
            if low < least or high - (not endpoint) > most:
                raise ValueError(f"low and high must be within what {name} holds, {least} to {most}; got {low}, {high}")
            if span < 1:
                raise ValueError(f"high must be {'low or more' if endpoint else 'more than low'}, got {low}, {high}")
            name = counts_on(xp, name, low, low + span - 1)
        else:
            bounds = within(max(least, -(2**62)), min(most, 2**62), f"what {name} holds")
            name = counts_on(xp, name)
            with wide_dtypes(xp):
                low, high = (xp.astype(v, dtype_of(xp, "int64")) if is_array(v) else v for v in (low, high))
                require("low", low, bounds)
                require("high", high - (0 if endpoint else 1), bounds)
                span = high - low + (1 if endpoint else 0)
                require("high - low", span, _SPAN)
            if is_lazy(xp):
                low, span = watched(xp, "low", low, bounds), watched(xp, "high - low", span, _SPAN)
        with self._taking(math.prod(shape)) as state:
            return self._integers(xp, state, low, span, shape, name, chunks)

    def _integers(
        self,
        xp: Any,
        state: State,
        low: Any,
        span: Any,
        shape: tuple[int, ...],
        dtype: str,
        chunks: Any,
    ) -> Any:
        """Make integers from `low` on, `span` of them, both of which were checked."""
        values = (low, span)
        library = library_of_blocks(xp, *values) if is_lazy(xp) else library_name(xp)
        numbers = tuple(None if is_array(value) else int(value) for value in values)
        threads = 1 if is_lazy(xp) else self._threads
        task = Integers(state, shape, dtype, library, numbers, threads)
        return made(xp, task, values, chunks=chunks_of(chunks, shape, *values))

    def binomial(
        self,
        n: Any,
        p: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Count the successes of `n` trials.

        Parameters
        ----------
        n : int or array of ints
            How many trials, from 0 to 2**53.
        p : number or array
            The probability of success, from 0 to 1.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        Up to 16 trials, where `n` is a number, are draws of ones and zeros from the same streams, one after the other,
        added up, as `RandomStreams` has them. Otherwise, where fewer than 10 successes (or failures) are to be
        expected, the distribution function is searched; else it is the rejection method BTRS [1]_.

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
        require_integer("n", n)
        n, name = known_integer(n), dtype_name(dtype)
        if isinstance(n, int):
            require("n", n, TRIALS)
            if n <= FEW_TRIALS:
                return self._trials(n, p, size, name, chunks)
        return self._independent("binomial", size, counting_dtype(name), chunks, counts=True, n=n, p=p)

    def poisson(
        self,
        lam: Any = 1.0,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw Poisson numbers: by search of the distribution function below a mean of 10, else by PTRS [1]_.

        Parameters
        ----------
        lam : number or array
            The mean, 0 or more.
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
        return self._independent("poisson", size, counting_dtype(dtype), chunks, counts=True, lam=lam)

    def multinomial(
        self,
        n: Any,
        pvals: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Count the outcomes of `n` trials: each count is binomial, given those before it [1]_.

        Parameters
        ----------
        n : int or array of ints
            How many trials, from 0 to 2**53.
        pvals : array
            The probabilities of the outcomes, along the last axis; they add up to 1.
        size : int or tuple of ints
            The shape without the axis of outcomes: what `n` and the rows of `pvals` broadcast to, by default.
        dtype, chunks
            See `Generator`; the axis of outcomes is not split.

        Returns
        -------
        array
            With a last axis of outcomes.

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 11.1.4.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).multinomial(20, [0.2, 0.3, 0.5], 2).tolist()
        [[3, 4, 13], [3, 4, 13]]
        """
        require_integer("n", n)
        name = counting_dtype(dtype)
        xp, (n, pvals) = self._parameters(n=n, pvals=pvals)
        name = counts_on(xp, name)
        require("n", n, TRIALS)
        p = weights_of("pvals", pvals)
        rows = shape_of(size, n, *([p[..., 0]] if p.ndim > 1 else []))
        shape = (*rows, p.shape[-1])
        n = n[..., None] if is_array(n) else n
        values = (n, p)
        library = library_of_blocks(xp, *values) if is_lazy(xp) else library_name(xp)
        numbers = tuple(None if is_array(value) else value for value in values)
        chunks = with_whole_axis(chunks_of(chunks, rows, *(v[..., 0] for v in values if is_array(v))), shape)
        with self._taking(math.prod(rows)) as state:
            task = Multinomials(state, shape, name, library, numbers)
            return made(xp, task, values, chunks=chunks)

    def categorical(
        self,
        pvals: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw outcomes by their probabilities, by inversion [1]_ with a uniform of 53 bits.

        Parameters
        ----------
        pvals : array
            The probabilities of the outcomes 0, 1, …, along the last axis; they add up to 1.
        size : int or tuple of ints
            The shape: that of the rows of `pvals`, by default, or what they broadcast to.
        dtype, chunks
            See `Generator`.

        Returns
        -------
        array
            Which outcome.

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 3.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).categorical([0.2, 0.3, 0.5], 8).tolist()
        [1, 1, 2, 1, 1, 1, 1, 2]
        """
        name = integer_dtype(dtype)
        xp, (pvals,) = self._parameters(pvals=pvals)
        p = weights_of("pvals", pvals)
        if p.shape[-1] - 1 > most_of(name):
            raise ValueError(f"dtype must hold the numbers of all {p.shape[-1]} outcomes in pvals, got {name}")
        rows = [p[..., 0]] if p.ndim > 1 else []
        shape = shape_of(size, *rows)
        name = counts_on(xp, name)
        with self._taking(math.prod(shape)) as state:
            return self._outcomes(xp, state, p, shape, name, chunks, "pvals")

    def _outcomes(
        self,
        xp: Any,
        state: State,
        p: Any,
        shape: tuple[int, ...],
        dtype: str,
        chunks: Any,
        name: str,
    ) -> Any:
        """Make outcomes by probabilities that were checked."""
        library = library_of_blocks(xp, p) if is_lazy(xp) else library_name(xp)
        rows = [p[..., 0]] if p.ndim > 1 else []
        task = Outcomes(state, shape, dtype, library, name=name)
        return made(xp, task, chunks=chunks_of(chunks, shape, *rows), args=(p,))


def with_whole_axis(chunks: Any, shape: tuple[int, ...]) -> Any:
    """Chunks of rows, and an axis of outcomes behind them, the last of `shape`, that is not split."""
    rows, outcomes = len(shape) - 1, (shape[-1],)
    if isinstance(chunks, Mapping):
        return {**chunks, rows: outcomes}
    if isinstance(chunks, (tuple, list)):
        return (*chunks, outcomes)
    return (*(("auto" if chunks is None else chunks,) * rows), outcomes)
