"""Activation functions, element by element or along one axis.

Each has a defined value at any finite element and at both infinities, and a gradient rule of its own where
differentiating the parts would be unstable, slow or wrong at a kink. Integers become floating point, except in `relu`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.namespace.kernels import kernel
from nbm_xp.tape import composite, same_as_first
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, floats, is_value, numbers, of_each
from .comparison import minimum

__all__ = ["elu", "hard_sigmoid", "log_softmax", "relu", "softmax", "softsign", "tanh"]


def relu(
    x: Array,
    alpha: Array | float = 0.0,
    max_value: Array | float | None = None,
    *,
    slope_at_zero: float | Literal["between"] = 0.0,
    limited: Literal["positive", "all"] = "positive",
    floating: bool = False,
) -> Array:
    """Rectified linear unit: `x` where it is positive, `alpha` times `x` where it is negative.

    Parameters
    ----------
    x : array
        Elements of any dtype; integers stay integers if `alpha` is 0 and `max_value` is not a float.
    alpha : float or array
        Slope of the negative part: one number, or one for each element.
    max_value : float or array, optional
        Upper bound of the positive part.
    slope_at_zero : float or "between"
        Gradient at 0. 0 as in TensorFlow; "between" is the mean of both sides, ``(1 + alpha) / 2``, as in Theano.
    limited : {"positive", "all"}
        Whether `max_value` bounds the positive part or, as in Theano, all elements. The two differ only where `alpha`
        or `max_value` is negative.
    floating : bool
        Whether integers always become floating point, as in Theano.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `max_value` is a negative number and `limited` is "positive".

    Examples
    --------
    >>> import numpy as np
    >>> relu(np.asarray([-2.0, 0.0, 3.0, 9.0]), alpha=0.5, max_value=6)
    array([-1.,  0.,  3.,  6.])
    >>> relu(np.asarray([-2.0, -2.0]), alpha=np.asarray([0.5, 1.0]))
    array([-1., -2.])
    """
    if is_value(alpha) or is_value(max_value):
        return _relu_of_arrays(x, alpha, max_value, slope_at_zero)
    if limited == "all" and max_value is not None and min(alpha, max_value) < 0:
        return minimum(relu(x, alpha, slope_at_zero=slope_at_zero, floating=floating), max_value, ties="whole")
    if max_value is not None and max_value < 0:
        raise ValueError(f"max_value must be 0 or more, got {max_value}")
    _, x = numbers(x)
    if alpha or floating or isinstance(max_value, float):
        _, x = floats(x)
    slope = (1.0 + alpha) / 2.0 if slope_at_zero == "between" else slope_at_zero
    return _relu(x, alpha=alpha, max_value=max_value, slope_at_zero=slope)


def _relu_of_arrays(x: Array, alpha: Any, max_value: Any, slope_at_zero: Any) -> Array:
    limit = math.inf if max_value is None else max_value
    x, alpha, limit = promote(floats(x)[1], alpha, limit)
    xp = array_namespace(x, alpha, limit)
    rectified = xp.maximum(x, 0.0) + alpha * xp.minimum(x, 0.0)  # both terms share the gradient at 0
    if slope_at_zero != "between":
        rectified = xp.where(x == 0.0, slope_at_zero * x, rectified)
    return rectified if max_value is None else xp.minimum(rectified, limit)


def _relu_rule(g: Array, out: Array, x: Array, *, alpha: float, max_value: float | None, slope_at_zero: float) -> Array:
    xp = array_namespace(g)
    rises = x > 0 if max_value is None else (x > 0) & (x <= max_value)
    flow = xp.where(rises, g, 0.0)
    if alpha:
        flow = xp.where(x < 0, g * alpha, flow)
    return xp.where(x == 0, g * slope_at_zero, flow) if slope_at_zero else flow


@composite(gradient=_relu_rule, elementwise=True, name="relu", may_overlap=False)
def _relu(x: Array, *, alpha: float, max_value: float | None, slope_at_zero: float) -> Array:
    xp = array_namespace(x)
    rising = xp.maximum(x, 0)
    if max_value is not None:
        rising = xp.minimum(rising, max_value)
    return rising + alpha * xp.minimum(x, 0) if alpha else rising


def elu(x: Array, alpha: float = 1.0) -> Array:
    """Exponential linear unit: `x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Parameters
    ----------
    x : array
        Integers become floating point.
    alpha : float
        The negative part tends to ``-alpha``.

    Returns
    -------
    array

    References
    ----------
    Clevert, Unterthiner, Hochreiter (2016), "Fast and accurate deep network learning by exponential linear units".

    Examples
    --------
    >>> import numpy as np
    >>> elu(np.asarray([-np.inf, 0.0, 2.0]), alpha=0.5)
    array([-0.5,  0. ,  2. ])
    """
    return _elu(floats(x)[1], alpha=alpha)


def _elu_rule(g: Array, out: Array, x: Array, *, alpha: float) -> Array:
    return g * array_namespace(g).where(x > 0, 1.0, out + alpha)


@composite(gradient=_elu_rule, elementwise=True, name="elu", may_overlap=False)
def _elu(x: Array, *, alpha: float) -> Array:
    xp = array_namespace(x)
    return xp.maximum(x, 0.0) + alpha * xp.expm1(xp.minimum(x, 0.0))


def softmax(x: Array, axis: int = -1) -> Array:
    """Softmax: exponentials divided by their sum, without overflow.

    Parameters
    ----------
    x : array
        Logits; integers become floating point.
    axis : int
        Axis along which the result sums to 1.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `axis` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.asarray([[1000.0, 1000.0], [0.0, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    _, x = floats(x)
    return _softmax(x, axis=axis_of(axis, x.ndim))


def _softmax_rule(g: Array, out: Array, x: Array, *, axis: int) -> Array:
    weighted = g * out
    return weighted - out * array_namespace(g).sum(weighted, axis=axis, keepdims=True)


@composite(gradient=_softmax_rule, infer=same_as_first, along_axes=True, name="softmax", may_overlap=False)
def _softmax(x: Array, *, axis: int) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return x
    own = kernel("exponentials.softmax", xp)
    made = None if own is None else own(x, axis)
    if made is not None:
        return made
    weights = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return weights / xp.sum(weights, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int = -1) -> Array:
    """Logarithm of the softmax, accurate where the softmax underflows.

    Parameters
    ----------
    x : array
        Logits; integers become floating point.
    axis : int
        Axis along which the exponentials of the result sum to 1.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `axis` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> log_softmax(np.asarray([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    _, x = floats(x)
    return _log_softmax(x, axis=axis_of(axis, x.ndim))


def _log_softmax_rule(g: Array, out: Array, x: Array, *, axis: int) -> Array:
    xp = array_namespace(g)
    return g - xp.exp(out) * xp.sum(g, axis=axis, keepdims=True)


@composite(gradient=_log_softmax_rule, infer=same_as_first, along_axes=True, name="log_softmax", may_overlap=False)
def _log_softmax(x: Array, *, axis: int) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return x
    own = kernel("exponentials.log_softmax", xp)
    made = None if own is None else own(x, axis)
    if made is not None:
        return made
    below = x - xp.max(x, axis=axis, keepdims=True)
    return below - xp.log(xp.sum(xp.exp(below), axis=axis, keepdims=True))


@composite(
    gradient=lambda g, out, x: g / array_namespace(g).square(1.0 + array_namespace(g).abs(x)),
    elementwise=True,
    name="softsign",
    may_overlap=False,
)
def _softsign(x: Array) -> Array:
    xp = array_namespace(x)
    size = xp.abs(x)
    return xp.where(size < math.inf, x, 0.0) / (1.0 + size) + xp.where(size < math.inf, 0.0, xp.sign(x))


@of_each(floats, lambda xp, dtype: _softsign)
def softsign(x: Array) -> Array:
    """Softsign, ``x / (1 + |x|)``.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        Between -1 and 1; -1 and 1 at the infinities.

    Examples
    --------
    >>> import numpy as np
    >>> softsign(np.asarray([-1.0, 0.0, np.inf]))
    array([-0.5,  0. ,  1. ])
    """


def _hard_sigmoid_rule(g: Array, out: Array, x: Array) -> Array:
    line = 0.2 * x + 0.5
    return array_namespace(g).where((line >= 0.0) & (line <= 1.0), 0.2 * g, 0.0)


@composite(gradient=_hard_sigmoid_rule, elementwise=True, name="hard_sigmoid", may_overlap=False)
def _hard_sigmoid(x: Array) -> Array:
    xp = array_namespace(x)
    return xp.minimum(xp.maximum(0.2 * x + 0.5, 0.0), 1.0)


@of_each(floats, lambda xp, dtype: _hard_sigmoid)
def hard_sigmoid(x: Array) -> Array:
    """Piecewise linear approximation of the sigmoid: ``0.2 x + 0.5``, clipped to the interval from 0 to 1.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> hard_sigmoid(np.asarray([-3.0, 0.0, 1.0, 3.0]))
    array([0. , 0.5, 0.7, 1. ])
    """


@of_each(floats)
def tanh(x: Array) -> Array:
    """Hyperbolic tangent.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> tanh(np.asarray([-np.inf, 0.0]))
    array([-1.,  0.])
    """
