"""Undocumented functions that Keras 1.0 itself calls, and `install_as`, which makes this module its backend."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from nbm_xp.functions import convolution, joining, padding, pooling, randomness
from nbm_xp.functions._arguments import Array, Shape
from nbm_xp.functions.shaping import cast
from nbm_xp.keras2.client import stand_in

from .images import agreeing, data_format, windows
from .layers import streams

__all__ = [
    "_BACKEND", "conv3d", "install_as", "pack", "pool3d", "random_binomial", "random_normal", "random_uniform",
    "resize_volumes", "spatial_3d_padding",
]  # fmt: skip

_BACKEND = "theano"
"""Keras 1.0 branches on this name: values and kernel orderings here are Theano's."""


def install_as(name: str = "keras.backend") -> None:
    """Install this module under another module's name; Keras 1.0, imported afterwards, uses it as its backend.

    Parameters
    ----------
    name : str
        Full name of the module to replace.

    Raises
    ------
    ImportError
        If another module of this name is already imported.

    Notes
    -----
    See `nbm_xp.keras2.install_as`: lists of Tensors are searched by identity.

    Examples
    --------
    >>> from nbm_xp import tape
    >>> install_as("another_backend")
    >>> import another_backend
    >>> another_backend.floatx()
    'float32'
    >>> from nbm_xp.tape import look_up_by_identity
    >>> look_up_by_identity(False)  # back to what it was
    """
    stand_in(sys.modules[__package__], name)


def pack(x: Sequence[Array]) -> Array:
    """Stack arrays of one shape along a new first axis.

    Parameters
    ----------
    x : sequence of array or Tensor
        At least one array.

    Returns
    -------
    array or Tensor
        With one axis more than each input.

    Raises
    ------
    ValueError
        If there is no array, or the shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> pack([np.asarray([1, 2]), np.asarray([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return joining.stack(x)


def random_normal(shape: Shape, mean: float = 0.0, std: float = 1.0, dtype: Any = "float32", seed: Any = None) -> Any:
    """Draw from a normal distribution.

    Parameters
    ----------
    shape : tuple of int, or vector of int
        Shape of the result.
    mean, std : float
        Mean and standard deviation of the distribution.
    dtype : str
        Dtype of the result.
    seed : int, optional
        Seed of Theano's generator, whose numbers are drawn. By default drawn from NumPy's global state, as in Keras
        1.0, so that ``np.random.seed`` determines it.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_normal((2, 3), seed=1).eval().shape
    (2, 3)
    """
    return cast(randomness.random_normal(shape, mean, std, dtype, streams(seed)), dtype)


def random_uniform(shape: Shape, low: float = 0.0, high: float = 1.0, dtype: Any = "float32", seed: Any = None) -> Any:
    """Draw from a uniform distribution.

    Parameters
    ----------
    shape, dtype, seed
        As in `random_normal`.
    low, high : float
        Bounds of the interval.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_uniform((2, 3), seed=1).eval().shape
    (2, 3)
    """
    return randomness.random_uniform(shape, low, high, dtype, streams(seed))


def random_binomial(shape: Shape, p: float = 0.0, dtype: Any = "float32", seed: Any = None) -> Any:
    """Draw ones with a given probability, and zeros otherwise.

    Parameters
    ----------
    shape, dtype, seed
        As in `random_normal`.
    p : float
        Probability of a one.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_binomial((2,), p=1.0, seed=1).eval()
    array([1., 1.], dtype=float32)
    """
    return randomness.random_binomial(shape, p, dtype, streams(seed))


def conv3d(
    x: Array,
    kernel: Array,
    strides: tuple[int, int, int] = (1, 1, 1),
    border_mode: str = "valid",
    dim_ordering: str = "th",
    volume_shape: Sequence[int | None] | None = None,
    filter_shape: Sequence[int | None] | None = None,
) -> Array:
    """Convolve volumes, as `conv2d` convolves images.

    Parameters
    ----------
    x, kernel : array or Tensor
        As in `conv2d`, with one more spatial axis, before the rows.
    strides, border_mode, dim_ordering, volume_shape, filter_shape
        As in `conv2d`.

    Returns
    -------
    array or Tensor
        With filters in place of channels, ordered as `x`.

    Examples
    --------
    >>> import numpy as np
    >>> conv3d(np.ones((1, 2, 4, 4, 4)), np.ones((5, 2, 3, 3, 3))).shape
    (1, 5, 2, 2, 2)
    """
    layout, starts = data_format(dim_ordering), windows(border_mode)
    x, kernel = agreeing("volume_shape", volume_shape, x), agreeing("filter_shape", filter_shape, kernel)
    return convolution.conv(x, kernel, strides, starts, layout, axes=3, flip=True, filters_first=dim_ordering == "th")


def pool3d(
    x: Array,
    pool_size: tuple[int, int, int],
    strides: tuple[int, int, int] = (1, 1, 1),
    border_mode: str = "valid",
    dim_ordering: str = "th",
    pool_mode: str = "max",
) -> Array:
    """Pool volumes, as `pool2d` pools images.

    Parameters
    ----------
    x : array or Tensor
        As in `pool2d`, with one more spatial axis, before the rows.
    pool_size, strides, border_mode, dim_ordering, pool_mode
        As in `pool2d`.

    Returns
    -------
    array or Tensor
        With the channels of `x`, ordered as `x`.

    Examples
    --------
    >>> import numpy as np
    >>> pool3d(np.ones((1, 2, 4, 4, 4)), (2, 2, 2), strides=(2, 2, 2)).shape
    (1, 2, 2, 2, 2)
    """
    starts = windows(border_mode, pooled=True)
    return pooling.pool(x, pool_size, strides, starts, data_format(dim_ordering), pool_mode, axes=3, ties="whole")


def resize_volumes(X: Array, depth_factor: int, height_factor: int, width_factor: int, dim_ordering: str) -> Array:
    """Enlarge volumes by repeating each element.

    Parameters
    ----------
    X : array or Tensor
        Volumes.
    depth_factor, height_factor, width_factor : int
        Number of repetitions along each axis.
    dim_ordering : {"th", "tf"}
        Position of the channels.

    Returns
    -------
    array or Tensor
        The enlarged volumes, ordered as `X`.

    Examples
    --------
    >>> import numpy as np
    >>> resize_volumes(np.ones((1, 2, 3, 3, 3)), 1, 2, 3, "th").shape
    (1, 2, 3, 6, 9)
    """
    return padding.resize_volumes(X, depth_factor, height_factor, width_factor, data_format(dim_ordering))


_spatial_3d_padding = padding.spatial_3d_padding


def spatial_3d_padding(x: Array, padding: tuple[int, int, int] = (1, 1, 1), dim_ordering: str = "th") -> Array:
    """Pad volumes with zeros.

    Parameters
    ----------
    x : array or Tensor
        Volumes.
    padding : three int
        Number of zeros on both sides, for each axis.
    dim_ordering : {"th", "tf"}
        Position of the channels.

    Returns
    -------
    array or Tensor
        The padded volumes, ordered as `x`.

    Examples
    --------
    >>> import numpy as np
    >>> spatial_3d_padding(np.ones((1, 2, 3, 3, 3)), (0, 1, 2)).shape
    (1, 2, 3, 5, 7)
    """
    return _spatial_3d_padding(x, padding, data_format(dim_ordering), floating=True)
