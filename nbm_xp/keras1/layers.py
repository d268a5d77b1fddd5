"""Activations, dropout and losses that differ between Keras 1.0 on Theano and Keras 2.0.

Cross-entropies of logits are computed from their probabilities, clipped to [1e-7, 1 - 1e-7] whatever `set_epsilon`
sets: none exceeds 16.2.
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
        Integers are converted to floating point.
    alpha : float or array
        Slope for negative elements.
    max_value : float or array, optional
        Upper bound of the result, applied after the slope, also to negative elements.

    Returns
    -------
    array or Tensor
        The gradient at 0 is the mean of the slopes on both sides, ``(1 + alpha) / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.asarray([-2.0, 3.0, 9.0]), alpha=0.5, max_value=6.0)
    array([-1.,  3.,  6.])
    """
    return activations.relu(x, alpha, max_value, slope_at_zero="between", limited="all", floating=True)


def dropout(x: Array, level: float, seed: int | None = None) -> Array:
    """Set random elements to zero and scale the others up to keep the expectation.

    Parameters
    ----------
    x : array or Tensor
        Integers are converted to floating point.
    level : float
        Probability of a zero, in [0, 1).
    seed : int, optional
        Seed of Theano's generator, whose numbers are drawn. By default drawn from NumPy's global state, as in Keras
        1.0, so that ``np.random.seed`` determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Raises
    ------
    ValueError
        If `level` is outside [0, 1), or `seed` is outside the generator's range.

    Examples
    --------
    >>> import numpy as np
    >>> dropout(np.ones(4), 0.5, seed=42).eval()
    array([2., 0., 0., 2.])
    """
    return randomness.dropout(x, level, rng=lambda: streams(seed), kept="low")


def l2_normalize(x: Array, axis: Any) -> Array:
    """Normalise vectors along axes to length 1 (L2 norm).

    Parameters
    ----------
    x : array or Tensor
        Integers are converted to floating point.
    axis : int or sequence of int
        The axes of the vectors.

    Returns
    -------
    array or Tensor
        Vectors of length 1, however short the input; zero vectors stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> l2_normalize(np.asarray([[3e-9, 4e-9], [0.0, 0.0]]), axis=1)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return normalization.l2_normalize(x, axis, bounded=False)


def categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy of predicted distributions over classes, in nats.

    Parameters
    ----------
    output : array or Tensor
        Of shape (..., classes): probabilities, which are normalised to sum to 1, or logits.
    target : array or Tensor
        True distributions, of the same shape.
    from_logits : bool
        Whether `output` contains logits.

    Returns
    -------
    array or Tensor
        Cross-entropies in nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> categorical_crossentropy(np.asarray([[1.0, 3.0]]), np.asarray([[1.0, 0.0]])).round(3)
    array([1.386])
    """
    return neural.categorical_crossentropy(output, target, from_logits, bounded=True)


def sparse_categorical_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Cross-entropy of predicted distributions over classes with integer labels, in nats.

    Parameters
    ----------
    output, from_logits
        As in `categorical_crossentropy`.
    target : array or Tensor
        True class indices, of shape (...) or (..., 1).

    Returns
    -------
    array or Tensor
        Cross-entropies in nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> sparse_categorical_crossentropy(np.asarray([[1.0, 3.0]]), np.asarray([0])).round(3)
    array([1.386])
    """
    return neural.sparse_categorical_crossentropy(output, target, from_logits, bounded=True)


def binary_crossentropy(output: Array, target: Array, from_logits: bool = False) -> Array:
    """Elementwise cross-entropy of predicted probabilities, in nats.

    Parameters
    ----------
    output : array or Tensor
        Probabilities, or logits.
    target : array or Tensor
        True probabilities.
    from_logits : bool
        Whether `output` contains logits.

    Returns
    -------
    array or Tensor
        Cross-entropies in nats, of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> binary_crossentropy(np.asarray([0.0, 100.0]), np.asarray([1.0, 0.0]), from_logits=True).round(3)
    array([ 0.693, 16.118])
    """
    return neural.binary_crossentropy(output, target, from_logits, bounded=True)


def streams(seed: int | None) -> RandomStreams:
    """Create Theano's generator for a seed; None draws the seed from NumPy's global state, as Keras 1.0 does.

    One of the 10,000,000 possible seeds is 0, for which Theano raises an error; 1 is used instead.

    Examples
    --------
    >>> streams(42).uniform((2,), dtype="float32").eval()
    array([0.08075201, 0.92676395], dtype=float32)
    """
    return randomness.make_rng(seed, draw=lambda low, high: global_integer(0, high) or low)
