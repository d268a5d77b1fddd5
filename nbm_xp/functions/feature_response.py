"""Local response normalization: features divided by a power of what neighbouring feature maps hold at their place.

Maps are matrices of (maps · positions, images), as in `nbm_xp.functions.feature_convolution`. Source: A. Krizhevsky,
I. Sutskever and G. Hinton, "ImageNet classification with deep convolutional neural networks", 2012, section 3.3.
"""

from __future__ import annotations

from nbm_xp.namespace import array_namespace

from ._arguments import Array, floats

__all__ = ["local_response", "local_response_gradient", "response_scale"]


def _over_neighbours(x: Array, maps: int, window: int) -> Array:
    """The sum over the maps of a window around each one; beyond the first and the last there is nothing."""
    xp, half = array_namespace(x), window // 2
    rows = xp.reshape(x, (maps, -1))
    if half:
        nothing = xp.zeros_like(rows[:1, :])
        rows = xp.concat([*[nothing] * half, rows, *[nothing] * half], axis=0)
    total = rows[:maps, :]
    for begin in range(1, window):
        total = total + rows[begin : begin + maps, :]
    return xp.reshape(total, x.shape)


def response_scale(x: Array, maps: int, window: int, alpha: float) -> Array:
    """What features are divided by a power of: 1 plus a multiple of the mean square of neighbouring maps.

    Parameters
    ----------
    x : array
        Of shape (maps · positions, images).
    maps : int
        How many feature maps there are.
    window : int
        How many of them count for one, itself in the middle: odd.
    alpha : float
        The factor.

    Returns
    -------
    array
        Of the shape of `x`: ``1 + alpha / window`` times the sum of the squares.

    Raises
    ------
    ValueError
        If `window` is even, or less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> response_scale(np.asarray([[1.0], [2.0], [3.0]]), 3, 3, 3.0).reshape(-1)
    array([ 6., 15., 14.])
    """
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window must be odd and 1 or more, got {window}")
    _, x = floats(x)
    return 1.0 + _over_neighbours(x * x, maps, window) * (alpha / window)


def local_response(x: Array, scale: Array, power: float) -> Array:
    """Features divided by a power of their scale.

    Parameters
    ----------
    x, scale : array
        The features, and what `response_scale` gave for them.
    power : float
        The power.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> local_response(np.asarray([[8.0]]), np.asarray([[4.0]]), 0.5)
    array([[4.]])
    """
    return x * array_namespace(x, scale).pow(scale, -power)


def local_response_gradient(
    error: Array, x: Array, out: Array, scale: Array, maps: int, window: int, alpha: float, power: float
) -> Array:
    """The gradient of local response normalization.

    Parameters
    ----------
    error : array
        The gradient in what `local_response` gave, of shape (maps · positions, images).
    x, out, scale : array
        What it was given and gave, and the scale.
    maps, window, alpha, power
        As `response_scale` and `local_response` take them.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[1.0]])
    >>> local_response_gradient(x, x, x / 2, 2 * x, 1, 1, 1.0, 1.0)
    array([[0.]])
    """
    xp = array_namespace(error, x, out, scale)
    through_scale = _over_neighbours(out * error / scale, maps, window) * x * (-2.0 * power * alpha / window)
    return error * xp.pow(scale, -power) + through_scale
