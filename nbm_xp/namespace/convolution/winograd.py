"""Winograd convolution with kernels of 3 × 3 and larger odd sizes, for NumPy arrays.

F(2 × 2, 3 × 3): a tile of 4 × 4 elements becomes 16 sums of its elements, a kernel 16 sums of its weights; their
products over the channels are 16 matrix products, and sums of these are the tile's 2 × 2 results. All the sums but the
kernel's have coefficients 1 and -1, so that rounding errors are of the size of those of the direct sums. Infinities,
nan, and numbers whose sums might overflow, which would spread over a tile, are left to the direct sums.
Source: S. Winograd, Arithmetic Complexity of Computations, 1980, and for the tiles A. Lavin and S. Gray, Fast
Algorithms for Convolutional Neural Networks, https://arxiv.org/abs/1509.09308.
Larger kernels of odd sizes are 3 × 3 kernels side by side, two places apart, as tiles are: a result is the sum over
neighbouring tiles, and 5 × 5 kernels need sixty-four products where they would need a hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions

from .portable import Lengths


def windows_table(
    shape: Lengths, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """Table of the windows in images of a spatial shape: six numbers for each axis."""
    return np.asarray((shape, sizes, starts, strides, dilation, lengths), dtype=np.int64).T.copy()


_AXIS = np.asarray([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]])
_KERNEL = np.kron(_AXIS, _AXIS)  # from the 9 weights of a kernel to their 16 sums
_WORTH = 1e8  # multiplications: of fewer, the plain way's are as fast
_SIZES = (3, 5, 7)
_CHANNELS = 16  # for 3 × 3, twice as many for larger ones: with fewer, the sums cost more than they save
_BLOCK_OF_SUMS = 2**21  # bytes of sums


def suits_winograd(x: Any, filters: int, sizes: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> bool:
    """Whether Winograd's algorithm is applicable, and faster."""
    return (
        bool(functions)
        and len(sizes) == 2
        and {*sizes} <= {*_SIZES}
        and {*strides, *dilation} == {1}
        and x.dtype.name in ("float32", "float64")
        and x.dtype.isnative
        and min(x.shape[-1], filters) >= (_CHANNELS if sizes == (3, 3) else 2 * _CHANNELS)
        and x.shape[0] * lengths[0] * lengths[1] * x.shape[-1] * filters * sizes[0] * sizes[1] >= _WORTH
    )


def correlate_winograd(x: Any, kernel: Any, starts: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`; None where numbers are too large for sums."""
    channels, filters = kernel.shape[2:]
    pieces = _pieces(kernel.shape)
    limit = _limit(x, channels * pieces[0] * pieces[1])
    if not _moderate(kernel, limit):
        return None
    parts = np.zeros((3, 3, *pieces, channels, filters))
    for place, whole in _places(pieces):
        parts[place] = kernel[whole]
    sums = np.matmul(_KERNEL, parts.reshape(9, -1)).astype(x.dtype).reshape(16, -1, filters)
    out = np.empty((x.shape[0], *lengths, filters), dtype=x.dtype)
    across, join = -(-lengths[1] // 2), functions[f"join_{x.dtype.name}"]
    cells = np.empty((8, across * filters), dtype=x.dtype)
    space = np.empty(0, dtype=x.dtype)
    for images, rows, tiles in _tiles(x, starts, lengths, pieces, max(channels, filters), limit):
        if tiles is None:
            return None
        part = out[images, rows]
        count, high = part.shape[0], -(-part.shape[1] // 2)
        space = _room(space, 16 * count * high * across * filters)
        products = space.reshape(16, -1, filters)
        for one, product, weights in zip(_neighbours(tiles, count, high, across, pieces), products, sums, strict=True):
            np.matmul(one, weights, out=product)
        join(products, cells, part, *part.shape[:3], across, filters)
    return out


def correlate_outer_winograd(x: Any, y: Any, starts: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`; without groups. None as for `correlate_winograd`."""
    channels, filters, counts = x.shape[-1], y.shape[-1], y.shape[1:-1]
    pieces = _pieces(lengths)
    total = np.zeros((16, pieces[0] * pieces[1] * channels, filters), dtype=x.dtype)
    across, split_results = -(-counts[1] // 2), functions[f"split_results_{x.dtype.name}"]
    limit = _limit(x, x.shape[0] * counts[0] * counts[1])
    parts = np.empty((4, 2 * across * filters), dtype=x.dtype)
    halves = space = np.empty(0, dtype=x.dtype)
    for images, rows, tiles in _tiles(x, starts, counts, pieces, max(channels, filters), limit):
        if tiles is None:
            return None
        given = y[images, rows]
        count, present = given.shape[:2]
        high = -(-present // 2)
        halves = _room(halves, 4 * count * high * across * filters)
        room = halves.reshape(count, -1, 2, across, filters)
        room[:, :present, 0] = given[:, :, 0::2]
        room[:, :present, 1, : counts[1] // 2] = given[:, :, 1::2]
        room[:, present:] = 0
        room[:, :, 1, counts[1] // 2 :] = 0
        if not _moderate(room, limit):
            return None
        space = _room(space, 16 * count * high * across * filters)
        results = space.reshape(16, count * high, -1)
        split_results(room, parts, results, across * filters)
        for one, result, sums in zip(_neighbours(tiles, count, high, across, pieces), results, total, strict=True):
            sums += one.T @ result.reshape(-1, filters)
    parts = np.matmul(_KERNEL.T, total.reshape(16, -1).astype(np.float64))
    parts = parts.reshape(3, 3, *pieces, channels, filters)
    found = np.empty((*lengths, channels, filters), dtype=x.dtype)
    for place, whole in _places(pieces):
        found[whole] = parts[place]
    return found


def _pieces(sizes: Lengths) -> Lengths:
    """Number of 3 × 3 kernels side by side along each axis."""
    return (sizes[0] - 1) // 2, (sizes[1] - 1) // 2


def _places(pieces: Lengths) -> Iterator[tuple[Any, Any]]:
    """For each 3 × 3 kernel, its places, and their positions in the whole kernel; shared places belong to the first."""
    for part in np.ndindex(*pieces):
        own = tuple(slice(min(k, 1), 3) for k in part)
        yield (*own, *part), tuple(slice(2 * k + some.start, 2 * k + 3) for k, some in zip(part, own, strict=True))


def _neighbours(tiles: Any, count: int, high: int, across: int, pieces: Lengths) -> Iterator[Any]:
    """For each of the 16 sums, a matrix with a row for each tile: the sums of the tiles under all 3 × 3 kernels."""
    down, wide = high + pieces[0] - 1, across + pieces[1] - 1
    tiles = tiles.reshape(16, count * down * wide, -1)
    if pieces == (1, 1):
        yield from tiles
        return
    channels, ones = tiles.shape[-1], (1, 1)
    geometry = windows_table((down, wide), pieces, (0, 0), ones, ones, (high, across))
    lines = np.empty(pieces[0], dtype=np.int64)
    space = np.empty((count * high * across, pieces[0] * pieces[1] * channels), dtype=tiles.dtype)
    gather = functions[f"gather_patches_{tiles.dtype.name}"]
    for part in tiles:
        gather(part, geometry, count, channels, lines, space)
        yield space


def _room(space: Any, size: int) -> Any:
    """Memory for a number of elements; existing memory is reused if it suffices."""
    return (space if space.size >= size else np.empty(size, dtype=space.dtype))[:size]


def _limit(x: Any, terms: int) -> float:
    """Bound on the numbers of two arrays for which a sum of `terms` products of their sums stays finite."""
    return float(np.sqrt(np.finfo(x.dtype).max / (64.0 * terms)))


def _moderate(x: Any, limit: float) -> bool:
    """Whether all numbers are finite and within the bound."""
    return bool(np.max(x) < limit and np.min(x) > -limit)


def _tiles(
    x: Any, starts: Lengths, lengths: Lengths, pieces: Lengths, width: int, limit: float
) -> Iterator[tuple[slice, slice, Any]]:
    """The sums of all tiles, of shape (16, rows of tiles, tiles in a row * channels): of images, or of rows of one.

    With each row or column of tiles come the `pieces` - 1 after it. None in place of tiles, where an image has larger
    numbers than allowed.
    """
    channels, split_tiles = x.shape[-1], functions[f"split_tiles_{x.dtype.name}"]
    down, across, more = -(-lengths[0] // 2), -(-lengths[1] // 2) + pieces[1] - 1, pieces[0] - 1
    together = max(1, _BLOCK_OF_SUMS // (16 * across * width * x.itemsize))
    step, high = min(max(1, together // down), x.shape[0]), min(together, down)
    room = np.zeros((step, 2 * (down + more) + 2, 2, across + 1, channels), dtype=x.dtype)
    parts = np.empty((4, 2 * (across + 1) * channels), dtype=x.dtype)
    space = np.empty(16 * step * (high + more) * across * channels, dtype=x.dtype)
    from_row, to_row = _shared(starts[0], room.shape[1], x.shape[1])
    columns = [_every_other(starts[1], parity, across + 1, x.shape[2]) for parity in (0, 1)]
    for start in range(0, x.shape[0], step):
        images = slice(start, min(start + step, x.shape[0]))
        count = images.stop - start
        for parity, (from_column, to_column) in enumerate(columns):
            room[:count, to_row, parity, to_column] = x[images, from_row, from_column]
        if not _moderate(room[:count], limit):
            yield images, slice(0), None
        flat = room[:count].reshape(count, room.shape[1], -1)
        for first in range(0, down, high):
            rows = slice(first, min(first + high, down))
            several = rows.stop - first + more
            tiles = space[: 16 * count * several * across * channels].reshape(16, count * several, -1)
            given = flat[:, 2 * first : 2 * (rows.stop + more) + 2]
            split_tiles(given, parts, tiles, *given.shape[1:], across * channels, channels)
            yield images, slice(2 * first, min(2 * rows.stop, lengths[0])), tiles


def _shared(start: int, extent: int, length: int) -> tuple[slice, slice]:
    """The intersection of a range that starts at `start` with an axis: as a slice of the axis, and of the range."""
    first = min(max(start, 0), length)
    last = max(first, min(start + extent, length))
    return slice(first, last), slice(first - start, last - start) if last > first else slice(0, 0)


def _every_other(start: int, parity: int, count: int, length: int) -> tuple[slice, slice]:
    """The same for each second element of a range, from its first or its second on, `count` of them."""
    begin = start + parity
    skipped = max(0, -(begin // 2) if begin < 0 else 0)
    first = begin + 2 * skipped
    shared = max(0, min(count - skipped, -(-(length - first) // 2)))
    return slice(first, first + 2 * shared, 2), slice(skipped, skipped + shared)
