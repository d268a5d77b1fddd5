"""Changes of dtype, shape and order of elements.

A shape may be a number, a sequence, or an integer vector such as `shape` returns; entries may be unknown lengths of
Tensors. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/manipulation_functions.html.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, floatx, is_bool, is_floating, is_integer
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, Shape, as_array, sizes

__all__ = [
    "batch_flatten", "cast", "cast_to_floatx", "expand_dims", "flatten", "permute_dimensions", "reshape", "reverse",
    "saturate_cast", "squeeze", "transpose",
]  # fmt: skip


def cast(x: Array, dtype: Any) -> Array:
    """Convert elements to another dtype.

    Parameters
    ----------
    x : array or number
        Elements to convert.
    dtype : str
        Name of the dtype. Casts to integers truncate towards 0; casts to bool test whether an element is not 0.

    Returns
    -------
    array
        The gradient is passed on between floating dtypes, and is 0 for all others.

    Raises
    ------
    TypeError
        If `dtype` is unknown.

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
        Elements to convert.

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
    """Convert elements to another dtype, clipped to its range if it is an integer dtype.

    The result of `cast` for an element out of range is undefined: it differs between libraries and processors.

    Parameters
    ----------
    x : array or number
        Elements to convert.
    dtype : str
        Name of the dtype.

    Returns
    -------
    array
        Casts to integers truncate towards 0, and nan becomes 0.

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
    if dtype_name(x) == "float16":  # float16 cannot represent the bounds
        x = xp.astype(x, xp.float32)
    below, above = x <= float(low), x >= float(high + 1)  # powers of two, which any floating dtype holds exactly
    inside = xp.astype(xp.where(below | above | xp.isnan(x), 0.0, x), wanted)
    bounds = xp.full_like(inside, low), xp.full_like(inside, high)
    return xp.where(below, bounds[0], xp.where(above, bounds[1], inside))


def reshape(x: Array, shape: Shape) -> Array:
    """Change the shape of an array.

    Parameters
    ----------
    x : array
        Elements, in row-major order.
    shape : int, sequence of int, or integer vector
        New lengths. One may be -1 and is then computed from the number of elements.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If the number of elements does not match the shape, or more than one length is -1.

    Examples
    --------
    >>> import numpy as np
    >>> reshape(np.asarray([1, 2, 3, 4]), (2, -1))
    array([[1, 2],
           [3, 4]])
    """
    x = as_array(x)
    xp = array_namespace(x)
    return xp.reshape(x, shape if type(shape) is tuple and xp is not recorded else sizes(shape))


def flatten(x: Array) -> Array:
    """Flatten an array to one axis, in row-major order.

    Parameters
    ----------
    x : array
        Array.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> flatten(np.asarray([[1, 2], [3, 4]]))
    array([1, 2, 3, 4])
    """
    x = as_array(x)
    return x if x.ndim == 1 else array_namespace(x).reshape(x, (-1,))


def batch_flatten(x: Array) -> Array:
    """Flatten each sample to one axis, in row-major order.

    Parameters
    ----------
    x : array
        Samples along the first axis.

    Returns
    -------
    array
        Of shape (samples, elements).

    Raises
    ------
    ValueError
        If `x` has no axes.

    Examples
    --------
    >>> import numpy as np
    >>> batch_flatten(np.ones((2, 3, 4))).shape
    (2, 12)
    """
    x = as_array(x)
    if not x.ndim:
        raise ValueError("x must have an axis of samples, got an array without axes")
    if x.ndim == 2:
        return x
    lengths = x.node.shape[1:] if tape.is_tensor(x) else x.shape[1:]
    return array_namespace(x).reshape(x, (x.shape[0], math.prod(lengths)))


def expand_dims(x: Array, axis: int = -1, *, cyclic: bool = False) -> Array:
    """Insert a new axis of length 1.

    Parameters
    ----------
    x : array
        Array.
    axis : int
        Position of the new axis.
    cyclic : bool
        Whether a negative `axis` is taken modulo the number of axes of `x`, counting from the end, as in Keras 1.0 on
        Theano.

    Returns
    -------
    array

    Raises
    ------
    IndexError
        If `axis` is out of range.
    TypeError
        If `axis` is None.

    Examples
    --------
    >>> import numpy as np
    >>> expand_dims(np.ones(3)).shape
    (3, 1)
    """
    x = as_array(x)
    if axis is None:
        raise TypeError("axis must be an integer, got None")
    if cyclic and axis < 0:
        axis = axis % x.ndim + 1 if x.ndim else 0
    return array_namespace(x).expand_dims(x, axis=axis)


def squeeze(x: Array, axis: int | tuple[int, ...]) -> Array:
    """Remove an axis of length 1.

    Parameters
    ----------
    x : array
        Array.
    axis : int or tuple of int
        Axis to remove.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `axis` is out of range, or its length is not 1.

    Examples
    --------
    >>> import numpy as np
    >>> squeeze(np.ones((2, 1)), axis=1)
    array([1., 1.])
    """
    x = as_array(x)
    return array_namespace(x).squeeze(x, axis=axis)


def transpose(x: Array) -> Array:
    """Reverse the order of the axes.

    Parameters
    ----------
    x : array
        Array.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> transpose(np.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    x = as_array(x)
    ndim = x.ndim
    if ndim == 2:
        return x.T
    return x if ndim < 2 else array_namespace(x).permute_dims(x, tuple(range(ndim - 1, -1, -1)))


def permute_dimensions(x: Array, pattern: Sequence[int]) -> Array:
    """Permute the axes.

    Parameters
    ----------
    x : array
        Array.
    pattern : sequence of int
        Axis of `x` for each axis of the result.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `pattern` does not contain each axis once.

    Examples
    --------
    >>> import numpy as np
    >>> permute_dimensions(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x, pattern = as_array(x), tuple(pattern)
    if not all(hasattr(a, "__index__") for a in pattern):
        raise TypeError(f"pattern must hold integers, got {pattern}")
    if sorted(a % x.ndim if -x.ndim <= a < x.ndim else a for a in pattern) != list(range(x.ndim)):
        raise ValueError(f"pattern must name each of the {x.ndim} axes once, got {pattern}")
    return array_namespace(x).permute_dims(x, pattern)


def reverse(x: Array, axes: int | Sequence[int], *, ignore_unknown: bool = False) -> Array:
    """Reverse the order of elements along axes.

    Parameters
    ----------
    x : array
        Array.
    axes : int or sequence of int
        Axes to reverse.
    ignore_unknown : bool
        Whether to ignore axes out of range, including all negative ones. Otherwise negative axes count from the last,
        and axes out of range are an error.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If an axis is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> reverse(np.asarray([[1, 2], [3, 4]]), 1)
    array([[2, 1],
           [4, 3]])
    """
    x = as_array(x)
    chosen = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if ignore_unknown:
        chosen = tuple(a for a in chosen if 0 <= a < x.ndim)
    places = {axis_of(a, x.ndim, "axes") for a in chosen}
    return array_namespace(x).flip(x, axis=tuple(places)) if places else x
