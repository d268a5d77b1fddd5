"""Portable convolution over any namespace, by a matrix product for each place in the window.

Arrays are (images, positions..., channels); windows are counted along the spatial axes in between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, TypeAlias

from nbm_xp.namespace.dispatch import array_namespace, device_argument
from nbm_xp.namespace.dtypes import dtype_name
from nbm_xp.namespace.kernels import or_kernel

Lengths: TypeAlias = tuple[int, ...]


def spans(sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int], lengths: Sequence[int]) -> Lengths:
    """Number of positions from the first element of an axis's first window to the last element of its last window."""
    return tuple(
        (length - 1) * stride + (size - 1) * step + 1 if length > 0 and size > 0 else 0
        for size, stride, step, length in zip(sizes, strides, dilation, lengths, strict=True)
    )


def taps(sizes: Sequence[int]) -> Iterator[Lengths]:
    """Every place in a window, in row-major order."""
    return itertools.product(*map(range, sizes))


def window(tap: Sequence[int], strides: Sequence[int], dilation: Sequence[int], lengths: Sequence[int]) -> Any:
    """Index of the elements at one place of all windows; the first window starts at 0."""
    firsts = [i * step for i, step in zip(tap, dilation, strict=True)]
    steps = zip(firsts, strides, lengths, strict=True)
    return (slice(None), *(slice(first, first + (n - 1) * stride + 1, stride) for first, stride, n in steps), ...)


def zeros(xp: Any, like: Any, shape: Sequence[int]) -> Any:
    """Zeros of the dtype of an array, on its device."""
    return xp.zeros(tuple(shape), dtype=like.dtype, device=device_argument(like))


def extended(xp: Any, x: Any, starts: Sequence[int], extents: Sequence[int], value: Any = 0) -> Any:
    """The part of an array of lengths `extents` from `starts` on; `value` outside the array."""
    for axis, (start, extent) in enumerate(zip(starts, extents, strict=True), 1):
        length = x.shape[axis]
        before = min(max(-start, 0), extent)
        after = min(max(start + extent - length, 0), extent - before)
        first = min(max(start, 0), length)
        inside = slice(first, first + extent - before - after)
        if inside != slice(0, length):
            x = x[(*(slice(None),) * axis, inside, ...)]
        if before or after:
            ahead, behind = (
                xp.full((*x.shape[:axis], count, *x.shape[axis + 1 :]), value, dtype=x.dtype, device=device_argument(x))
                for count in (before, after)
            )
            x = xp.concat([part for part in (ahead, x, behind) if part.shape[axis]], axis=axis)
    return x


def spread(xp: Any, x: Any, starts: Sequence[int], strides: Sequence[int], lengths: Sequence[int]) -> Any:
    """Zeros of spatial `lengths` with the elements of `x` at ``starts + i * strides``, if inside."""
    for axis, stride in enumerate(strides, 1):
        if stride > 1:
            apart = xp.stack([x, *[xp.zeros_like(x)] * (stride - 1)], axis=axis + 1)
            x = xp.reshape(apart, (*x.shape[:axis], x.shape[axis] * stride, *x.shape[axis + 1 :]))
    return extended(xp, x, [-start for start in starts], lengths)


def _first(starts: Lengths, tap: Lengths, dilation: Lengths) -> Lengths:
    """Position of the element at one place of the first window."""
    return tuple(start + i * step for start, i, step in zip(starts, tap, dilation, strict=True))


# How many bytes of products one group of images may take; a single image takes what it needs.
_BUDGET = 2**25


@or_kernel("convolution.correlate", 2)
def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """Correlation: the products of every window with a kernel, summed over the window and the channels of each group.

    Parameters
    ----------
    x : array
        Of shape (images, positions…, groups * channels).
    kernel : array
        Of the same dtype and of shape (sizes…, groups, channels, filters).
    starts : tuple of int
        Start of the first window along each spatial axis; negative before the array.
    strides, dilation : tuple of int
        Distances between windows, and between neighbouring places in a window.
    lengths : tuple of int
        Numbers of windows along each axis.

    Returns
    -------
    array
        Of shape (images, lengths…, groups * filters).

    Examples
    --------
    >>> import numpy as np
    >>> x, k = np.arange(5.0).reshape(1, 5, 1), np.asarray([1.0, 10.0]).reshape(2, 1, 1, 1)
    >>> correlate(x, k, starts=(-1,), strides=(2,), dilation=(1,), lengths=(3,)).reshape(-1)
    array([ 0., 21., 43.])
    """
    return correlate_in_groups(x, kernel, starts=starts, strides=strides, dilation=dilation, lengths=lengths)


@or_kernel("convolution.correlate_back", 2)
def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """The adjoint of `correlate` with respect to `x`, of spatial `lengths`: a transposed convolution.

    Examples
    --------
    >>> import numpy as np
    >>> y, k = np.asarray([1.0, 2.0]).reshape(1, 2, 1), np.asarray([1.0, 10.0, 100.0]).reshape(3, 1, 1, 1)
    >>> correlate_back(y, k, starts=(0,), strides=(2,), dilation=(1,), lengths=(5,)).reshape(-1)
    array([  1.,  10., 102.,  20., 200.])
    """
    xp = array_namespace(y, kernel)
    *sizes, groups, channels, _ = kernel.shape
    if 0 in (*y.shape, *kernel.shape, *lengths):
        return zeros(xp, y, (y.shape[0], *lengths, groups * channels))
    turned = xp.matrix_transpose(kernel)
    products = ((_first(starts, tap, dilation), _product(xp, y, turned[(*tap, ...)])) for tap in taps(sizes))
    return reduce(add, (spread(xp, part, at, strides, lengths) for at, part in products))


@or_kernel("convolution.correlate_outer", 2)
def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """The adjoint of `correlate` with respect to `kernel`, of spatial `lengths`.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(4.0).reshape(1, 4, 1), np.asarray([1.0, 10.0]).reshape(1, 2, 1)
    >>> correlate_outer(x, y, starts=(0,), strides=(1,), dilation=(1,), lengths=(3,), groups=1).reshape(-1)
    array([10., 21., 32.])
    """
    xp = array_namespace(x, y)
    counts = y.shape[1:-1]
    channels, filters = x.shape[-1] // groups, y.shape[-1] // groups
    if 0 in (*x.shape, *y.shape, *lengths):
        return zeros(xp, x, (*lengths, groups, channels, filters))
    wide = extended(xp, x, starts, spans(lengths, strides, dilation, counts))
    found = [_outer(xp, wide[window(tap, strides, dilation, counts)], y, groups) for tap in taps(lengths)]
    return xp.reshape(xp.stack(found), (*lengths, groups, channels, filters))


def correlate_in_groups(
    x: Any,
    kernel: Any,
    *,
    starts: Lengths,
    strides: Lengths,
    dilation: Lengths,
    lengths: Lengths,
    budget: int = _BUDGET,
) -> Any:
    """`correlate` for groups of images, each of as many images as have products of at most `budget` bytes."""
    xp = array_namespace(x, kernel)
    *sizes, groups, channels, filters = kernel.shape
    extents = spans(sizes, strides, dilation, lengths)
    images = x.shape[0]
    each = math.prod(lengths) * groups * (channels + filters) + math.prod(extents) * groups * channels
    step = max(1, budget // max(1, each * _width(x)))

    def of(some: Any) -> Any:
        wide = extended(xp, some, starts, extents)
        how = strides, dilation, lengths
        return reduce(add, (_product(xp, wide[window(tap, *how)], kernel[(*tap, ...)]) for tap in taps(sizes)))

    if 0 in (*sizes, channels, *lengths, images):
        return zeros(xp, x, (images, *lengths, groups * filters))
    if step >= images:
        return of(x)
    return xp.concat([of(x[first : first + step, ...]) for first in range(0, images, step)], axis=0)


def _width(x: Any) -> int:
    """Size of an element in bytes."""
    bits = dtype_name(x).lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(bits or 8) // 8


def _product(xp: Any, part: Any, weights: Any) -> Any:
    """Multiply the channels of each group by the group's matrix."""
    groups, channels, filters = weights.shape
    before = part.shape[:-1]
    if groups == 1:
        return xp.reshape(xp.matmul(xp.reshape(part, (-1, channels)), weights[0, ...]), (*before, filters))
    part = xp.reshape(part, (*before, groups, channels))
    if channels == 1 or filters == 1:
        product = part[..., None] * weights
        product = product[..., 0, :] if channels == 1 else xp.sum(product, axis=-2, dtype=part.dtype)
    else:
        product = xp.matmul(part[..., None, :], weights)[..., 0, :]
    return xp.reshape(product, (*before, groups * filters))


def _outer(xp: Any, part: Any, y: Any, groups: int) -> Any:
    """Sum over images and positions of the products of each group's channels and filters."""
    part = xp.reshape(part, (-1, groups, part.shape[-1] // groups))
    y = xp.reshape(y, (-1, groups, y.shape[-1] // groups))
    if groups == 1:
        return xp.matmul(part[:, 0, :].T, y[:, 0, :])
    if part.shape[-1] == 1 or y.shape[-1] == 1:
        return xp.sum(part[..., None] * y[..., None, :], axis=0, dtype=part.dtype)
    return xp.matmul(xp.permute_dims(part, (1, 2, 0)), xp.permute_dims(y, (1, 0, 2)))


@or_kernel("convolution.gather_windows")
def gather_windows(
    x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """The elements of each window, in row-major order: of shape (images, lengths…, places in a window, channels).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4.0).reshape(1, 4, 1)
    >>> gather_windows(x, sizes=(2,), starts=(-1,), strides=(2,), dilation=(1,), lengths=(2,))[0, :, :, 0]
    array([[0., 0.],
           [1., 2.]])
    """
    xp = array_namespace(x)
    shape = (x.shape[0], *lengths, math.prod(sizes), x.shape[-1])
    if 0 in shape:
        return zeros(xp, x, shape)
    wide = extended(xp, x, starts, spans(sizes, strides, dilation, lengths))
    return xp.stack([wide[window(tap, strides, dilation, lengths)] for tap in taps(sizes)], axis=-2)


@or_kernel("convolution.scatter_windows")
def scatter_windows(
    y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """The adjoint of `gather_windows`: an array of spatial `lengths`, in which overlapping windows are added.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([[1.0, 2.0], [10.0, 20.0]]).reshape(1, 2, 2, 1)
    >>> scatter_windows(y, sizes=(2,), starts=(0,), strides=(1,), dilation=(1,), lengths=(3,)).reshape(-1)
    array([ 1., 12., 20.])
    """
    xp = array_namespace(y)
    if 0 in (*y.shape, *lengths):
        return zeros(xp, y, (y.shape[0], *lengths, y.shape[-1]))
    return reduce(
        add,
        (
            spread(xp, y[..., number, :], _first(starts, tap, dilation), strides, lengths)
            for number, tap in enumerate(taps(sizes))
        ),
    )
