"""Logistic functions, products with logarithms, and logarithms of sums of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from nbm_xp.functions import activations, neural
from nbm_xp.functions._arguments import floats, promoted_pair
from nbm_xp.functions.control import stop_gradient
from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.special import special_of

__all__ = [
    "entr", "expit", "kl_div", "log_expit", "log_softmax", "logit", "logsumexp", "rel_entr", "softmax", "xlog1py",
    "xlogy",
]  # fmt: skip

Array: TypeAlias = Any


def expit(x: Array, /) -> Array:
    """The logistic function, ``1 / (1 + exp(-x))``, accurate in both tails.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> expit(np.asarray([-1.0, 0.0, 1.0])).round(6)
    array([0.268941, 0.5     , 0.731059])
    """
    return special_of(x).expit(x)


def log_expit(x: Array, /) -> Array:
    """The logarithm of the logistic function, without overflow.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        At most 0.

    Examples
    --------
    >>> import numpy as np
    >>> log_expit(np.asarray([-1000.0, 0.0, 5.0])).round(6)
    array([-1.00000e+03, -6.93147e-01, -6.71500e-03])
    """
    return special_of(x).log_expit(x)


def logit(p: Array, /) -> Array:
    """The logarithm of the odds, ``log(p / (1 - p))``, the inverse of `expit`.

    Parameters
    ----------
    p : array
        Probabilities.

    Returns
    -------
    array
        Minus infinity at 0, infinity at 1, NaN outside.

    Examples
    --------
    >>> import numpy as np
    >>> logit(np.asarray([0.1, 0.5, 0.9])).round(6)
    array([-2.197225,  0.      ,  2.197225])
    """
    return special_of(p).logit(p)


def xlogy(x: Array, y: Array, /) -> Array:
    """The product ``x log(y)``, 0 where `x` is 0.

    Parameters
    ----------
    x : array
        Factor.
    y : array
        Argument of the logarithm.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> xlogy(np.asarray([0.0, 2.0]), np.asarray([0.0, 3.0])).round(6)
    array([0.      , 2.197225])
    """
    return special_of(x, y).xlogy(x, y)


def xlog1py(x: Array, y: Array, /) -> Array:
    """The product ``x log(1 + y)``, 0 where `x` is 0, accurate for small `y`.

    Parameters
    ----------
    x : array
        Factor.
    y : array
        Argument of ``log(1 + y)``.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> xlog1py(np.asarray([0.0, 2.0]), np.asarray([-1.0, 1e-20]))
    array([0.e+00, 2.e-20])
    """
    return special_of(x, y).xlog1py(x, y)


def entr(x: Array, /) -> Array:
    """The entropy of one probability, ``-x log(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        0 at 0; minus infinity for negative `x`.

    Examples
    --------
    >>> import numpy as np
    >>> entr(np.asarray([0.0, 0.5, 1.0])).round(6)
    array([ 0.      ,  0.346574, -0.      ])
    """
    return special_of(x).entr(x)


def rel_entr(x: Array, y: Array, /) -> Array:
    """The relative entropy of two probabilities, ``x log(x / y)``.

    Parameters
    ----------
    x : array
        Probabilities, or other non-negative numbers.
    y : array
        Reference probabilities, or other non-negative numbers.

    Returns
    -------
    array
        0 where `x` is 0; infinite outside the domain.

    Examples
    --------
    >>> import numpy as np
    >>> rel_entr(np.asarray([0.0, 0.5, 0.5]), np.asarray([0.5, 0.25, 0.0])).round(6)
    array([0.      , 0.346574,      inf])
    """
    return special_of(x, y).rel_entr(x, y)


def kl_div(x: Array, y: Array, /) -> Array:
    """The terms of the Kullback-Leibler divergence, ``x log(x / y) - x + y``; each is 0 or more.

    Parameters
    ----------
    x : array
        Probabilities, or other non-negative numbers.
    y : array
        Reference probabilities, or other non-negative numbers.

    Returns
    -------
    array
        `y` where `x` is 0; infinite outside the domain.

    Examples
    --------
    >>> import numpy as np
    >>> kl_div(np.asarray([0.0, 0.5, 0.5]), np.asarray([0.5, 0.25, 0.5])).round(6)
    array([0.5     , 0.096574, 0.      ])
    """
    return special_of(x, y).kl_div(x, y)


Axis: TypeAlias = int | Sequence[int] | None


def logsumexp(
    a: Array, axis: Axis = None, b: Array | None = None, keepdims: bool = False, return_sign: bool = False
) -> Array:
    """The logarithm of a sum of exponentials, optionally weighted.

    Parameters
    ----------
    a : array
        Logarithms of the terms; integers become floating point.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    b : array, optional
        Weights of the exponentials, which broadcast against `a`; may be negative.
    keepdims : bool
        Whether to keep reduced axes, with length 1.
    return_sign : bool
        Whether to return the logarithm of the sum's absolute value and the sum's sign.

    Returns
    -------
    array, or pair of arrays
        Minus infinity where the sum is 0. Without `return_sign`, NaN where the sum is negative.

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
    a, b = (floats(x)[1] for x in promoted_pair(a, b))
    axes = tuple(axis) if isinstance(axis, Sequence) else axis
    counted = b != 0
    largest = xp.max(xp.where(counted, a, -xp.inf), axis=axes, keepdims=True)
    offset = xp.where(xp.isfinite(largest), largest, 0.0)
    below = xp.where(counted, a, xp.minimum(a, offset + 80.0)) - offset  # terms of weight 0 must not overflow
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
        Axes along which the results sum to 1. Defaults to all axes together.

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
    """The logarithm of `softmax`, accurate where `softmax` underflows.

    Parameters
    ----------
    x : array
        Logits; integers become floating point.
    axis : int or sequence of int, optional
        Axes along which the exponentials of the results sum to 1. Defaults to all axes together.

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
    largest = stop_gradient(xp.max(x, axis=axes, keepdims=True))  # first, or the difference would cancel
    below = x - xp.where(xp.isfinite(largest), largest, 0.0)
    return below - neural.logsumexp(below, axis=axes, keepdims=True)
