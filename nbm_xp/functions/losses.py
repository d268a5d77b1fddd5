"""Losses of predicted probabilities or logits, and whether a prediction is among the best.

From logits, nothing is ever exponentiated that overflows, nor a logarithm taken of what has vanished. Probabilities are
kept `fuzz` away from 0 and 1 first; with ``bounded`` those of logits are as well, as in Keras on Theano, so that no
loss exceeds ``-log(fuzz)``. Source: the Keras 2.0 backend document; the values are TensorFlow's, and those of Keras
1.0 Theano's.
"""

from __future__ import annotations

import operator

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, in_one_library, is_integer, running_dtype
from nbm_xp.tape import Memory, composite

from ._arguments import Array, as_array, floats, pair
from .activations import log_softmax, softmax
from .neural import sigmoid

__all__ = ["binary_crossentropy", "categorical_crossentropy", "in_top_k", "sparse_categorical_crossentropy"]

_FUZZ = 1e-7


def categorical_crossentropy(
    output: Array, target: Array, from_logits: bool = False, *, fuzz: float = _FUZZ, bounded: bool = False
) -> Array:
    """Cross-entropy between predicted and true distributions over classes, along the last axis.

    Parameters
    ----------
    output : array
        Probabilities of shape (..., classes), which are divided by their sum; or logits.
    target : array
        The true distributions, of the same shape.
    from_logits : bool
        Whether `output` holds logits.
    fuzz : float
        How far probabilities are kept from 0 and 1.
    bounded : bool
        Whether logits are made probabilities first.

    Returns
    -------
    array
        Nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> categorical_crossentropy(np.asarray([[0.25, 0.75]]), np.asarray([[1.0, 0.0]])).round(3)
    array([1.386])
    """
    xp, output, target = pair(floats(output)[1], floats(target)[1])
    if from_logits and not bounded:
        return _cross_entropy_of_logits(output, target)
    if from_logits:
        output = softmax(output)
    return -xp.sum(target * xp.log(_inside(_shares(output), fuzz)), axis=-1)


_ROUNDING = 1e-6


def _to_logits(g: Array, out: Array, logits: Array, target: Array) -> Array:
    """The softmax less the target; a target that adds up to 1 but for its rounding counts as adding up to 1."""
    xp = array_namespace(g)
    total = xp.sum(target, axis=-1, keepdims=True)
    total = xp.where(xp.abs(total - 1.0) < _ROUNDING, 1.0, total)
    return xp.expand_dims(g, axis=-1) * (softmax(logits) * total - target)


@composite(
    gradient=(
        _to_logits,
        lambda g, out, logits, target: -array_namespace(g).expand_dims(g, axis=-1) * log_softmax(logits),
    ),
    arrays=2,
    memory=Memory.OWN,
)
def _cross_entropy_of_logits(logits: Array, target: Array) -> Array:
    return -array_namespace(logits, target).sum(target * log_softmax(logits), axis=-1)


def sparse_categorical_crossentropy(
    output: Array, target: Array, from_logits: bool = False, *, fuzz: float = _FUZZ, bounded: bool = False
) -> Array:
    """Cross-entropy between predicted distributions over classes and the class that is true, along the last axis.

    Parameters
    ----------
    output : array
        Probabilities of shape (..., classes), or logits.
    target : array
        The number of the true class, of shape (...) or (..., 1); floating numbers are rounded towards zero.
    from_logits : bool
        Whether `output` holds logits.
    fuzz : float
        How far probabilities are kept from 0 and 1; then they are divided by their sum.
    bounded : bool
        Whether logits are made probabilities first, and those are divided by their sum before they are bounded.

    Returns
    -------
    array
        Nats, of shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> sparse_categorical_crossentropy(np.asarray([[0.25, 0.75]]), np.asarray([1])).round(3)
    array([0.288])
    """
    xp, output = floats(output)
    output, target = in_one_library((output, as_array(target)))
    xp = array_namespace(output, target)
    if bounded:
        output = softmax(output) if from_logits else _shares(output)
        logarithms = xp.log(_inside(output, fuzz))
    else:
        logarithms = log_softmax(output if from_logits else xp.log(_inside(output, fuzz)))
    classes = xp.astype(xp.reshape(target, (*output.shape[:-1], 1)), running_dtype(xp, "int64"))
    return -xp.squeeze(xp.take_along_axis(logarithms, classes, axis=-1), axis=-1)


def binary_crossentropy(
    output: Array, target: Array, from_logits: bool = False, *, fuzz: float = _FUZZ, bounded: bool = False
) -> Array:
    """Cross-entropy between predicted and true probabilities, element by element.

    Parameters
    ----------
    output : array
        Probabilities, or logits.
    target : array
        The true probabilities.
    from_logits : bool
        Whether `output` holds logits.
    fuzz : float
        How far probabilities are kept from 0 and 1.
    bounded : bool
        Whether logits are made probabilities first.

    Returns
    -------
    array
        Nats.

    Examples
    --------
    >>> import numpy as np
    >>> binary_crossentropy(np.asarray([-1e4, 0.0]), np.asarray([1.0, 1.0]), from_logits=True).round(3).tolist()
    [10000.0, 0.693]
    """
    xp, output, target = pair(floats(output)[1], floats(target)[1])
    if bounded and from_logits:
        output = sigmoid(output)
    if bounded or not from_logits:
        output = _inside(output, fuzz)
        output = xp.log(output / (1.0 - output))
    return tape.softplus(output) - output * target


def _shares(weights: Array) -> Array:
    """What part each is of the sum along the last axis; of nothing but zeros, none."""
    xp = array_namespace(weights)
    total = xp.sum(weights, axis=-1, keepdims=True)
    return weights / xp.where(total == 0.0, 1.0, total)


def _inside(probabilities: Array, fuzz: float) -> Array:
    """Probabilities away from 0 and 1, where logarithms end."""
    return array_namespace(probabilities).clip(probabilities, fuzz, 1.0 - fuzz)


def in_top_k(predictions: Array, targets: Array, k: int) -> Array:
    """Whether the true class is among those predicted best.

    Parameters
    ----------
    predictions : array
        Scores of shape (samples, classes).
    targets : array of int
        The true classes, of shape (samples,).
    k : int
        How many count as the best; all that tie with the last of them do too.

    Returns
    -------
    array of bool
        Of shape (samples,). False where a score is not finite, and for a class that does not exist.

    Raises
    ------
    TypeError
        If `targets` are not integers.
    ValueError
        If `predictions` is no matrix, or `targets` no vector.

    Examples
    --------
    >>> import numpy as np
    >>> in_top_k(np.asarray([[0.1, 0.6, 0.3], [0.1, 0.6, 0.3]]), np.asarray([2, 0]), 2)
    array([ True, False])
    """
    _, predictions = floats(predictions)
    predictions, targets = in_one_library((predictions, as_array(targets)))
    if not is_integer(targets):
        raise TypeError(f"targets must be integers, got {targets.dtype}")
    if predictions.ndim != 2 or targets.ndim != 1:
        raise ValueError(
            f"predictions must be a matrix and targets a vector, got {predictions.ndim} and {targets.ndim} axes"
        )
    xp = array_namespace(predictions, targets)
    classes = xp.arange(predictions.shape[1], dtype=targets.dtype)
    true = xp.expand_dims(targets, axis=1) == classes
    score = xp.sum(xp.where(true, predictions, 0.0), axis=1, keepdims=True)
    better = xp.count_nonzero(predictions > score, axis=1)
    usable = xp.any(true, axis=1) & xp.all(xp.isfinite(predictions), axis=1)
    return usable & (better < operator.index(k))
