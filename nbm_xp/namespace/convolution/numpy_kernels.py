"""Convolution and pooling of NumPy arrays by the compiled core, in blocks that stay in the cache.

Windows are copied side by side, one block at a time, for one matrix product. A block of patches fits into the
second-level cache; it is some images, or some rows of one image. With a moderate number of filters, the core sums
windows in place, without copies; large arrays with kernels of 3 × 3 use `winograd`. The portable functions are used
without a core, and for dtypes that the core does not support.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions, warn_if_missing

from . import portable, winograd
from .portable import Lengths, extended, spans
from .winograd import windows_table

__all__ = [
    "correlate", "correlate_back", "correlate_outer", "maxima", "place_maxima", "spread_windows", "sum_windows",
]  # fmt: skip

_BLOCK = 2**20  # bytes of patches
_FILTERS = 64  # bytes of filters that the core sums at once
_MANY_FILTERS = 128  # a matrix product is as fast from here on
_TIES = {"share": 0, "first": 1, "whole": 2}  # as the core has them

# Infinities and what comes of them are answers here, as they are to every other library.
_QUIET: dict[str, Any] = {"over": "ignore", "invalid": "ignore"}


def core_function(name: str, *arrays: Any) -> Callable[..., Any] | None:
    """The function of the core for the dtype of arrays, if there is one; None if the dtypes differ."""
    dtype = arrays[0].dtype
    if not dtype.isnative or any(other.dtype != dtype for other in arrays[1:]):
        return None
    warn_if_missing()
    return functions.get(f"{name}_{dtype.name}")


@np.errstate(**_QUIET)
def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, channels, filters = kernel.shape
    gather, total = core_function("gather_patches", x, kernel), core_function("correlate", x, kernel)
    if groups != 1 or gather is None or total is None or 0 in (*x.shape, *kernel.shape, *lengths):
        how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
        return portable.correlate_in_groups(x, kernel, **how, budget=_BLOCK)
    x = np.ascontiguousarray(x)
    if winograd.suits_winograd(x, filters, tuple(sizes), strides, dilation, lengths):
        found = winograd.correlate_winograd(x, kernel[:, :, 0], starts, lengths)
        if found is not None:
            return found
    out = np.empty((x.shape[0], *lengths, filters), dtype=x.dtype)
    if dilation[-1] == 1 and 2 * filters * x.itemsize > _FILTERS and filters < _MANY_FILTERS:
        _sum(total, x, kernel, out, starts, strides, dilation)
        return out
    weights = kernel.reshape(-1, filters)
    if {*sizes, *strides} == {1} and x.shape[1:-1] == lengths and not any(starts):
        np.matmul(x.reshape(-1, channels), weights, out=out.reshape(-1, filters))
        return out
    for images, rows, patches in _patches(gather, x, tuple(sizes), starts, strides, dilation, lengths):
        np.matmul(patches, weights, out=out[images, rows].reshape(-1, filters))
    return out


@np.errstate(**_QUIET)
def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`."""
    *sizes, groups, channels, filters = kernel.shape
    scatter = core_function("scatter_patches", y, kernel)
    if groups != 1 or scatter is None or 0 in (*y.shape, *kernel.shape, *lengths):
        return NotImplemented
    if winograd.suits_winograd(y, channels, tuple(sizes), strides, dilation, lengths):
        # a correlation with the kernel flipped
        turned = np.flip(kernel, tuple(range(len(sizes)))).swapaxes(-1, -2)
        before = tuple(1 - size - start for size, start in zip(sizes, starts, strict=True))
        return correlate(y, turned, starts=before, strides=strides, dilation=dilation, lengths=lengths)
    weights = kernel.reshape(-1, filters)
    out = np.zeros((y.shape[0], *lengths, channels), dtype=y.dtype)
    lines, counts = np.empty(math.prod(sizes[:-1]), dtype=np.int64), y.shape[1:-1]
    space: Any = None
    for images, rows, windows in _blocks(y, weights.shape[0], counts):
        if space is None:  # the first block is the largest
            space = np.empty((windows, weights.shape[0]), dtype=y.dtype)
        patches = np.matmul(y[images, rows].reshape(windows, -1), weights.T, out=space[:windows])
        table = _rows_table(rows, lengths, tuple(sizes), starts, strides, dilation, counts)
        scatter(patches, table, images.stop - images.start, channels, lines, out[images])
    return out


@np.errstate(**_QUIET)
def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    counts, gather = y.shape[1:-1], core_function("gather_patches", x, y)
    if groups != 1 or gather is None or 0 in (*x.shape, *y.shape, *lengths):
        return NotImplemented
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    if winograd.suits_winograd(x, y.shape[-1], lengths, strides, dilation, counts):
        found = winograd.correlate_outer_winograd(x, y, starts, lengths)
        if found is not None:
            return found[:, :, None]
    total = np.zeros((math.prod(lengths) * x.shape[-1], y.shape[-1]), dtype=x.dtype)
    for images, rows, patches in _patches(gather, x, lengths, starts, strides, dilation, counts):
        total += patches.T @ y[images, rows].reshape(-1, y.shape[-1])
    return total.reshape(*lengths, 1, x.shape[-1], y.shape[-1])


def _patches(
    gather: Any, x: Any, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Iterator[tuple[slice, slice, Any]]:
    """Blocks of windows as rows of a matrix, with the ranges of images and of windows along the first spatial axis."""
    width, channels = math.prod(sizes) * x.shape[-1], x.shape[-1]
    lines = np.empty(math.prod(sizes[:-1]), dtype=np.int64)
    space: Any = None
    for images, rows, windows in _blocks(x, width, lengths):
        if space is None:
            space = np.empty((windows, width), dtype=x.dtype)
        table = _rows_table(rows, x.shape[1:-1], sizes, starts, strides, dilation, lengths)
        gather(x[images], table, images.stop - images.start, channels, lines, space[:windows])
        yield images, rows, space[:windows]


def _blocks(x: Any, width: int, lengths: Lengths) -> Iterator[tuple[slice, slice, int]]:
    """Numbers of images, or rows of one image, whose windows fit into a block, and the number of these windows."""
    line = math.prod(lengths[1:])
    together = max(1, _BLOCK // (x.itemsize * line * width))
    step, high = min(x.shape[0], max(1, together // lengths[0])), min(together, lengths[0])
    for first in range(0, x.shape[0], step):
        images = slice(first, min(first + step, x.shape[0]))
        for row in range(0, lengths[0], high):
            rows = slice(row, min(row + high, lengths[0]))
            yield images, rows, (images.stop - first) * (rows.stop - row) * line


def _rows_table(rows: slice, *how: Lengths) -> Any:
    """The table of some rows of windows."""
    table = windows_table(*how)
    table[0, 2] += rows.start * table[0, 3]
    table[0, 5] = rows.stop - rows.start
    return table


def _sum(core: Any, x: Any, kernel: Any, out: Any, starts: Lengths, strides: Lengths, dilation: Lengths) -> None:
    """Fill `out` by the core without patches, some images at a time, so that the padded images stay in the cache."""
    *sizes, _, channels, filters = kernel.shape
    together, lengths = _FILTERS // x.itemsize, out.shape[1:-1]
    weights = np.zeros((math.prod(sizes) * channels, -(-filters // together), together), dtype=x.dtype)
    weights.reshape(weights.shape[0], -1)[:, :filters] = kernel.reshape(-1, filters)
    weights = np.ascontiguousarray(weights.swapaxes(0, 1))
    extents = spans(tuple(sizes), strides, dilation, lengths)
    ends = [start + extent for start, extent in zip(starts, extents, strict=True)]
    inside = min(starts) >= 0 and all(end <= n for end, n in zip(ends, x.shape[1:-1], strict=True))
    shape, firsts = (x.shape[1:-1], starts) if inside else (extents, (0,) * len(starts))
    table = windows_table(shape, tuple(sizes), firsts, strides, dilation, lengths)
    lines = np.empty(math.prod(sizes[:-1]), dtype=np.int64)
    step = max(1, _BLOCK // (math.prod(shape) * channels * x.itemsize))
    for first in range(0, x.shape[0], step):
        images = slice(first, min(first + step, x.shape[0]))
        given = x[images] if inside else np.ascontiguousarray(extended(np, x[images], starts, extents))
        core(given, table, given.shape[0], channels, weights, lines, out[images])


def maxima(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.maxima`."""
    return _pooled("maxima", x, x.shape[1:-1], lengths, lengths, sizes, starts, strides)


@np.errstate(**_QUIET)
def sum_windows(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.sum_windows`."""
    return _pooled("sum_windows", x, x.shape[1:-1], lengths, lengths, sizes, starts, strides)


@np.errstate(**_QUIET)
def spread_windows(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.spread_windows`."""
    return _pooled("spread_windows", y, lengths, y.shape[1:-1], lengths, sizes, starts, strides)


def _pooled(
    name: str,
    x: Any,
    shape: Lengths,
    windows: Lengths,
    found: Lengths,
    sizes: Lengths,
    starts: Lengths,
    strides: Lengths,
) -> Any:
    """Images of spatial lengths `found`, pooled over `windows` in images of `shape`."""
    core = core_function(name, x)
    if core is None:
        return NotImplemented
    out = np.zeros((x.shape[0], *found, x.shape[-1]), dtype=x.dtype)
    if x.size and out.size:
        table = windows_table(shape, sizes, starts, strides, (1,) * len(sizes), windows)
        core(np.ascontiguousarray(x), table, x.shape[0], x.shape[-1], _places_room(sizes), out)
    return out


def _places_room(sizes: Lengths) -> Any:
    """Memory for one number for each line of a window and for each of its elements."""
    return np.empty(math.prod(sizes[:-1]) * (1 + sizes[-1]), dtype=np.int64)


def place_maxima(
    g: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: str
) -> Any:
    """See `nbm_xp.namespace.convolution.place_maxima`."""
    core = core_function("place_maxima", x, g, out)
    if core is None:
        return NotImplemented
    result = np.zeros(x.shape, dtype=g.dtype)
    if result.size and out.size:
        given = [np.ascontiguousarray(some) for some in (g, x, out)]
        table = windows_table(x.shape[1:-1], sizes, starts, strides, (1,) * len(sizes), lengths)
        values = np.empty(x.shape[-1], dtype=g.dtype)
        core(*given, table, x.shape[0], x.shape[-1], _TIES[ties], _places_room(sizes), values, result)
    return result
