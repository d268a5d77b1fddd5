"""Convolutions and pooling with Keras 2.0's paddings and TensorFlow's gradients of tied maxima."""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import convolution, convolution_local, pooling
from nbm_xp.functions import padding as borders
from nbm_xp.functions._arguments import Array

__all__ = [
    "conv1d", "conv2d", "conv2d_transpose", "conv3d", "pool2d", "pool3d", "resize_images", "resize_volumes",
    "separable_conv2d",
]  # fmt: skip


def known_padding(padding: str, *further: str) -> str:
    """Validate a padding and return it."""
    if padding not in ("valid", "same", *further):
        names = ", ".join(map(repr, ("valid", "same", *further)))
        raise ValueError(f"padding must be one of {names}, got {padding!r}")
    return padding


def conv1d(
    x: Array,
    kernel: Array,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Array:
    """Convolve sequences over their steps.

    Parameters
    ----------
    x : array or Tensor
        Of shape (samples, steps, channels), or (samples, channels, steps) for ``channels_first``.
    kernel : array or Tensor
        Of shape (length, channels, filters), in both formats; not flipped.
    strides : int
        Distance between windows.
    padding : {"valid", "same", "causal"}
        "valid": only windows inside the sequence. "same": zeros at both ends, for one window per stride. "causal":
        zeros before the sequence, so that no window contains a later step.
    data_format : {"channels_last", "channels_first"}, optional
        Position of the channels. Defaults to `image_data_format`.
    dilation_rate : int
        Distance between the elements of a window.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format or padding is invalid, or the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> x, kernel = np.arange(4.0).reshape(1, 4, 1), np.asarray([1.0, 10.0]).reshape(2, 1, 1)
    >>> conv1d(x, kernel, padding="causal").reshape(-1)
    array([ 0., 10., 21., 32.])
    """
    return convolution.conv(x, kernel, strides, known_padding(padding, "causal"), data_format, dilation_rate, axes=1)


def conv2d(
    x: Array,
    kernel: Array,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Array:
    """Convolve images over rows and columns.

    Parameters
    ----------
    x : array or Tensor
        Images, with four axes.
    kernel : array or Tensor
        Of shape (rows, columns, channels, filters), in both formats; not flipped.
    strides : pair of int
        Distance between windows along each axis.
    padding : {"valid", "same"}
        "valid": only windows inside the image. "same": zeros around the image, for one window per stride; if their
        number is odd, there is one more at the end.
    data_format : {"channels_last", "channels_first"}, optional
        Position of the channels. Defaults to `image_data_format`.
    dilation_rate : pair of int
        Distance between the elements of a window along each axis.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format or padding is invalid, or the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> conv2d(np.ones((1, 4, 5, 3)), np.ones((3, 3, 3, 8)), strides=(2, 2), padding="same").shape
    (1, 2, 3, 8)
    """
    return convolution.conv(x, kernel, strides, known_padding(padding), data_format, dilation_rate, axes=2)


def conv3d(
    x: Array,
    kernel: Array,
    strides: tuple[int, int, int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int, int] = (1, 1, 1),
) -> Array:
    """Convolve volumes over depth, rows and columns.

    Parameters
    ----------
    x : array or Tensor
        Volumes, with five axes.
    kernel : array or Tensor
        Of shape (depth, rows, columns, channels, filters), in both formats.
    strides, padding, data_format, dilation_rate
        As in `conv2d`, for three axes.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format or padding is invalid, or the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> conv3d(np.ones((1, 4, 4, 4, 2)), np.ones((2, 2, 2, 2, 5))).shape
    (1, 3, 3, 3, 5)
    """
    return convolution.conv(x, kernel, strides, known_padding(padding), data_format, dilation_rate, axes=3)


def conv2d_transpose(
    x: Array,
    kernel: Array,
    output_shape: Any,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    """Transposed convolution of images: the gradient of `conv2d`.

    Parameters
    ----------
    x : array or Tensor
        Images.
    kernel : array or Tensor
        Of shape (rows, columns, filters, channels): the channels of the result come first.
    output_shape : tuple of int, or vector of int
        Shape of the result.
    strides, padding, data_format
        Options of the convolution from the result to `x`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format or padding is invalid, or no convolution has these shapes.

    Examples
    --------
    >>> import numpy as np
    >>> conv2d_transpose(np.ones((1, 2, 2, 3)), np.ones((3, 3, 4, 3)), (1, 5, 5, 4), strides=(2, 2)).shape
    (1, 5, 5, 4)
    """
    return convolution.conv_to_shape(x, kernel, output_shape, strides, known_padding(padding), data_format, axes=2)


def separable_conv2d(
    x: Array,
    depthwise_kernel: Array,
    pointwise_kernel: Array,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Array:
    """Convolve each channel separately, then mix the channels at each position.

    Parameters
    ----------
    x : array or Tensor
        Images.
    depthwise_kernel : array or Tensor
        Of shape (rows, columns, channels, multiplier).
    pointwise_kernel : array or Tensor
        Of shape (1, 1, channels * multiplier, filters).
    strides, padding, data_format, dilation_rate
        As in `conv2d`, for the first convolution.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format or padding is invalid, or the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> separable_conv2d(np.ones((1, 4, 4, 3)), np.ones((2, 2, 3, 2)), np.ones((1, 1, 6, 5))).shape
    (1, 3, 3, 5)
    """
    return convolution_local.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, strides, known_padding(padding), data_format, dilation_rate
    )


def pool2d(
    x: Array,
    pool_size: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Array:
    """Pool images: compute the maximum or mean of each window.

    Parameters
    ----------
    x : array or Tensor
        Images.
    pool_size : pair of int
        Rows and columns of a window.
    strides : pair of int
        Distance between windows along each axis.
    padding : {"valid", "same"}
        As in `conv2d`; padded elements count neither for maxima nor for means.
    data_format : {"channels_last", "channels_first"}, optional
        Position of the channels. Defaults to `image_data_format`.
    pool_mode : {"max", "avg"}
        Reduction of a window.

    Returns
    -------
    array or Tensor
        The first of tied maxima gets the gradient.

    Raises
    ------
    ValueError
        If the format, padding or mode is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> pool2d(np.arange(16.0).reshape(1, 4, 4, 1), (2, 2), strides=(2, 2))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    return _pooled(2, x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: Array,
    pool_size: tuple[int, int, int],
    strides: tuple[int, int, int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Array:
    """Pool volumes: compute the maximum or mean of each window.

    Parameters
    ----------
    x : array or Tensor
        Volumes.
    pool_size : three int
        Depth, rows and columns of a window.
    strides, padding, data_format, pool_mode
        As in `pool2d`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format, padding or mode is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> pool3d(np.ones((1, 4, 4, 4, 2)), (2, 2, 2), strides=(2, 2, 2), pool_mode="avg").shape
    (1, 2, 2, 2, 2)
    """
    return _pooled(3, x, pool_size, strides, padding, data_format, pool_mode)


def _pooled(axes: int, x: Array, size: Any, strides: Any, padding: str, data_format: Any, mode: str) -> Array:
    if mode not in ("max", "avg"):
        raise ValueError(f"pool_mode must be 'max' or 'avg', got {mode!r}")
    return pooling.pool(x, size, strides, known_padding(padding), data_format, mode, axes=axes, ties="first")


def resize_images(x: Array, height_factor: int, width_factor: int, data_format: str | None) -> Array:
    """Enlarge images by repeating each pixel.

    Parameters
    ----------
    x : array or Tensor
        Images.
    height_factor, width_factor : int
        Number of repetitions along each axis.
    data_format : {"channels_last", "channels_first"} or None
        Position of the channels; None for `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format is invalid, or a factor is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> resize_images(np.asarray([1.0, 2.0]).reshape(1, 1, 2, 1), 1, 2, "channels_last")[0, 0, :, 0]
    array([1., 1., 2., 2.])
    """
    return borders.resize_images(x, height_factor, width_factor, data_format)


def resize_volumes(
    x: Array, depth_factor: int, height_factor: int, width_factor: int, data_format: str | None
) -> Array:
    """Enlarge volumes by repeating each element.

    Parameters
    ----------
    x : array or Tensor
        Volumes.
    depth_factor, height_factor, width_factor : int
        Number of repetitions along each axis.
    data_format : {"channels_last", "channels_first"} or None
        Position of the channels; None for `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format is invalid, or a factor is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> resize_volumes(np.ones((1, 1, 2, 3, 1)), 1, 2, 3, "channels_last").shape
    (1, 1, 4, 9, 1)
    """
    return borders.resize_volumes(x, depth_factor, height_factor, width_factor, data_format)
