"""Extremes, rounding and truth as Keras 1.0 on Theano has them: who ties gets the whole gradient, truth is a number."""

from __future__ import annotations

from nbm_xp.functions import comparison, elementwise, extremes, shaping
from nbm_xp.functions._arguments import Array, Axis

__all__ = ["any", "expand_dims", "max", "maximum", "min", "minimum", "round"]


def max(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The largest of the elements; nan where one is nan.

    Parameters
    ----------
    x : array or Tensor
        What to look through; there must be an element.
    axis : int or sequence of int, optional
        Along which axes, by default all.
    keepdims : bool
        Whether those axes stay, with length 1.

    Returns
    -------
    array or Tensor
        Of the dtype of `x`. Each of several largest elements gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> max(np.asarray([[1, 5], [3, 2]]), axis=0)
    array([3, 5])
    """
    return extremes.max(x, axis, keepdims, ties="whole")


def min(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The smallest of the elements; nan where one is nan.

    Parameters
    ----------
    x, axis, keepdims
        As in `max`.

    Returns
    -------
    array or Tensor
        Of the dtype of `x`. Each of several smallest elements gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> min(np.asarray([[1, 5], [3, 2]]), axis=0)
    array([1, 2])
    """
    return extremes.min(x, axis, keepdims, ties="whole")


def maximum(x: Array, y: Array) -> Array:
    """Of two arrays, the larger element in each place.

    Parameters
    ----------
    x, y : array, Tensor or number
        Their shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, each gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> maximum(np.asarray([-1.0, 2.0]), np.asarray([0.5, 0.5]))
    array([0.5, 2. ])
    """
    return comparison.maximum(x, y, ties="whole")


def minimum(x: Array, y: Array) -> Array:
    """Of two arrays, the smaller element in each place.

    Parameters
    ----------
    x, y : array, Tensor or number
        Their shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, each gets the whole gradient.

    Examples
    --------
    >>> import numpy as np
    >>> minimum(np.asarray([-1.0, 2.0]), np.asarray([0.5, 0.5]))
    array([-1. ,  0.5])
    """
    return comparison.minimum(x, y, ties="whole")


def round(x: Array) -> Array:
    """The nearest integer; of two, the one farther from 0.

    Parameters
    ----------
    x : array or Tensor
        Of any dtype, which the result has too.

    Returns
    -------
    array or Tensor
        Its gradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> round(np.asarray([-1.5, 0.5, 2.4]))
    array([-2.,  1.,  2.])
    """
    return elementwise.round(x, halves="away")


def any(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether there is an element that is not 0.

    Parameters
    ----------
    x, axis, keepdims
        As in `max`; there need be no element.

    Returns
    -------
    array of uint8, or Tensor
        1 where there is one, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> any(np.asarray([[0.0, 2.0], [0.0, 0.0]]), axis=1)
    array([1, 0], dtype=uint8)
    """
    return extremes.any(x, axis, keepdims, dtype="uint8")


def expand_dims(x: Array, dim: int = -1) -> Array:
    """A new axis of length 1.

    Parameters
    ----------
    x : array or Tensor
        With n axes.
    dim : int
        Where the new axis is to be: from 0 to n, or from -1 for behind the last to -n; -n-1 is -1 again, and so on.

    Returns
    -------
    array or Tensor
        With n + 1 axes.

    Raises
    ------
    IndexError
        If `dim` is greater than n.

    Examples
    --------
    >>> import numpy as np
    >>> expand_dims(np.ones((2, 3)), dim=1).shape
    (2, 1, 3)
    """
    return shaping.expand_dims(x, dim, cyclic=True)
