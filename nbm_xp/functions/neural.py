"""Sigmoids and logarithms of sums of exponentials without overflow; losses of predicted probabilities or logits.

Value and gradient are defined, without warnings, at any finite element whose differences are finite, at both infinities
and for no elements. Where differentiating the parts would overflow or take many steps, the function has a gradient rule
of its own, made of functions that are stable in turn, so that second derivatives are as accurate. Probabilities are
clipped to the interval from `fuzz` to ``1 - fuzz`` before their logarithm; with ``bounded``, so are those of logits, as
in Keras on Theano, so that no loss exceeds ``-log(fuzz)``. Source of the losses: the Keras 2.0 backend document; the
values are TensorFlow's, and in Keras 1.0 Theano's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, in_one_library, is_integer, running_dtype
from nbm_xp.namespace.exponentials import sigmoid_for, softplus_for
from nbm_xp.namespace.kernels import kernel
from nbm_xp.tape import composite
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, Axis, as_array, axes, floats, of_each, pair, spread
from .activations import log_softmax, softmax
from .control import stop_gradient

__all__ = [
    "binary_crossentropy", "categorical_crossentropy", "in_top_k", "logdiffexp", "logsumexp", "sigmoid", "softplus",
    "sparse_categorical_crossentropy",
]  # fmt: skip


@of_each(floats, lambda xp, dtype: tape.sigmoid if xp is recorded else sigmoid_for(xp, dtype))
def sigmoid(x: Array) -> Array:
    """Logistic sigmoid, ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        From 0 to 1, with a small relative error in the whole range: exactly 0 only where ``exp(x)`` is 0.

    Notes
    -----
    Computed as ``e / (1 + e)`` with ``e = exp(min(x, 40))``: one exponential, no overflow, no branch.
    ``(1 + tanh(x / 2)) / 2`` is slightly faster, but loses all digits to cancellation below -17 in float32, and so do
    the logarithm of the result and the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.asarray([-np.inf, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """


@of_each(floats, lambda xp, dtype: tape.softplus if xp is recorded else softplus_for(xp, dtype))
def softplus(x: Array) -> Array:
    """Smooth rectifier, ``log(1 + exp(x))``.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        0 at -inf, `x` for large `x`; the gradient is `sigmoid`.

    Examples
    --------
    >>> import numpy as np
    >>> softplus(np.asarray([-1e4, 1e4, np.inf]))
    array([    0., 10000.,    inf])
    """


def logsumexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Logarithm of the sum of exponentials, without overflow.

    Parameters
    ----------
    x : array
        Logarithms of what to add up; integers become floating point.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        -inf if all elements are -inf, or there are none; inf if any element is inf. The gradient is the softmax; it is
        shared equally by infinite elements that determine the result.

    Examples
    --------
    >>> import numpy as np
    >>> logsumexp(np.asarray([[1000.0, 1000.0], [-np.inf, -np.inf]]), axis=1)
    array([1000.69314718,          -inf])
    """
    return _logsumexp(floats(x)[1], axis=axes(axis), keepdims=keepdims)


def _softmax_of_sum(g: Array, out: Array, x: Array, *, axis: Axis, keepdims: bool) -> Array:
    xp = array_namespace(g)
    out, g = spread(out, x, axis, keepdims), spread(g, x, axis, keepdims)
    same = x == out  # both may be infinite; their difference is then undefined
    weights = xp.exp(xp.where(same, 0.0, x - xp.where(same, 0.0, out)))
    total = xp.sum(weights, axis=axis, keepdims=True)
    return weights * (g / xp.where(total > 0, total, 1.0))


@composite(gradient=_softmax_of_sum, along_axes=True, name="logsumexp", may_overlap=False)
def _logsumexp(x: Array, *, axis: Axis, keepdims: bool) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return xp.sum(x, axis=axis, keepdims=keepdims) - math.inf
    own = None if keepdims else kernel("exponentials.logsumexp", xp)
    made = None if own is None else own(x, axis)
    if made is not None:
        return made
    largest = xp.max(x, axis=axis, keepdims=True)
    finite = xp.isfinite(largest)
    below = xp.minimum(x - xp.where(finite, largest, 0.0), 0.0)
    total = xp.where(finite, xp.sum(xp.exp(below), axis=axis, keepdims=True), 1.0)
    out = largest + xp.log(total)
    return out if keepdims else xp.squeeze(out, axis=_each(axis, x.ndim))


def _each(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(axis) if isinstance(axis, Sequence) else (axis,)


def logdiffexp(x: Array, axis: int = -1) -> Array:
    """Logarithm of the difference of the exponentials of neighbouring elements, without overflow.

    Parameters
    ----------
    x : array
        Logarithms; integers become floating point.
    axis : int
        Axis of the neighbours; the earlier is subtracted from the later.

    Returns
    -------
    array
        One element shorter along `axis`: -inf for equal neighbours, nan where the earlier is larger, both with a
        gradient of 0.

    Examples
    --------
    >>> import numpy as np
    >>> logdiffexp(np.asarray([1000.0, 1001.0, 1001.0]))
    array([1000.54132485,          -inf])
    """
    xp, x = floats(x)
    head = (slice(None),) * axis_of(axis, x.ndim)
    earlier, later = x[(*head, slice(None, -1))], x[(*head, slice(1, None))]
    same = earlier == later  # both may be infinite; their difference is then undefined
    step = xp.where(same, 0.0, earlier) - xp.where(same, 0.0, later)
    rises = step < 0
    value = later + xp.log(-xp.expm1(xp.where(rises, step, -1.0)))
    other = xp.where(same & (later < math.inf), -math.inf, xp.full_like(later, math.nan))
    return xp.where(rises, value, other)


_FUZZ = 1e-7


def categorical_crossentropy(
    output: Array, target: Array, from_logits: bool = False, *, fuzz: float = _FUZZ, bounded: bool = False
) -> Array:
    """Cross-entropy between predicted and true distributions over classes, along the last axis.

    Parameters
    ----------
    output : array
        Probabilities of shape (..., classes), which are divided by their sum, or logits.
    target : array
        True distributions, of the same shape.
    from_logits : bool
        Whether `output` contains logits.
    fuzz : float
        Smallest distance of clipped probabilities from 0 and 1.
    bounded : bool
        Whether to convert logits to probabilities, which are clipped.

    Returns
    -------
    array
        Losses in nats, of shape (...).

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
    """The softmax minus the target; the sum of a target is set to 1 if it is 1 up to rounding."""
    xp = array_namespace(g)
    total = xp.sum(target, axis=-1, keepdims=True)
    total = total + stop_gradient(xp.where(xp.abs(total - 1.0) < _ROUNDING, 1.0 - total, 0.0))
    return xp.expand_dims(g, axis=-1) * (softmax(logits) * total - target)


@composite(
    gradient=(
        _to_logits,
        lambda g, out, logits, target: -array_namespace(g).expand_dims(g, axis=-1) * log_softmax(logits),
    ),
    arrays=2,
    may_overlap=False,
)
def _cross_entropy_of_logits(logits: Array, target: Array) -> Array:
    return -array_namespace(logits, target).sum(target * log_softmax(logits), axis=-1)


def sparse_categorical_crossentropy(
    output: Array, target: Array, from_logits: bool = False, *, fuzz: float = _FUZZ, bounded: bool = False
) -> Array:
    """Cross-entropy between predicted distributions over classes and the true class, along the last axis.

    Parameters
    ----------
    output : array
        Probabilities of shape (..., classes), or logits.
    target : array
        Number of the true class, of shape (...) or (..., 1); floating-point numbers are rounded towards zero.
    from_logits : bool
        Whether `output` contains logits.
    fuzz : float
        Smallest distance of clipped probabilities from 0 and 1; they are then divided by their sum.
    bounded : bool
        Whether to convert logits to probabilities, and to divide probabilities by their sum before clipping, not after.

    Returns
    -------
    array
        Losses in nats, of shape (...).

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
        Predicted probabilities, or logits.
    target : array
        True probabilities.
    from_logits : bool
        Whether `output` contains logits.
    fuzz : float
        Smallest distance of clipped probabilities from 0 and 1.
    bounded : bool
        Whether to convert logits to probabilities, which are clipped.

    Returns
    -------
    array
        Losses in nats.

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
    """Divide by the sum along the last axis; zeros where the sum is 0."""
    xp = array_namespace(weights)
    total = xp.sum(weights, axis=-1, keepdims=True)
    return weights / xp.where(total == 0.0, 1.0, total)


def _inside(probabilities: Array, fuzz: float) -> Array:
    """Clip probabilities away from 0 and 1, where logarithms are infinite."""
    return array_namespace(probabilities).clip(probabilities, fuzz, 1.0 - fuzz)


def in_top_k(predictions: Array, targets: Array, k: int) -> Array:
    """Whether the true class is among the `k` classes with the highest scores.

    Parameters
    ----------
    predictions : array
        Scores of shape (samples, classes).
    targets : array of int
        True classes, of shape (samples,).
    k : int
        Number of highest scores. All classes that tie with the last of them are included.

    Returns
    -------
    array of bool
        Of shape (samples,). False if a score is not finite, and for classes out of range.

    Raises
    ------
    TypeError
        If `targets` are not integers.
    ValueError
        If `predictions` is not a matrix, or `targets` not a vector.

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
