"""Joining, repeating, tiling and gathering of arrays; one-hot encoding.

Joined arrays are cast to one dtype by NumPy's promotion. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/manipulation_functions.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from nbm_xp.namespace import (
    array_namespace,
    dtype_name,
    dtype_of,
    floatx,
    in_one_library,
    is_integer,
    promote,
    running_dtype,
    scattered,
)
from nbm_xp.tape import composite

from ._arguments import Array, as_array, sizes
from .shaping import cast

__all__ = [
    "concatenate", "gather", "magnitude_counts", "one_hot", "repeat", "repeat_elements", "stack", "sums_at", "take",
    "tile",
]  # fmt: skip

# Dtypes of indices for which JAX needs no 64-bit types.
_IN_INT32 = frozenset({"int8", "int16", "int32", "uint8", "uint16"})


def concatenate(tensors: Sequence[Array], axis: int = -1) -> Array:
    """Join arrays along an axis.

    Parameters
    ----------
    tensors : sequence of arrays
        At least one array; the lengths of all other axes are equal.
    axis : int
        Axis to join.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If there is no array, `axis` is out of range, or the shapes do not match.

    Examples
    --------
    >>> import numpy as np
    >>> concatenate([np.ones((1, 2)), np.zeros((1, 1))])
    array([[1., 1., 0.]])
    """
    arrays = _alike(tensors)
    return array_namespace(*arrays).concat(arrays, axis=axis)


def stack(x: Sequence[Array], axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    x : sequence of arrays
        At least one array.
    axis : int
        Position of the new axis in the result.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If there is no array, or the shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> stack([np.asarray([1, 2]), np.asarray([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    arrays = _alike(x)
    return array_namespace(*arrays).stack(arrays, axis=axis)


def _alike(arrays: Sequence[Array]) -> list[Array]:
    """Convert numbers to arrays, and cast all arrays to one dtype."""
    items = [as_array(item, beside=arrays) for item in arrays]
    if not items:
        raise ValueError("there must be at least one array to join")
    return list(promote(*items))


def repeat_elements(x: Array, rep: int, axis: int | None) -> Array:
    """Repeat each element consecutively.

    Parameters
    ----------
    x : array
        Elements to repeat.
    rep : int
        Number of repetitions of each element.
    axis : int or None
        Axis along which to repeat; None flattens the array first.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> repeat_elements(np.asarray([[1, 2]]), 2, axis=1)
    array([[1, 1, 2, 2]])
    """
    x = as_array(x)
    _check_count("rep", rep)
    if axis is not None and not x.ndim:
        raise ValueError(f"axis {axis} needs an x that has axes")
    return array_namespace(x).repeat(x, rep, axis=axis)


def _check_count(name: str, value: Any) -> None:
    """Check that a count is a non-negative integer; recorded counts are accepted."""
    if isinstance(value, float) or (isinstance(value, int) and value < 0):
        raise (TypeError if isinstance(value, float) else ValueError)(
            f"{name} must be an integer of 0 or more, got {value!r}"
        )


def repeat(x: Array, n: int) -> Array:
    """Repeat the rows of a matrix along a new axis in the middle.

    Parameters
    ----------
    x : array
        Matrix of shape (samples, dim).
    n : int
        Number of repetitions.

    Returns
    -------
    array
        Of shape (samples, n, dim).

    Raises
    ------
    ValueError
        If `x` is not a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> repeat(np.asarray([[1, 2]]), 2)
    array([[[1, 2],
            [1, 2]]])
    """
    x = as_array(x)
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, got an array of {x.ndim} axes")
    _check_count("n", n)
    xp = array_namespace(x)
    return xp.repeat(xp.expand_dims(x, axis=1), n, axis=1)


def tile(x: Array, n: int | Sequence[int]) -> Array:
    """Repeat the whole array along its axes.

    Parameters
    ----------
    x : array
        Array to repeat.
    n : int or sequence of int
        Number of repetitions along each axis, aligned with the last axes; a single number applies to the last axis.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> tile(np.asarray([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x = as_array(x)
    return array_namespace(x).tile(x, sizes(n))


def gather(reference: Array, indices: Array) -> Array:
    """Take elements along the first axis by index.

    Parameters
    ----------
    reference : array
        Array to take elements from.
    indices : array of int
        Indices, in any shape.

    Returns
    -------
    array
        Of shape ``indices.shape + reference.shape[1:]``. Gradients of an element taken several times are added up.

    Raises
    ------
    TypeError
        If `indices` are not integers.
    ValueError
        If `reference` has no axes.

    Examples
    --------
    >>> import numpy as np
    >>> gather(np.asarray([10, 20, 30]), np.asarray([[2, 0], [1, 1]]))
    array([[30, 10],
           [20, 20]])
    """
    reference, indices = in_one_library((as_array(reference, beside=indices), as_array(indices, beside=reference)))
    if not is_integer(indices):
        raise TypeError(f"indices must be integers, got {indices.dtype}")
    if not reference.ndim:
        raise ValueError("reference must have an axis to pick along, got an array without axes")
    xp = array_namespace(reference, indices)
    if indices.ndim == 1:
        return xp.take(reference, indices, axis=0)
    picked = xp.take(reference, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(picked, (*indices.shape, *reference.shape[1:]))


def _picked_again(g: Array, out: Array, values: Array, places: Array, *, length: Any) -> Array:
    xp = array_namespace(g, places)
    return xp.take(g, places, axis=0)


@composite(
    arrays=2,
    infer=lambda values, places, *, length: ((length, *values.shape[1:]), values.dtype),
    gradient=(_picked_again, None),
    may_overlap=False,
)
def sums_at(values: Array, places: Array, *, length: Any) -> Array:
    """Sum rows by index: zeros with ``values[i]`` added at ``[places[i]]``; the gradient of `gather`.

    Parameters
    ----------
    values : array
        Of shape (n, ...).
    places : array of int
        Of shape (n,).
    length : int
        Number of rows of the result.

    Returns
    -------
    array
        Of shape (length, ...).

    Examples
    --------
    >>> import numpy as np
    >>> sums_at(np.asarray([1.0, 2.0, 4.0]), np.asarray([2, 0, 2]), length=3)
    array([2., 0., 5.])
    """
    values, places = in_one_library((values, places))
    xp = array_namespace(values, places)
    return scattered(xp, (length, *values.shape[1:]), places, values)


def take(x: Array, indices: Array, axis: int | None = None) -> Array:
    """Take elements along an axis by index.

    Parameters
    ----------
    x : array
        Array to take elements from.
    indices : array of int
        Indices, which are flattened.
    axis : int or None
        Axis to take elements along; None flattens `x` first.

    Returns
    -------
    array
        With one element along the axis for each index. Gradients of an element taken several times are added up.

    Raises
    ------
    TypeError
        If `indices` are not integers.

    Examples
    --------
    >>> import numpy as np
    >>> take(np.asarray([[1, 2, 3], [4, 5, 6]]), np.asarray([[2, 0]]), axis=1)
    array([[3, 1],
           [6, 4]])
    """
    x, indices = in_one_library((as_array(x, beside=indices), as_array(indices, beside=x)))
    if not is_integer(indices):
        raise TypeError(f"indices must be integers, got {indices.dtype}")
    xp = array_namespace(x, indices)
    places = indices if indices.ndim == 1 else xp.reshape(indices, (-1,))
    return xp.take(x, places, axis=axis) if axis is not None else xp.take(xp.reshape(x, (-1,)), places, axis=0)


def one_hot(indices: Array, num_classes: int, *, out_of_range: Literal["raise", "zeros"] = "raise") -> Array:
    """One-hot encoding: rows of zeros with a one at the index.

    Parameters
    ----------
    indices : array of int
        Index of the one in each row; negative indices count from the last class.
    num_classes : int
        Number of classes, the length of the rows.
    out_of_range : {"raise", "zeros"}
        Treatment of an index that is not a class: an error, if the library checks it, or a row of zeros. With "zeros",
        negative indices also give a row of zeros.

    Returns
    -------
    array
        Of dtype ``floatx``, with a new last axis of length `num_classes`.

    Raises
    ------
    TypeError
        If `indices` are not integers.
    IndexError
        If an index is out of range and the library checks it.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.asarray([0, 2]), 3)
    array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    indices = as_array(indices)
    if not is_integer(indices):
        raise TypeError(f"indices must be integers, got {indices.dtype}")
    xp = array_namespace(indices)
    wide = running_dtype(xp, "int32" if dtype_name(indices) in _IN_INT32 else "int64")
    classes = xp.arange(num_classes, dtype=wide)
    if out_of_range == "zeros":
        labels = xp.expand_dims(xp.astype(indices, wide, copy=False), axis=-1)
        return xp.astype(labels == classes, dtype_of(xp, floatx()))
    places = xp.reshape(xp.astype(indices, wide, copy=False), (-1,))
    labels = xp.reshape(xp.take(classes, places, axis=0), (*indices.shape, 1))
    return xp.astype(labels == classes, dtype_of(xp, floatx()))


def magnitude_counts(x: Array, bins: int, offset: int) -> Array:
    """Histogram of the magnitudes of elements, rounded to powers of two.

    Parameters
    ----------
    x : array
        Elements, in any shape.
    bins : int
        Number of powers of two.
    offset : int
        Exponent of the first power, whose bin also counts all smaller elements, 0 included. The last bin also counts
        the next power; larger elements and nan are not counted.

    Returns
    -------
    array of int32
        Of shape (bins,).

    Examples
    --------
    >>> import numpy as np
    >>> magnitude_counts(np.asarray([0.0, 1.0, -1.1, 2.0, 99.0]), 3, -1).tolist()
    [1, 2, 1]
    """
    x = cast(as_array(x), "float32")
    xp = array_namespace(x)
    magnitude = xp.reshape(xp.abs(x), (-1,))
    power = xp.round(xp.log2(xp.where(magnitude > 0, magnitude, 1.0)))
    place = xp.where(magnitude > 0, xp.maximum(power - offset, xp.zeros_like(power)), 0.0)
    place = xp.where(place == bins, bins - 1.0, place)
    place = xp.astype(xp.where(place < bins, place, float(bins)), running_dtype(xp, "int64"))
    return sums_at(xp.ones_like(place, dtype=xp.int32), place, length=bins + 1)[:bins]
