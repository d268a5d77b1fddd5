"""Pooling of feature maps, over windows of channels and positions, and its gradient.

Maps are matrices of (channels · positions, images), as in `nbm_xp.functions.feature_convolution`. Everything is
`nbm_xp.functions.pooling` on other views of the same numbers; of equally large elements, the first has the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ._arguments import Array, as_array, floats
from .convolution_local import gather_windows, scatter_windows
from .convolution_windows import counts, pool_count, windows
from .feature_maps import from_images, paddings, to_images
from .pooling import pool, pool_gradient

__all__ = ["pool_maps", "pool_maps_gradient", "pool_maps_places", "pool_maps_spread"]


def pool_maps(
    x: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = None, padding: Any = 0,
    pool_mode: str = "max", *, cover: bool = False,
) -> Array:  # fmt: skip
    """Pooling of feature maps, over windows of channels and positions.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    lengths : sequence of int
        How many channels there are, then the maps' lengths.
    sizes : sequence of int
        Of a window, likewise.
    strides : int or sequence of int, optional
        From window to window; by default windows touch.
    padding : int or sequence of int
        How much is added on each side; it is never the largest and counts in no mean.
    pool_mode : {"max", "avg", "l2"}
        The largest element; the mean; the root of the sum of squares.
    cover : bool
        Whether the last window may reach beyond the padding, so that every element is in one; see `pool_count`.

    Returns
    -------
    array
        Of shape (windows, images). The gradient of equally large elements is the first one's.

    Raises
    ------
    ValueError
        If an argument is not as described, or windows do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[3.0], [1.0], [2.0], [5.0]])
    >>> pool_maps(x, (1, 4), (1, 2)).reshape(-1), pool_maps(x, (4, 1), (2, 1), 1).reshape(-1)
    (array([3., 5.]), array([3., 2., 5.]))
    """
    x = as_array(x)
    where = _Places(lengths, sizes, strides, padding, cover)
    return from_images(pool(where.elements(x), **where.how, pool_mode=pool_mode, ties="first"))


def pool_maps_gradient(
    x: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = None, padding: Any = 0,
    pool_mode: str = "max", *, cover: bool = False,
) -> Array:  # fmt: skip
    """The gradient of `pool_maps`, given one in its result.

    Parameters
    ----------
    x : array
        What was pooled.
    g : array
        Of shape (windows, images).
    lengths, sizes, strides, padding, pool_mode, cover
        As `pool_maps` takes them.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x, g = np.asarray([[3.0], [3.0], [2.0], [5.0]]), np.asarray([[1.0], [10.0]])
    >>> pool_maps_gradient(x, g, (1, 4), (1, 2)).reshape(-1)
    array([ 1.,  0.,  0., 10.])
    """
    x, g = as_array(x), as_array(g)
    where = _Places(lengths, sizes, strides, padding, cover)
    found = pool_gradient(where.elements(x), where.results(g), **where.how, pool_mode=pool_mode, ties="first")
    return from_images(found)


def pool_maps_places(
    x: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = None, padding: Any = 0, *,
    cover: bool = False,
) -> Array:  # fmt: skip
    """Where in each window its first largest element is.

    Parameters
    ----------
    x, lengths, sizes, strides, padding, cover
        As `pool_maps` takes them.

    Returns
    -------
    array of int
        Of shape (windows, images): the number of a place in the window, counted row by row.

    Examples
    --------
    >>> import numpy as np
    >>> pool_maps_places(np.asarray([[3.0], [3.0], [2.0], [5.0]]), (1, 4), (1, 2)).reshape(-1).tolist()
    [0, 1]
    """
    xp, x = floats(x)
    where = _Places(lengths, sizes, strides, padding, cover)
    elements = where.elements(x)
    inside = gather_windows(xp.ones((1, *where.lengths, 1), dtype=x.dtype), lengths=where.counts, **where.windows)
    shown = gather_windows(elements, lengths=where.counts, **where.windows)
    return from_images(xp.argmax(xp.where(inside > 0, shown, -math.inf), axis=-2))


def pool_maps_spread(
    places: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = None, padding: Any = 0, *,
    cover: bool = False,
) -> Array:  # fmt: skip
    """A number for each window, added to one of its elements: the gradient of a maximum whose place is known.

    Parameters
    ----------
    places : array of int
        As `pool_maps_places` gives them.
    g : array
        Of the same shape, (windows, images).
    lengths, sizes, strides, padding, cover
        As `pool_maps` takes them.

    Returns
    -------
    array
        Of shape (channels · positions, images).

    Examples
    --------
    >>> import numpy as np
    >>> pool_maps_spread(np.asarray([[0], [1]]), np.asarray([[1.0], [10.0]]), (1, 4), (1, 2)).reshape(-1)
    array([ 1.,  0.,  0., 10.])
    """
    xp, g = floats(g)
    where = _Places(lengths, sizes, strides, padding, cover)
    chosen, g = (xp.expand_dims(where.results(some, name), axis=-2) for some, name in ((places, "places"), (g, "g")))
    taps = xp.expand_dims(xp.arange(math.prod(where.windows["sizes"]), dtype=chosen.dtype), axis=-1)
    return from_images(scatter_windows(xp.where(chosen == taps, g, 0.0), lengths=where.lengths, **where.windows))


class _Places:
    """Where windows are, and as what the functions of pooling take them.

    For these, channels are positions too, unless each is pooled by itself; axes of one element are left out.
    """

    def __init__(self, lengths: Any, sizes: Any, strides: Any, padding: Any, cover: bool) -> None:
        lengths = counts(lengths, "lengths", len(tuple(lengths)))
        sizes = counts(sizes, "sizes", len(lengths))
        strides = sizes if strides is None else counts(strides, "strides", len(lengths))
        axes = list(zip(lengths, sizes, paddings(padding, len(lengths)), strides, strict=True))
        found = [pool_count(*axis, cover=cover) for axis in axes]
        first = 1 if len(axes) > 1 and axes[0][1:] == (1, 0, 1) else 0
        self.channels = lengths[0] if first else 1
        wide = [axis for axis in range(first, len(axes)) if axes[axis][:3] != (1, 1, 0)] or [len(axes) - 1]

        def of(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[axis] for axis in wide)

        ends = [
            max(pad, (count - 1) * stride + size - length - pad)
            for count, (length, size, pad, stride) in zip(found, axes, strict=True)
        ]
        around = tuple((axes[axis][2], ends[axis]) for axis in wide)
        self.lengths, self.counts, sizes, strides = of(lengths), of(found), of(sizes), of(strides)
        self.how = {"pool_size": sizes, "strides": strides, "padding": around, "data_format": "channels_last"}
        where = windows(self.lengths, sizes, strides, around)
        self.windows = {"sizes": sizes, "starts": where.starts, "strides": strides, "dilation": where.dilation}

    def elements(self, x: Array) -> Array:
        """Maps as (images, positions…, channels)."""
        return to_images(x, "x", self.lengths, channels=self.channels)

    def results(self, g: Array, name: str = "g") -> Array:
        """Maps with an element for each window, likewise."""
        return to_images(g, name, self.counts, channels=self.channels)
