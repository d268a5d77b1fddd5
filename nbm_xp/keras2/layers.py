"""Layer operations that differ between Keras 2.0 on TensorFlow and the shared functions."""

from __future__ import annotations

from nbm_xp.functions import activations, comparison, joining, normalization
from nbm_xp.functions._arguments import Array
from nbm_xp.namespace import image_data_format

from .settings import int_shape

__all__ = ["bias_add", "maximum", "minimum", "one_hot", "repeat_elements", "softmax"]


def softmax(x: Array) -> Array:
    """Softmax along the last axis.

    Parameters
    ----------
    x : array or Tensor
        Logits.

    Returns
    -------
    array or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.asarray([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    return activations.softmax(x)


def maximum(x: Array, y: Array) -> Array:
    """Return the elementwise maximum of two arrays.

    Parameters
    ----------
    x, y : array, Tensor or number
        Arrays whose shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, the first gets the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> maximum(np.asarray([-1.0, 2.0]), 0.0)
    array([0., 2.])
    """
    return comparison.maximum(x, y, ties="first")


def minimum(x: Array, y: Array) -> Array:
    """Return the elementwise minimum of two arrays.

    Parameters
    ----------
    x, y : array, Tensor or number
        Arrays whose shapes are broadcast.

    Returns
    -------
    array or Tensor
        Where both are equal, the first gets the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> minimum(np.asarray([-1.0, 2.0]), 0.0)
    array([-1.,  0.])
    """
    return comparison.minimum(x, y, ties="first")


def one_hot(indices: Array, num_classes: int) -> Array:
    """Return one-hot rows of class indices.

    Parameters
    ----------
    indices : array of int
        Class indices.
    num_classes : int
        Number of classes: the length of the rows.

    Returns
    -------
    array or Tensor
        Of dtype ``floatx``; an index outside the classes gives a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.asarray([1, 7]), 2)
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    return joining.one_hot(indices, num_classes, out_of_range="zeros")


def repeat_elements(x: Array, rep: int, axis: int | None) -> Array:
    """Repeat each element.

    Parameters
    ----------
    x : array or Tensor
        The array.
    rep : int
        Number of repetitions.
    axis : int or None
        Axis to repeat along; None flattens first.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the length of that axis is None in a shape with other known lengths, as in Keras. (If no length is known, as
        in ``placeholder(ndim=2)``, it is not needed.)

    Examples
    --------
    >>> import numpy as np
    >>> repeat_elements(np.asarray([[1, 2]]), 2, axis=1)
    array([[1, 1, 2, 2]])
    """
    repeated = joining.repeat_elements(x, rep, axis)
    shape = int_shape(x)
    if axis is not None and shape[axis] is None and set(shape) != {None}:
        raise ValueError(f"x must have a known length along axis {axis}, got shape {shape}")
    return repeated


def bias_add(x: Array, bias: Array, data_format: str | None = None) -> Array:
    """Add a bias to each channel, or to each element of a sample.

    Parameters
    ----------
    x : array or Tensor
        Samples along the first axis.
    bias : array or Tensor
        Vector with one element for each channel, or, with one axis fewer than `x`, one element for each of a sample.
    data_format : {"channels_last", "channels_first"}, optional
        Position of the channels. Defaults to `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the format is invalid, or `bias` has another number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> bias_add(np.zeros((1, 2)), np.asarray([1.0, 2.0]))
    array([[1., 2.]])
    """
    return normalization.bias_add(x, bias, image_data_format() if data_format is None else data_format)
