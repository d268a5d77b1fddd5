"""The same elements in another shape or order.

A shape may be a number, a sequence, or an integer vector such as `shape` gives; entries may be unknown lengths of
Tensors. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/manipulation_functions.html.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nbm_xp import tape
from nbm_xp.namespace import array_namespace
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, Shape, as_array, sizes

__all__ = [
    "batch_flatten",
    "expand_dims",
    "flatten",
    "permute_dimensions",
    "reshape",
    "reverse",
    "squeeze",
    "transpose",
]


def reshape(x: Array, shape: Shape) -> Array:
    """Give the elements another shape.

    Parameters
    ----------
    x : array
        The elements, in row-major order.
    shape : int, sequence of int, or integer vector
        The new lengths; one may be -1 and is then what is left.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If the elements do not fill the shape, or more than one length is -1.

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
    """All elements along one axis, in row-major order.

    Parameters
    ----------
    x : array
        The elements.

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
    """All elements of each sample along one axis, in row-major order.

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
    """A new axis of length 1.

    Parameters
    ----------
    x : array
        The array.
    axis : int
        Where the new axis is to be.
    cyclic : bool
        Whether a negative `axis` counts round and round the axes of `x`, each time beginning behind the last, as in
        Keras 1.0 on Theano.

    Returns
    -------
    array

    Raises
    ------
    IndexError
        If there can be no axis there.
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
        The array.
    axis : int or tuple of int
        The axis to remove.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If there is no such axis, or its length is not 1.

    Examples
    --------
    >>> import numpy as np
    >>> squeeze(np.ones((2, 1)), axis=1)
    array([1., 1.])
    """
    x = as_array(x)
    return array_namespace(x).squeeze(x, axis=axis)


def transpose(x: Array) -> Array:
    """All axes in reverse order.

    Parameters
    ----------
    x : array
        The array.

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
    """Axes in another order.

    Parameters
    ----------
    x : array
        The array.
    pattern : sequence of int
        For each axis of the result, which axis of `x` it is.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `pattern` does not name each axis once.

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
    """The elements in reverse order along axes.

    Parameters
    ----------
    x : array
        The elements.
    axes : int or sequence of int
        The axes to turn round.
    ignore_unknown : bool
        Whether axes that `x` does not have, negative ones among them, change nothing. Otherwise negative ones count
        from the last and the others are an error.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has no such axis.

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
    elif not all(-x.ndim <= a < x.ndim for a in chosen):
        raise ValueError(f"axes must be from {-x.ndim} to {x.ndim - 1} for an array of {x.ndim} axes, got {axes}")
    return array_namespace(x).flip(x, axis=tuple({a % x.ndim for a in chosen})) if chosen else x
