"""Convolution of NumPy arrays in whose memory the images come last: channel by channel, all images of a place together.

Such arrays are views, with their axes in the order of every other convolution; so is what comes back. Windows are
copied in runs of all images, which are long and stay in order, so that no array is ever transposed in memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .geometry import Lengths, overlap, residues, spans

__all__ = ["correlate", "correlate_back", "correlate_outer", "suits"]

_BLOCK = 2**20  # bytes of patches


def suits(x: Any) -> bool:
    """Whether the images of an array, of which there are several, lie last in its memory, without gaps."""
    return x.shape[0] > 1 and not x.flags.c_contiguous and _turned(x).flags.c_contiguous


def _turned(x: Any) -> Any:
    """First and last axis exchanged: (channels, positions…, images), as the array lies in memory."""
    return np.swapaxes(x, 0, -1)


def correlate(x: Any, kernel: Any, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`; the kernel is without the axis of groups."""
    *sizes, _, filters = kernel.shape
    images, rest = x.shape[0], math.prod(lengths[1:]) * x.shape[0]
    weights = np.moveaxis(kernel, -2, 0).reshape(-1, filters).T
    out = np.empty((filters, *lengths, images), dtype=x.dtype)
    flat = out.reshape(filters, -1)
    for rows, patches in _patches(_turned(x), tuple(sizes), starts, strides, dilation, lengths):
        np.matmul(weights, patches, out=flat[:, rows.start * rest : rows.stop * rest])
    return _turned(out)


def correlate_back(y: Any, kernel: Any, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`; the kernel is without the axis of groups.

    Each residue of the positions by the strides is a correlation, put where it belongs.
    """
    *sizes, channels, _ = kernel.shape
    axes = tuple(range(len(sizes)))
    out = np.zeros((channels, *lengths, y.shape[0]), dtype=y.dtype)
    plans = residues(sizes, starts, strides, dilation)
    for offsets in itertools.product(*map(range, strides)):
        chosen, firsts, apart = zip(*(plan[offset] for plan, offset in zip(plans, offsets, strict=True)), strict=True)
        part = np.swapaxes(np.flip(kernel[chosen], axis=axes), -1, -2)
        places = tuple(slice(offset, None, stride) for offset, stride in zip(offsets, strides, strict=True))
        room = out[(slice(None), *places)]
        if part.size and room.size:
            room[...] = _turned(correlate(y, part, firsts, (1,) * len(axes), apart, room.shape[1:-1]))
    return _turned(out)


def correlate_outer(x: Any, y: Any, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`; without the axis of groups."""
    channels, filters, counts = x.shape[-1], y.shape[-1], y.shape[1:-1]
    rest = math.prod(counts[1:]) * x.shape[0]
    flat = np.ascontiguousarray(_turned(y)).reshape(filters, -1)
    total = np.zeros((channels * math.prod(lengths), filters), dtype=x.dtype)
    for rows, patches in _patches(_turned(x), lengths, starts, strides, dilation, counts):
        total += patches @ flat[:, rows.start * rest : rows.stop * rest].T
    return np.moveaxis(total.reshape(channels, *lengths, filters), 0, -2)


def _patches(
    x: Any, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Iterator[tuple[slice, Any]]:
    """Blocks of windows as columns of a matrix, with the first spatial axis' windows that they are of."""
    channels, *shape, images = x.shape
    if {*sizes, *strides} == {1} and tuple(shape) == lengths and not any(starts):
        yield slice(0, lengths[0]), x.reshape(channels, -1)
        return
    extents = spans(sizes, strides, dilation, lengths)
    inside, place = overlap(tuple(shape), starts, extents)
    source = x[(slice(None), *inside)]
    if source.shape[1:-1] != extents:
        source = np.zeros((channels, *extents, images), dtype=x.dtype)
        source[(slice(None), *place)] = x[(slice(None), *inside)]
    each = channels * math.prod(sizes) * math.prod(lengths[1:]) * images
    high = min(lengths[0], max(1, _BLOCK // x.itemsize // each))
    space = np.empty(each * high, dtype=x.dtype)
    along = source.strides[1:-1]
    steps = (
        source.strides[0],
        *(a * d for a, d in zip(along, dilation, strict=True)),
        *(a * s for a, s in zip(along, strides, strict=True)),
        source.strides[-1],
    )
    for row in range(0, lengths[0], high):
        rows = slice(row, min(row + high, lengths[0]))
        shown = (channels, *sizes, rows.stop - row, *lengths[1:], images)
        windows = as_strided(source[:, row * strides[0] :], shown, steps, writeable=False)
        patches = space[: windows.size].reshape(windows.shape)
        patches[...] = windows
        yield rows, patches.reshape(channels * math.prod(sizes), -1)
