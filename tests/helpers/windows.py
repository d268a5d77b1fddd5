"""Convolution and pooling by their definition, one product or comparison after another, in NumPy.

What the functions are held to: no padding is ever made here; an element outside the array is left out of the sum.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = [
    "convolved", "from_maps", "pooled", "separated", "to_maps", "transposed", "unshared", "where",
]  # fmt: skip

Array = np.ndarray


def where(padding: Any, length: int, size: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """How much lies before the array, and how many windows there are, along one axis, as the documents define it."""
    extent = dilation * (size - 1) + 1
    if padding == "valid":
        return 0, (length - extent) // stride + 1
    if padding == "full":
        return extent - 1, (length + extent - 2) // stride + 1
    if padding == "causal":
        return extent - 1, (length - 1) // stride + 1
    if not isinstance(padding, str):
        before, after = padding
        return before, (length + before + after - extent) // stride + 1
    windows = -(-length // stride)
    if padding == "half":
        return size // 2, windows
    if padding == "leading":
        return max(0, size - (2 if size % 2 else 1)), windows
    return max(0, (windows - 1) * stride + extent - length) // 2, windows


def from_maps(maps: Array, lengths: Sequence[int], channels: int = -1) -> Array:
    """A matrix of (channels · positions, images) as images with their channels last."""
    return np.moveaxis(maps.reshape(channels, *lengths, maps.shape[1]), (-1, 0), (0, -1))


def to_maps(images: Array) -> Array:
    """Images with their channels last as a matrix of (channels · positions, images)."""
    return np.moveaxis(images, (0, -1), (-1, 0)).reshape(-1, images.shape[0])


def _all(given: Any, axes: int) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,) * axes


def _windows(
    lengths: Sequence[int], sizes: Sequence[int], strides: Any, padding: Any, dilation: Any
) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]]:
    """How many windows there are; and each place of each window that lies in the array, with the element there."""
    axes = len(lengths)
    paddings = (padding,) * axes if isinstance(padding, str) else padding
    steps = list(zip(paddings, lengths, sizes, _all(strides, axes), _all(dilation, axes), strict=True))
    found = [where(*step) for step in steps]
    counts = tuple(max(0, count) for _, count in found)

    def places() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        for o in itertools.product(*map(range, counts)):
            for i in itertools.product(*map(range, sizes)):
                at = tuple(
                    a * stride + b * step - before
                    for a, b, (before, _), (_, _, _, stride, step) in zip(o, i, found, steps, strict=True)
                )
                if all(0 <= q < n for q, n in zip(at, lengths, strict=True)):
                    yield o, i, at

    return counts, places()


def convolved(
    x: Array, kernel: Array, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, *, flip: bool = False
) -> Array:
    """Channels last; kernels are (*sizes, channels, filters)."""
    *sizes, _, filters = kernel.shape
    counts, places = _windows(x.shape[1:-1], sizes, strides, padding, dilation)
    out = np.zeros((x.shape[0], *counts, filters), np.result_type(x, kernel))
    for o, i, at in places:
        tap = tuple(n - 1 - j for n, j in zip(sizes, i, strict=True)) if flip else i
        out[(slice(None), *o)] += x[(slice(None), *at)] @ kernel[tap]
    return out


def transposed(
    y: Array, kernel: Array, lengths: Sequence[int], strides: Any = 1, padding: Any = "valid", dilation: Any = 1
) -> Array:
    """What each element of a result adds to each element of the array that it came from."""
    *sizes, channels, _ = kernel.shape
    _, places = _windows(lengths, sizes, strides, padding, dilation)
    out = np.zeros((y.shape[0], *lengths, channels), np.result_type(y, kernel))
    for o, i, at in places:
        out[(slice(None), *at)] += y[(slice(None), *o)] @ kernel[i].T
    return out


def separated(x: Array, kernel: Array, strides: Any = 1, padding: Any = "valid", dilation: Any = 1) -> Array:
    """Each channel with kernels of its own; kernels are (*sizes, channels, multiplier)."""
    *sizes, channels, several = kernel.shape
    counts, places = _windows(x.shape[1:-1], sizes, strides, padding, dilation)
    out = np.zeros((x.shape[0], *counts, channels, several), np.result_type(x, kernel))
    for o, i, at in places:
        out[(slice(None), *o)] += x[(slice(None), *at)][..., None] * kernel[i]
    return out.reshape(*out.shape[:-2], channels * several)


def unshared(x: Array, kernel: Array, sizes: Sequence[int], strides: Any, *, by_channel: bool = False) -> Array:
    """A kernel for each window; elements of a patch are (*places, channels), or (channels, *places)."""
    axes = len(sizes)
    steps = _all(strides, axes)
    counts, _ = _windows(x.shape[1:-1], sizes, strides, "valid", 1)
    out = np.zeros((x.shape[0], *counts, kernel.shape[-1]), np.result_type(x, kernel))
    for number, o in enumerate(itertools.product(*map(range, counts))):
        part = x[(slice(None), *(slice(a * s, a * s + n) for a, s, n in zip(o, steps, sizes, strict=True)))]
        patch = np.moveaxis(part, -1, 1) if by_channel else part
        out[(slice(None), *o)] = patch.reshape(x.shape[0], -1) @ kernel[number]
    return out


def pooled(
    x: Array, sizes: Any, strides: Any = 1, padding: Any = "valid", mode: str = "max", *, like: Array | None = None
) -> Array:
    """Channels last. With `like`, the mean of `x` where `like` is largest."""
    axes = x.ndim - 2
    counts, places = _windows(x.shape[1:-1], _all(sizes, axes), strides, padding, 1)
    held: dict[tuple[int, ...], list[tuple[int, ...]]] = {o: [] for o in itertools.product(*map(range, counts))}
    for o, _, at in places:
        held[o].append(at)
    out = np.zeros((x.shape[0], *counts, x.shape[-1]), x.dtype)
    for o, found in held.items():
        values = np.stack([x[(slice(None), *at)] for at in found])
        if like is not None:
            others = np.stack([like[(slice(None), *at)] for at in found])
            largest = others == others.max(axis=0)
            out[(slice(None), *o)] = (values * largest).sum(axis=0) / largest.sum(axis=0)
        elif mode == "max":
            out[(slice(None), *o)] = values.max(axis=0)
        elif mode == "avg":
            out[(slice(None), *o)] = values.mean(axis=0)
        else:
            out[(slice(None), *o)] = np.sqrt((values**2).sum(axis=0))
    return out
