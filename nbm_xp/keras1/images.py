"""Convolution, pooling, padding and resizing as in Keras 1.0 on Theano.

``dim_ordering`` is the position of the channels: ``'th'`` for (samples, channels, rows, columns), ``'tf'`` for
(samples, rows, columns, channels). Convolutions flip their kernel, as in mathematics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from nbm_xp.functions import convolution, padding, pooling, variables
from nbm_xp.functions._arguments import Array, as_array

__all__ = ["conv2d", "data_format", "pool2d", "resize_images", "spatial_2d_padding", "temporal_padding", "windows"]

_ORDERINGS: Mapping[str, Literal["channels_first", "channels_last"]] = {"th": "channels_first", "tf": "channels_last"}
_CONVOLUTION = {"valid": "valid", "same": "half"}
_POOLING = {"valid": "valid", "same": "leading"}


def data_format(dim_ordering: str) -> Literal["channels_first", "channels_last"]:
    """Convert ``dim_ordering`` to Keras 2.0's ``data_format``."""
    if dim_ordering not in _ORDERINGS:
        raise ValueError(f"dim_ordering must be 'th' or 'tf', got {dim_ordering!r}")
    return _ORDERINGS[dim_ordering]


def windows(border_mode: str, *, pooled: bool = False) -> str:
    """Convert ``border_mode`` to the padding of the shared functions."""
    if border_mode not in ("valid", "same"):
        raise ValueError(f"border_mode must be 'valid' or 'same', got {border_mode!r}")
    return (_POOLING if pooled else _CONVOLUTION)[border_mode]


def agreeing(name: str, declared: Sequence[int | None] | None, x: Array) -> Array:
    """Return the array as an array or Tensor; raise an error if its shape differs from the declared one."""
    x = as_array(x)
    if declared is None:
        return x
    known = variables.get_variable_shape(x)
    pairs = zip(declared, known, strict=False)
    if len(declared) != len(known) or any(a not in (None, b) and b is not None for a, b in pairs):
        raise ValueError(f"{name} must be the shape {known}, with None for unknown lengths, got {tuple(declared)}")
    return x


def conv2d(
    x: Array,
    kernel: Array,
    strides: tuple[int, int] = (1, 1),
    border_mode: str = "valid",
    dim_ordering: str = "th",
    image_shape: Sequence[int | None] | None = None,
    filter_shape: Sequence[int | None] | None = None,
) -> Array:
    """Convolve images.

    Parameters
    ----------
    x : array or Tensor
        Images.
    kernel : array or Tensor
        Of shape (filters, channels, rows, columns) for ``'th'``, (rows, columns, channels, filters) for ``'tf'``;
        flipped along rows and columns.
    strides : pair of int
        Distance between windows along each axis.
    border_mode : {"valid", "same"}
        "valid": only windows inside the image. "same": one window for each stride, the first beginning half a window
        before the image.
    dim_ordering : {"th", "tf"}
        Position of the channels in images and kernel.
    image_shape, filter_shape : sequence of int or None, optional
        Shapes of `x` and `kernel`, None where unknown; only used to detect errors.

    Returns
    -------
    array or Tensor
        Ordered as `x`, with filters in place of channels.

    Raises
    ------
    ValueError
        If `dim_ordering` or `border_mode` is invalid, the numbers of channels differ, no window fits, or a shape
        differs from the declared one.

    Examples
    --------
    >>> import numpy as np
    >>> x, kernel = np.arange(4.0).reshape(1, 1, 1, 4), np.asarray([[[[1.0, 10.0]]]])
    >>> conv2d(x, kernel).reshape(-1)
    array([ 1., 12., 23.])
    """
    layout, starts = data_format(dim_ordering), windows(border_mode)
    x, kernel = agreeing("image_shape", image_shape, x), agreeing("filter_shape", filter_shape, kernel)
    return convolution.conv(x, kernel, strides, starts, layout, axes=2, flip=True, filters_first=dim_ordering == "th")


def pool2d(
    x: Array,
    pool_size: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    border_mode: str = "valid",
    dim_ordering: str = "th",
    pool_mode: str = "max",
) -> Array:
    """Pool images: compute the maximum or mean of each window.

    Parameters
    ----------
    x : array or Tensor
        Images.
    pool_size, strides : pair of int
        Size of a window, and distance between windows, along rows and columns.
    border_mode : {"valid", "same"}
        "valid": only windows inside the image. "same": one window for each stride, the first beginning one element less
        than a window before the image, or two if the window is odd; means are over the elements inside the image.
    dim_ordering : {"th", "tf"}
        Position of the channels.
    pool_mode : {"max", "avg"}
        Reduction of a window. Tied maxima each get the whole gradient.

    Returns
    -------
    array or Tensor
        Ordered as `x`.

    Raises
    ------
    ValueError
        If `dim_ordering` or a mode is invalid, or no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> pool2d(np.arange(16.0).reshape(1, 1, 4, 4), (2, 2), strides=(2, 2)).reshape(2, 2)
    array([[ 5.,  7.],
           [13., 15.]])
    """
    layout, starts = data_format(dim_ordering), windows(border_mode, pooled=True)
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"pool_mode must be 'max' or 'avg', got {pool_mode!r}")
    return pooling.pool(x, pool_size, strides, starts, layout, pool_mode, axes=2, ties="whole")


def resize_images(X: Array, height_factor: int, width_factor: int, dim_ordering: str) -> Array:
    """Enlarge images by repeating each pixel.

    Parameters
    ----------
    X : array or Tensor
        Images.
    height_factor, width_factor : int
        Number of repetitions of rows and columns, at least 1.
    dim_ordering : {"th", "tf"}
        Position of the channels.

    Returns
    -------
    array or Tensor
        The enlarged images, ordered as `X`.

    Raises
    ------
    ValueError
        If `dim_ordering` is invalid, `X` does not have four axes, or a factor is not a positive integer.

    Examples
    --------
    >>> import numpy as np
    >>> resize_images(np.asarray([[[[1.0, 2.0]]]]), 1, 2, "th").reshape(-1)
    array([1., 1., 2., 2.])
    """
    return padding.resize_images(X, height_factor, width_factor, data_format(dim_ordering))


def temporal_padding(x: Array, padding: int = 1) -> Array:
    """Pad sequences with steps of zeros.

    Parameters
    ----------
    x : array or Tensor
        Of shape (samples, steps, features); integers are converted to ``floatx``.
    padding : int
        Number of steps of zeros at each end.

    Returns
    -------
    array or Tensor
        The padded sequences.

    Raises
    ------
    ValueError
        If `x` does not have three axes, or `padding` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> temporal_padding(np.ones((1, 2, 1)), padding=1).reshape(-1)
    array([0., 1., 1., 0.])
    """
    return _temporal_padding(x, padding, floating=True)


_temporal_padding = padding.temporal_padding
_spatial_2d_padding = padding.spatial_2d_padding


def spatial_2d_padding(x: Array, padding: tuple[int, int] = (1, 1), dim_ordering: str = "th") -> Array:
    """Pad the rows and columns of images with zeros.

    Parameters
    ----------
    x : array or Tensor
        Images; integers are converted to ``floatx``.
    padding : pair of int
        Number of rows above and below, and of columns left and right.
    dim_ordering : {"th", "tf"}
        Position of the channels.

    Returns
    -------
    array or Tensor
        The padded images, ordered as `x`.

    Raises
    ------
    ValueError
        If `dim_ordering` is invalid, `x` does not have four axes, or `padding` is not a pair of non-negative integers.

    Examples
    --------
    >>> import numpy as np
    >>> spatial_2d_padding(np.ones((1, 1, 1, 2)), padding=(0, 1)).reshape(-1)
    array([0., 1., 1., 0.])
    """
    return _spatial_2d_padding(x, padding, data_format(dim_ordering), floating=True)
