"""Convolution for every library: a matrix product for each place of the window, images in groups of bounded memory."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import dispatch, dtypes
from nbm_xp.namespace.kernels import or_kernel

from .geometry import Lengths, extended, interleaved, spans, taps, window

__all__ = ["correlate", "correlate_back", "correlate_in_groups", "correlate_outer"]

_BUDGET = 2**25
"""How many bytes of products one group of images may take; a single image takes what it needs."""


@or_kernel("correlate", 2)
def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """The product of every window with a kernel, summed over the window and the channels of each group.

    Parameters
    ----------
    x : array
        Of shape (images, positions…, groups * channels).
    kernel : array
        Of the same dtype and of shape (sizes…, groups, channels, filters).
    starts : tuple of int
        Where the first window starts, along each spatial axis; negative before the array.
    strides, dilation : tuple of int
        From window to window, and from place to place in a window.
    lengths : tuple of int
        How many windows there are along each axis.

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


@or_kernel("correlate_back", 2)
def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """The adjoint of `correlate` in `x`, whose spatial lengths are `lengths`: a transposed convolution.

    It is a correlation with a part of the kernel, turned round, for each residue by the strides.

    Examples
    --------
    >>> import numpy as np
    >>> y, k = np.asarray([1.0, 2.0]).reshape(1, 2, 1), np.asarray([1.0, 10.0, 100.0]).reshape(3, 1, 1, 1)
    >>> correlate_back(y, k, starts=(0,), strides=(2,), dilation=(1,), lengths=(5,)).reshape(-1)
    array([  1.,  10., 102.,  20., 200.])
    """
    xp = dispatch.array_namespace(y, kernel)
    count = len(lengths)
    *sizes, groups, channels, _ = kernel.shape
    ones = (1,) * count

    def phase(chosen: tuple[slice, ...], starts: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
        part = xp.flip(kernel[(*chosen, ...)], axis=tuple(range(count)))
        if 0 in part.shape[:count]:
            shape = (y.shape[0], *lengths, groups * channels)
            return xp.zeros(shape, dtype=y.dtype, device=dispatch.device_argument(y))
        part = xp.matrix_transpose(part)
        return correlate(y, part, starts=starts, strides=ones, dilation=dilation, lengths=lengths)

    return interleaved(xp, phase, sizes, starts, strides, dilation, lengths)


@or_kernel("correlate_outer", 2)
def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """The adjoint of `correlate` in `kernel`, whose spatial lengths are `lengths`.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(4.0).reshape(1, 4, 1), np.asarray([1.0, 10.0]).reshape(1, 2, 1)
    >>> correlate_outer(x, y, starts=(0,), strides=(1,), dilation=(1,), lengths=(3,), groups=1).reshape(-1)
    array([10., 21., 32.])
    """
    xp = dispatch.array_namespace(x, y)
    counts = y.shape[1:-1]
    channels, filters = x.shape[-1] // groups, y.shape[-1] // groups
    if 0 in (*x.shape, *y.shape, *lengths):
        shape = (*lengths, groups, channels, filters)
        return xp.zeros(shape, dtype=x.dtype, device=dispatch.device_argument(x))
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
    """The body of `correlate`, by as many images at a time as `budget` bytes hold products of."""
    xp = dispatch.array_namespace(x, kernel)
    *sizes, groups, channels, filters = kernel.shape
    extents = spans(sizes, strides, dilation, lengths)
    images = x.shape[0]
    each = math.prod(lengths) * groups * (channels + filters) + math.prod(extents) * groups * channels
    step = max(1, budget // max(1, each * _width(x)))

    def of(some: Any) -> Any:
        wide = extended(xp, some, starts, extents)
        total: Any = None
        for tap in taps(sizes):
            term = _product(xp, wide[window(tap, strides, dilation, lengths)], kernel[(*tap, ...)])
            total = term if total is None else total + term
        return total

    if 0 in (*sizes, channels, *lengths, images):
        shape = (images, *lengths, groups * filters)
        return xp.zeros(shape, dtype=x.dtype, device=dispatch.device_argument(x))
    if step >= images:
        return of(x)
    return xp.concat([of(x[first : first + step, ...]) for first in range(0, images, step)], axis=0)


def _width(x: Any) -> int:
    """Bytes of an element."""
    bits = dtypes.dtype_name(x).lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(bits or 8) // 8


def _product(xp: Any, part: Any, weights: Any) -> Any:
    """The channels of each group times the group's matrix."""
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
    """The sum over images and positions of the channels of each group times its filters."""
    part = xp.reshape(part, (-1, groups, part.shape[-1] // groups))
    y = xp.reshape(y, (-1, groups, y.shape[-1] // groups))
    if groups == 1:
        return xp.matmul(part[:, 0, :].T, y[:, 0, :])
    if part.shape[-1] == 1 or y.shape[-1] == 1:
        return xp.sum(part[..., None] * y[..., None, :], axis=0, dtype=part.dtype)
    return xp.matmul(xp.permute_dims(part, (1, 2, 0)), xp.permute_dims(y, (1, 0, 2)))
