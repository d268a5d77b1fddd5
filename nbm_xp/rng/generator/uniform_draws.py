"""Uniforms, normal numbers, ones and zeros: the draws of a `Generator` that kernels make in one go.

Contract: the numbers of `RandomStreams` for the same seed and calls, to the last bit, whether a
kernel makes them, the portable form, or a task for each block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nbm_xp.namespace import dtype_name, dtype_of, floatx, is_array, is_lazy
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, State

from ..blocks import Normals, Uniforms, Wide, lazily, library_of_blocks
from ..draws import normals
from ..parameters import (
    Size,
    as_scale_and_shift,
    checked,
    chunks_of,
    counts_on,
    known_integer,
    line_between,
    real_dtype,
    rounded,
    scaled_and_shifted,
    shape_of,
    streams_of,
)
from ..rules import FINITE, NOT_NEGATIVE, PROBABILITY, finite_in, require
from ..transforms import two_draws
from ..trials import trials
from ..uniforms import DTYPES, numbers, substreams
from .block_draws import BetweenBounds, OfMean, Successes, made_of
from .filling import fill, form_of
from .state import GeneratorState

__all__ = ["UniformDraws"]


class UniformDraws(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def random(
        self,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
        resolution: int | None = None,
    ) -> Any:
        """Draw uniforms between 0 and 1, both excluded.

        Parameters
        ----------
        size, dtype, out, chunks, nstreams, resolution
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
        return self.uniform(0.0, 1.0, size, dtype, chunks=chunks, nstreams=nstreams, resolution=resolution, out=out)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
        resolution: int | None = None,
        out: Any = None,
    ) -> Any:
        """Draw uniforms between two bounds.

        Parameters
        ----------
        low, high : number or array
            The bounds, finite and so that their difference is; `high` is not below `low`.
        size, dtype, chunks, nstreams, resolution, out
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
        xp, (low, high) = self._parameters(out, low=low, high=high)
        size, dtype = form_of(xp, out, size, dtype)
        shape, name = shape_of(size, low, high), real_dtype(dtype, low, high)
        for bound, value in (("low", low), ("high", high)):
            require(bound, value, FINITE)
            require(f"{bound} in {name}", value, finite_in(name))
        base, width = line_between(xp, low, high, name)
        require(f"high - low in {name}", width, NOT_NEGATIVE)
        resolution = known_integer(resolution)
        if is_array(resolution) or resolution not in (None, 31, 53) or (resolution == 53 and name != "float64"):
            raise ValueError(f"resolution must be 31, or 53 where dtype is float64; got {resolution!r} and {name}")
        streams = streams_of(nstreams, shape)
        if is_lazy(xp):
            kind, library = Wide if resolution == 53 else Uniforms, library_of_blocks(xp, low, high)
            chunks = chunks_of(chunks, shape, low, high)
            with self._taking() as state:
                draw = kind(state, streams, shape, name, library)
                plain = as_scale_and_shift(base, width, name) == ()
                return fill(
                    out, lazily(xp, draw, chunks) if plain else made_of(xp, BetweenBounds, draw, (low, high), chunks)
                )
        n, line = math.prod(shape), as_scale_and_shift(base, width, name)
        xp.empty((0,), dtype=dtype_of(xp, name))  # refused where the library, as it is set now, lacks the dtype
        with self._taking() as state:
            states = substreams(state, streams)
            if resolution == 53:
                u = numbers(xp, states, 2 * n, name, threads=self._threads)
                u = two_draws(u[:n], u[n:])
            else:
                u = numbers(xp, states, n, name, line or (), self._threads, None if line is None else out)
            u = u if u is out else xp.reshape(u, shape)
            return fill(out, scaled_and_shifted(xp, u, base, width, name) if line is None or resolution == 53 else u)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
        out: Any = None,
    ) -> Any:
        """Draw normal numbers, by the method of Box and Muller [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation, which is 0 or more.
        size, dtype, chunks, nstreams, out
            See `Generator`, but that `nstreams` is 15360 by default, as it is in Theano.

        Returns
        -------
        array
            None is further from the mean than 6.6 standard deviations, which the smallest uniform, 2**-31, gives.

        References
        ----------
        .. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of
           Mathematical Statistics 29 (1958), 610-611.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).normal(size=3, dtype="float64").round(3).tolist()
        [1.627, -1.231, -0.297]
        """
        xp, (loc, scale) = self._parameters(out, loc=loc, scale=scale)
        size, dtype = form_of(xp, out, size, dtype)
        shape, name = shape_of(size, loc, scale), real_dtype(dtype, loc, scale)
        require("loc", loc, FINITE)
        require("scale", scale, NOT_NEGATIVE)
        for parameter, value in (("loc", loc), ("scale", scale)):
            require(f"{parameter} in {name}", value, finite_in(name))
        base, width = rounded(xp, loc, name), rounded(xp, scale, name)
        streams = streams_of(MAX_STREAMS if nstreams is None else nstreams, shape)
        if is_lazy(xp):
            library, chunks = library_of_blocks(xp, loc, scale), chunks_of(chunks, shape, loc, scale)
            with self._taking() as state:
                draw = Normals(state, streams, shape, name, library)
                plain = as_scale_and_shift(base, width, name) == ()
                if plain:
                    return fill(out, lazily(xp, draw, chunks))
                return fill(out, made_of(xp, OfMean, draw, (loc, scale), chunks))
        n, line = math.prod(shape), as_scale_and_shift(base, width, name)
        xp.empty((0,), dtype=dtype_of(xp, name))
        with self._taking() as state:
            states, into = substreams(state, streams), None if line is None else out
            z = normals(xp, states, n, name, line or (), self._threads, into)
            z = z if z is out else xp.reshape(z, shape)
            return fill(out, z if line is not None else scaled_and_shifted(xp, z, base, width, name))

    def standard_normal(
        self,
        size: Size = None,
        dtype: Any = None,
        out: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
    ) -> Any:
        """Draw normal numbers of mean 0 and standard deviation 1: see `normal`.

        Parameters
        ----------
        size, dtype, out, chunks, nstreams
            As for `normal`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_normal(3, "float64").round(3).tolist()
        [1.627, -1.231, -0.297]
        """
        return self.normal(0.0, 1.0, size, dtype, chunks=chunks, nstreams=nstreams, out=out)

    def bernoulli(
        self, p: Any = 0.5, size: Size = None, dtype: Any = None, *, chunks: Any = None, nstreams: int | None = None
    ) -> Any:
        """Draw ones with probability `p`, else zeros.

        Parameters
        ----------
        p : number or array
            The probabilities, from 0 to 1.
        size, chunks, nstreams
            See `Generator`.
        dtype : str, optional
            Any dtype. By default that of `p` where it is a floating-point array, else ``floatx``.

        Returns
        -------
        array
            1 where a uniform of dtype ``floatx`` is less than `p`, else 0.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(31).bernoulli(0.5, size=8).tolist()
        [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
        """
        if dtype is None:
            own = dtype_name(checked("p", p)) if is_array(p) else ""
            dtype = own if own in DTYPES else floatx()
        return self._trials(1, p, size, dtype_name(dtype), chunks, nstreams)

    def _trials(self, n: int, p: Any, size: Size, dtype: str, chunks: Any, nstreams: int | None) -> Any:
        """Add up the ones of a few draws from the same streams, one after the other."""
        xp, (p,) = self._parameters(p=p)
        shape = shape_of(size, p)
        chunks, streams, precision = chunks_of(chunks, shape, p), streams_of(nstreams, shape), floatx()
        dtype = counts_on(xp, dtype)
        kind = counts_on(xp, "int64") if dtype == "bool" and n > 1 else dtype
        xp.empty((0,), dtype=dtype_of(xp, kind))
        if is_lazy(xp) or not is_array(p):
            require("p", p, PROBABILITY)
        with self._taking() as state:
            if is_lazy(xp) and n:
                draw = Uniforms(state, streams, shape, precision, library_of_blocks(xp, p))
                return made_of(xp, Successes, draw, (p,), chunks, count=n, dtype_of_sum=dtype)
            samples = self._successes(xp, state, streams, p, shape, kind, precision)
            total = next(samples) if n else xp.zeros(shape, dtype=dtype_of(xp, kind))
            for _ in range(n - 1):
                total = xp.asarray(total + next(samples))  # NumPy's sum of arrays without axes is none
            return total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))

    def _successes(
        self, xp: Any, state: State, streams: int, p: Any, shape: tuple[int, ...], dtype: str, precision: str
    ) -> Iterator[Any]:
        """Draw ones with probability `p`, else zeros, again and again from the same streams."""
        states = substreams(state, streams)
        sample, states, wrong = trials(xp, states, p, shape, dtype, precision, threads=self._threads)
        if is_array(p) and wrong != 0:  # the kernel found some, or nobody looked
            require("p", p, PROBABILITY)
        while True:
            yield sample
            sample, states, _ = trials(xp, states, p, shape, dtype, precision, threads=self._threads)
