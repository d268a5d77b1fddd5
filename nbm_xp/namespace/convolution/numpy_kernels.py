"""Convolution of NumPy arrays: windows copied side by side, a block at a time, into one matrix product.

A block of patches is small enough for the second-level cache. It is some images, or some rows of one image; the copy
runs along the axis that is longest in memory. With some filters, neither very few nor very many, the core sums windows
as they lie in the images. Wide 3 × 3 kernels go the shorter way of `winograd`, arrays in whose memory the images come
last that of `images_last`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nbm_xp.namespace.kernels import portably

from . import images_last, portable, winograd
from .core_windows import core_function, windows_table
from .geometry import Lengths, overlap, spans

__all__ = ["correlate", "correlate_back", "correlate_outer", "extended"]

_BLOCK = 2**20  # bytes of patches
_FILTERS = 64  # bytes of filters that the core sums at once
_MANY_FILTERS = 128  # of which a matrix product is as fast
_SHORT_RUN = 8  # elements: copies of fewer at a time cost more than copies with a stride


_QUIET: dict[str, Any] = {"over": "ignore", "invalid": "ignore"}
"""Infinities and what comes of them are answers here, as they are to every other library."""


def extended(x: Any, starts: Lengths, extents: Lengths, value: Any = 0) -> Any:
    """See `nbm_xp.namespace.convolution.geometry.extended`; the result lies in memory as the array does."""
    after = len(extents) + 1
    inside, place = overlap(x.shape[1:after], starts, extents)
    part = x[(slice(None), *inside)]
    if part.shape[1:after] == tuple(extents):
        return part
    whole = np.full_like(x, value, shape=(x.shape[0], *extents, *x.shape[after:]), subok=False)
    whole[(slice(None), *place)] = part
    return whole


@np.errstate(**_QUIET)
def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, channels, filters = kernel.shape
    how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
    if groups != 1 or 0 in (*x.shape, *kernel.shape, *lengths):
        return portable.correlate_in_groups(x, kernel, **how, budget=_BLOCK)
    if images_last.suits(x):
        return images_last.correlate(x, kernel[..., 0, :, :], starts, strides, dilation, lengths)
    if winograd.suits(x, filters, tuple(sizes), strides, dilation, lengths):
        found = winograd.correlate(x, kernel[:, :, 0], starts, lengths)
        if found is not None:
            return found
    out = np.empty((x.shape[0], *lengths, filters), dtype=x.dtype)
    core = core_function("correlate", x, kernel)
    if core is not None and dilation[-1] == 1 and 2 * filters * x.itemsize > _FILTERS and filters < _MANY_FILTERS:
        _sum(core, x, kernel, out, starts, strides, dilation)
        return out
    weights = kernel.reshape(-1, filters)
    if {*sizes, *strides} == {1} and x.shape[1:-1] == lengths and not any(starts) and x.flags.c_contiguous:
        np.matmul(x.reshape(-1, channels), weights, out=out.reshape(-1, filters))
        return out
    for images, rows, patches in _patches(x, tuple(sizes), starts, strides, dilation, lengths):
        np.matmul(patches, weights, out=out[images, rows].reshape(-1, filters))
    return out


@np.errstate(**_QUIET)
def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`."""
    *sizes, groups, channels, filters = kernel.shape
    if groups == 1 and 0 not in (*y.shape, *kernel.shape, *lengths):
        if {*strides} != {1} and images_last.suits(y):
            return images_last.correlate_back(y, kernel[..., 0, :, :], starts, strides, dilation, lengths)
        core = core_function("scatter_patches", y, kernel)
        turned = winograd.suits(y, channels, tuple(sizes), strides, dilation, lengths)
        if core is not None and not turned and not images_last.suits(y):
            return _scattered(core, y, kernel.reshape(-1, filters), tuple(sizes), starts, strides, dilation, lengths)
    how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
    return portably(portable.correlate_back)(y, kernel, **how)


@np.errstate(**_QUIET)
def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    counts = y.shape[1:-1]
    if groups != 1 or 0 in (*x.shape, *y.shape, *lengths):
        how: Any = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths, "groups": groups}
        return portably(portable.correlate_outer)(x, y, **how)
    if images_last.suits(x):
        return images_last.correlate_outer(x, y, starts, strides, dilation, lengths)[..., None, :, :]
    if winograd.suits(x, y.shape[-1], lengths, strides, dilation, counts):
        found = winograd.correlate_outer(x, y, starts, lengths)
        if found is not None:
            return found[:, :, None]
    total = np.zeros((math.prod(lengths) * x.shape[-1], y.shape[-1]), dtype=x.dtype)
    for images, rows, patches in _patches(x, lengths, starts, strides, dilation, counts):
        total += patches.T @ y[images, rows].reshape(-1, y.shape[-1])
    return total.reshape(*lengths, 1, x.shape[-1], y.shape[-1])


def _patches(
    x: Any, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Iterator[tuple[slice, slice, Any]]:
    """Blocks of windows as rows of a matrix, with the images and the first spatial axis' windows that they are of."""
    width = math.prod(sizes) * x.shape[-1]
    space: Any = None
    core, run = core_function("gather_patches", x), sizes[-1] * x.shape[-1] if dilation[-1] == 1 else x.shape[-1]
    across = run < min(_SHORT_RUN, lengths[-1])
    gathered = functools.partial(_strided, across) if core is None or across else functools.partial(_compiled, core)
    for images, rows, windows in _blocks(x, width, lengths):
        if rows.start == 0:
            gather = gathered(x[images], sizes, starts, strides, dilation, lengths)
        if space is None:  # the first block is the largest
            space = np.empty((windows, width), dtype=x.dtype)
        yield images, rows, gather(rows, space[:windows])


def _blocks(x: Any, width: int, lengths: Lengths) -> Iterator[tuple[slice, slice, int]]:
    """Some images, or rows of one, whose windows of so many elements fit a block; and how many windows these are."""
    line = math.prod(lengths[1:])
    together = max(1, _BLOCK // (x.itemsize * line * width))
    step, high = min(x.shape[0], max(1, together // lengths[0])), min(together, lengths[0])
    for first in range(0, x.shape[0], step):
        images = slice(first, min(first + step, x.shape[0]))
        for row in range(0, lengths[0], high):
            rows = slice(row, min(row + high, lengths[0]))
            yield images, rows, (images.stop - first) * (rows.stop - row) * line


def _geometry(rows: slice, *how: Lengths) -> Any:
    """The table of some rows of windows."""
    table = windows_table(*how)
    table[0, 2] += rows.start * table[0, 3]
    table[0, 5] = rows.stop - rows.start
    return table


def _compiled(core: Any, x: Any, sizes: Lengths, *how: Lengths) -> Callable[[slice, Any], Any]:
    """A function that fills a matrix with some rows of windows, by the core."""
    x = np.ascontiguousarray(x)
    lines = np.empty(math.prod(sizes[:-1]), dtype=np.int64)

    def gather(rows: slice, space: Any) -> Any:
        core(x, _geometry(rows, x.shape[1:-1], sizes, *how), x.shape[0], x.shape[-1], lines, space)
        return space

    return gather


def _sum(core: Any, x: Any, kernel: Any, out: Any, starts: Lengths, strides: Lengths, dilation: Lengths) -> None:
    """Fill `out` by the core without patches, some images at a time, so that zeros around them stay in the cache."""
    *sizes, _, channels, filters = kernel.shape
    together, lengths = _FILTERS // x.itemsize, out.shape[1:-1]
    weights = np.zeros((math.prod(sizes) * channels, -(-filters // together), together), dtype=x.dtype)
    weights.reshape(weights.shape[0], -1)[:, :filters] = kernel.reshape(-1, filters)
    weights = np.ascontiguousarray(weights.swapaxes(0, 1))
    extents = spans(tuple(sizes), strides, dilation, lengths)
    ends = [start + extent for start, extent in zip(starts, extents, strict=True)]
    inside = min(starts) >= 0 and all(end <= n for end, n in zip(ends, x.shape[1:-1], strict=True))
    shape, firsts = (x.shape[1:-1], starts) if inside else (extents, (0,) * len(starts))
    geometry = windows_table(shape, tuple(sizes), firsts, strides, dilation, lengths)
    lines = np.empty(math.prod(sizes[:-1]), dtype=np.int64)
    step = max(1, _BLOCK // (math.prod(shape) * channels * x.itemsize))
    for first in range(0, x.shape[0], step):
        images = slice(first, min(first + step, x.shape[0]))
        given = np.ascontiguousarray(x[images] if inside else extended(x[images], starts, extents))
        core(given, geometry, given.shape[0], channels, weights, lines, out[images])


def _scattered(core: Any, y: Any, weights: Any, sizes: Lengths, *how: Lengths) -> Any:
    """The products of all filters with their weights, added where the windows have their elements, by the core."""
    *others, lengths = how
    width, channels = weights.shape[0], weights.shape[0] // math.prod(sizes)
    out = np.zeros((y.shape[0], *lengths, channels), dtype=y.dtype)
    lines = np.empty(math.prod(sizes[:-1]), dtype=np.int64)
    space: Any = None
    for images, rows, windows in _blocks(y, width, y.shape[1:-1]):
        if space is None:
            space = np.empty((windows, width), dtype=y.dtype)
        patches = np.matmul(y[images, rows].reshape(windows, -1), weights.T, out=space[:windows])
        geometry = _geometry(rows, lengths, sizes, *others, y.shape[1:-1])
        core(patches, geometry, images.stop - images.start, channels, lines, out[images])
    return out


def _strided(
    across: bool, x: Any, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Callable[[slice, Any], Any]:
    """The same by NumPy's own copy; `across` makes the transposed matrix, by runs of windows."""
    source = extended(x, starts, spans(sizes, strides, dilation, lengths))
    along, count, channels = source.strides[1:-1], len(sizes), x.shape[-1]
    order = (*range(count + 1, 2 * count + 2), *range(count + 1)) if across else tuple(range(2 * count + 2))
    steps = (
        source.strides[0],
        *(a * s for a, s in zip(along, strides, strict=True)),
        *(a * d for a, d in zip(along, dilation, strict=True)),
        source.strides[-1],
    )

    def gather(rows: slice, space: Any) -> Any:
        shape = (source.shape[0], rows.stop - rows.start, *lengths[1:], *sizes, channels)
        windows = as_strided(source[:, rows.start * strides[0] :], shape, steps, writeable=False).transpose(order)
        patches = space.reshape(windows.shape)
        patches[...] = windows
        return patches.reshape(space.shape[1], -1).T if across else space

    return gather
