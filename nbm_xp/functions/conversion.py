"""Elements in another dtype."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, floatx, is_bool, is_floating, is_integer

from ._arguments import Array, as_array

__all__ = ["cast", "cast_to_floatx", "saturate_cast"]


def cast(x: Array, dtype: Any) -> Array:
    """Convert elements to another dtype.

    Parameters
    ----------
    x : array or number
        What to convert.
    dtype : str
        Name of the dtype. Towards integers, fractions are cut off; bool is whether an element is not 0.

    Returns
    -------
    array
        The gradient passes between floating dtypes, and is 0 through any other.

    Raises
    ------
    TypeError
        If there is no such dtype.

    Examples
    --------
    >>> import numpy as np
    >>> cast(np.asarray([-1.5, 2.7]), "int32")
    array([-1,  2], dtype=int32)
    """
    x = as_array(x)
    xp = array_namespace(x)
    return xp.astype(x, dtype_of(xp, dtype), copy=False)


def cast_to_floatx(x: Array) -> Array:
    """Convert an array, number or nested list to the default floating dtype, ``floatx``.

    Parameters
    ----------
    x : array, number or nested list
        What to convert.

    Returns
    -------
    array

    Examples
    --------
    >>> cast_to_floatx([1, 2.5])
    array([1. , 2.5], dtype=float32)
    """
    return cast(x, floatx())


def saturate_cast(x: Array, dtype: Any) -> Array:
    """Convert elements to another dtype; what lies outside the range of an integer dtype becomes its nearest bound.

    A plain cast of such an element is undefined: libraries and processors differ in what it gives.

    Parameters
    ----------
    x : array or number
        What to convert.
    dtype : str
        Name of the dtype.

    Returns
    -------
    array
        Towards integers fractions are cut off, and nan becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> saturate_cast(np.asarray([-20.7, 1.9, 300.0, np.inf, np.nan]), "uint8")
    array([  0,   1, 255, 255,   0], dtype=uint8)
    """
    x = as_array(x)
    xp = array_namespace(x)
    wanted = dtype_of(xp, dtype)
    if x.dtype == wanted or is_bool(x) or not is_integer(wanted):
        return xp.astype(x, wanted, copy=False)
    limits = xp.iinfo(wanted)
    low, high = int(limits.min), int(limits.max)
    if not is_floating(x):
        own = xp.iinfo(x.dtype)
        x = xp.maximum(x, low) if own.min < low else x
        return xp.astype(xp.minimum(x, high) if own.max > high else x, wanted)
    if dtype_name(x) == "float16":  # which has no room for the bounds
        x = xp.astype(x, xp.float32)
    below, above = x <= float(low), x >= float(high + 1)  # powers of two, which any floating dtype holds exactly
    inside = xp.astype(xp.where(below | above | xp.isnan(x), 0.0, x), wanted)
    bounds = xp.full_like(inside, low), xp.full_like(inside, high)
    return xp.where(below, bounds[0], xp.where(above, bounds[1], inside))
