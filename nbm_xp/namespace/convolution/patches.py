"""Windows side by side, and their adjoint: for kernels that differ from window to window."""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import dispatch
from nbm_xp.namespace.kernels import or_kernel

from .geometry import Lengths, extended, interleaved, spans, taps, window

__all__ = ["gather_windows", "scatter_windows"]


@or_kernel("gather_windows")
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
    xp = dispatch.array_namespace(x)
    shape = (x.shape[0], *lengths, math.prod(sizes), x.shape[-1])
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=dispatch.device_argument(x))
    wide = extended(xp, x, starts, spans(sizes, strides, dilation, lengths))
    return xp.stack([wide[window(tap, strides, dilation, lengths)] for tap in taps(sizes)], axis=-2)


@or_kernel("scatter_windows")
def scatter_windows(
    y: Any, *, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """The adjoint of `gather_windows`, which gives an array of spatial `lengths`; what overlaps is added up.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.asarray([[1.0, 2.0], [10.0, 20.0]]).reshape(1, 2, 2, 1)
    >>> scatter_windows(y, sizes=(2,), starts=(0,), strides=(1,), dilation=(1,), lengths=(3,)).reshape(-1)
    array([ 1., 12., 20.])
    """
    xp = dispatch.array_namespace(y)

    def phase(chosen: tuple[slice, ...], starts: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
        total: Any = None
        ranges = [list(range(size)[part])[::-1] for size, part in zip(sizes, chosen, strict=True)]
        for place in taps([len(some) for some in ranges]):
            number = 0
            for size, some, i in zip(sizes, ranges, place, strict=True):
                number = number * size + some[i]
            moved = tuple(s + i * d for s, i, d in zip(starts, place, dilation, strict=True))
            part = extended(xp, y[..., number, :], moved, lengths)
            total = part if total is None else total + part
        if total is None:
            shape = (y.shape[0], *lengths, y.shape[-1])
            return xp.zeros(shape, dtype=y.dtype, device=dispatch.device_argument(y))
        return total

    return interleaved(xp, phase, sizes, starts, strides, dilation, lengths)
