"""Zero padding of spatial axes, and enlargement of images by repetition."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, device_argument, floatx, is_floating

from ._arguments import Array, as_array
from .convolution_windows import DataFormat, channels_first, counts
from .shaping import cast

__all__ = ["resize_images", "resize_volumes", "spatial_2d_padding", "spatial_3d_padding", "temporal_padding"]


def temporal_padding(x: Array, padding: Any = (1, 1), *, floating: bool = False) -> Array:
    """Pad the middle axis of an array with three axes with zeros.

    Parameters
    ----------
    x : array
        Of shape (batch, steps, channels).
    padding : int or pair of int
        Numbers of zeros before and after.
    floating : bool
        Whether to convert integers to ``floatx``, as in Keras 1.0 on Theano.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` does not have three axes, or `padding` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> temporal_padding(np.ones((1, 2, 1)), (2, 0)).reshape(-1)
    array([0., 0., 1., 1.])
    """
    return _padded(x, (padding,), "channels_last", 1, floating)


def spatial_2d_padding(
    x: Array, padding: Any = ((1, 1), (1, 1)), data_format: DataFormat = None, *, floating: bool = False
) -> Array:
    """Pad the rows and columns of images with zeros.

    Parameters
    ----------
    x : array
        Images, with four axes.
    padding : pair of int or of pairs of int
        Numbers of rows before and after, and of columns before and after.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.
    floating : bool
        Whether to convert integers to ``floatx``, as in Keras 1.0 on Theano.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has a wrong number of axes, or `padding` or `data_format` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> spatial_2d_padding(np.ones((1, 2, 2, 3)), ((1, 0), (0, 2))).shape
    (1, 3, 4, 3)
    """
    return _padded(x, padding, data_format, 2, floating)


def spatial_3d_padding(
    x: Array, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: DataFormat = None, *, floating: bool = False
) -> Array:
    """Pad the depth, rows and columns of volumes with zeros.

    Parameters
    ----------
    x : array
        Volumes, with five axes.
    padding : three int or pairs of int
        Numbers of zeros before and after, along each axis.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.
    floating : bool
        Whether to convert integers to ``floatx``, as in Keras 1.0 on Theano.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has a wrong number of axes, or `padding` or `data_format` is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> spatial_3d_padding(np.ones((1, 2, 2, 2, 3))).shape
    (1, 4, 4, 4, 3)
    """
    return _padded(x, padding, data_format, 3, floating)


def _padded(x: Array, padding: Any, data_format: DataFormat, axes: int, floating: bool) -> Array:
    first = 2 if channels_first(data_format) else 1
    x = as_array(x)
    if x.ndim != axes + 2:
        raise ValueError(f"x must have {axes + 2} axes, got shape {x.shape}")
    items = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * axes
    pairs = [tuple(item) if isinstance(item, (tuple, list)) else (item, item) for item in items]
    sides = [side for pair in pairs for side in pair]
    if len(pairs) != axes or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"padding must be a pair of integers for each of {axes} axes, got {padding!r}")
    if not all(isinstance(side, int) and side >= 0 for side in sides):
        raise ValueError(f"padding must hold integers of 0 or more, got {padding!r}")
    if floating and not is_floating(x):
        x = cast(x, floatx())
    xp = array_namespace(x)
    device = device_argument(x)
    for axis, pair in enumerate(pairs, first):
        ends = [
            xp.zeros((*x.shape[:axis], side, *x.shape[axis + 1 :]), dtype=x.dtype, device=device) if side else None
            for side in pair
        ]
        parts = [part for part in (ends[0], x, ends[1]) if part is not None]
        x = xp.concat(parts, axis=axis) if len(parts) > 1 else x
    return x


def resize_images(x: Array, height_factor: int, width_factor: int, data_format: DataFormat = None) -> Array:
    """Enlarge images by repeating rows and columns.

    Parameters
    ----------
    x : array
        Images, with four axes.
    height_factor, width_factor : int
        Number of repetitions, 1 or more.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has a wrong number of axes, a factor is less than 1, or `data_format` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> resize_images(np.asarray([1.0, 2.0]).reshape(1, 1, 2, 1), 1, 2)[0, 0, :, 0]
    array([1., 1., 2., 2.])
    """
    return _repeated(x, {"height_factor": height_factor, "width_factor": width_factor}, data_format)


def resize_volumes(
    x: Array, depth_factor: int, height_factor: int, width_factor: int, data_format: DataFormat = None
) -> Array:
    """Enlarge volumes by repeating elements in depth, rows and columns.

    Parameters
    ----------
    x : array
        Volumes, with five axes.
    depth_factor, height_factor, width_factor : int
        Number of repetitions, 1 or more.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has a wrong number of axes, a factor is less than 1, or `data_format` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> resize_volumes(np.ones((1, 1, 2, 3, 1)), 1, 2, 3).shape
    (1, 1, 4, 9, 1)
    """
    factors = {"depth_factor": depth_factor, "height_factor": height_factor, "width_factor": width_factor}
    return _repeated(x, factors, data_format)


def _repeated(x: Array, factors: dict[str, int], data_format: DataFormat) -> Array:
    first = 2 if channels_first(data_format) else 1
    x = as_array(x)
    if x.ndim != len(factors) + 2:
        raise ValueError(f"x must have {len(factors) + 2} axes, got shape {x.shape}")
    xp = array_namespace(x)
    for axis, (name, factor) in enumerate(factors.items(), first):
        (times,) = counts(factor, name, 1)
        x = xp.repeat(x, times, axis=axis) if times > 1 else x
    return x
