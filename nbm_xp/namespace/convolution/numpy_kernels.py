"""Convolution and pooling of NumPy arrays, in blocks that stay in the cache.

Windows are copied side by side, a block at a time, into one matrix product. A block of patches is small enough for the
second-level cache. It is some images, or some rows of one image; the copy runs along the axis that is longest in
memory. With some filters, neither very few nor very many, the core sums windows as they lie in the images. Wide 3 × 3
kernels and arrays in whose memory the images come last go the ways of `numpy_layouts`. Pooling is the core's; where
there is none, and where the images come last, the gradients of maxima are added some images at a time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nbm_xp.namespace.kernels import portably

from . import numpy_layouts, pooling, portable
from .numpy_layouts import core_function, places_room, windows_table
from .portable import Lengths, overlap, spans, taps

__all__ = [
    "correlate", "correlate_back", "correlate_outer", "extended", "maxima", "place_maxima", "spread_windows",
    "sum_windows",
]  # fmt: skip

_BLOCK = 2**20  # bytes of patches
_FILTERS = 64  # bytes of filters that the core sums at once
_MANY_FILTERS = 128  # of which a matrix product is as fast
_SHORT_RUN = 8  # elements: copies of fewer at a time cost more than copies with a stride


_QUIET: dict[str, Any] = {"over": "ignore", "invalid": "ignore"}
"""Infinities and what comes of them are answers here, as they are to every other library."""


def extended(x: Any, starts: Lengths, extents: Lengths, value: Any = 0) -> Any:
    """See `nbm_xp.namespace.convolution.portable.extended`; the result lies in memory as the array does."""
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
    if numpy_layouts.has_images_last(x):
        return numpy_layouts.correlate_images_last(x, kernel[..., 0, :, :], starts, strides, dilation, lengths)
    if numpy_layouts.suits_winograd(x, filters, tuple(sizes), strides, dilation, lengths):
        found = numpy_layouts.correlate_winograd(x, kernel[:, :, 0], starts, lengths)
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
        core = core_function("scatter_patches", y, kernel)
        turned = numpy_layouts.suits_winograd(y, channels, tuple(sizes), strides, dilation, lengths)
        images_last = {*strides} == {1} and numpy_layouts.has_images_last(y)  # then a correlation is as fast
        if core is not None and not turned and not images_last:
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
    if numpy_layouts.has_images_last(x):
        return numpy_layouts.correlate_outer_images_last(x, y, starts, strides, dilation, lengths)[..., None, :, :]
    if numpy_layouts.suits_winograd(x, y.shape[-1], lengths, strides, dilation, counts):
        found = numpy_layouts.correlate_outer_winograd(x, y, starts, lengths)
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


_BLOCK_OF_IMAGES = 2**20  # bytes of images
_TIES = {"share": 0, "first": 1, "whole": 2}  # as the core has them
_CHANNELS = 8  # fewer: NumPy's runs along the positions are longer
_RUN = 64  # images, where they lie last in memory: shorter runs cost more than the cache saves


def maxima(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.maxima`."""
    found = _by_core("maxima", x, x.shape[1:-1], lengths, lengths, sizes, starts, strides)
    if found is None:
        return portably(pooling.maxima)(x, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return found


@np.errstate(over="ignore", invalid="ignore")
def sum_windows(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.sum_windows`."""
    found = _by_core("sum_windows", x, x.shape[1:-1], lengths, lengths, sizes, starts, strides)
    if found is None:
        return portably(pooling.sum_windows)(x, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return found


def _core(name: str, x: Any, *others: Any) -> Any:
    """The core's function, whose loops run over the channels, where that is the shortest way."""
    return None if x.shape[-1] < _CHANNELS or numpy_layouts.has_images_last(x) else core_function(name, x, *others)


def _by_core(
    name: str,
    x: Any,
    shape: Lengths,
    windows: Lengths,
    found: Lengths,
    sizes: Lengths,
    starts: Lengths,
    strides: Lengths,
) -> Any:
    """Images of spatial lengths `found`, where `windows` lie in some of `shape`; None where the core does not serve."""
    core = _core(name, x)
    if core is None:
        return None
    out = np.zeros((x.shape[0], *found, x.shape[-1]), dtype=x.dtype)
    if x.size and out.size:
        table = windows_table(shape, sizes, starts, strides, (1,) * len(sizes), windows)
        core(np.ascontiguousarray(x), table, x.shape[0], x.shape[-1], places_room(sizes), out)
    return out


def place_maxima(
    g: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: str
) -> Any:
    """See `nbm_xp.namespace.convolution.place_maxima`."""
    result = np.zeros_like(x, dtype=g.dtype, subok=False)  # which lies in memory as x does
    if result.size == 0 or out.size == 0:
        return result
    core = _core("place_maxima", x, g, out)
    if core is not None:
        given = [np.ascontiguousarray(some) for some in (g, x, out)]
        result = np.zeros(x.shape, dtype=g.dtype)
        table = windows_table(x.shape[1:-1], sizes, starts, strides, (1,) * len(sizes), lengths)
        values = np.empty(x.shape[-1], dtype=g.dtype)
        core(*given, table, x.shape[0], x.shape[-1], _TIES[ties], places_room(sizes), values, result)
        return result
    places = list(_places(x.shape[1:-1], sizes, starts, strides, lengths))
    step = max(1, _BLOCK_OF_IMAGES // max(1, result[:1].nbytes))
    if numpy_layouts.has_images_last(x):
        step = max(step, _RUN)
    for first in range(0, x.shape[0], step):
        part = slice(first, first + step)
        _place(result[part], g[part], x[part], out[part], places, ties)
    return result


@np.errstate(over="ignore", invalid="ignore")
def spread_windows(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.spread_windows`; added in place where that keeps images last in memory."""
    if not numpy_layouts.has_images_last(y):
        found = _by_core("spread_windows", y, lengths, y.shape[1:-1], lengths, sizes, starts, strides)
        if found is not None:
            return found
        return portably(pooling.spread_windows)(y, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    for axis in range(len(sizes)):
        along = ((lengths[axis],), (sizes[axis],), (starts[axis],), (strides[axis],), (y.shape[axis + 1],))
        whole = np.zeros_like(y, shape=(*y.shape[: axis + 1], lengths[axis], *y.shape[axis + 2 :]), subok=False)
        others = (slice(None),) * axis
        if y.size and whole.size:
            for (_, inner), (_, outer) in _places(*along):
                whole[(slice(None), *others, inner)] += y[(slice(None), *others, outer)]
        y = whole
    return y


def _places(
    shape: Lengths, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths
) -> Iterator[tuple[Any, Any]]:
    """For each place in a window, the index of the elements there, and of the windows that have one there."""
    for tap in taps(sizes):
        inner: list[slice] = [slice(None)]
        outer: list[slice] = [slice(None)]
        for n, i, start, stride, length in zip(shape, tap, starts, strides, lengths, strict=True):
            first = max(0, -((start + i) // stride))
            last = min(length - 1, (n - 1 - start - i) // stride)
            begin = start + i + first * stride
            inner.append(slice(begin, begin + max(0, (last - first) * stride + 1), stride))
            outer.append(slice(first, max(first, last + 1)))
        yield tuple(inner), tuple(outer)


def _place(result: Any, g: Any, x: Any, out: Any, places: Sequence[tuple[Any, Any]], ties: str) -> None:
    if ties == "share":
        count = np.zeros_like(out, dtype=g.dtype, subok=False)
        for inner, outer in places:
            count[outer] += _largest(x[inner], out[outer])
        g = g / np.maximum(count, 1)
    left = np.ones_like(out, dtype=bool, subok=False) if ties == "first" else None
    bits = g.view(f"i{g.itemsize}")
    for inner, outer in places:
        chosen = _largest(x[inner], out[outer])
        if left is not None:
            chosen &= left[outer]
            left[outer] ^= chosen
        # ten times faster than a choice by a condition; unlike a product with 0, no nan where g is infinite
        kept = bits[outer] & np.negative(chosen.view(np.int8))
        result[inner] += kept.view(g.dtype)


def _largest(x: Any, out: Any) -> Any:
    """Whether elements are as large as their windows' largest; where one is nan, all are."""
    less = np.less(x, out)
    return np.logical_not(less, out=less)
