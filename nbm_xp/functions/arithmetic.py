"""The four operations and what is closest to them, element by element.

Shapes are broadcast; arguments of different dtypes are cast to what NumPy's promotion gives, and Python numbers are
weak. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html.
"""

from __future__ import annotations

from nbm_xp.namespace import array_namespace, dtype_name

from ._arguments import Array, as_array, floats, numbers, pair

__all__ = ["add", "divide", "isfinite", "multiply", "negative", "reciprocal", "safe_log", "subtract"]

_SMALLEST = {"float16": 2.0**-24}
_SMALLEST_ELSE = 1.9287498479639178e-22  # exp(-50)


def add(x: Array, y: Array) -> Array:
    """Sum of two.

    Parameters
    ----------
    x, y : array or number
        The terms.

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
    """Difference of two.

    Parameters
    ----------
    x, y : array or number
        What is subtracted from, and what is.

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
    """Product of two.

    Parameters
    ----------
    x, y : array or number
        The factors.

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
    """Quotient of two.

    Parameters
    ----------
    x, y : array or number
        Dividend and divisor. Integers become floating point.

    Returns
    -------
    array
        By 0: infinite, or nan of 0.

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
    """The same numbers with the other sign.

    Parameters
    ----------
    x : array
        Elements of any dtype; the result has the same. Truth values become int64.

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
    """Where elements are neither infinite nor nan.

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
    """Natural logarithm that is finite wherever `x` is: at least -50.

    Parameters
    ----------
    x : array
        Integers become floating point.

    Returns
    -------
    array
        ``log(max(x, exp(-50)))``. In float16, which has no number that small, the bound is its smallest one, whose
        logarithm is -16.6. The gradient is 0 below the bound.

    Examples
    --------
    >>> import numpy as np
    >>> safe_log(np.asarray([1.0, 0.0, -3.0]))
    array([  0., -50., -50.])
    """
    xp, x = floats(x)
    return xp.log(xp.maximum(x, _SMALLEST.get(dtype_name(x), _SMALLEST_ELSE)))
