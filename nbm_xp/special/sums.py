"""Logarithms of sums of exponentials, and the shares of the terms, without computing what overflows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from nbm_xp.functions import activations, neural
from nbm_xp.functions._arguments import alike, floats
from nbm_xp.functions.control import stop_gradient
from nbm_xp.namespace import array_namespace

__all__ = ["log_softmax", "logsumexp", "softmax"]

Array: TypeAlias = Any
Axis: TypeAlias = int | Sequence[int] | None


def logsumexp(
    a: Array, axis: Axis = None, b: Array | None = None, keepdims: bool = False, return_sign: bool = False
) -> Array:
    """The logarithm of a sum of exponentials, weighted or not.

    Parameters
    ----------
    a : array
        Logarithms of what to add up; integers become floating point.
    axis : int or sequence of int, optional
        The axes to reduce, by default all.
    b : array, optional
        What each exponential is multiplied by, of a shape that broadcasts against that of `a`; may be negative.
    keepdims : bool
        Whether reduced axes stay, with length 1.
    return_sign : bool
        Whether to give the sign of the sum, too, and the logarithm of its size.

    Returns
    -------
    array, or pair of arrays
        Minus infinity for nothing but terms of 0. Without `return_sign`, NaN where the sum is negative.

    Examples
    --------
    >>> import numpy as np
    >>> logsumexp(np.asarray([1000.0, 1000.0]), b=np.asarray([1.0, 0.5])).round(6)
    np.float64(1000.405465)
    >>> value, sign = logsumexp(np.asarray([1.0, 2.0]), b=np.asarray([1.0, -1.0]), return_sign=True)
    >>> float(value.round(6)), float(sign)
    (1.541325, -1.0)
    """
    if b is None:
        value = neural.logsumexp(a, axis=axis, keepdims=keepdims)
        return (value, array_namespace(value).ones_like(value)) if return_sign else value
    xp = array_namespace(a, b)
    a, b = (floats(x)[1] for x in alike(a, b))
    axes = tuple(axis) if isinstance(axis, Sequence) else axis
    counted = b != 0
    largest = xp.max(xp.where(counted, a, -xp.inf), axis=axes, keepdims=True)
    offset = xp.where(xp.isfinite(largest), largest, 0.0)
    below = xp.where(counted, a, xp.minimum(a, offset + 80.0)) - offset  # what counts for nothing must not overflow
    total = xp.sum(b * xp.exp(below), axis=axes, keepdims=True)
    none = total == 0
    size = xp.log(xp.where(none, 1.0, xp.abs(total))) + offset
    value = xp.where(none, -xp.inf, size)
    sign = xp.sign(total)
    if not return_sign:
        value = xp.where(sign < 0, xp.nan, value)
    if not keepdims:
        gone = tuple(range(value.ndim)) if axes is None else axes
        value, sign = xp.squeeze(value, axis=gone), xp.squeeze(sign, axis=gone)
    return (value, sign) if return_sign else value


def softmax(x: Array, axis: Axis = None) -> Array:
    """Exponentials divided by their sum.

    Parameters
    ----------
    x : array
        Logits; integers become floating point.
    axis : int or sequence of int, optional
        Along which the results sum to 1, by default all axes together.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.asarray([[1000.0, 1000.0], [1000.0, -np.inf]])).round(6)
    array([[0.333333, 0.333333],
           [0.333333, 0.      ]])
    """
    if isinstance(axis, int):
        return activations.softmax(x, axis=axis)
    value = log_softmax(x, axis)
    return array_namespace(value).exp(value)


def log_softmax(x: Array, axis: Axis = None) -> Array:
    """The logarithm of `softmax`, exact where that itself would vanish.

    Parameters
    ----------
    x : array
        Logits; integers become floating point.
    axis : int or sequence of int, optional
        Along which the exponentials of the results sum to 1, by default all axes together.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> log_softmax(np.asarray([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    if isinstance(axis, int):
        return activations.log_softmax(x, axis=axis)
    _, x = floats(x)
    if 0 in x.shape:
        return x
    xp = array_namespace(x)
    axes = tuple(axis) if isinstance(axis, Sequence) else None
    largest = stop_gradient(xp.max(x, axis=axes, keepdims=True))  # taken off first, or the difference would cancel
    below = x - xp.where(xp.isfinite(largest), largest, 0.0)
    return below - neural.logsumexp(below, axis=axes, keepdims=True)
