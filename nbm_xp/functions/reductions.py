"""Reductions: sums, products, means, variances and standard deviations; cumulative sums and products.

`axis` is None for all axes, a number, or several in a tuple or list; `keepdims` keeps the reduced axes with length 1.
Sums of integers are int64 (of unsigned integers uint64), means ``floatx``, variances float64. The mean of no elements
is nan, their sum 0, their product 1. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/statistical_functions.html.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import dtype_name, dtype_of, floatx, is_complex, running_dtype
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, Axis, axes, floats, numbers

__all__ = ["cumprod", "cumsum", "mean", "prod", "std", "sum", "var"]


def sum(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Sum of the elements.

    Parameters
    ----------
    x : array
        Elements to sum; booleans count as 0 and 1.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        Floating dtypes are kept; integers give int64 or uint64.

    Examples
    --------
    >>> import numpy as np
    >>> sum(np.asarray([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    """
    xp, x = numbers(x)
    return xp.sum(x, axis=axes(axis), keepdims=keepdims)


def prod(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Product of the elements.

    Parameters
    ----------
    x : array
        Elements to multiply.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        Floating dtypes are kept; integers give int64 or uint64. The gradient is correct also where elements are 0.

    Examples
    --------
    >>> import numpy as np
    >>> prod(np.asarray([[1, 2], [3, 4]]), axis=1, keepdims=True)
    array([[ 2],
           [12]])
    """
    xp, x = numbers(x)
    return xp.prod(x, axis=axes(axis), keepdims=keepdims)


def mean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Arithmetic mean of the elements.

    Parameters
    ----------
    x : array
        Elements to average.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        Floating dtypes are kept; integers and booleans give ``floatx``. The mean of no elements is nan.

    Examples
    --------
    >>> import numpy as np
    >>> mean(np.asarray([1, 2, 4, 5])), mean(np.ones((0, 2)), axis=0)
    (np.float32(3.0), array([nan, nan]))
    """
    xp, y = floats(x)
    x = y if y is x else xp.astype(y, dtype_of(xp, floatx()))
    return xp.mean(x, axis=axes(axis), keepdims=keepdims) if xp is recorded else _average(xp, x, axes(axis), keepdims)


def _average(xp: Any, x: Array, axis: Any, keepdims: bool) -> Array:
    """The mean as a quotient: twice as fast as the libraries' own for few elements, with the same digits."""
    if dtype_name(x) == "float16":  # sums in float16 overflow at 65504
        return xp.astype(_average(xp, xp.astype(x, xp.float32), axis, keepdims), x.dtype)
    total = xp.sum(x) if axis is None and not keepdims else xp.sum(x, axis=axis, keepdims=keepdims)
    lengths = x.shape if axis is None else [x.shape[a] for a in (axis if type(axis) is tuple else (axis,))]
    count = math.prod(lengths)
    if count != count:  # unknown
        return xp.mean(x, axis=axis, keepdims=keepdims)
    return total / count if count else total + math.nan


def var(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Variance of the elements: the mean squared deviation from their mean.

    Parameters
    ----------
    x : array
        The elements.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        Floating dtypes are kept; integers give float64, complex numbers the real dtype of their parts, whose variances
        are added. Computed in two passes, so that a large mean loses no digits. The variance of no elements is nan.

    Examples
    --------
    >>> import numpy as np
    >>> var(np.asarray([1.0, 3.0]))
    np.float64(1.0)
    """
    xp, x = _floats_or_float64(x)
    axis = axes(axis)
    if xp is recorded:
        return xp.var(x, axis=axis, keepdims=keepdims)
    deviation = x - _average(xp, x, axis, True)
    if is_complex(x):
        real, imag = xp.real(deviation), xp.imag(deviation)
        return _average(xp, real * real + imag * imag, axis, keepdims)
    return _average(xp, deviation * deviation, axis, keepdims)


def std(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Standard deviation of the elements: the square root of their variance.

    Parameters
    ----------
    x : array
        The elements.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array
        Floating dtypes are kept; integers give float64, complex numbers the real dtype of their parts. Where all
        elements are equal, the gradient is 0.

    Examples
    --------
    >>> import numpy as np
    >>> std(np.asarray([1.0, 5.0]))
    np.float64(2.0)
    """
    xp, x = _floats_or_float64(x)
    return xp.std(x, axis=axes(axis), keepdims=keepdims) if xp is recorded else xp.sqrt(var(x, axis, keepdims))


def _floats_or_float64(x: Array) -> tuple[Any, Array]:
    xp, y = floats(x)
    return xp, y if y is x else xp.astype(y, running_dtype(xp, "float64"), copy=False)


def cumsum(x: Array, axis: int | None = 0) -> Array:
    """Cumulative sums along an axis.

    Parameters
    ----------
    x : array
        Elements to sum.
    axis : int or None
        Axis to accumulate along; None flattens the array first.

    Returns
    -------
    array
        Of the same dtype; integers wrap on overflow. Booleans give int64.

    Examples
    --------
    >>> import numpy as np
    >>> cumsum(np.asarray([[1, 2], [3, 4]]))
    array([[1, 2],
           [4, 6]])
    """
    return _partial("cumulative_sum", x, axis)


def cumprod(x: Array, axis: int | None = 0) -> Array:
    """Cumulative products along an axis.

    Parameters
    ----------
    x : array
        Elements to multiply.
    axis : int or None
        Axis to accumulate along; None flattens the array first.

    Returns
    -------
    array
        Of the same dtype; integers wrap on overflow. Booleans give int64.

    Examples
    --------
    >>> import numpy as np
    >>> cumprod(np.asarray([1, 2, 3, 4]))
    array([ 1,  2,  6, 24])
    """
    return _partial("cumulative_prod", x, axis)


def _partial(name: str, x: Array, axis: int | None) -> Array:
    xp, x = numbers(x)
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    return getattr(xp, name)(x, axis=axis, dtype=x.dtype)
