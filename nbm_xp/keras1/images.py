"""Convolution, pooling, padding and resizing as Keras 1.0 on Theano has them.

``dim_ordering`` says where the channels of images are: ``'th'`` for (samples, channels, rows, columns) and ``'tf'`` for
(samples, rows, columns, channels). A convolution turns its kernel round, as in mathematics.
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
    """Where the channels are, as Keras 2.0 says it."""
    if dim_ordering not in _ORDERINGS:
        raise ValueError(f"dim_ordering must be 'th' or 'tf', got {dim_ordering!r}")
    return _ORDERINGS[dim_ordering]


def windows(border_mode: str, *, pooled: bool = False) -> str:
    """Which windows there are at the borders, as the shared functions say it."""
    if border_mode not in ("valid", "same"):
        raise ValueError(f"border_mode must be 'valid' or 'same', got {border_mode!r}")
    return (_POOLING if pooled else _CONVOLUTION)[border_mode]


def agreeing(name: str, declared: Sequence[int | None] | None, x: Array) -> Array:
    """The array, or an error if it has another shape than declared."""
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
    """Convolution of images.

    Parameters
    ----------
    x : array or Tensor
        The images.
    kernel : array or Tensor
        Of shape (filters, channels, rows, columns) for ``'th'``, (rows, columns, channels, filters) for ``'tf'``; it is
        turned round, by rows and by columns.
    strides : pair of int
        How far it is from one window to the next.
    border_mode : {"valid", "same"}
        Only windows inside the image; or one for each stride, the first beginning half a window before the image.
    dim_ordering : {"th", "tf"}
        How images and kernel are ordered.
    image_shape, filter_shape : sequence of int or None, optional
        The shapes of `x` and `kernel`, as far as they are known; used only to find mistakes.

    Returns
    -------
    array or Tensor
        Ordered as `x`, with the filters for channels.

    Raises
    ------
    ValueError
        If there is no such ordering or border mode, the channels differ, a window does not fit, or an array is not of
        the shape declared.

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
    """The maxima or means of windows of images.

    Parameters
    ----------
    x : array or Tensor
        The images.
    pool_size, strides : pair of int
        The rows and columns of a window, and how far it is to the next.
    border_mode : {"valid", "same"}
        Only windows inside the image; or one for each stride, the first beginning one element less than a window
        before the image, or two if the window is odd. A mean is one of elements inside.
    dim_ordering : {"th", "tf"}
        How images are ordered.
    pool_mode : {"max", "avg"}
        What is taken of a window. Each of several maxima gets the whole gradient.

    Returns
    -------
    array or Tensor
        Ordered as `x`.

    Raises
    ------
    ValueError
        If there is no such ordering or mode, or a window does not fit.

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
    """Make images larger by repeating each pixel.

    Parameters
    ----------
    X : array or Tensor
        The images.
    height_factor, width_factor : int
        How often rows and columns are repeated, at least once.
    dim_ordering : {"th", "tf"}
        How images are ordered.

    Returns
    -------
    array or Tensor
        The larger images, ordered as `X`.

    Raises
    ------
    ValueError
        If there is no such ordering, `X` has not four axes, or a factor is no positive integer.

    Examples
    --------
    >>> import numpy as np
    >>> resize_images(np.asarray([[[[1.0, 2.0]]]]), 1, 2, "th").reshape(-1)
    array([1., 1., 2., 2.])
    """
    return padding.resize_images(X, height_factor, width_factor, data_format(dim_ordering))


def temporal_padding(x: Array, padding: int = 1) -> Array:
    """Put zeros before and after the steps of sequences.

    Parameters
    ----------
    x : array or Tensor
        Of shape (samples, steps, features); integers become ``floatx``.
    padding : int
        How many steps of zeros on each side.

    Returns
    -------
    array or Tensor
        The longer sequences.

    Raises
    ------
    ValueError
        If `x` has not three axes, or `padding` is negative.

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
    """Put zeros round the rows and columns of images.

    Parameters
    ----------
    x : array or Tensor
        The images; integers become ``floatx``.
    padding : pair of int
        How many rows above and below, and columns left and right.
    dim_ordering : {"th", "tf"}
        How images are ordered.

    Returns
    -------
    array or Tensor
        The larger images, ordered as `x`.

    Raises
    ------
    ValueError
        If there is no such ordering, `x` has not four axes, or `padding` is no pair of integers of 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> spatial_2d_padding(np.ones((1, 1, 1, 2)), padding=(0, 1)).reshape(-1)
    array([0., 1., 1., 0.])
    """
    return _spatial_2d_padding(x, padding, data_format(dim_ordering), floating=True)
