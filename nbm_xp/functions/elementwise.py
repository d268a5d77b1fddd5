"""Elementwise functions: powers, logarithms, sines, signs and rounding.

The result has the broadcast shape of the arguments. Integers become floating point (float32 for 8 and 16 bits and
booleans, else float64) in functions whose values need not be integers; other functions keep the dtype. Arguments of
different dtypes are promoted as in NumPy; Python numbers are weak. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html.
"""

from __future__ import annotations

from nbm_xp.namespace import array_namespace, is_floating
from nbm_xp.tape import composite
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, floats, numbers, of_each, pair

__all__ = [
    "abs", "cos", "exp", "log", "pow", "round", "round_half_away", "sign", "sin", "sqrt", "sqrt_or_nan", "square",
]  # fmt: skip


@of_each(numbers)
def abs(x: Array) -> Array:
    """Absolute value.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has.

    Returns
    -------
    array
        ``|x|``. Its gradient at 0 is 0.

    Examples
    --------
    >>> import numpy as np
    >>> abs(np.asarray([-1.5, 2.0]))
    array([1.5, 2. ])
    """


@of_each(floats)
def exp(x: Array) -> Array:
    """Exponential.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        e to the power of each element.

    Examples
    --------
    >>> import numpy as np
    >>> exp(np.asarray([0, 1])).dtype
    dtype('float64')
    """


@of_each(floats)
def log(x: Array) -> Array:
    """Natural logarithm: -inf for 0, nan for negative elements.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        Recorded, ``log(1 + exp(x))`` is computed as the stable `softplus`.

    Examples
    --------
    >>> import numpy as np
    >>> log(np.asarray([1.0, np.e]))
    array([0., 1.])
    """


@of_each(floats)
def sin(x: Array) -> Array:
    """Sine of an angle in radians.

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
    >>> sin(np.asarray([0.0, np.pi / 2]))
    array([0., 1.])
    """


@of_each(floats)
def cos(x: Array) -> Array:
    """Cosine of an angle in radians.

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
    >>> cos(np.asarray([0.0, np.pi]))
    array([ 1., -1.])
    """


@of_each(floats, lambda xp, dtype: xp.sqrt)
def sqrt_or_nan(x: Array) -> Array:
    """Square root; nan for negative elements.

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
    >>> sqrt_or_nan(np.asarray([4.0, 0.0]))
    array([2., 0.])
    """


def _root_gradient(g: Array, out: Array, x: Array) -> Array:
    xp = array_namespace(g)
    positive = out > 0
    return xp.where(positive, g * 0.5 / xp.where(positive, out, 1.0), 0.0)


@composite(gradient=_root_gradient, elementwise=True, name="root_of_positive_part", may_overlap=False)
def _root(x: Array) -> Array:
    xp = array_namespace(x)
    return xp.sqrt(xp.maximum(x, 0.0))


@of_each(floats, lambda xp, dtype: _root if xp is recorded else lambda x: xp.sqrt(xp.maximum(x, 0.0)))
def sqrt(x: Array) -> Array:
    """Square root; 0 for negative elements.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        ``sqrt(max(x, 0))``. The gradient is 0 where `x` is 0 or less, so that the gradient of a norm is defined at 0.
        See `sqrt_or_nan` for the array API standard's square root.

    Examples
    --------
    >>> import numpy as np
    >>> sqrt(np.asarray([4.0, 0.0, -1.0]))
    array([2., 0., 0.])
    """


@of_each(numbers)
def square(x: Array) -> Array:
    """Square.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has; integers wrap on overflow.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> square(np.asarray([3, -4]))
    array([ 9, 16])
    """


@of_each(numbers)
def sign(x: Array) -> Array:
    """Sign of each element: -1, 0 or 1; nan for nan.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has.

    Returns
    -------
    array
        Its gradient is 0 everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> sign(np.asarray([-2.5, 0.0, 7.0]))
    array([-1.,  0.,  1.])
    """


@of_each(numbers)
def round(x: Array) -> Array:
    """Round to the nearest integer, ties to even.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has.

    Returns
    -------
    array
        Its gradient is 0 everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> round(np.asarray([0.5, 1.5, 2.5]))
    array([0., 2., 2.])
    """


def round_half_away(x: Array) -> Array:
    """Round to the nearest integer, ties away from 0, as in Theano.

    Parameters
    ----------
    x : array
        Elements of any dtype, which the result has.

    Returns
    -------
    array
        Its gradient is 0 everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> round_half_away(np.asarray([0.5, 1.5, -2.5]))
    array([ 1.,  2., -3.])
    """
    rounded = round(x)
    xp, x = numbers(x)
    if not is_floating(x):
        return rounded
    toward_zero = xp.trunc(x)  # exact, and so is x - toward_zero
    return xp.where(xp.abs(x - toward_zero) == 0.5, toward_zero + xp.sign(x), rounded)


def pow(x: Array, a: Array) -> Array:
    """Power, element by element.

    Parameters
    ----------
    x : array or number
        Base.
    a : array or number
        Exponent.

    Returns
    -------
    array
        ``x ** a``. An integer base with a fractional exponent gives floating point.

    Examples
    --------
    >>> import numpy as np
    >>> pow(np.asarray([1, 2, 3]), 2)
    array([1, 4, 9])
    >>> pow(0.5, np.asarray([1.0, 2.0]))
    array([0.5 , 0.25])
    """
    xp, x, a = pair(x, a)
    return xp.pow(x, a)
