"""Convolution of feature maps, and its two gradients.

Maps are matrices of (channels · positions, images), filters matrices of (channels · places, filters); filters are not
turned round. So neon lays out its layers, https://neon.nervanasys.com. Everything is `nbm_xp.functions.convolution` on
other views of the same numbers, so the gradients are those that the tape finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import array_namespace, promote

from ._arguments import Array, as_array
from .convolution import conv, conv_kernel, conv_transpose
from .convolution_windows import counts, windows
from .feature_maps import by_channel, from_images, paddings, to_images

__all__ = ["conv_maps", "conv_maps_filters", "conv_maps_inputs"]


def conv_maps(
    x: Array, filters: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = 1, padding: Any = 0,
    dilation_rate: Any = 1,
) -> Array:  # fmt: skip
    """Convolution of feature maps.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    filters : array
        Of shape (channels · places, filters).
    lengths, sizes : sequence of int
        Of the maps and of the filters along each spatial axis, of which there are up to three.
    strides, dilation_rate : int or sequence of int
        From window to window, and from place to place in a window.
    padding : int or sequence of int
        How many zeros there are on each side.

    Returns
    -------
    array
        Of shape (filters · windows, images).

    Raises
    ------
    ValueError
        If an argument is not as described, the numbers of channels differ, or windows do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> x, filters = np.arange(6.0).reshape(6, 1), np.asarray([[1.0], [10.0]])
    >>> conv_maps(x, filters, (2, 3), (1, 2)).reshape(-1)
    array([10., 21., 43., 54.])
    """
    x, filters = promote(as_array(x), as_array(filters))
    where = _Places(lengths, sizes, strides, padding, dilation_rate)
    return from_images(conv(to_images(x, "x", where.lengths), where.kernel(filters), **where.how))


def conv_maps_inputs(
    g: Array, filters: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = 1, padding: Any = 0,
    dilation_rate: Any = 1,
) -> Array:  # fmt: skip
    """The gradient of `conv_maps` in its maps, given one in its result: a convolution transposed.

    Parameters
    ----------
    g : array
        Of shape (filters · windows, images).
    filters, lengths, sizes, strides, padding, dilation_rate
        As `conv_maps` takes them.

    Returns
    -------
    array
        Of shape (channels · positions, images).

    Examples
    --------
    >>> import numpy as np
    >>> g, filters = np.asarray([[1.0], [2.0]]), np.asarray([[1.0], [10.0]])
    >>> conv_maps_inputs(g, filters, (1, 3), (1, 2)).reshape(-1)
    array([ 1., 12., 20.])
    """
    g, filters = promote(as_array(g), as_array(filters))
    where = _Places(lengths, sizes, strides, padding, dilation_rate)
    return from_images(conv_transpose(where.results(g), where.kernel(filters), where.lengths, **where.how))


def conv_maps_filters(
    x: Array, g: Array, lengths: Sequence[int], sizes: Sequence[int], strides: Any = 1, padding: Any = 0,
    dilation_rate: Any = 1,
) -> Array:  # fmt: skip
    """The gradient of `conv_maps` in its filters, given one in its result.

    Parameters
    ----------
    x : array
        Of shape (channels · positions, images).
    g : array
        Of shape (filters · windows, images).
    lengths, sizes, strides, padding, dilation_rate
        As `conv_maps` takes them.

    Returns
    -------
    array
        Of shape (channels · places, filters).

    Examples
    --------
    >>> import numpy as np
    >>> conv_maps_filters(np.arange(3.0).reshape(3, 1), np.asarray([[1.0], [10.0]]), (1, 3), (1, 2)).reshape(-1)
    array([10., 21.])
    """
    x, g = promote(as_array(x), as_array(g))
    where = _Places(lengths, sizes, strides, padding, dilation_rate)
    kernel = conv_kernel(to_images(x, "x", where.lengths), where.results(g), where.sizes, **where.how)
    xp, axes = array_namespace(kernel), kernel.ndim - 2
    kernel = xp.permute_dims(kernel, (axes, *range(axes), axes + 1))
    return xp.reshape(kernel, (-1, kernel.shape[-1]))


class _Places:
    """Where a convolution's windows are, in the spatial axes that are more than one element wide."""

    def __init__(self, lengths: Any, sizes: Any, strides: Any, padding: Any, dilation_rate: Any) -> None:
        lengths = counts(lengths, "lengths", len(tuple(lengths)))
        axes = len(lengths)
        if not 1 <= axes <= 3:
            raise ValueError(f"lengths must be one to three, one for each spatial axis, got {lengths}")
        sizes, strides = counts(sizes, "sizes", axes), counts(strides, "strides", axes)
        spread, pads = counts(dilation_rate, "dilation_rate", axes), paddings(padding, axes)
        wide = [
            axis for axis in range(axes) if (lengths[axis], sizes[axis], pads[axis]) != (1, 1, 0)
        ] or [0]  # fmt: skip

        def of(values: Sequence[int]) -> tuple[int, ...]:
            return tuple(values[axis] for axis in wide)

        self.lengths, self.sizes = of(lengths), of(sizes)
        self.how: dict[str, Any] = {
            "strides": of(strides),
            "padding": of(pads),
            "data_format": "channels_last",
            "dilation_rate": of(spread),
        }
        self.counts = windows(self.lengths, self.sizes, self.how["strides"], of(pads), of(spread)).lengths

    def results(self, g: Array) -> Array:
        """Maps with an element for each window as images."""
        return to_images(g, "g", self.counts)

    def kernel(self, filters: Array) -> Array:
        """Filters as (sizes…, channels, filters)."""
        parts = by_channel(filters, "filters", self.sizes)
        return array_namespace(filters).permute_dims(parts, (*range(1, parts.ndim - 1), 0, parts.ndim - 1))
