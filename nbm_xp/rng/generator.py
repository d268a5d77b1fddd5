"""`Generator`: random arrays at once, with the method names of `numpy.random.Generator`.

What this chapter must satisfy: the same seed and the same calls give the same numbers as `RandomStreams`, on every
library and for every chunking; the state is six integers that can be looked at, set, compared, copied and pickled.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    concrete_int,
    convert,
    dtype_name,
    dtype_of,
    floatx,
    get_namespace,
    is_array,
    is_lazy,
    library_name,
)
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, MAX_STREAMS, State, jump

from .blocks import Normals, Uniforms, Wide, lazily, library_of_blocks
from .draws import bernoulli, less
from .parameters import Size, between, checked, chunks_of, real_dtype, shape_of, streams_of, stretched
from .seeds import check_seed, fresh_seed
from .transforms import paired, two_draws
from .uniforms import DTYPES, numbers, substreams

__all__ = ["Generator"]


class Generator:
    """A source of random arrays.

    Parameters
    ----------
    seed : int, six ints, or None
        From 1 to 2147462578; or the six integers of a state. None takes a seed from the operating system.
    library : str, optional
        The library of the arrays, as `nbm_xp.set_backend` knows it. Without it each array is of the library of the
        parameters that are arrays, else of the default library.

    Notes
    -----
    The numbers are those of MRG31k3p [1]_ in the layout of Theano's ``MRG_RandomStreams`` [2]_, bit for bit: each call
    takes `nstreams` streams, 2**72 steps apart, deals the elements out to them in turn, and moves the state on by
    2**134 steps. So what one call gives depends on the calls before it, but neither on their sizes nor on the library
    nor on how Dask splits the array.

    Where methods have parameters in common, they mean the same:

    size : int or tuple of ints
        The shape. Without it, that of the parameters together, and no axes where all of them are numbers.
    dtype : str
        The dtype. Without it, ``floatx``, or more where a parameter is an array of more.
    chunks
        How Dask is to split the array, in any form that Dask takes. By default as a parameter of the same shape is
        split, else as Dask likes. Other libraries take no notice.
    nstreams : int
        How many streams to take. By default a sixth of the number of elements, at most 15360.
    resolution : {31, 53}
        How many bits a float64 has; with 53 each takes two draws.

    References
    ----------
    .. [1] P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers of the form
       a = ±2^q ± 2^r", Proceedings of the 2000 Winter Simulation Conference, 683-689.
    .. [2] Theano documentation, ``theano.sandbox.rng_mrg``.

    Examples
    --------
    >>> rng = Generator(234)
    >>> rng.uniform(-1.0, 1.0, size=3, dtype="float64").round(3).tolist()
    [-0.1, -0.388, 0.58]
    >>> rng
    Generator((1272953745, 1280499058, 107112410, 1182066990, 1703886948, 139386023))
    >>> Generator(rng.state) == rng
    True
    """

    def __init__(self, seed: object = None, library: str | None = None) -> None:
        self._state = check_seed(fresh_seed() if seed is None else seed)
        self._library = None if library is None else library_name(get_namespace(library))
        self._lock = threading.Lock()

    @property
    def state(self) -> State:
        """The six integers from which the next call starts; may be set to whatever may be a seed."""
        return self._state

    @state.setter
    def state(self, state: object) -> None:
        self._state = check_seed(state)

    @property
    def library(self) -> str | None:
        """The name of the library of the arrays, or None where the parameters and the configuration say."""
        return self._library

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Generator):
            return NotImplemented
        return (self._state, self._library) == (other._state, other._library)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._state, self._library)

    def __repr__(self) -> str:
        library = "" if self._library is None else f", library={self._library!r}"
        return f"{type(self).__name__}({self._state}{library})"

    def random(
        self,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
        resolution: int | None = None,
    ) -> Any:
        """Draw uniforms between 0 and 1, both excluded.

        Parameters
        ----------
        size, dtype, chunks, nstreams, resolution
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> Generator(234).random((2, 2), "float64").round(3).tolist()
        [[0.45, 0.306], [0.79, 0.826]]
        """
        xp, _ = self._parameters()
        return self._uniforms(xp, shape_of(size), real_dtype(dtype), chunks, nstreams, resolution)

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
    ) -> Any:
        """Draw uniforms between two bounds.

        Parameters
        ----------
        low, high : number or array
            The bounds.
        size, dtype, chunks, nstreams, resolution
            See `Generator`.

        Returns
        -------
        array
            ``u * (high - low) + low``.

        Examples
        --------
        >>> import numpy as np
        >>> Generator(234).uniform(np.asarray([0.0, 10.0]), np.asarray([1.0, 20.0])).round(3).tolist()
        [0.45, 13.062]
        """
        xp, (low, high) = self._parameters(low=low, high=high)
        shape, name = shape_of(size, low, high), real_dtype(dtype, low, high)
        u = self._uniforms(xp, shape, name, chunks_of(chunks, shape, low, high), nstreams, resolution, low, high)
        return between(xp, u, low, high, name)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        nstreams: int | None = None,
    ) -> Any:
        """Draw normal numbers, by the method of Box and Muller.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation.
        size, dtype, chunks, nstreams
            See `Generator`, but that `nstreams` is 15360 by default, as it is in Theano.

        Returns
        -------
        array

        Examples
        --------
        >>> Generator(234).normal(size=3, dtype="float64").round(3).tolist()
        [0.313, 0.703, -1.225]
        """
        xp, (loc, scale) = self._parameters(loc=loc, scale=scale)
        shape, name = shape_of(size, loc, scale), real_dtype(dtype, loc, scale)
        streams = MAX_STREAMS if nstreams is None else streams_of(nstreams, shape)
        state = self._take()
        if is_lazy(xp):
            task = Normals(state, streams, shape, name, library_of_blocks(xp, loc, scale))
            z = lazily(xp, task, chunks_of(chunks, shape, loc, scale))
        else:
            n = math.prod(shape)
            z = xp.reshape(paired(xp, numbers(xp, substreams(state, streams), n + n % 2, name), n), shape)
        return stretched(xp, z, loc, scale, name)

    def bernoulli(
        self, p: Any = 0.5, size: Size = None, dtype: Any = None, *, chunks: Any = None, nstreams: int | None = None
    ) -> Any:
        """Draw ones with probability `p`, else zeros.

        Parameters
        ----------
        p : number or array
            The probabilities.
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
        >>> Generator(31).bernoulli(0.5, size=8).tolist()
        [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]
        """
        if dtype is None:
            own = dtype_name(p) if is_array(p) else ""
            dtype = own if own in DTYPES else floatx()
        return self._trials(1, p, size, dtype_name(dtype), chunks, nstreams)

    def binomial(
        self,
        n: Any,
        p: Any,
        size: Size = None,
        dtype: Any = "int64",
        *,
        chunks: Any = None,
        nstreams: int | None = None,
    ) -> Any:
        """Count the successes of `n` trials.

        Parameters
        ----------
        n : int or array of ints
            How many trials. Its largest value must be known: a Dask array will not do.
        p : number or array
            The probability of success.
        size, dtype, chunks, nstreams
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        The trials are draws of ones and zeros from the same streams, one after the other, added up. So the answer is
        exact for every `p`, and takes time in proportion to `n`.

        Examples
        --------
        >>> Generator(31).binomial(10, 0.5, size=6).tolist()
        [6, 5, 3, 5, 4, 3]
        """
        return self._trials(n, p, size, dtype_name(dtype), chunks, nstreams)

    def _take(self) -> State:
        """The state for one call, moving on to the next."""
        with self._lock:
            state = self._state
            self._state = jump(state, DRAW_STEPS)
        return state

    def _parameters(self, **parameters: Any) -> tuple[Any, list[Any]]:
        """The library of an answer, and the parameters as numbers and arrays of it."""
        values = [checked(name, value) for name, value in parameters.items()]
        arrays = [value for value in values if is_array(value)]
        xp = array_namespace(*arrays) if self._library is None else get_namespace(self._library)
        return xp, [convert(value, xp) if is_array(value) else value for value in values]

    def _uniforms(
        self,
        xp: Any,
        shape: tuple[int, ...],
        dtype: str,
        chunks: Any,
        nstreams: int | None,
        resolution: int | None,
        *like: Any,
    ) -> Any:
        if resolution not in (None, 31, 53) or (resolution == 53 and dtype != "float64"):
            raise ValueError(f"resolution must be 31, or 53 where dtype is float64; got {resolution!r} and {dtype}")
        streams = streams_of(nstreams, shape)
        state = self._take()
        if is_lazy(xp):
            kind = Wide if resolution == 53 else Uniforms
            return lazily(xp, kind(state, streams, shape, dtype, library_of_blocks(xp, *like)), chunks)
        n = math.prod(shape)
        states = substreams(state, streams)
        if resolution != 53:
            return xp.reshape(numbers(xp, states, n, dtype), shape)
        u = numbers(xp, states, 2 * n, dtype)
        return xp.reshape(two_draws(u[:n], u[n:]), shape)

    def _trials(self, n: Any, p: Any, size: Size, dtype: str, chunks: Any, nstreams: int | None) -> Any:
        """Add up the trials of a binomial draw."""
        xp, (n, p) = self._parameters(n=n, p=p)
        shape = shape_of(size, n, p)
        most = _most(xp, n)
        chunks = chunks_of(chunks, shape, p, n)
        streams, precision = streams_of(nstreams, shape), floatx()
        kind = "int64" if dtype == "bool" and most > 1 else dtype
        samples = _successes(xp, self._take(), streams, p, shape, kind, precision, chunks)
        if is_array(n):
            samples = (xp.where(n > trial, sample, xp.zeros_like(sample)) for trial, sample in enumerate(samples))
        total = next(samples) if most else xp.zeros(shape, dtype=dtype_of(xp, kind))
        for _ in range(most - 1):
            total = total + next(samples)
        return total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))


def _most(xp: Any, n: Any) -> int:
    """The largest number of trials; checks that none is negative."""
    if not is_array(n):
        least = most = concrete_int(n)
    elif 0 in n.shape:
        return 0
    else:
        least, most = concrete_int(xp.min(n)), concrete_int(xp.max(n))
    if least < 0:
        raise ValueError(f"n must be 0 or more, got {least}")
    return most


def _successes(
    xp: Any, state: State, streams: int, p: Any, shape: tuple[int, ...], dtype: str, precision: str, chunks: Any
) -> Iterator[Any]:
    """Draw ones with probability `p`, else zeros, again and again from the same streams."""
    if is_lazy(xp):
        library = library_of_blocks(xp, p)
        for trial in itertools.count():
            yield less(xp, lazily(xp, Uniforms(state, streams, shape, precision, library, trial), chunks), p, dtype)
    states = substreams(state, streams)
    while True:
        sample, states = bernoulli(xp, states, p, shape, dtype, precision)
        yield sample
