"""Draws on Dask: each block makes its own elements, from a handful of numbers.

What this chapter must satisfy: nothing is computed when the array is made; a task holds only where it is and what the
draw is; what it costs grows with its own size; and the numbers are those of the undivided draw, whatever the chunks.

A block of an array in C order is a set of *runs*, stretches of consecutive elements, all equally long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import asarray, dtype_of, from_blocks, get_namespace, host_namespace, is_array, library_name
from nbm_xp.namespace.mrg31k3p.integers import State

from .transforms import box_muller, two_draws
from .uniforms import HOST, advance, elements

__all__ = ["Normals", "Uniforms", "Wide", "block_runs", "later_states", "lazily", "library_of_blocks"]


def block_runs(shape: tuple[int, ...], offset: tuple[int, ...], block: tuple[int, ...]) -> tuple[Any, Any]:
    """Say which runs of consecutive elements of an array make up a block of it.

    Parameters
    ----------
    shape : tuple of ints
        The shape of the whole array.
    offset, block : tuple of ints
        Where the block begins, and its shape.

    Returns
    -------
    begins, lengths : numpy.ndarray
        int64; begins rise, and all lengths are equal.

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


def below(begins: Any, lengths: Any, place: int) -> tuple[Any, Any]:
    """Keep what lies before `place` of runs."""
    host = host_namespace()
    kept = begins < place
    return begins[kept], host.minimum(lengths[kept], place - begins[kept])


def above(begins: Any, lengths: Any, place: int) -> tuple[Any, Any]:
    """Keep what lies from `place` on of runs."""
    host = host_namespace()
    ends = begins + lengths
    kept = ends > place
    first = host.maximum(begins[kept], place)
    return first, ends[kept] - first


def later_draw(begins: Any, lengths: Any, n: int, streams: int, trial: int) -> tuple[Any, Any]:
    """Say where the elements of a later draw from the same streams lie, on from the first draw.

    After a draw of `n` elements, the first ``n mod streams`` streams are one step ahead of the others. So runs are
    divided where the streams start anew and where those end, and each piece moves on by whole steps.

    Parameters
    ----------
    begins, lengths : numpy.ndarray
        Runs of elements of one draw.
    n : int
        How many elements a draw has.
    streams : int
        How many streams there are.
    trial : int
        How many draws came before.

    Returns
    -------
    begins, lengths : numpy.ndarray
        Runs of places: place ``p`` is output ``p div streams`` of stream ``p mod streams``.

    Examples
    --------
    >>> import numpy as np
    >>> begins, lengths = later_draw(np.asarray([0]), np.asarray([3]), 3, 2, 1)
    >>> begins.tolist(), lengths.tolist()
    ([4, 3, 6], [1, 1, 1])
    """
    host = host_namespace()
    steps, ahead = divmod(n, streams)
    cuts = host.asarray([0, ahead] if ahead else [0], dtype=host.int64)
    if trial == 0 or not begins.shape[0]:
        return begins, lengths
    first, last = begins // streams, (begins + lengths - 1) // streams
    most = int(host.max(last - first)) + 1
    rows = first[:, None] + host.arange(most)
    edges = host.reshape(rows[:, :, None] * streams + cuts, (begins.shape[0], -1))
    ends = host.concat([edges[:, 1:], (rows[:, -1:] + 1) * streams], axis=1)
    starts = host.maximum(edges, begins[:, None])
    sizes = host.minimum(ends, (begins + lengths)[:, None]) - starts
    kept = sizes > 0
    starts, sizes = starts[kept], sizes[kept]
    return starts + trial * streams * (steps + (starts % streams < ahead)), sizes


@dataclass(frozen=True, slots=True)
class Uniforms:
    """The uniforms of one block, as a task.

    Parameters
    ----------
    source : six ints or None
        The state of the first stream; None where the task is handed the states of all of them.
    streams : int
        How many streams there are.
    shape : tuple of ints
        The shape of the whole draw.
    dtype : str
        The dtype of the numbers.
    library : str
        The library of the blocks.
    trial : int
        How many draws of this shape the streams made before.
    """

    source: State | None
    streams: int
    shape: tuple[int, ...]
    dtype: str
    library: str = HOST
    trial: int = 0

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *states: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        source = self.source if self.source is not None else states[0]
        runs = block_runs(self.shape, offset, shape)
        return get_namespace(self.library).reshape(self.flat(source, *runs), shape)

    def flat(self, source: Any, begins: Any, lengths: Any) -> Any:
        """The numbers of the runs, one after the other."""
        runs = later_draw(begins, lengths, math.prod(self.shape), self.streams, self.trial)
        return elements(source, self.streams, *runs, self.dtype, self.library)


class Wide(Uniforms):
    """The float64 uniforms of one block with a resolution of 53 bits."""

    __slots__ = ()

    def flat(self, source: Any, begins: Any, lengths: Any) -> Any:
        """The numbers of the runs, one after the other."""
        high, low = (
            elements(source, self.streams, begins + shift, lengths, self.dtype, self.library)
            for shift in (0, math.prod(self.shape))
        )
        return two_draws(high, low)


class Normals(Uniforms):
    """The standard normal numbers of one block."""

    __slots__ = ()

    def flat(self, source: Any, begins: Any, lengths: Any) -> Any:
        """The numbers of the runs, one after the other: cosines first, then sines."""
        host, xp = host_namespace(), get_namespace(self.library)
        half = (math.prod(self.shape) + 1) // 2
        cosines, sines = below(begins, lengths, half), above(begins, lengths, half)
        begins = host.concat([cosines[0], sines[0] - half])
        lengths = host.concat([cosines[1], sines[1]])
        u1, u2 = (
            elements(source, self.streams, begins + shift, lengths, self.dtype, self.library) for shift in (0, half)
        )
        return box_muller(xp, u1, u2, int(host.sum(cosines[1])))


@dataclass(frozen=True, slots=True)
class _Later:
    """The states after a draw, as a task."""

    n: int

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], states: Any) -> Any:
        return advance(states, self.n)


def later_states(xp: Any, states: Any, n: int) -> Any:
    """Give the states after `n` elements were drawn, for states that are a Dask array."""
    return from_blocks(xp, _Later(n), states.shape, "int32", -1, args=(states,), name="states")


def library_of_blocks(xp: Any, *arrays: Any) -> str:
    """Name the library of blocks: that of the first Dask array among some, else what Dask's configuration asks for.

    Parameters
    ----------
    xp : namespace
        Dask's.
    *arrays
        Dask arrays and anything else.

    Returns
    -------
    str

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> library_of_blocks(get_namespace("dask"))
    'numpy'
    """
    blocks = (getattr(array, "_meta", None) for array in (*arrays, xp.empty((0,))))
    return next((library_name(block) for block in blocks if is_array(block)), HOST)


def lazily(xp: Any, task: Uniforms, chunks: Any, states: Any = None) -> Any:
    """Make the Dask array whose blocks a task makes.

    Parameters
    ----------
    xp : namespace
        Dask's.
    task : Uniforms
        What makes a block.
    chunks : optional
        Any form that Dask takes; its own choice where None.
    states : array, optional
        The states of all streams, for a task without a source.

    Returns
    -------
    array
    """
    blocks = get_namespace(task.library)
    meta = blocks.zeros((0,) * len(task.shape), dtype=dtype_of(blocks, task.dtype))
    args = () if states is None else (asarray(states, xp),)
    chunks = "auto" if chunks is None else chunks
    name = type(task).__name__.lower()
    return from_blocks(xp, task, task.shape, task.dtype, chunks, args=args, name=name, meta=meta)
