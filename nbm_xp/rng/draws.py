"""Draws from states: numbers, and the states after them.

What this chapter must satisfy: the same numbers on every library, for every chunking, and from every kernel; on Dask
nothing is computed, and the states after a draw stay a small array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    concrete_int,
    convert,
    dtype_name,
    dtype_of,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    promote,
)
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.tape.stable import sigmoid_for

from . import recurrence
from .blocks import Normals, Uniforms, later_states, lazily, library_of_blocks
from .transforms import paired
from .uniforms import advance, numbers

__all__ = ["after", "bernoulli", "bernoulli_of_sigmoid", "binomial", "draw", "less", "normal", "normals", "trials"]


def after(states: Any, n: int) -> Any:
    """Give the states after `n` elements were drawn, without drawing them.

    Parameters
    ----------
    states : array
        int32, of shape (count, 6), of any library.
    n : int
        How many elements, dealt out to the streams in turn.

    Returns
    -------
    array
        Of the shape and library of `states`.

    Examples
    --------
    >>> import numpy as np
    >>> after(np.ones((2, 6), dtype=np.int32), 3)[:, 0].tolist()
    [4194433, 4194433]
    """
    xp = array_namespace(states)
    return later_states(xp, states, n) if is_lazy(xp) else advance(states, n)


def draw(
    xp: Any, states: Any, size: Sequence[int], dtype: str, chunks: Any = None, *, like: Any = None
) -> tuple[Any, Any]:
    """Draw uniforms from streams.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    size : sequence of ints
        The shape of the numbers.
    dtype : {"float16", "float32", "float64"}
        Their dtype.
    chunks : optional
        How Dask splits them, in any form that Dask takes. Says nothing about the numbers.
    like : array, optional
        A Dask array whose blocks are of the library that the blocks are to be of.

    Returns
    -------
    uniforms : array
        Of shape `size`, in C order: element ``i`` comes from stream ``i mod count``.
    new : array
        The states after the draw, of the library of `states`.

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
        block = Uniforms(None, states.shape[0], shape, dtype, library_of_blocks(xp, like))
        return lazily(xp, block, chunks, states), after(states, n)
    library = library_name(xp)
    compiled = kernel("rng.draw", library)
    if n and compiled is not None and library_name(states) == library:
        u, new = compiled(states, n, dtype)
    else:
        u, new = numbers(xp, states, n, dtype), after(states, n)
    return xp.reshape(u, shape), new


def normal(xp: Any, states: Any, size: Sequence[int], dtype: str, chunks: Any = None) -> tuple[Any, Any]:
    """Draw standard normal numbers, by the method of Box and Muller.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    size : sequence of ints
        The shape of the numbers.
    dtype : {"float16", "float32", "float64"}
        Their dtype.
    chunks : optional
        How Dask splits them.

    Returns
    -------
    normals : array
        Of shape `size`. With ``N`` their number made even, ``N`` uniforms are drawn, and the first half of them is
        paired with the second; in C order come all cosines, then all sines, of which the last is left out where ``N``
        had to be made even.
    new : array
        The states after the draw, of the library of `states`.

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
        block = Normals(None, states.shape[0], shape, dtype, library_of_blocks(xp))
        return lazily(xp, block, chunks, states), after(states, 2 * half)
    return xp.reshape(normals(xp, states, n, dtype), shape), after(states, 2 * half)


def normals(xp: Any, states: Any, n: int, dtype: str, stretch: Any = (), threads: int = 1) -> Any:
    """Make `n` standard normal numbers of the next uniforms of streams; see `normal`.

    Parameters
    ----------
    xp : namespace
        The library of the numbers; not Dask's.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    n : int
        How many.
    dtype : {"float16", "float32", "float64"}
        Their dtype.
    stretch : two floats, optional
        What each is multiplied by, and what is added then; rounded to the dtype.
    threads : int
        How many threads work side by side, where the library's kernel can.

    Returns
    -------
    array
        Of shape (n,).
    """
    compiled = kernel("rng.normals", library_name(xp))
    if compiled is not None and n and dtype != "float16":
        return compiled(convert(states, xp), _rows(states.shape[0]), n, dtype, stretch, threads)
    z = paired(xp, numbers(xp, states, n + n % 2, dtype, threads=threads), n)
    return z * stretch[0] + stretch[1] if stretch else z


def _rows(streams: int) -> Callable[[Any], Any]:
    """What gives the rows of the elements at a few places."""
    host = host_namespace()

    def rows(places: Any) -> Any:
        steps = places // streams
        return recurrence.rows_at(host, steps, (concrete_int(host.min(steps)), concrete_int(host.max(steps))))

    return rows


def bernoulli(
    xp: Any, states: Any, p: Any, size: Sequence[int], dtype: str, precision: str, chunks: Any = None
) -> tuple[Any, Any]:
    """Draw ones with probability `p`, else zeros.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    p : array or number
        Probabilities that broadcast to `size`.
    size : sequence of ints
        The shape of the numbers.
    dtype : str
        Their dtype.
    precision : {"float16", "float32", "float64"}
        The dtype of the uniforms that are compared with `p`.
    chunks : optional
        How Dask splits them; by default as it splits a `p` of the same shape.

    Returns
    -------
    sample : array
        1 where the uniform is less than `p`, else 0.
    new : array
        The states after the draw, of the library of `states`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> bernoulli(get_namespace("numpy"), substreams((31,) * 6, 2), 0.5, (8,), "int8", "float32")[0].tolist()
    [1, 0, 1, 1, 0, 0, 0, 0]
    """
    return trials(xp, states, p, tuple(size), dtype, precision, chunks)[:2]


def trials(
    xp: Any,
    states: Any,
    p: Any,
    shape: tuple[int, ...],
    dtype: str,
    precision: str,
    chunks: Any = None,
    threads: int = 1,
) -> tuple[Any, Any, int | None]:
    """Draw ones and zeros as `bernoulli` does, and look at `p` on the way where that costs nothing.

    Returns
    -------
    sample, new : array
        See `bernoulli`.
    wrong : int or None
        How many of `p` are not from 0 to 1; None where nobody looked.
    """
    whole = is_array(p) and tuple(p.shape) == shape
    compiled = kernel("rng.bernoulli", library_name(xp))
    bounds = asarray([p], xp, precision) if compiled is not None and not is_array(p) else p
    fits = compiled is not None and 0 not in shape and (whole or bounds is not p)
    if compiled is not None and fits and library_name(states) == library_name(bounds):
        found: tuple[Any, Any, int | None] | None = compiled(states, bounds, shape, dtype, precision, threads)
        if found is not None:
            return found
    if chunks is None and whole:
        chunks = getattr(p, "chunks", None)
    if is_lazy(xp) and is_array(p) and is_lazy(array_namespace(p)) and not math.isnan(p.size):
        uniforms = Uniforms(None, states.shape[0], shape, precision, library_of_blocks(xp, p))
        return lazily(xp, Trials(uniforms, dtype), chunks, states, (p,)), after(states, math.prod(shape)), None
    u, new = draw(xp, states, shape, precision, chunks, like=p)
    return less(xp, u, p, dtype), new, None


def binomial(
    xp: Any,
    states: Any,
    n: int,
    p: Any,
    size: Sequence[int],
    dtype: str,
    precision: str,
) -> tuple[Any, Any]:
    """Add up the ones of `n` draws from the same streams, one after the other.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    n : int
        How many draws, 1 or more.
    p, size, dtype, precision
        See `bernoulli`.

    Returns
    -------
    counts : array
        Of shape `size`.
    new : array
        The states after the draws, of the library of `states`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> binomial(get_namespace("numpy"), substreams((31,) * 6, 2), 9, 0.5, (4,), "int8", "float32")[0].tolist()
    [4, 3, 6, 6]
    """
    kind = "int64" if dtype == "bool" and n > 1 else dtype
    total, states = bernoulli(xp, states, p, size, kind, precision)
    for _ in range(n - 1):
        sample, states = bernoulli(xp, states, p, size, kind, precision)
        total = total + sample
    return (total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))), states


def bernoulli_of_sigmoid(xp: Any, states: Any, x: Any, size: Sequence[int], precision: str) -> tuple[Any, Any]:
    """Draw ones and zeros by log-odds: what `bernoulli` draws by their sigmoids, in the dtype of `x`.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    x : array
        The logarithms of the odds of 1; its shape broadcasts to `size`.
    size : sequence of ints
        The shape of the numbers.
    precision : {"float16", "float32", "float64"}
        The dtype of the uniforms.

    Returns
    -------
    sample : array
        1 where the uniform is less than the sigmoid of `x`, else 0.
    new : array
        The states after the draw, of the library of `states`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> x = np.asarray([-1.0, 0.0, 1.0, 30.0], dtype="float32")
    >>> bernoulli_of_sigmoid(get_namespace("numpy"), substreams((31,) * 6, 2), x, (4,), "float32")[0].tolist()
    [1.0, 0.0, 1.0, 1.0]
    """
    shape, library, kind = tuple(size), library_name(xp), dtype_name(x)
    sigmoid = sigmoid_for(xp, kind)
    compiled = kernel("rng.bernoulli_of_sigmoid", library)
    if compiled is not None and x.shape == shape and 0 not in shape and library_name(states) == library:
        found: tuple[Any, Any] | None = compiled(states, x, kind, precision, sigmoid)
        if found is not None:
            return found
    return bernoulli(xp, states, sigmoid(x), shape, kind, precision)


@dataclass(frozen=True, slots=True)
class Trials:
    """The ones and zeros of one block, as a task that also makes its uniforms: there is no task to make them early.

    Parameters
    ----------
    uniforms : Uniforms
        What makes the uniforms.
    dtype : str
        The dtype of the ones and zeros.
    """

    uniforms: Uniforms
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole draw."""
        return self.uniforms.shape

    @property
    def library(self) -> str:
        """The library of the blocks."""
        return self.uniforms.library

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], p: Any, states: Any) -> Any:
        """Make the block of some shape that begins at some place, by its probabilities."""
        return less(get_namespace(self.library), self.uniforms(offset, shape, states), p, self.dtype)


def less(xp: Any, u: Any, p: Any, dtype: str) -> Any:
    """Give 1 where a uniform is less than a probability, else 0."""
    if is_array(p):
        u, p = promote(u, p)
    return xp.astype(u < p, dtype_of(xp, dtype))
