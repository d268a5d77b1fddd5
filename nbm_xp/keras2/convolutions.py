"""Convolutions and pooling with the paddings that Keras 2.0 has, ties of maxima as TensorFlow settles them."""

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
    """The padding, if Keras has it."""
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
    """Convolution over the steps of sequences.

    Parameters
    ----------
    x : array or Tensor
        Of shape (samples, steps, channels), or (samples, channels, steps) for ``channels_first``.
    kernel : array or Tensor
        Of shape (length, channels, filters), in both formats; it is not flipped.
    strides : int
        From window to window.
    padding : {"valid", "same", "causal"}
        Windows inside the sequence; zeros at both ends, so that there is a window for each stride; or zeros before,
        so that no window sees a later step.
    data_format : {"channels_last", "channels_first"}, optional
        By default `image_data_format`.
    dilation_rate : int
        From place to place in a window.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format or padding, or the shapes do not fit.

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
    """Convolution over the rows and columns of images.

    Parameters
    ----------
    x : array or Tensor
        The images, with four axes.
    kernel : array or Tensor
        Of shape (rows, columns, channels, filters), in both formats; it is not flipped.
    strides : pair of int
        From window to window.
    padding : {"valid", "same"}
        Windows inside the image; or zeros around it, so that there is a window for each stride, one more zero at the
        end where their number is odd.
    data_format : {"channels_last", "channels_first"}, optional
        By default `image_data_format`.
    dilation_rate : pair of int
        From place to place in a window.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format or padding, or the shapes do not fit.

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
    """Convolution over the depth, rows and columns of volumes.

    Parameters
    ----------
    x : array or Tensor
        The volumes, with five axes.
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
        If there is no such format or padding, or the shapes do not fit.

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
        The images.
    kernel : array or Tensor
        Of shape (rows, columns, filters, channels): those of the result come first.
    output_shape : tuple of int, or vector of int
        The shape of the result.
    strides, padding, data_format
        Those of the convolution that leads from the result to `x`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format or padding, or no such convolution.

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
    """Convolution of each channel by itself, then of all channels at each place.

    Parameters
    ----------
    x : array or Tensor
        The images.
    depthwise_kernel : array or Tensor
        Of shape (rows, columns, channels, multiplier).
    pointwise_kernel : array or Tensor
        Of shape (1, 1, channels * multiplier, filters).
    strides, padding, data_format, dilation_rate
        As in `conv2d`, for the first of the two.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format or padding, or the shapes do not fit.

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
    """The largest element, or the mean, of each window of an image.

    Parameters
    ----------
    x : array or Tensor
        The images.
    pool_size : pair of int
        Rows and columns of a window.
    strides : pair of int
        From window to window.
    padding : {"valid", "same"}
        As in `conv2d`; what is added counts neither as an element nor in a mean.
    data_format : {"channels_last", "channels_first"}, optional
        By default `image_data_format`.
    pool_mode : {"max", "avg"}
        Which of the two.

    Returns
    -------
    array or Tensor
        Of elements that are equally large, the first has the gradient.

    Raises
    ------
    ValueError
        If there is no such format, padding or mode.

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
    """The largest element, or the mean, of each window of a volume.

    Parameters
    ----------
    x : array or Tensor
        The volumes.
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
        If there is no such format, padding or mode.

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
    """Each pixel repeated down and across.

    Parameters
    ----------
    x : array or Tensor
        The images.
    height_factor, width_factor : int
        How often.
    data_format : {"channels_last", "channels_first"} or None
        None for `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format, or a factor is less than 1.

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
    """Each element repeated in depth, down and across.

    Parameters
    ----------
    x : array or Tensor
        The volumes.
    depth_factor, height_factor, width_factor : int
        How often.
    data_format : {"channels_last", "channels_first"} or None
        None for `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format, or a factor is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> resize_volumes(np.ones((1, 1, 2, 3, 1)), 1, 2, 3, "channels_last").shape
    (1, 1, 4, 9, 1)
    """
    return borders.resize_volumes(x, depth_factor, height_factor, width_factor, data_format)
