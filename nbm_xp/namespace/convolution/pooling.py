"""Largest elements and sums of windows, axis by axis, and where gradients go that come back through them.

Arrays are (images, positions…, channels). A window of `sizes` starts at ``starts + position * strides``; there are
`lengths` of them along each spatial axis. What lies outside the array is never the largest, and adds nothing to a sum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from nbm_xp.namespace import dispatch, dtypes
from nbm_xp.namespace.kernels import or_kernel

from .portable import Lengths, extended, interleaved, spans, taps, window

__all__ = [
    "Ties", "maxima", "mean_windows", "pick_maxima", "place_maxima", "spread_means", "spread_windows", "sum_windows",
]  # fmt: skip

Ties: TypeAlias = Literal["share", "first", "whole"]


@or_kernel("convolution.maxima")
def maxima(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The largest element of each window.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([3.0, 1.0, 2.0, 5.0, 4.0]).reshape(1, 5, 1)
    >>> maxima(x, sizes=(3,), starts=(-1,), strides=(2,), lengths=(3,)).reshape(-1)
    array([3., 5., 5.])
    """
    xp = dispatch.array_namespace(x)
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
    xp = dispatch.array_namespace(x)
    return _by_axis(xp, x, lambda a, b: a + b, 0, sizes, starts, strides, lengths)


def _lowest(xp: Any, x: Any) -> Any:
    kind = dtypes.kind(x)
    return -math.inf if kind == "f" else False if kind == "b" else int(xp.iinfo(x.dtype).min)


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
    """Windows reduced along one spatial axis after the other."""
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
            x = functools.reduce(join, parts)
    return x


@or_kernel("convolution.spread_windows")
def spread_windows(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The adjoint of `sum_windows`, an array of spatial `lengths`: each window's number, added to its elements.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([1.0, 10.0, 100.0]).reshape(1, 3, 1)
    >>> spread_windows(y, sizes=(3,), starts=(-1,), strides=(2,), lengths=(5,)).reshape(-1)
    array([  1.,  11.,  10., 110., 100.])
    """
    xp = dispatch.array_namespace(y)
    for axis in range(len(sizes)):
        y = _spread_along(xp, y, axis, sizes[axis], starts[axis], strides[axis], lengths[axis])
    return y


@or_kernel("convolution.mean_windows")
def mean_windows(x: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The mean of what each window holds of the array; 0 where that is nothing.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4.0).reshape(1, 4, 1)
    >>> mean_windows(x, sizes=(3,), starts=(-1,), strides=(2,), lengths=(2,)).reshape(-1)
    array([0.5, 2. ])
    """
    xp = dispatch.array_namespace(x)
    total = sum_windows(x, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return total / _elements(xp, x, sizes, starts, strides, lengths, x.shape[1:-1])


@or_kernel("convolution.spread_means")
def spread_means(y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths) -> Any:
    """The adjoint of `mean_windows`, which gives an array of spatial `lengths`.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([2.0, 3.0]).reshape(1, 2, 1)
    >>> spread_means(y, sizes=(3,), starts=(-1,), strides=(2,), lengths=(4,)).reshape(-1)
    array([1., 2., 1., 1.])
    """
    xp = dispatch.array_namespace(y)
    y = y / _elements(xp, y, sizes, starts, strides, y.shape[1:-1], lengths)
    return spread_windows(y, sizes=sizes, starts=starts, strides=strides, lengths=lengths)


def _elements(
    xp: Any, like: Any, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, inside: Lengths
) -> Any:
    """How many elements each window holds of an array of spatial lengths `inside`; at least 1."""
    extents = spans(sizes, strides, (1,) * len(sizes), lengths)
    if all(s >= 0 and s + e <= n for s, e, n in zip(starts, extents, inside, strict=True)):
        return float(math.prod(sizes))
    ones = xp.ones((1, *inside, 1), dtype=like.dtype, device=dispatch.device_argument(like))
    held = sum_windows(ones, sizes=sizes, starts=starts, strides=strides, lengths=lengths)
    return xp.where(held > 0.0, held, 1.0)


def _spread_along(xp: Any, y: Any, axis: int, size: int, start: int, stride: int, length: int) -> Any:
    def phase(chosen: tuple[slice, ...], starts: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
        total: Any = None
        for j in range(len(range(size)[chosen[axis]])):
            moved = tuple(s + j * d if i == axis else s for i, (s, d) in enumerate(zip(starts, dilation, strict=True)))
            part = extended(xp, y, moved, lengths)
            total = part if total is None else total + part
        return _zeros(xp, y, (y.shape[0], *lengths, y.shape[-1])) if total is None else total

    def only(value: int, others: int) -> Lengths:
        return tuple(value if i == axis else others for i in range(y.ndim - 2))

    wanted = tuple(length if i == axis else n for i, n in enumerate(y.shape[1:-1]))
    return interleaved(xp, phase, only(size, 1), only(start, 0), only(stride, 1), only(1, 1), wanted)


def _zeros(xp: Any, like: Any, shape: tuple[int, ...]) -> Any:
    return xp.zeros(shape, dtype=like.dtype, device=dispatch.device_argument(like))


class _Ties:
    """Which elements of each window count as its largest, and with what weight."""

    def __init__(
        self, xp: Any, x: Any, out: Any, sizes: Lengths, starts: Lengths, strides: Lengths, ties: Ties
    ) -> None:
        self.xp, self.out, self.sizes, self.strides, self.ties = xp, out, sizes, strides, ties
        self.ones, self.lengths = (1,) * len(sizes), out.shape[1:-1]
        extents = spans(sizes, strides, self.ones, self.lengths)
        self.x = extended(xp, x, starts, extents, _lowest(xp, x))
        self.inside: Any = None
        if any(s < 0 or s + e > n for s, e, n in zip(starts, extents, x.shape[1:-1], strict=True)):
            every = xp.ones((1, *x.shape[1:-1], 1), dtype=xp.bool, device=dispatch.device_argument(x))
            self.inside = extended(xp, every, starts, extents, False)
        if ties == "first":
            self.first = self._first()
        elif ties == "share":
            counts = (xp.astype(self._largest(tap), out.dtype) for tap in taps(sizes))
            count = functools.reduce(lambda a, b: a + b, counts)
            self.count = xp.where(count > 0.0, count, 1.0)

    def _index(self, tap: Lengths) -> Any:
        return window(tap, self.strides, self.ones, self.lengths)

    def part(self, wide: Any, tap: Lengths) -> Any:
        """One element of each window."""
        return wide[self._index(tap)]

    def _largest(self, tap: Lengths) -> Any:
        """Whether it is as large as any; where one is nan, all are."""
        largest = ~(self.part(self.x, tap) < self.out)
        return largest if self.inside is None else largest & self.part(self.inside, tap)

    def _first(self) -> Any:
        """The number of the first largest element."""
        found: Any = None
        for number, tap in reversed(list(enumerate(taps(self.sizes)))):
            if found is None:
                shape = self.out.shape
                found = self.xp.full(shape, number, dtype=self.xp.int32, device=dispatch.device_argument(self.out))
            found = self.xp.where(self._largest(tap), number, found)
        return found

    def chosen(self, tap: Lengths) -> Any:
        """Whether the element gets anything."""
        if self.ties != "first":
            return self._largest(tap)
        number = functools.reduce(lambda total, pair: total * pair[1] + pair[0], zip(tap, self.sizes, strict=True), 0)
        return self.first == number

    def shared(self, values: Any) -> Any:
        """What each of a window's largest elements gets of its value."""
        return values / self.count if self.ties == "share" else values


@or_kernel("convolution.pick_maxima", 3)
def pick_maxima(
    v: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: Ties
) -> Any:
    """The elements of `v` where `x` is largest in its window, of which `out` are the `maxima`.

    Parameters
    ----------
    ties : {"share", "first", "whole"}
        Of several, their mean, the first of them, or their sum.

    Examples
    --------
    >>> import numpy as np
    >>> v, x = np.asarray([[[1.0], [2.0], [4.0]]]), np.asarray([[[7.0], [7.0], [0.0]]])
    >>> how = {"sizes": (3,), "starts": (0,), "strides": (1,), "lengths": (1,)}
    >>> [float(pick_maxima(v, x, maxima(x, **how), ties=ties, **how)[0, 0, 0]) for ties in ("share", "first", "whole")]
    [1.5, 1.0, 3.0]
    """
    xp = dispatch.array_namespace(v, x, out)
    if 0 in out.shape:
        return _zeros(xp, v, out.shape)
    which = _Ties(xp, x, out, sizes, starts, strides, ties)
    wide = extended(xp, v, starts, spans(sizes, strides, which.ones, lengths))
    parts = (xp.where(which.chosen(tap), which.part(wide, tap), 0.0) for tap in taps(sizes))
    return which.shared(functools.reduce(lambda a, b: a + b, parts))


@or_kernel("convolution.place_maxima", 3)
def place_maxima(
    g: Any, x: Any, out: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, lengths: Lengths, ties: Ties
) -> Any:
    """The adjoint of `pick_maxima` in `v`: each window's number added where `x` is largest in it.

    Examples
    --------
    >>> import numpy as np
    >>> g, x = np.asarray([[[6.0]]]), np.asarray([[[7.0], [7.0], [0.0]]])
    >>> how = {"sizes": (3,), "starts": (0,), "strides": (1,), "lengths": (1,)}
    >>> [place_maxima(g, x, maxima(x, **how), ties=t, **how).reshape(-1).tolist() for t in ("share", "first", "whole")]
    [[3.0, 3.0, 0.0], [6.0, 0.0, 0.0], [6.0, 6.0, 0.0]]
    """
    xp = dispatch.array_namespace(g, x, out)
    if 0 in out.shape or 0 in x.shape:
        return _zeros(xp, g, x.shape)
    which = _Ties(xp, x, out, sizes, starts, strides, ties)
    g = which.shared(g)

    def phase(chosen: tuple[slice, ...], starts: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
        total: Any = None
        ranges = [list(range(size)[part])[::-1] for size, part in zip(sizes, chosen, strict=True)]
        for place in taps([len(some) for some in ranges]):
            tap = tuple(some[i] for some, i in zip(ranges, place, strict=True))
            moved = tuple(s + i * d for s, i, d in zip(starts, place, dilation, strict=True))
            part = extended(xp, xp.where(which.chosen(tap), g, 0.0), moved, lengths)
            total = part if total is None else total + part
        return _zeros(xp, g, (g.shape[0], *lengths, g.shape[-1])) if total is None else total

    return interleaved(xp, phase, sizes, starts, strides, which.ones, x.shape[1:-1])
