"""Convolution of NumPy arrays: windows copied side by side, a block at a time, into one matrix product.

A block of patches is small enough for the second-level cache. It is some images, or some rows of one image; the copy
runs along the axis that is longest in memory. Wide 3 × 3 kernels go the shorter way of `winograd`, arrays in whose
memory the images come last that of `images_last`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nbm_xp.namespace import dispatch

from . import images_last, winograd
from .geometry import Lengths, overlap, spans
from .portable import back_portably, correlate_portably, outer_portably

__all__ = ["correlate", "correlate_back", "correlate_outer", "extended"]

_BLOCK = 2**20  # bytes of patches
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
        return correlate_portably(dispatch.array_namespace(x), x, kernel, **how, budget=_BLOCK)
    if images_last.suits(x):
        return images_last.correlate(x, kernel[..., 0, :, :], starts, strides, dilation, lengths)
    if winograd.suits(x, filters, tuple(sizes), strides, dilation, lengths):
        found = winograd.correlate(x, kernel[:, :, 0], starts, lengths)
        if found is not None:
            return found
    out = np.empty((x.shape[0], *lengths, filters), dtype=x.dtype)
    weights = kernel.reshape(-1, filters)
    if {*sizes, *strides} == {1} and x.shape[1:-1] == lengths and not any(starts) and x.flags.c_contiguous:
        np.matmul(x.reshape(-1, channels), weights, out=out.reshape(-1, filters))
        return out
    for images, rows, patches in _patches(x, tuple(sizes), starts, strides, dilation, lengths):
        np.matmul(patches, weights, out=out[images, rows].reshape(-1, filters))
    return out


def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`."""
    if {*strides} == {1} or kernel.shape[-3] != 1 or 0 in (*y.shape, *kernel.shape) or not images_last.suits(y):
        how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
        return back_portably(dispatch.array_namespace(y), y, kernel, **how)
    with np.errstate(**_QUIET):
        return images_last.correlate_back(y, kernel[..., 0, :, :], starts, strides, dilation, lengths)


@np.errstate(**_QUIET)
def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    counts = y.shape[1:-1]
    if groups != 1 or 0 in (*x.shape, *y.shape, *lengths):
        how: Any = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths, "groups": groups}
        return outer_portably(dispatch.array_namespace(x), x, y, **how)
    if images_last.suits(x):
        return images_last.correlate_outer(x, y, starts, strides, dilation, lengths)[..., None, :, :]
    if winograd.suits(x, y.shape[-1], lengths, strides, dilation, counts):
        found = winograd.correlate_outer(x, y, starts)
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
    channels, extents = x.shape[-1], spans(sizes, strides, dilation, lengths)
    each = math.prod(lengths) * math.prod(sizes) * channels
    block = max(1, _BLOCK // x.itemsize)
    step = min(x.shape[0], max(1, block // each))
    high = lengths[0] if each <= block else max(1, lengths[0] * block // each)
    inside, place = overlap(x.shape[1:-1], starts, extents)
    bare = all(part.stop - part.start == extent for part, extent in zip(inside, extents, strict=True))
    room = None if bare else np.zeros((step, *extents, channels), dtype=x.dtype)
    space = np.empty(step * high * (each // lengths[0]), dtype=x.dtype)
    run = sizes[-1] * channels if dilation[-1] == 1 else channels
    across = run < _SHORT_RUN and run < lengths[-1]
    count = len(sizes)
    order = (*range(count + 1, 2 * count + 2), *range(count + 1)) if across else tuple(range(2 * count + 2))
    for first in range(0, x.shape[0], step):
        images = slice(first, min(first + step, x.shape[0]))
        if room is None:
            source = x[(images, *inside)]
        else:
            source = room[: images.stop - first]
            source[(slice(None), *place)] = x[(images, *inside)]
        along = source.strides[1:-1]
        for row in range(0, lengths[0], high):
            rows = slice(row, min(row + high, lengths[0]))
            shape = (source.shape[0], rows.stop - row, *lengths[1:], *sizes, channels)
            steps = (
                source.strides[0],
                *(a * s for a, s in zip(along, strides, strict=True)),
                *(a * d for a, d in zip(along, dilation, strict=True)),
                source.strides[-1],
            )
            windows = as_strided(source[:, row * strides[0] :], shape, steps, writeable=False).transpose(order)
            patches = space[: windows.size].reshape(windows.shape)
            patches[...] = windows
            width = math.prod(sizes) * channels
            yield images, rows, patches.reshape(width, -1).T if across else patches.reshape(-1, width)
