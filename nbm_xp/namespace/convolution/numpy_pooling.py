"""Pooling of NumPy arrays: by the compiled core, or with gradients added in place.

Where there is no core, and where the images lie last in memory, the gradients of maxima are added some images at a
time, so that they stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from nbm_xp.namespace.kernels import portably

from . import images_last, pooling
from .core_windows import core_function, places_room, windows_table
from .geometry import Lengths, taps

__all__ = ["maxima", "place_maxima", "spread_windows", "sum_windows"]

_BLOCK = 2**20  # bytes of images
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
    return None if x.shape[-1] < _CHANNELS or images_last.suits(x) else core_function(name, x, *others)


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
    step = max(1, _BLOCK // max(1, result[:1].nbytes))
    if images_last.suits(x):
        step = max(step, _RUN)
    for first in range(0, x.shape[0], step):
        part = slice(first, first + step)
        _place(result[part], g[part], x[part], out[part], places, ties)
    return result


@np.errstate(over="ignore", invalid="ignore")
def spread_windows(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.spread_windows`; added in place where that keeps images last in memory."""
    if not images_last.suits(y):
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
