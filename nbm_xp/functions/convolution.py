"""Convolutions over one, two or three spatial axes, and their transposes.

As in most frameworks, a convolution here is a correlation: the kernel is not flipped, unless `flip` is true. Arrays are
(images, positions…, channels), or (images, channels, positions…) for ``data_format="channels_first"``; kernels are
(sizes…, channels, filters) in both formats. Sources: the API documentation of TensorFlow 1.14,
https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/nn/convolution, and of Theano 1.0,
https://theano-pymc.readthedocs.io/en/latest/library/tensor/nnet/conv.html.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.tape import integer_length
from nbm_xp.tape.lengths import as_length, same_length

from ._arguments import Array, as_array, differ, sizes
from .convolution_windows import (
    DataFormat,
    Padding,
    Windows,
    channels_first,
    correlate,
    correlate_back,
    correlate_outer,
    counts,
    moved,
    restored,
    spatial,
    windows,
)

__all__ = ["conv", "conv_kernel", "conv_to_shape", "conv_transpose"]


def conv(
    x: Array,
    kernel: Array,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    dilation_rate: Any = 1,
    *,
    axes: int | None = None,
    flip: bool = False,
    filters_first: bool = False,
) -> Array:
    """Convolve over the spatial axes: all axes except images and channels.

    Parameters
    ----------
    x : array
        Images, with as many spatial axes as the kernel.
    kernel : array
        Of shape (sizes…, channels, filters).
    strides : int or sequence of int
        Distance between windows: one for all axes, or one for each.
    padding : str, int, or sequence of int or pairs of int
        ``"valid"``: windows lie inside the array. ``"same"``: one window for each stride, zeros added at both ends,
        one more at the end if their number is odd. ``"half"``: the same, with half a window of zeros before, as in
        Theano. ``"full"``: all windows that overlap the array. ``"causal"`` (one axis only): each window ends at its
        position. Otherwise the number of zeros on each side, for all axes or for each, or a pair for each axis.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.
    dilation_rate : int or sequence of int
        Distance between neighbouring kernel elements: one for all axes, or one for each.
    axes : int, optional
        Required number of spatial axes.
    flip : bool
        Whether to flip the kernel along its spatial axes, as in a mathematical convolution.
    filters_first : bool
        Whether the kernel has shape (filters, channels, sizes…) instead.

    Returns
    -------
    array
        In the same data format, with one channel for each filter.

    Raises
    ------
    ValueError
        If an argument is invalid, the numbers of axes or channels differ, or no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> x, kernel = np.arange(5.0).reshape(1, 5, 1), np.asarray([1.0, 10.0]).reshape(2, 1, 1)
    >>> conv(x, kernel, padding="same").reshape(-1)
    array([10., 21., 32., 43.,  4.])
    >>> conv(x, kernel, strides=2, flip=True).reshape(-1)
    array([ 1., 23.])
    >>> conv(np.ones((1, 4, 5, 3)), np.ones((3, 3, 3, 8)), padding="same", strides=(2, 2)).shape
    (1, 2, 3, 8)
    """
    first = channels_first(data_format)
    x, kernel = _pair(x, kernel)
    if axes is not None and kernel.ndim != axes + 2:
        order = "(filters, channels, *sizes)" if filters_first else "(*sizes, channels, filters)"
        raise ValueError(f"kernel must have {axes + 2} axes, {order}, got shape {kernel.shape}")
    _same_axes(x, kernel, "x")
    if filters_first:
        kernel = array_namespace(kernel).permute_dims(kernel, (*range(2, kernel.ndim), 1, 0))
    x = moved(x, first)
    _same_channels(x, kernel, "x", -2)
    where = windows(spatial(x), kernel.shape[:-2], strides, padding, dilation_rate)
    result = correlate(x, _grouped(kernel, flip), **where._asdict())
    return restored(result, first)


def conv_transpose(
    y: Array,
    kernel: Array,
    lengths: Any,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    dilation_rate: Any = 1,
    *,
    flip: bool = False,
) -> Array:
    """Transposed convolution: the gradient of `conv` with respect to its input, given the gradient of its result.

    Parameters
    ----------
    y : array
        Of the shape that `conv` returns for an array with spatial axes of `lengths`.
    kernel : array
        Of shape (sizes…, channels of the result, channels of `y`).
    lengths : int or sequence of int
        Spatial lengths of the result. They are needed as several lengths give the same number of windows.
    strides, padding, data_format, dilation_rate, flip
        See `conv`.

    Returns
    -------
    array
        In the same data format.

    Raises
    ------
    ValueError
        If an argument is invalid, or an array of `lengths` has another number of windows than `y` has positions.

    Examples
    --------
    >>> import numpy as np
    >>> y, kernel = np.asarray([1.0, 2.0]).reshape(1, 2, 1), np.asarray([1.0, 10.0]).reshape(2, 1, 1)
    >>> conv_transpose(y, kernel, 5, strides=2).reshape(-1)
    array([ 1., 10.,  2., 20.,  0.])
    """
    first = channels_first(data_format)
    y, kernel = _pair(y, kernel)
    _same_axes(y, kernel, "y")
    y = moved(y, first)
    _same_channels(y, kernel, "y", -1)
    wanted = tuple(as_length(integer_length(length)) for length in sizes(lengths))
    wanted = wanted * (kernel.ndim - 2) if len(wanted) == 1 else wanted
    if len(wanted) != kernel.ndim - 2:
        raise ValueError(f"lengths must be {kernel.ndim - 2}, one for each spatial axis, got {lengths!r}")
    where = windows(wanted, kernel.shape[:-2], strides, padding, dilation_rate)
    for axis, (got, expected) in enumerate(zip(spatial(y), where.lengths, strict=True)):
        if same_length(got, expected) is False:
            raise ValueError(
                f"lengths must give as many windows as there are positions: {wanted[axis]} gives {expected}, "
                f"and y has {got} along spatial axis {axis}"
            )
    result = correlate_back(y, _grouped(kernel, flip), **where._replace(lengths=wanted)._asdict())
    return restored(result, first)


def conv_to_shape(
    x: Array,
    kernel: Array,
    output_shape: Any,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    *,
    axes: int,
    dilation_rate: Any = 1,
    flip: bool = False,
) -> Array:
    """Transposed convolution to a given shape.

    Parameters
    ----------
    x : array
        Images, in the order of `data_format`.
    kernel : array
        Of shape (sizes…, channels of the result, channels of `x`).
    output_shape : sequence of int, or integer vector
        Full shape of the result, in its data format. None for the number of images is that of `x`.
    axes : int
        Required number of spatial axes.
    strides, padding, data_format, dilation_rate, flip
        See `conv`.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If an argument is invalid, or no convolution of an array of `output_shape` has the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> conv_to_shape(np.ones((1, 2, 2, 3)), np.ones((3, 3, 4, 3)), (1, 5, 5, 4), strides=(2, 2), axes=2).shape
    (1, 5, 5, 4)
    """
    x, kernel = as_array(x), as_array(kernel)
    if kernel.ndim != axes + 2:
        raise ValueError(f"kernel must have {axes + 2} axes, (*sizes, channels, filters), got shape {kernel.shape}")
    first = channels_first(data_format)
    open_images = isinstance(output_shape, (tuple, list)) and output_shape[:1] in ((None,), [None])
    images, *shape = (None, *sizes(output_shape[1:])) if open_images else sizes(output_shape)
    if len(shape) != axes + 1:
        raise ValueError(f"output_shape must have {axes + 2} lengths, got {output_shape!r}")
    channels = shape.pop(0 if first else -1)
    for what, got, expected in (("images", images, x.shape[0]), ("channels", channels, kernel.shape[-2])):
        if differ(got, expected):
            raise ValueError(f"output_shape must have {expected} {what}, got {got}: {output_shape!r}")
    return conv_transpose(x, kernel, tuple(shape), strides, padding, data_format, dilation_rate, flip=flip)


def conv_kernel(
    x: Array,
    y: Array,
    kernel_size: Any,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    dilation_rate: Any = 1,
    *,
    flip: bool = False,
) -> Array:
    """Gradient of `conv` with respect to its kernel, given the gradient of its result.

    Parameters
    ----------
    x : array
        Array that was convolved.
    y : array
        Gradient with respect to the result, of the result's shape.
    kernel_size : int or sequence of int
        Spatial lengths of the kernel.
    strides, padding, data_format, dilation_rate, flip
        See `conv`.

    Returns
    -------
    array
        Of shape (sizes…, channels of `x`, channels of `y`).

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(3.0).reshape(1, 3, 1), np.asarray([1.0, 10.0]).reshape(1, 2, 1)
    >>> conv_kernel(x, y, 2).reshape(-1)
    array([10., 21.])
    """
    first = channels_first(data_format)
    x, y = _pair(x, y)
    _same_axes(x, y, "x", "y")
    x, y = moved(x, first), moved(y, first)
    extents = counts(kernel_size, "kernel_size", x.ndim - 2)
    where: Windows = windows(spatial(x), extents, strides, padding, dilation_rate, size_name="kernel_size")
    for axis, (got, expected) in enumerate(zip(spatial(y), where.lengths, strict=True)):
        if same_length(got, expected) is False:
            raise ValueError(f"y must have a position for each of {expected} windows of axis {axis}, got {got}")
    xp = array_namespace(x, y)
    kernel = correlate_outer(x, y, groups=1, **where._replace(lengths=extents)._asdict())
    kernel = xp.squeeze(kernel, axis=kernel.ndim - 3)
    return xp.flip(kernel, axis=tuple(range(len(extents)))) if flip else kernel


def _pair(x: Array, kernel: Array) -> tuple[Array, Array]:
    found: tuple[Array, Array] = promote(as_array(x), as_array(kernel))
    return found


def _grouped(kernel: Array, flip: bool) -> Array:
    """A kernel with an axis of groups inserted."""
    xp = array_namespace(kernel)
    if flip:
        kernel = xp.flip(kernel, axis=tuple(range(kernel.ndim - 2)))
    return xp.expand_dims(kernel, axis=kernel.ndim - 2)


def _same_axes(x: Array, kernel: Array, name: str, other: str = "kernel") -> None:
    if x.ndim != kernel.ndim or x.ndim < 3:
        raise ValueError(
            f"{name} must have as many axes as {other}, three or more, got shapes {x.shape} and {kernel.shape}"
        )


def _same_channels(x: Array, kernel: Array, name: str, axis: int) -> None:
    if differ(x.shape[-1], kernel.shape[axis]):
        raise ValueError(f"{name} must have the {kernel.shape[axis]} channels of kernel, got {x.shape[-1]}")
