"""What layers and losses are made of, where Keras 1.0 on Theano means something of its own.

Losses of logits are those of the probabilities that the logits stand for, which are clipped 1e-7 away from 0 and 1,
whatever `set_epsilon` says: none exceeds 16.2.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.compatibility.views import global_integer
from nbm_xp.functions import activations, neural, normalization, randomness
from nbm_xp.functions._arguments import Array
from nbm_xp.rng import RandomStreams

__all__ = [
    "binary_crossentropy", "categorical_crossentropy", "dropout", "l2_normalize", "relu",
    "sparse_categorical_crossentropy", "streams",
]  # fmt: skip


def relu(x: Array, alpha: Array | float = 0.0, max_value: Array | float | None = None) -> Array:
    """Rectified linear unit.

    Parameters
    ----------
    x : array or Tensor
        Integers become floating point.
    alpha : float or array
        What negative elements are multiplied by.
    max_value : float or array, optional
        What larger elements are cut off at; negative ones too, once they are multiplied.

    Returns
    -------
    array or Tensor
        Its gradient at 0 is halfway between those on both sides, ``(1 + alpha) / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.asarray([-2.0, 3.0, 9.0]), alpha=0.5, max_value=6.0)
    array([-1.,  3.,  6.])
    """
    return activations.relu(x, alpha, max_value, slope_at_zero="between", limited="all", floating=True)


def dropout(x: Array, level: float, seed: int | None = None) -> Array:
    """Put zeros in random places, and make up for them by scaling up the rest.

    Parameters
    ----------
    x : array or Tensor
        Integers become floating point.
    level : float
        The probability of a zero, from 0 to less than 1.
    seed : int, optional
        Where the draws begin, which are those of Theano's generator; by default a number that NumPy's global state
        draws, as it did, so that ``np.random.seed`` decides.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Raises
    ------
    ValueError
        If `level` is no such probability, or `seed` is out of the generator's range.

    Examples
    --------
    >>> import numpy as np
    >>> dropout(np.ones(4), 0.5, seed=42).eval()
    array([2., 0., 0., 2.])
    """
    return randomness.dropout(x, level, rng=lambda: streams(seed), kept="low")


def l2_normalize(x: Array, axis: Any) -> Array:
    """Vectors along axes, divided by their length.

    Parameters
    ----------
    x : array or Tensor
        Integers become floating point.
    axis : int or sequence of int
        The axes of the vectors.

    Returns
    -------
    array or Tensor
        Of length 1, however short the vector was; zeros stay zeros.

    Examples
    --------
    >>> import numpy as np
    >>> l2_normalize(np.asarray([[3e-9, 4e-9], [0.0, 0.0]]), axis=1)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return normalization.l2_normalize(x, axis, bounded=False)


def categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy of predicted distributions over classes.

    Parameters
    ----------
    output : array or Tensor
        Of shape (..., classes): probabilities, which are divided by their sum, or logits.
    target : array or Tensor
        The distributions that are true, of the same shape.
    from_logits : bool
        Whether `output` is logits.

    Returns
    -------
    array or Tensor
        Nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> categorical_crossentropy(np.asarray([[1.0, 3.0]]), np.asarray([[1.0, 0.0]])).round(3)
    array([1.386])
    """
    return neural.categorical_crossentropy(output, target, from_logits, bounded=True)


def sparse_categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy of predicted distributions over classes, given the number of the class that is true.

    Parameters
    ----------
    output, from_logits
        As in `categorical_crossentropy`.
    target : array or Tensor
        Numbers of classes, of shape (...) or (..., 1).

    Returns
    -------
    array or Tensor
        Nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> sparse_categorical_crossentropy(np.asarray([[1.0, 3.0]]), np.asarray([0])).round(3)
    array([1.386])
    """
    return neural.sparse_categorical_crossentropy(output, target, from_logits, bounded=True)


def binary_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy of predicted probabilities, each by itself.

    Parameters
    ----------
    output : array or Tensor
        Probabilities, or logits.
    target : array or Tensor
        The probabilities that are true.
    from_logits : bool
        Whether `output` is logits.

    Returns
    -------
    array or Tensor
        Nats, of the common shape.

    Examples
    --------
    >>> import numpy as np
    >>> binary_crossentropy(np.asarray([0.0, 100.0]), np.asarray([1.0, 0.0]), from_logits=True).round(3)
    array([ 0.693, 16.118])
    """
    return neural.binary_crossentropy(output, target, from_logits, bounded=True)


def streams(seed: int | None) -> RandomStreams:
    """Theano's generator of a seed; None for a number that NumPy's global state draws, as Keras 1.0 drew it.

    Of 10,000,000 numbers one is 0, for which Theano raises an error: 1 is used instead.

    Examples
    --------
    >>> streams(42).uniform((2,), dtype="float32").eval()
    array([0.08075201, 0.92676395], dtype=float32)
    """
    return randomness.make_rng(seed, draw=lambda low, high: global_integer(0, high) or low)
