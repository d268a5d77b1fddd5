"""Elements in another dtype."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_of, floatx

from ._arguments import Array, as_array

__all__ = ["cast", "cast_to_floatx"]


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
