"""Convolution and pooling of feature maps stored as matrices, with a row for each element and a column for each image.

Rows are in the order (channels, positions…); filters are matrices of shape (channels · places, filters) and are not
flipped. This is neon's layout, https://neon.nervanasys.com. Arrays are transposed to (images, positions…, channels) for
the functions of convolution and pooling, so the tape computes the gradients. Of several equal maxima, the first gets
the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.tape.lengths import as_length

from ._arguments import Array, as_array, floats
from .convolution import conv, conv_kernel, conv_transpose
from .convolution_local import gather_windows, scatter_windows
from .convolution_windows import pool_count, windows
from .pooling import pool, pool_gradient

__all__ = [
    "conv_maps", "conv_maps_filters", "conv_maps_inputs", "pool_maps", "pool_maps_gradient", "pool_maps_places",
    "pool_maps_spread",
]  # fmt: skip


def _by_channel(x: Array, lengths: Sequence[Any], channels: Any) -> Array:
    """Reshape the rows of a matrix to (channels, lengths…)."""
    return array_namespace(x).reshape(x, (channels, *lengths, x.shape[1]))


def to_images(x: Array, lengths: Sequence[Any], channels: Any) -> Array:
    """Convert a matrix to (images, positions…, channels)."""
    parts = _by_channel(x, lengths, channels)
    return array_namespace(x).permute_dims(parts, (parts.ndim - 1, *range(1, parts.ndim - 1), 0))


def from_images(images: Array) -> Array:
    """Convert (images, positions…, channels) to a matrix."""
    xp = array_namespace(images)
    parts = xp.permute_dims(images, (images.ndim - 1, *range(1, images.ndim - 1), 0))
    return xp.reshape(parts, (math.prod(map(as_length, parts.shape[:-1]), start=1), parts.shape[-1]))


def conv_maps(
    x: Array, filters: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], dilation_rate: Sequence[int],
) -> Array:  # fmt: skip
    """Convolve feature maps.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    filters : array
        Of shape (channels · places, filters).
    lengths, sizes : sequence of int
        Lengths of the maps and of the filters along each of up to three spatial axes.
    strides, dilation_rate : sequence of int
        Distances between windows, and between neighbouring places of a window.
    padding : sequence of int
        Number of zeros on each side.

    Returns
    -------
    array
        Of shape (filters · windows, images).

    Raises
    ------
    ValueError
        If the numbers of channels differ, or no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> x, filters = np.arange(6.0).reshape(6, 1), np.asarray([[1.0], [10.0]])
    >>> conv_maps(x, filters, (2, 3), (1, 2), (1, 1), (0, 0), (1, 1)).reshape(-1)
    array([10., 21., 43., 54.])
    """
    x, filters = promote(as_array(x), as_array(filters))
    where = _ConvPlaces(lengths, sizes, strides, padding, dilation_rate)
    return from_images(conv(where.elements(x), where.kernel(filters), **where.how))


def conv_maps_inputs(
    g: Array, filters: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], dilation_rate: Sequence[int],
) -> Array:  # fmt: skip
    """Gradient of `conv_maps` with respect to its maps, given the gradient of its result: a transposed convolution.

    Parameters
    ----------
    g : array
        Of shape (filters · windows, images).
    filters, lengths, sizes, strides, padding, dilation_rate
        See `conv_maps`.

    Returns
    -------
    array
        Of shape (channels · positions, images).

    Examples
    --------
    >>> import numpy as np
    >>> g, filters = np.asarray([[1.0], [2.0]]), np.asarray([[1.0], [10.0]])
    >>> conv_maps_inputs(g, filters, (3,), (2,), (1,), (0,), (1,)).reshape(-1)
    array([ 1., 12., 20.])
    """
    g, filters = promote(as_array(g), as_array(filters))
    where = _ConvPlaces(lengths, sizes, strides, padding, dilation_rate)
    return from_images(conv_transpose(where.results(g), where.kernel(filters), where.lengths, **where.how))


def conv_maps_filters(
    x: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], dilation_rate: Sequence[int],
) -> Array:  # fmt: skip
    """Gradient of `conv_maps` with respect to its filters, given the gradient of its result.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    g : array
        Of shape (filters · windows, images).
    lengths, sizes, strides, padding, dilation_rate
        See `conv_maps`.

    Returns
    -------
    array
        Of shape (channels · places, filters).

    Examples
    --------
    >>> import numpy as np
    >>> x, g = np.arange(3.0).reshape(3, 1), np.asarray([[1.0], [10.0]])
    >>> conv_maps_filters(x, g, (3,), (2,), (1,), (0,), (1,)).reshape(-1)
    array([10., 21.])
    """
    x, g = promote(as_array(x), as_array(g))
    where = _ConvPlaces(lengths, sizes, strides, padding, dilation_rate)
    kernel = conv_kernel(where.elements(x), where.results(g), where.sizes, **where.how)
    xp, axes = array_namespace(kernel), kernel.ndim - 2
    kernel = xp.permute_dims(kernel, (axes, *range(axes), axes + 1))
    return xp.reshape(kernel, (-1, kernel.shape[-1]))


class _ConvPlaces:
    """Windows of a convolution, without spatial axes of length 1."""

    def __init__(self, lengths: Any, sizes: Any, strides: Any, padding: Any, dilation_rate: Any) -> None:
        axes = list(zip(lengths, sizes, padding, strides, dilation_rate, strict=True))
        wide = [axis for axis in axes if axis[:3] != (1, 1, 0)] or axes[:1]
        self.lengths, self.sizes, pads, steps, spread = zip(*wide, strict=True)
        self.counts = windows(self.lengths, self.sizes, steps, pads, spread).lengths
        self.how: dict[str, Any] = {
            "strides": steps, "padding": pads, "dilation_rate": spread, "data_format": "channels_last",
        }  # fmt: skip

    def elements(self, x: Array) -> Array:
        """Convert maps to images."""
        return to_images(x, self.lengths, as_length(x.shape[0]) // math.prod(self.lengths))

    def results(self, g: Array) -> Array:
        """Convert maps with one element for each window to images."""
        return to_images(g, self.counts, as_length(g.shape[0]) // math.prod(self.counts))

    def kernel(self, filters: Array) -> Array:
        """Convert filters to (sizes…, channels, filters)."""
        parts = _by_channel(filters, self.sizes, as_length(filters.shape[0]) // math.prod(self.sizes))
        return array_namespace(filters).permute_dims(parts, (*range(1, parts.ndim - 1), 0, parts.ndim - 1))


def pool_maps(
    x: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], pool_mode: str = "max", *, cover: bool = False,
) -> Array:  # fmt: skip
    """Pool feature maps over windows of channels and positions.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    lengths : sequence of int
        Number of channels, followed by the maps' spatial lengths.
    sizes : sequence of int
        Lengths of a window, in the same order.
    strides : sequence of int
        Distances between windows.
    padding : sequence of int
        Padding on each side; it is ignored by maxima and means.
    pool_mode : {"max", "avg", "l2"}
        Maximum, mean, or square root of the sum of squares.
    cover : bool
        Whether the last window may extend beyond the padding, so that every element is in a window; see `pool_count`.

    Returns
    -------
    array
        Of shape (windows, images). Of several equal maxima, the first receives the gradient.

    Raises
    ------
    ValueError
        If no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[3.0], [1.0], [2.0], [5.0]])
    >>> pool_maps(x, (1, 4), (1, 2), (1, 2), (0, 0)).reshape(-1)
    array([3., 5.])
    >>> pool_maps(x, (4, 1), (2, 1), (1, 1), (0, 0)).reshape(-1)
    array([3., 2., 5.])
    """
    x = as_array(x)
    where = _PoolPlaces(lengths, sizes, strides, padding, cover)
    return from_images(pool(where.elements(x), **where.how, pool_mode=pool_mode, ties="first"))


def pool_maps_gradient(
    x: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], pool_mode: str = "max", *, cover: bool = False,
) -> Array:  # fmt: skip
    """Gradient of `pool_maps`, given the gradient of its result.

    Parameters
    ----------
    x : array
        Array that was pooled.
    g : array
        Of shape (windows, images).
    lengths, sizes, strides, padding, pool_mode, cover
        See `pool_maps`.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x, g = np.asarray([[3.0], [3.0], [2.0], [5.0]]), np.asarray([[1.0], [10.0]])
    >>> pool_maps_gradient(x, g, (1, 4), (1, 2), (1, 2), (0, 0)).reshape(-1)
    array([ 1.,  0.,  0., 10.])
    """
    x, g = as_array(x), as_array(g)
    where = _PoolPlaces(lengths, sizes, strides, padding, cover)
    found = pool_gradient(where.elements(x), where.results(g), **where.how, pool_mode=pool_mode, ties="first")
    return from_images(found)


def pool_maps_places(
    x: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int], padding: Sequence[int], *,
    cover: bool = False,
) -> Array:  # fmt: skip
    """Position of the first maximum in each window.

    Parameters
    ----------
    x, lengths, sizes, strides, padding, cover
        See `pool_maps`.

    Returns
    -------
    array of int
        Row-major index in the window, of shape (windows, images).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[3.0], [3.0], [2.0], [5.0]])
    >>> pool_maps_places(x, (1, 4), (1, 2), (1, 2), (0, 0)).reshape(-1).tolist()
    [0, 1]
    """
    xp, x = floats(x)
    where = _PoolPlaces(lengths, sizes, strides, padding, cover)
    elements = where.elements(x)
    inside = gather_windows(xp.ones((1, *where.lengths, 1), dtype=x.dtype), lengths=where.counts, **where.windows)
    shown = gather_windows(elements, lengths=where.counts, **where.windows)
    return from_images(xp.argmax(xp.where(inside > 0, shown, -math.inf), axis=-2))


def pool_maps_spread(
    places: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
    padding: Sequence[int], *, cover: bool = False,
) -> Array:  # fmt: skip
    """Add a number for each window to one of its elements: the gradient of a maximum at a known position.

    Parameters
    ----------
    places : array of int
        Positions, as returned by `pool_maps_places`.
    g : array
        Numbers to add, of the same shape, (windows, images).
    lengths, sizes, strides, padding, cover
        See `pool_maps`.

    Returns
    -------
    array
        Of shape (channels · positions, images).

    Examples
    --------
    >>> import numpy as np
    >>> places, g = np.asarray([[0], [1]]), np.asarray([[1.0], [10.0]])
    >>> pool_maps_spread(places, g, (1, 4), (1, 2), (1, 2), (0, 0)).reshape(-1)
    array([ 1.,  0.,  0., 10.])
    """
    xp, g = floats(g)
    where = _PoolPlaces(lengths, sizes, strides, padding, cover)
    chosen, g = (xp.expand_dims(where.results(some), axis=-2) for some in (places, g))
    taps = xp.expand_dims(xp.arange(math.prod(where.windows["sizes"]), dtype=chosen.dtype), axis=-1)
    return from_images(scatter_windows(xp.where(chosen == taps, g, 0.0), lengths=where.lengths, **where.windows))


class _PoolPlaces:
    """Windows of pooling, in the form that the functions of pooling accept.

    Channels are a spatial axis here, unless each is pooled separately; axes of length 1 are left out.
    """

    def __init__(self, lengths: Any, sizes: Any, strides: Any, padding: Any, cover: bool) -> None:
        axes = list(zip(lengths, sizes, padding, strides, strict=True))
        each_by_itself = len(axes) > 1 and axes[0][1:] == (1, 0, 1)
        self.channels = lengths[0] if each_by_itself else 1
        wide = [axis for axis in axes[each_by_itself:] if axis[:3] != (1, 1, 0)] or axes[-1:]
        self.lengths, sizes, _, steps = zip(*wide, strict=True)
        self.counts = tuple(pool_count(*axis, cover=cover) for axis in wide)
        around = tuple(
            (pad, max(pad, (count - 1) * stride + size - length - pad))
            for count, (length, size, pad, stride) in zip(self.counts, wide, strict=True)
        )
        self.how = {"pool_size": sizes, "strides": steps, "padding": around, "data_format": "channels_last"}
        where = windows(self.lengths, sizes, steps, around)
        self.windows = {"sizes": sizes, "starts": where.starts, "strides": steps, "dilation": where.dilation}

    def elements(self, x: Array) -> Array:
        """Convert maps to (images, positions…, channels)."""
        return to_images(x, self.lengths, self.channels)

    def results(self, g: Array) -> Array:
        """Convert maps with one element for each window to (images, windows…, channels)."""
        return to_images(g, self.counts, self.channels)
