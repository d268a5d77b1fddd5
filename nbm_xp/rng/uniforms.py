"""Uniform and normal numbers from states: the same as Theano's, to the last bit, on every library.

Contract: the next numbers of all streams (`numbers`), or only some of them (`elements`), are the same however they are
computed. A library's faster kernel gives the same bits.

An integer ``z`` from 1 to 2**31 - 1 becomes a number between 0 and 1, both excluded:

- float64: ``z * 2**-31``
- float32: ``float32(z) * float32(4.6566126e-10)``, a constant just below 2**-31, so that the result is never 1
- float16: ``((z mod 2**15) + 1) * float16(3.0458e-05)``, rounded once

A float64 of 53 bits is made of two integers: ``((z1 - 1) + z2 * 2**-31) * 2**-31``, rounded once.

References
----------
.. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of Mathematical
   Statistics 29 (1958), 610-611.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import array_namespace, asarray, dtype_name, dtype_of, get_namespace, host_namespace, wide_dtypes
from nbm_xp.namespace.compiling import compiled
from nbm_xp.namespace.elementary import cos, log, sin, sqrt
from nbm_xp.namespace.libraries import HOST
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, OUTPUT_STEPS, State

from . import recurrence

Shape: TypeAlias = tuple[int, ...]

# Largest number of elements of a compiled draw; the size of its source grows with them.
MOST_COMPILED: Final = 2**24

# dtypes of uniforms.
DTYPES: Final = ("float16", "float32", "float64")


def stream_count(size: object) -> int:
    """Return the default number of streams of a draw: a sixth of the number of elements, at most 15360.

    Parameters
    ----------
    size : tuple or list of ints, or anything else
        Shape of the draw.

    Returns
    -------
    int
        Up to 6 the number of elements, else a sixth of it, rounded down and at most 15360; 15360 if the size is
        unknown, or is that of a variable, which may change.

    Examples
    --------
    >>> stream_count((5,)), stream_count((3, 4)), stream_count((1000, 1000)), stream_count(None)
    (5, 2, 15360, 15360)
    """
    if not isinstance(size, (tuple, list)) or any(type(length) is not int for length in size):
        return MAX_STREAMS  # lengths of variables are of a class of their own
    elements = math.prod(size)
    return min(elements // 6 if elements > 6 else elements, MAX_STREAMS)


def substreams(state: State, count: int) -> Any:
    """Return the initial states of `count` streams, as a NumPy array: see `recurrence.substreams`."""
    own = kernel("rng.substreams", HOST)
    return recurrence.substreams(host_namespace(), state, count) if own is None else own(state, count)


def advance(states: Any, n: int) -> Any:
    """Return the states after a draw of `n` elements, without making the draw: see `recurrence.advance`."""
    xp = array_namespace(states)
    own = kernel("rng.advance", xp)
    if own is not None:
        return own(states, n)
    with wide_dtypes(xp):
        return recurrence.advance(xp, states, n)


def numbers(
    xp: Any, states: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> Any:
    """Draw uniforms from streams.

    Parameters
    ----------
    xp : namespace
        Namespace of the library of the numbers; not Dask's.
    states : array
        int32, of shape (count, 6), of that library or NumPy.
    n : int
        Number of uniforms.
    dtype : {"float16", "float32", "float64", "wide"}
        dtype of the uniforms; "wide" is float64 with 53 bits, from two outputs `OUTPUT_STEPS` apart.
    scale_and_shift : two floats, optional
        Factor and summand of each uniform, applied in this order; both are rounded to the dtype.
    threads : int
        Number of threads, if the library's kernel supports several.
    out : array, optional
        Array of `n` elements of that dtype, filled if the library's kernel supports it.

    Returns
    -------
    array
        `out` if it was filled, else of shape (n,). Element ``i`` comes from stream ``i mod count``.
    """
    own, kind = kernel("rng.draw", xp), "float64" if dtype == "wide" else dtype
    if not n:
        return xp.zeros((0,), dtype=dtype_of(xp, kind))
    states = asarray(states, xp)
    if own is not None and dtype != "float16":
        return own(states, n, dtype, scale_and_shift, threads, out)[0]
    # raises at once if the library, as configured now, lacks the dtype, or memory is insufficient
    xp.empty((n,), dtype=dtype_of(xp, kind))
    with wide_dtypes(xp):
        u = _drawing(xp, n, dtype)(states)[0] if own is None else own(states, n, dtype)[0]
    return u * scale_and_shift[0] + scale_and_shift[1] if scale_and_shift else u


@lru_cache(maxsize=256)
def _drawing(xp: Any, n: int, dtype: str) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that draws `n` numbers from states; it is compiled if the library compiles and `n` is small."""

    def drawn(states: Any) -> tuple[Any, ...]:
        if dtype == "wide":
            planes = states, recurrence.moved(xp, states, OUTPUT_STEPS)
            return (two_draws(*(from_integers(xp, recurrence.integers(xp, plane, n), "float64") for plane in planes)),)
        return (from_integers(xp, recurrence.integers(xp, states, n), dtype),)

    return compiled(drawn, xp) if n <= MOST_COMPILED else drawn


def from_integers(xp: Any, z: Any, dtype: str) -> Any:
    """Convert 31-bit integers to uniforms."""
    if dtype == "float64":
        return xp.astype(z, dtype_of(xp, "float64")) * 2.0**-31
    if dtype == "float32":
        return xp.astype(z, dtype_of(xp, "float32")) * 4.6566126e-10
    # 511 * 2**-24 is float16(3.0458e-05); 511 times 15 bits is exact in float32: there is one rounding
    few = xp.astype(z % 2**15 + 1, dtype_of(xp, "float32"))
    return xp.astype(few * (511 * 2.0**-24), dtype_of(xp, "float16"))


def elements(states: Any, begins: Any, lengths: Any, dtype: str, library: str = HOST, output: int = 0) -> Any:
    """Return runs of consecutive elements of a draw, and compute no others.

    Parameters
    ----------
    states : array
        States of all streams, of that library or NumPy.
    begins, lengths : numpy.ndarray
        First indices and lengths of the runs: int64, of shape (count,).
    dtype : {"float16", "float32", "float64", "wide"}
        dtype of the numbers; "wide" is float64 with 53 bits, from two outputs.
    library : str
        Name of the library of the numbers.
    output : int
        Index of the output of each element; consecutive outputs are `OUTPUT_STEPS` apart.

    Returns
    -------
    array
        Runs, concatenated.

    Examples
    --------
    >>> import numpy as np
    >>> elements(substreams((234,) * 6, 2), np.asarray([0, 3]), np.asarray([2, 1]), "float64").round(3).tolist()
    [0.45, 0.306, 0.078]
    """
    host, xp = host_namespace(), get_namespace(library)
    total = int(host.sum(lengths))
    if not total:
        return xp.zeros((0,), dtype=dtype_of(xp, "float64" if dtype == "wide" else dtype))
    own, states = kernel("rng.runs", library), asarray(states, xp)
    if own is not None:
        return own(begins, lengths, recurrence.rows_of(states.shape[0], output), states, dtype)
    with wide_dtypes(xp):
        places = asarray(places_of(begins, lengths), xp)
        return at_places(xp, states, places, span_of(begins, lengths), dtype, output)


def places_of(begins: Any, lengths: Any) -> Any:
    """Return the indices of all elements of runs, as a NumPy array.

    Examples
    --------
    >>> import numpy as np
    >>> places_of(np.asarray([5, 1]), np.asarray([2, 1])).tolist()
    [5, 6, 1]
    """
    host = host_namespace()
    since = host.cumulative_sum(lengths) - lengths
    return host.repeat(begins - since, lengths) + host.arange(int(host.sum(lengths)))


def span_of(begins: Any, lengths: Any) -> tuple[int, int]:
    """Return the first and the last index of the elements of runs."""
    host = host_namespace()
    return int(host.min(begins)), int(host.max(begins + lengths)) - 1


def at_places(xp: Any, states: Any, places: Any, span: tuple[int, int], dtype: str, output: int = 0) -> Any:
    """Return the elements at any indices of a draw: see `elements`; `recurrence.integers_at` for places and span."""
    if dtype == "wide":
        return two_draws(*(at_places(xp, states, places, span, "float64", k) for k in (output, output + 1)))
    return from_integers(xp, recurrence.integers_at(xp, states, places, span, output), dtype)


def block_runs(shape: Shape, offset: Shape, block: Shape) -> tuple[Any, Any]:
    """Return the first indices and the equal lengths of the runs of consecutive elements in a block of an array.

    Examples
    --------
    >>> begins, lengths = block_runs((3, 4), (1, 1), (2, 3))
    >>> begins.tolist(), lengths.tolist()
    ([5, 9], [3, 3])
    """
    host = host_namespace()
    begins, length, stride = host.zeros((1,), dtype=host.int64), 1, 1
    whole = True
    for axis in reversed(range(len(shape))):
        if whole:
            begins, length = begins + offset[axis] * stride, length * block[axis]
            whole = block[axis] == shape[axis]
        else:
            along = (offset[axis] + host.arange(block[axis], dtype=host.int64)) * stride
            begins = host.reshape(along[:, None] + begins[None, :], (-1,))
        stride *= shape[axis]
    return begins, host.full(begins.shape, length, dtype=host.int64)


def two_draws(high: Any, low: Any) -> Any:
    """Return float64 uniforms of 53 bits, ``((z1 - 1) + z2 * 2**-31) * 2**-31``, of two that are ``z * 2**-31``.

    Examples
    --------
    >>> import numpy as np
    >>> two_draws(np.asarray([2.0**-31]), np.asarray([0.5])) == 2.0**-32
    array([ True])
    """
    return (high - 2.0**-31) + low * 2.0**-31


def polar(xp: Any, u1: Any, u2: Any) -> tuple[Any, Any]:
    """Return two standard normal numbers for each pair of uniforms, by the method of Box and Muller [1]_.

    Returns the cosines, then the sines, in the dtype of the uniforms. A kernel writes them to the arrays of the
    uniforms, which must be contiguous and not used elsewhere. Logarithms, cosines and sines are computed in float64 and
    rounded to the dtype; float16 is computed in float32 and rounded once.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> polar(xp, xp.asarray([0.5]), xp.asarray([0.25]))[1].round(4).tolist()
    [1.1774]
    """
    dtype = u1.dtype
    is_half = dtype_name(u1) == "float16"
    own = None if is_half else kernel("rng.box_muller", xp)
    if own is not None:
        own(u1, u2)
        return u1, u2
    with wide_dtypes(xp):
        if is_half:
            u1, u2 = (xp.astype(u, dtype_of(xp, "float32")) for u in (u1, u2))
        double = dtype_of(xp, "float64")
        logs = xp.astype(log(xp.astype(u1, double)), u1.dtype)
        radius = xp.astype(sqrt(xp.astype(-2.0 * logs, double)), u1.dtype)
        angle = xp.astype(u2 * (2.0 * math.pi), double)
        cosines, sines = (radius * xp.astype(wave(angle), radius.dtype) for wave in (cos, sin))
        return xp.astype(cosines, dtype, copy=False), xp.astype(sines, dtype, copy=False)


def normal_of_pairs(xp: Any, u1: Any, u2: Any, is_sine: Any) -> Any:
    """Return a standard normal number for each pair of uniforms: the sine if `is_sine`, else the cosine."""
    cosines, sines = polar(xp, u1, u2)
    return xp.where(is_sine, sines, cosines)


def paired(xp: Any, u: Any, n: int) -> Any:
    """Return `n` standard normal numbers of `n` uniforms, or ``n + 1`` if `n` is odd, in the layout of `RandomStreams`.

    Uniforms of the first half are paired with those of the second; all cosines come first, then the sines.
    """
    half = u.shape[0] // 2
    first, second = u[:half], u[half:]
    both = polar(xp, first, second)
    return (u if both[0] is first else xp.concat(both))[:n]


def stepwise_normals(xp: Any, u: Any, streams: int, n: int) -> Any:
    """Return `n` standard normal numbers of pairs of steps of streams, in the layout of `Generator`.

    `u` holds the uniforms of an even number of steps of all streams, in order. Of each pair of steps, the first gives
    the cosines, the second the sines.
    """
    pairs = xp.reshape(u, (-1, 2, streams))
    u1, u2 = (xp.reshape(pairs[:, k, :], (-1,)) for k in (0, 1))
    both = [xp.reshape(z, (-1, streams)) for z in polar(xp, u1, u2)]
    return xp.reshape(xp.stack(both, axis=1), (-1,))[:n]
