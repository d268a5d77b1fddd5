"""Draws of `RandomStreams` from states: numbers, and the states after them.

Contract: the same numbers on every library, for every chunking, and from every kernel; on Dask
nothing is computed, and the states after a draw stay a small array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import array_namespace, is_lazy, library_name
from nbm_xp.namespace.mrg31k3p import kernel

from .blocks import Normals, Uniforms, later_states, lazily, library_of_blocks
from .transforms import paired
from .uniforms import advance, numbers

__all__ = ["after", "draw", "normal"]


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
        block = Uniforms(None, states.shape[0], shape, dtype, library_of_blocks(xp, like, states))
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
        block = Normals(None, states.shape[0], shape, dtype, library_of_blocks(xp, states))
        return lazily(xp, block, chunks, states), after(states, 2 * half)
    z = paired(xp, numbers(xp, states, 2 * half, dtype), n)
    return xp.reshape(z, shape), after(states, 2 * half)
