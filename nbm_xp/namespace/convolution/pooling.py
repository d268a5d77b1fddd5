"""Maxima, sums and means of windows, axis by axis, and their gradients.

Arrays are (images, positions…, channels). A window of `sizes` starts at ``starts + position * strides``; there are
`lengths` of them along each spatial axis. Maxima and sums ignore elements outside the array.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Literal, TypeAlias

from nbm_xp.namespace.dispatch import array_namespace, device_argument
from nbm_xp.namespace.dtypes import kind
from nbm_xp.namespace.kernels import or_kernel

from .portable import Lengths, extended, gather_windows, scatter_windows, spans, zeros

Ties: TypeAlias = Literal["share", "first", "whole"]


@or_kernel("convolution.maxima")
def maxima(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The maximum of each window.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([3.0, 1.0, 2.0, 5.0, 4.0]).reshape(1, 5, 1)
    >>> maxima(x, sizes=(3,), starts=(-1,), strides=(2,), lengths=(3,)).reshape(-1)
    array([3., 5., 5.])
    """
    xp = array_namespace(x)
    return _by_axis(xp, x, xp.maximum, _lowest(xp, x), sizes, starts, strides, lengths)


@or_kernel("convolution.sum_windows")
def sum_windows(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The sum of each window.

    Examples
    --------
    >>> import numpy as np
    >>> sum_windows(np.ones((1, 5, 1)), sizes=(3,), starts=(-1,), strides=(2,), lengths=(3,)).reshape(-1)
    array([2., 3., 2.])
    """
    xp = array_namespace(x)
    return _by_axis(xp, x, operator.add, 0, sizes, starts, strides, lengths)


def _lowest(xp: Any, x: Any) -> Any:
    own = kind(x)
    return -math.inf if own == "f" else False if own == "b" else int(xp.iinfo(x.dtype).min)


def _by_axis(
    xp: Any,
    x: Any,
    join: Callable[[Any, Any], Any],
    outside: Any,
    sizes: Lengths,
    starts: Lengths,
    strides: Lengths,
    lengths: Lengths,
) -> Any:
    """Reduce windows along one spatial axis after another."""
    for axis in range(len(sizes)):
        size, start, stride, length = sizes[axis], starts[axis], strides[axis], lengths[axis]
        before = x.shape[1 : axis + 1]
        after = x.shape[axis + 2 : -1]
        extent = spans((size,), (stride,), (1,), (length,))
        x = extended(xp, x, (*(0,) * axis, start, *(0,) * len(after)), (*before, *extent, *after), outside)
        if length:
            parts = [
                x[(*(slice(None),) * (axis + 1), slice(i, i + (length - 1) * stride + 1, stride), ...)]
                for i in range(size)
            ]
            x = reduce(join, parts)
    return x


@or_kernel("convolution.spread_windows")
def spread_windows(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The adjoint of `sum_windows`, of spatial `lengths`: each window's number is added to its elements.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([1.0, 10.0, 100.0]).reshape(1, 3, 1)
    >>> spread_windows(y, sizes=(3,), starts=(-1,), strides=(2,), lengths=(5,)).reshape(-1)
    array([  1.,  11.,  10., 110., 100.])
    """
    xp = array_namespace(y)
    shared = xp.broadcast_to(y[..., None, :], (*y.shape[:-1], math.prod(sizes), y.shape[-1]))
    ones = (1,) * len(sizes)
    return scatter_windows(shared, sizes=sizes, starts=starts, strides=strides, dilation=ones, lengths=lengths)


def mean_windows(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The mean of each window's elements inside the array; 0 for a window outside.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4.0).reshape(1, 4, 1)
    >>> mean_windows(x, sizes=(3,), starts=(-1,), strides=(2,), lengths=(2,)).reshape(-1)
    array([0.5, 2. ])
    """
    xp = array_namespace(x)
    total = sum_windows(x, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return total / _elements(xp, x, sizes, starts, strides, lengths, x.shape[1:-1])


def spread_means(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The adjoint of `mean_windows`, of spatial `lengths`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([2.0, 3.0]).reshape(1, 2, 1)
    >>> spread_means(y, sizes=(3,), starts=(-1,), strides=(2,), lengths=(4,)).reshape(-1)
    array([1., 2., 1., 1.])
    """
    xp = array_namespace(y)
    y = y / _elements(xp, y, sizes, starts, strides, y.shape[1:-1], lengths)
    return spread_windows(y, sizes=sizes, starts=starts, strides=strides, lengths=lengths)


def _elements(
    xp: Any, like: Any, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, inside: Lengths
) -> Any:
    """Number of elements of each window inside an array of spatial lengths `inside`; at least 1."""
    extents = spans(sizes, strides, (1,) * len(sizes), lengths)
    if all(s >= 0 and s + e <= n for s, e, n in zip(starts, extents, inside, strict=True)):
        return float(math.prod(sizes))
    ones = xp.ones((1, *inside, 1), dtype=like.dtype, device=device_argument(like))
    counts = sum_windows(ones, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return xp.where(counts > 0.0, counts, 1.0)


def _largest(
    x: Any, out: Any, sizes: Lengths, starts: Lengths, strides: Lengths, ties: Ties
) -> tuple[Any, dict[str, Any], Any]:
    """Whether each element of the gathered windows is a maximum; the windows; and the number of maxima of each."""
    xp = array_namespace(x, out)
    windows: dict[str, Any] = {"sizes": sizes, "starts": starts, "strides": strides, "dilation": (1,) * len(sizes)}
    how = {**windows, "lengths": out.shape[1:-1]}
    ones = xp.ones((1, *x.shape[1:-1], 1), dtype=out.dtype, device=device_argument(x))
    # where one element is nan, all are the largest
    chosen = ~(gather_windows(x, **how) < out[..., None, :]) & (gather_windows(ones, **how) > 0)
    if ties == "first":
        chosen = chosen & (xp.cumulative_sum(xp.astype(chosen, xp.int32), axis=-2) == 1)
    count = 1.0
    if ties == "share":
        count = xp.sum(xp.astype(chosen, out.dtype), axis=-2)
        count = xp.where(count > 0.0, count, 1.0)
    return chosen, windows, count


@or_kernel("convolution.pick_maxima", 3)
def pick_maxima(
    v: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: Ties
) -> Any:
    """The elements of `v` at the maxima of the windows of `x`; `out` are the `maxima`.

    Parameters
    ----------
    ties : {"share", "first", "whole"}
        Treatment of several maxima: the mean, the first, or the sum of their elements.

    Examples
    --------
    >>> import numpy as np
    >>> v, x = np.asarray([[[1.0], [2.0], [4.0]]]), np.asarray([[[7.0], [7.0], [0.0]]])
    >>> how = {"sizes": (3,), "starts": (0,), "strides": (1,), "lengths": (1,)}
    >>> [float(pick_maxima(v, x, maxima(x, **how), ties=ties, **how)[0, 0, 0]) for ties in ("share", "first", "whole")]
    [1.5, 1.0, 3.0]
    """
    xp = array_namespace(v, x, out)
    if 0 in out.shape or 0 in sizes:
        return zeros(xp, v, out.shape)
    chosen, windows, count = _largest(x, out, sizes, starts, strides, ties)
    values = gather_windows(v, lengths=lengths, **windows)
    return xp.sum(xp.where(chosen, values, 0.0), axis=-2, dtype=v.dtype) / count


@or_kernel("convolution.place_maxima", 3)
def place_maxima(
    g: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: Ties
) -> Any:
    """The adjoint of `pick_maxima` with respect to `v`: each window's number is added at its maximum in `x`.

    Examples
    --------
    >>> import numpy as np
    >>> g, x = np.asarray([[[6.0]]]), np.asarray([[[7.0], [7.0], [0.0]]])
    >>> how = {"sizes": (3,), "starts": (0,), "strides": (1,), "lengths": (1,)}
    >>> [place_maxima(g, x, maxima(x, **how), ties=t, **how).reshape(-1).tolist() for t in ("share", "first", "whole")]
    [[3.0, 3.0, 0.0], [6.0, 0.0, 0.0], [6.0, 6.0, 0.0]]
    """
    xp = array_namespace(g, x, out)
    if 0 in (*out.shape, *x.shape, *sizes):
        return zeros(xp, g, x.shape)
    chosen, windows, count = _largest(x, out, sizes, starts, strides, ties)
    values = xp.where(chosen, (g / count)[..., None, :], 0.0)
    return scatter_windows(values, lengths=x.shape[1:-1], **windows)
