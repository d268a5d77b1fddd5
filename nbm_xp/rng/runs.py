"""Stretches of consecutive elements: what a block of an array in C order is made of.

Contract: runs that name each element of a block once, in its order; and where the same elements
lie in a later draw from the same streams.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace

__all__ = ["above", "below", "block_runs", "later_draw"]


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
