"""Draws of `RandomStreams` from states: uniforms, normal numbers, ones and zeros; and the states after them.

Contract: the same numbers on every library, for every chunking, and from every kernel; ones and zeros follow from the
uniforms, to the last bit, whether or not these are stored. On Dask nothing is computed, each block is made from a few
integers, and the states after a draw are a small array.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    dtype_of,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    promote,
)
from nbm_xp.namespace.exponentials import sigmoid_for
from nbm_xp.namespace.libraries import HOST
from nbm_xp.namespace.mrg31k3p import kernel

from .tasks import Draw, library_of_blocks, made
from .uniforms import Shape, advance, block_runs, elements, normal_of_pairs, numbers, paired, substreams


def after(states: Any, n: int) -> Any:
    """Return the states after a draw of `n` elements, without making the draw.

    Examples
    --------
    >>> import numpy as np
    >>> after(np.ones((2, 6), dtype=np.int32), 3)[:, 0].tolist()
    [4194433, 4194433]
    """
    xp = array_namespace(states)
    if not is_lazy(xp):
        return advance(states, n)
    task = Draw(_advanced, None, states.shape, "int32", library_of_blocks(xp, states), options=(("n", n),))
    return made(xp, task, chunks=-1, args=(states,))


def _advanced(draw: Draw, offset: Shape, shape: Shape, states: Any, *, n: int) -> Any:
    return advance(states, n)


def draw(xp: Any, states: Any, size: Sequence[int], dtype: str, chunks: Any = None) -> tuple[Any, Any]:
    """Draw uniforms from streams, and return them and the states after them.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> u, states = draw(get_namespace("numpy"), substreams((234,) * 6, 2), (3,), "float64")
    >>> u.round(3).tolist()
    [0.45, 0.306, 0.448]
    >>> draw(get_namespace("numpy"), states, (1,), "float64")[0].round(3).tolist()
    [0.72]
    """
    shape = tuple(size)
    n = math.prod(shape)
    if is_lazy(xp):
        return _lazily(xp, uniforms, states, shape, dtype, chunks), after(states, n)
    library = library_name(xp)
    compiled = kernel("rng.draw", library)
    if n and compiled is not None and library_name(states) == library:
        u, new = compiled(states, n, dtype)
    else:
        u, new = numbers(xp, states, n, dtype), after(states, n)
    return xp.reshape(u, shape), new


def normal(xp: Any, states: Any, size: Sequence[int], dtype: str, chunks: Any = None) -> tuple[Any, Any]:
    """Draw standard normal numbers, by the method of Box and Muller, and return them and the states after them.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> z, states = normal(get_namespace("numpy"), substreams((31,) * 6, 2), (3,), "float64")
    >>> z.round(3).tolist()
    [2.212, 0.564, 0.865]
    """
    shape = tuple(size)
    n = math.prod(shape)
    half = (n + 1) // 2
    if is_lazy(xp):
        return _lazily(xp, normals, states, shape, dtype, chunks), after(states, 2 * half)
    z = paired(xp, numbers(xp, states, 2 * half, dtype), n)
    return xp.reshape(z, shape), after(states, 2 * half)


def bernoulli(
    xp: Any, states: Any, p: Any, size: Sequence[int], dtype: str, precision: str, chunks: Any = None
) -> tuple[Any, Any]:
    """Draw ones with probability `p`, and zeros otherwise; return them and the states after them.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> bernoulli(get_namespace("numpy"), substreams((31,) * 6, 2), 0.5, (8,), "int8", "float32")[0].tolist()
    [1, 0, 1, 1, 0, 0, 0, 0]
    """
    shape = tuple(size)
    found = by_kernel(xp, states, p, shape, dtype, precision)
    if found is not None:
        return found[:2]
    if is_lazy(xp) and is_array(p) and is_lazy(array_namespace(p)) and not math.isnan(p.size):
        drawn = _lazily(xp, compared, states, shape, dtype, chunks, p, precision=precision)
        return drawn, after(states, math.prod(shape))
    u, new = draw(xp, states, shape, precision, chunks)
    return less(xp, u, p, dtype), new


def by_kernel(
    xp: Any, states: Any, p: Any, shape: Shape, dtype: str, precision: str, threads: int = 1
) -> tuple[Any, Any, int | None] | None:
    """Draw ones and zeros as `bernoulli` does, by the library's kernel, which also checks `p`; None without one."""
    compiled, for_each = kernel("rng.bernoulli", xp), is_array(p)
    if compiled is None or 0 in shape or (for_each and tuple(p.shape) != shape):
        return None
    bounds = p if for_each else xp.full((1,), p, dtype=dtype_of(xp, precision))
    if type(states) is not type(bounds) and library_name(states) == HOST:
        states = asarray(states, xp)
    if type(states) is not type(bounds):
        return None
    found: tuple[Any, Any, int | None] | None = compiled(states, bounds, shape, dtype, precision, threads)
    return found


def binomial(xp: Any, states: Any, p: Any, size: Sequence[int], n: int, dtype: str, precision: str) -> tuple[Any, Any]:
    """Add up the ones of `n` draws from the same streams, one after the other.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> binomial(get_namespace("numpy"), substreams((31,) * 6, 2), 0.5, (4,), 9, "int8", "float32")[0].tolist()
    [4, 3, 6, 6]
    """
    kind = "int64" if dtype == "bool" and n > 1 else dtype
    total, states = bernoulli(xp, states, p, size, kind, precision)
    for _ in range(n - 1):
        sample, states = bernoulli(xp, states, p, size, kind, precision)
        total = total + sample
    return (total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))), states


def binomial_of_sigmoid(
    xp: Any,
    states: Any,
    *terms: Any,
    size: Sequence[int],
    n: int,
    dtype: str,
    precision: str,
    again: Callable[[], Any] | None = None,
) -> tuple[Any, Any]:
    """Draw as `binomial` does, with the sigmoids of log-odds as probabilities: of an array, or of the sum of two.

    With a function that computes the log-odds again, the first term may be written over.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> x, states = np.asarray([-1.0, 0.0, 1.0, 30.0], dtype="float32"), substreams((31,) * 6, 2)
    >>> how = {"size": (4,), "n": 1, "dtype": "int8", "precision": "float32"}
    >>> binomial_of_sigmoid(get_namespace("numpy"), states, x, **how)[0].tolist()
    [1, 0, 1, 1]
    """
    shape = tuple(size)
    compiled = kernel("rng.bernoulli_of_sigmoid", xp) if precision == "float32" else None  # float32 only
    if n == 1 and compiled is not None and 0 not in shape and type(states) is type(terms[0]):
        found: tuple[Any, Any] | None = compiled(states, terms, shape, dtype, sigmoid_for(xp, "float32"), again)
        if found is not None:
            return found
    x = reduce(operator.add, terms)
    return binomial(xp, states, sigmoid_for(xp, dtype_name(x))(x), shape, n, dtype, precision)


def binomial_of_affine(xp: Any, states: Any, a: Any, b: Any, bias: Any, **how: Any) -> tuple[Any, Any]:
    """Draw with log-odds ``a @ b + bias``, which may not be stored: the step of a Gibbs sampler."""
    return binomial_of_sigmoid(xp, states, xp.matmul(a, b), bias, again=lambda: xp.matmul(a, b) + bias, **how)


def less(xp: Any, u: Any, p: Any, dtype: str) -> Any:
    """Return 1 where a uniform is less than a probability, else 0."""
    if is_array(p):
        u, p = promote(u, p)
    return xp.astype(u < p, dtype_of(xp, dtype))


def _lazily(
    xp: Any, make: Callable[..., Any], states: Any, shape: Shape, dtype: str, chunks: Any, *parts: Any, **options: Any
) -> Any:
    """Return the Dask array of a draw from states, with blocks of the library of the blocks of `parts`."""
    args = (_compact(states) if library_name(states) == HOST else asarray(states, xp),)
    block = Draw(make, None, shape, dtype, library_of_blocks(xp, *parts, states), options=tuple(options.items()))
    return made(xp, block, parts, chunks=chunks, args=args)


def _compact(states: Any) -> Any:
    """Return states in short form, for tasks: the first state and the length of each of up to two runs of streams.

    After a draw, the first streams are a step ahead of the others. States that are not two such runs are unchanged.
    """
    host, rest = host_namespace(), states
    found: list[tuple[int, ...]] = []
    while rest.shape[0] and len(found) < 2:
        first = tuple(rest[0, :].tolist())
        count = int(host.argmax(host.any(substreams(first, rest.shape[0]) != rest, axis=1)))
        count = count or rest.shape[0]  # the first stream always matches
        found.append((*first, count))
        rest = rest[count:, :]
    return states if rest.shape[0] else host.asarray(found)


def _expanded(states: Any) -> Any:
    """Return all states from the short form of `_compact`."""
    if states.shape[1] == 6:
        return states
    return host_namespace().concat([substreams((*first,), count) for *first, count in states.tolist()])


def uniforms(draw: Draw, offset: Shape, shape: Shape, states: Any) -> Any:
    """Compute a block of uniforms from the states of all streams."""
    states = _expanded(states)
    runs = block_runs(draw.whole, offset, shape)
    return draw.xp.reshape(elements(states, *runs, draw.dtype, draw.library), shape)


def normals(draw: Draw, offset: Shape, shape: Shape, states: Any) -> Any:
    """Compute a block of normal numbers from the states of all streams: see `normal`."""
    host, xp, states = host_namespace(), draw.xp, _expanded(states)
    half = (math.prod(draw.whole) + 1) // 2
    begins, lengths = block_runs(draw.whole, offset, shape)
    ends = begins + lengths
    firsts = host.concat([begins, host.maximum(begins, half) - half])  # of cosines, then of sines
    lasts = host.concat([host.minimum(ends, half), ends - half])
    some = lasts > firsts
    is_sine = (host.arange(firsts.shape[0]) >= begins.shape[0])[some]
    firsts, sizes = firsts[some], (lasts - firsts)[some]
    u1, u2 = (elements(states, firsts + shift, sizes, draw.dtype, draw.library) for shift in (0, half))
    return xp.reshape(normal_of_pairs(xp, u1, u2, asarray(host.repeat(is_sine, sizes), xp)), shape)


def compared(draw: Draw, offset: Shape, shape: Shape, p: Any, states: Any, *, precision: str) -> Any:
    """Compute a block of ones and zeros with their probabilities, and its uniforms in the same task."""
    return less(draw.xp, uniforms(draw.changed(precision), offset, shape, states), p, draw.dtype)
