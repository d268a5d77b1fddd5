"""Elementwise arithmetic: the four operations, negation, reciprocals, and powers of two.

Shapes are broadcast; arguments of different dtypes are promoted as in NumPy, and Python numbers are weak. Source: the
array API standard 2024.12, https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html.
Multiplication by a number rounded to a power of two is a shift of bits: the shift-based batch normalization of networks
with binary weights avoids multiplications in this way. Source: M. Courbariaux, I. Hubara, D. Soudry, R. El-Yaniv and
Y. Bengio, "Binarized neural networks", 2016, https://arxiv.org/abs/1602.02830.
"""

from __future__ import annotations

import math

from nbm_xp.namespace import array_namespace, dtype_name
from nbm_xp.tape import sigmoid

from ._arguments import Array, Axis, as_array, floats, numbers, pair
from .reductions import mean

__all__ = [
    "add", "binarize", "divide", "exp2", "isfinite", "log2", "multiply", "negative", "reciprocal", "safe_log", "shift",
    "shifted_var", "sigmoid_to_base_two", "subtract", "tanh_to_base_two",
]  # fmt: skip

_SMALLEST = {"float16": 2.0**-24}
_SMALLEST_ELSE = 1.9287498479639178e-22  # exp(-50)


def add(x: Array, y: Array) -> Array:
    """Sum of two arrays, element by element.

    Parameters
    ----------
    x, y : array or number
        Terms.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> add(np.asarray([1, 2]), 3)
    array([4, 5])
    """
    xp, x, y = pair(x, y)
    return xp.add(x, y)


def subtract(x: Array, y: Array) -> Array:
    """Difference of two arrays, element by element.

    Parameters
    ----------
    x, y : array or number
        Minuend and subtrahend.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> subtract(5, np.asarray([1.0, 2.0]))
    array([4., 3.])
    """
    xp, x, y = pair(x, y)
    return xp.subtract(x, y)


def multiply(x: Array, y: Array) -> Array:
    """Product of two arrays, element by element.

    Parameters
    ----------
    x, y : array or number
        Factors.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> multiply(np.asarray([[1.0], [2.0]]), np.asarray([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    xp, x, y = pair(x, y)
    return xp.multiply(x, y)


def divide(x: Array, y: Array) -> Array:
    """Quotient of two arrays, element by element.

    Parameters
    ----------
    x, y : array or number
        Dividend and divisor. Integers become floating point.

    Returns
    -------
    array
        Division by 0 gives an infinity, or nan for ``0 / 0``.

    Examples
    --------
    >>> import numpy as np
    >>> divide(np.asarray([1, 2]), 2)
    array([0.5, 1. ])
    """
    xp, x, y = pair(x, y)
    x, y = (floats(value)[1] if hasattr(value, "dtype") else value for value in (x, y))
    return xp.divide(x, y)


def negative(x: Array) -> Array:
    """Negative of each element.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has. Booleans become int64.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> negative(np.asarray([1, -2]))
    array([-1,  2])
    """
    xp, x = numbers(x)
    return xp.negative(x)


def reciprocal(x: Array) -> Array:
    """One divided by each element.

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
    >>> reciprocal(np.asarray([2, 4]))
    array([0.5 , 0.25])
    """
    xp, x = floats(x)
    return xp.divide(1.0, x)


def isfinite(x: Array) -> Array:
    """Whether each element is neither infinite nor nan.

    Parameters
    ----------
    x : array
        Elements of any dtype.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> isfinite(np.asarray([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """
    x = as_array(x)
    return array_namespace(x).isfinite(x)


def safe_log(x: Array) -> Array:
    """Natural logarithm, bounded below by -50, so that it is finite wherever `x` is.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        ``log(max(x, exp(-50)))``. In float16, which cannot represent ``exp(-50)``, the bound is its smallest positive
        number, whose logarithm is -16.6. The gradient is 0 below the bound.

    Examples
    --------
    >>> import numpy as np
    >>> safe_log(np.asarray([1.0, 0.0, -3.0]))
    array([  0., -50., -50.])
    """
    xp, x = floats(x)
    return xp.log(xp.maximum(x, _SMALLEST.get(dtype_name(x), _SMALLEST_ELSE)))


_LN2 = math.log(2.0)


def exp2(x: Array) -> Array:
    """2 to the power of each element.

    Parameters
    ----------
    x : array
        Exponents. Integers become floating point.

    Returns
    -------
    array
        Exact for integral exponents.

    Examples
    --------
    >>> import numpy as np
    >>> exp2(np.asarray([-1, 0, 3]))
    array([0.5, 1. , 8. ])
    """
    xp, x = floats(x)
    return xp.pow(2.0, x)


def log2(x: Array) -> Array:
    """Logarithm to base 2: -inf for 0, nan for negative elements.

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
    >>> log2(np.asarray([1, 8]))
    array([0., 3.])
    """
    xp, x = floats(x)
    return xp.log2(x)


def sigmoid_to_base_two(x: Array) -> Array:
    """Sigmoid with base 2 in place of e.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        ``1 / (1 + 2**-x)``, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid_to_base_two(np.asarray([-1.0, 0.0])).round(4)
    array([0.3333, 0.5   ])
    """
    _, x = floats(x)
    return sigmoid(x * _LN2)


def tanh_to_base_two(x: Array) -> Array:
    """Hyperbolic tangent with base 2 in place of e.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        ``(2**(2 x) - 1) / (2**(2 x) + 1)``, without overflow.

    Examples
    --------
    >>> import numpy as np
    >>> tanh_to_base_two(np.asarray([0.0, 1.0, 1000.0]))
    array([0. , 0.6, 1. ])
    """
    xp, x = floats(x)
    return xp.tanh(x * _LN2)


def shift(x: Array, y: Array, *, exponents: bool = False) -> Array:
    """Multiply by powers of two.

    Parameters
    ----------
    x : array or number
        Elements to multiply.
    y : array or number
        Factors: the magnitude of each is rounded to the power of two with the nearest exponent; signs and 0 are kept.
    exponents : bool
        Whether `y` contains the exponents of the factors, which are not rounded.

    Returns
    -------
    array
        Integers become floating point. The gradient with respect to rounded factors is 0.

    Examples
    --------
    >>> import numpy as np
    >>> shift(3.0, np.asarray([2.0, -3.0, 5.0, 0.0]))
    array([  6., -12.,  12.,   0.])
    >>> shift(3.0, np.asarray([2.0, -1.0]), exponents=True)
    array([12. ,  1.5])
    """
    _, x, y = pair(x, y)
    xp, y = floats(y)
    if exponents:
        return x * xp.pow(2.0, y)
    nothing = y == 0
    exponent = xp.round(xp.log2(xp.abs(xp.where(nothing, 1.0, y))))
    return x * (xp.sign(y) * xp.pow(2.0, exponent))


def shifted_var(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Variance in which one factor of each squared deviation is rounded to a power of two.

    Parameters
    ----------
    x : array
        Integers become floating point.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> shifted_var(np.asarray([1.0, 4.0]))
    np.float64(3.0)
    """
    _, x = floats(x)
    deviation = x - mean(x, axis, True)
    return mean(shift(deviation, deviation), axis, keepdims)


def binarize(x: Array, uniforms: Array | None = None) -> Array:
    """Round each element to -1 or 1, deterministically or at random.

    Parameters
    ----------
    x : array
        Integers become floating point.
    uniforms : array, optional
        Random numbers between 0 and 1, of the shape of `x`. If given, the result is 1 with probability ``(x + 1) / 2``,
        clipped to the interval from 0 to 1, so that its mean is `x` where `x` lies between -1 and 1.

    Returns
    -------
    array
        Without `uniforms`, 1 where `x` is 0 or more, else -1. The gradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> binarize(np.asarray([-0.5, 0.0, 2.0]))
    array([-1.,  1.,  1.])
    >>> binarize(np.asarray([-0.5, 0.0, 2.0]), np.asarray([0.2, 0.6, 0.9]))
    array([ 1., -1.,  1.])
    """
    xp, x = floats(x)
    if uniforms is None:
        above = x >= 0
    else:
        xp, x, uniforms = pair(x, uniforms)
        above = uniforms < (x + 1) * 0.5
    return xp.where(above, xp.ones_like(x), -xp.ones_like(x))
