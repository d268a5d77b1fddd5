"""What layers and losses are made of, where Keras 2.0 on TensorFlow means something of its own."""

from __future__ import annotations

from nbm_xp.functions import activations, comparison, joining, neural, normalization
from nbm_xp.functions._arguments import Array
from nbm_xp.namespace import image_data_format

from .settings import int_shape

__all__ = [
    "bias_add", "binary_crossentropy", "categorical_crossentropy", "maximum", "minimum", "one_hot", "relu",
    "repeat_elements", "softmax", "sparse_categorical_crossentropy",
]  # fmt: skip


def relu(x: Array, alpha: float = 0.0, max_value: float | None = None) -> Array:
    """Rectified linear unit: `x` where it is positive, `alpha` times `x` where it is negative.

    Parameters
    ----------
    x : array or Tensor
        The values.
    alpha : float
        The slope of the negative part.
    max_value : float, optional
        Where the positive part saturates.

    Returns
    -------
    array or Tensor
        The gradient at 0 is 0.

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.asarray([-2.0, 3.0]), alpha=0.5)
    array([-1.,  3.])
    """
    return activations.relu(x, alpha, max_value)


def softmax(x: Array) -> Array:
    """Exponentials divided by their sum, along the last axis.

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
    """The larger of two, element by element.

    Parameters
    ----------
    x, y : array, Tensor or number
        What to compare.

    Returns
    -------
    array or Tensor
        Where both are equal, the gradient goes to the first.

    Examples
    --------
    >>> import numpy as np
    >>> maximum(np.asarray([-1.0, 2.0]), 0.0)
    array([0., 2.])
    """
    return comparison.maximum(x, y, ties="first")


def minimum(x: Array, y: Array) -> Array:
    """The smaller of two, element by element.

    Parameters
    ----------
    x, y : array, Tensor or number
        What to compare.

    Returns
    -------
    array or Tensor
        Where both are equal, the gradient goes to the first.

    Examples
    --------
    >>> import numpy as np
    >>> minimum(np.asarray([-1.0, 2.0]), 0.0)
    array([-1.,  0.])
    """
    return comparison.minimum(x, y, ties="first")


def one_hot(indices: Array, num_classes: int) -> Array:
    """Rows of zeros with a one where the index says.

    Parameters
    ----------
    indices : array of int
        Which element is to be 1.
    num_classes : int
        How long the rows are.

    Returns
    -------
    array or Tensor
        Of dtype ``floatx``; for an index that is no class, a row of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.asarray([1, 7]), 2)
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    return joining.one_hot(indices, num_classes, out_of_range="zeros")


def repeat_elements(x: Array, rep: int, axis: int | None) -> Array:
    """Repeat each element in place.

    Parameters
    ----------
    x : array or Tensor
        The elements.
    rep : int
        How often each stands in the result.
    axis : int or None
        The axis along which to repeat; None flattens first.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If the length of that axis is None, in a shape that names others, as the original has it. (Where no length is
        known, as in ``placeholder(ndim=2)``, it is not asked for.)

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


def categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy between predicted and true distributions over classes, along the last axis.

    Parameters
    ----------
    output : array or Tensor
        Probabilities, which are divided by their sum and kept 1e-7 away from 0 and 1, whatever `set_epsilon` says;
        or logits.
    target : array or Tensor
        The true distributions, of the same shape.
    from_logits : bool
        Whether `output` holds logits.

    Returns
    -------
    array or Tensor
        Nats, without the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> categorical_crossentropy(np.asarray([[0.25, 0.75]]), np.asarray([[1.0, 0.0]])).round(3)
    array([1.386])
    """
    return neural.categorical_crossentropy(output, target, from_logits)


def sparse_categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy between predicted distributions over classes and the class that is true, along the last axis.

    Parameters
    ----------
    output : array or Tensor
        Probabilities, which are kept 1e-7 away from 0 and 1, whatever `set_epsilon` says; or logits.
    target : array or Tensor
        The numbers of the true classes.
    from_logits : bool
        Whether `output` holds logits.

    Returns
    -------
    array or Tensor
        Nats, without the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> sparse_categorical_crossentropy(np.asarray([[0.25, 0.75]]), np.asarray([1])).round(3)
    array([0.288])
    """
    return neural.sparse_categorical_crossentropy(output, target, from_logits)


def binary_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy between predicted and true probabilities, element by element.

    Parameters
    ----------
    output : array or Tensor
        Probabilities, which are kept 1e-7 away from 0 and 1, whatever `set_epsilon` says; or logits.
    target : array or Tensor
        The true probabilities.
    from_logits : bool
        Whether `output` holds logits.

    Returns
    -------
    array or Tensor
        Nats.

    Examples
    --------
    >>> import numpy as np
    >>> binary_crossentropy(np.asarray([0.25]), np.asarray([1.0])).round(3)
    array([1.386])
    """
    return neural.binary_crossentropy(output, target, from_logits)


def bias_add(x: Array, bias: Array, data_format: str | None = None) -> Array:
    """Add an offset to each channel, or to each element of a sample.

    Parameters
    ----------
    x : array or Tensor
        Samples along the first axis.
    bias : array or Tensor
        A vector with one number for each channel; or, with one axis less than `x`, one for each element of a sample.
    data_format : {"channels_last", "channels_first"}, optional
        Which axis of `x` has the channels, by default `image_data_format`.

    Returns
    -------
    array or Tensor

    Raises
    ------
    ValueError
        If there is no such format, or `bias` has another number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> bias_add(np.zeros((1, 2)), np.asarray([1.0, 2.0]))
    array([[1., 2.]])
    """
    return normalization.bias_add(x, bias, image_data_format() if data_format is None else data_format)
