"""Matrix products, diagonals, linear equations and decompositions.

Arguments of different dtypes are promoted as in NumPy; decompositions convert integers to floating point.
Source: the array API standard 2024.12, https://data-apis.org/array-api/2024.12/extensions/linear_algebra_functions.html.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, promote

from ._arguments import Array, as_array, differ, floats, is_value, pair

__all__ = ["batch_dot", "diag", "dot", "fill_diagonal", "solve", "svd"]


def dot(x: Array, y: Array) -> Array:
    """Sum of products over the last axis of `x` and the second to last of `y`.

    Parameters
    ----------
    x : array
        Number, vector, matrix or array with more axes.
    y : array
        Likewise; a vector is summed over its only axis.

    Returns
    -------
    array
        The matrix product of matrices, the inner product of vectors, the ordinary product if one is a scalar.

    Raises
    ------
    ValueError
        If the lengths of the summed axes differ.

    Examples
    --------
    >>> import numpy as np
    >>> dot(np.asarray([[1, 2], [3, 4]]), np.asarray([1, 1]))
    array([3, 7])
    """
    xp, x, y = pair(x, y)
    rows, columns = getattr(x, "ndim", 0), getattr(y, "ndim", 0)
    if not rows or not columns:
        return xp.multiply(x, y)
    if columns < 3 or rows == 1:
        return xp.matmul(x, y)
    return xp.tensordot(x, y, axes=((rows - 1,), (columns - 2,)))


def diag(x: Array) -> Array:
    """Extract the diagonal of a matrix, or construct a diagonal matrix from a vector.

    Parameters
    ----------
    x : array
        Matrix, stack of matrices (the diagonal of each is extracted), or vector.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `x` has no axes.

    Examples
    --------
    >>> import numpy as np
    >>> diag(np.asarray([[1, 2], [3, 4]])), diag(np.asarray([5, 6]))
    (array([1, 4]), array([[5, 0],
           [0, 6]]))
    """
    x = as_array(x)
    if not x.ndim:
        raise ValueError("x must be a vector or a matrix, got an array without axes")
    xp = array_namespace(x)
    if x.ndim > 1:
        return xp.linalg.diagonal(x)
    return xp.where(_on_diagonal(xp, x.shape[0]), x, xp.zeros_like(x))


def _on_diagonal(xp: Array, length: int) -> Array:
    """True on the diagonal of a square matrix."""
    place = xp.arange(length)
    return xp.expand_dims(place, axis=1) == place


def fill_diagonal(x: Array, val: Array) -> Array:
    """Return a square matrix with its diagonal replaced.

    Parameters
    ----------
    x : array
        Square matrix.
    val : array or number
        New diagonal, or one value for all of it.

    Returns
    -------
    array
        A new matrix; `x` is not changed.

    Raises
    ------
    ValueError
        If `x` is not square, or `val` has another length.

    Examples
    --------
    >>> import numpy as np
    >>> fill_diagonal(np.ones((2, 2)), np.asarray([5.0, 6.0]))
    array([[5., 1.],
           [1., 6.]])
    """
    x = as_array(x)
    if x.ndim != 2 or differ(*x.shape):
        raise ValueError(f"x must be a square matrix, got shape {tuple(x.shape)}")
    lengths = tuple(val.shape) if is_value(val) else ()
    if len(lengths) > 1 or any(differ(length, 1) and differ(length, x.shape[0]) for length in lengths):
        raise ValueError(f"val must be one value or {x.shape[0]} of them, got shape {lengths}")
    x, val = promote(x, val)
    xp = array_namespace(x, val)
    return xp.where(_on_diagonal(xp, x.shape[0]), val, x)


def solve(a: Array, b: Array) -> Array:
    """Solve the linear equations ``a x = b`` for x.

    Parameters
    ----------
    a : array
        Square matrix.
    b : array
        Vector, or matrix of column vectors.

    Returns
    -------
    array
        Of the shape of `b`.

    Raises
    ------
    ValueError
        If `a` is not square, the shape of `b` does not match, or (in libraries that check) `a` is singular.

    Examples
    --------
    >>> import numpy as np
    >>> solve(np.asarray([[2.0, 0.0], [0.0, 4.0]]), np.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    _, a, b = pair(as_array(a), as_array(b))
    _, a = floats(a)
    _, b = floats(b)
    if a.ndim < 2 or differ(*a.shape[-2:]):
        raise ValueError(f"a must be a square matrix, got shape {tuple(a.shape)}")
    if not b.ndim or differ(b.shape[-1 if b.ndim == 1 else -2], a.shape[-1]):
        raise ValueError(f"b must have {a.shape[-1]} rows as a has, got shape {tuple(b.shape)}")
    return array_namespace(a, b).linalg.solve(a, b)


def svd(x: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition of a matrix.

    Parameters
    ----------
    x : array
        Matrix of shape (m, n).

    Returns
    -------
    tuple of array
        U of shape (m, m), the singular values in descending order, and the transpose of V of shape (n, n), so that
        ``x`` is ``U[:, :k] @ diag(S) @ VT[:k]`` for k singular values. The signs of the vectors depend on the library.

    Raises
    ------
    ValueError
        If `x` is no matrix.

    Examples
    --------
    >>> import numpy as np
    >>> u, s, vt = svd(np.asarray([[0.0, 2.0], [1.0, 0.0]]))
    >>> s
    array([2., 1.])
    """
    xp, x = floats(x)
    if x.ndim != 2:
        raise ValueError(f"x must be a matrix, got an array of {x.ndim} axes")
    u, s, vt = xp.linalg.svd(x, full_matrices=True)
    return u, s, vt


def batch_dot(x: Array, y: Array, axes: Any = None) -> Array:
    """Sum of products over one axis of each of two batches, for each sample.

    Parameters
    ----------
    x, y : array
        Batches of samples along the first axis, with at least one more axis.
    axes : int or pair of int, optional
        Axes of `x` and `y` to sum over. Defaults to the last axis of `x` and the second to last of `y`, or the last of
        `y` if it has two axes. Of two matrices it may be the first axis: the other axis is then the batch axis.

    Returns
    -------
    array
        With the axes of `x`, followed by the axes of `y`, without the summed axes and the batch axis of `y`; of shape
        (batch, 1) if only one axis would remain.

    Raises
    ------
    ValueError
        If an array has fewer than two axes, or `axes` contains the batch axis or an axis out of range.

    Examples
    --------
    >>> import numpy as np
    >>> batch_dot(np.asarray([[1, 2], [3, 4]]), np.asarray([[5, 6], [7, 8]]), axes=1)
    array([[17],
           [53]])
    """
    xp, x, y = pair(as_array(x), as_array(y))
    if x.ndim < 2 or y.ndim < 2:
        raise ValueError(f"x and y must have two axes or more, got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    if axes is None:
        axes = (x.ndim - 1, max(1, y.ndim - 2))
    pairs = tuple(axes) if isinstance(axes, (tuple, list)) else (axes, axes)
    if len(pairs) != 2 or not all(hasattr(place, "__index__") for place in pairs):
        raise ValueError(f"axes must be an int or a pair of them, got {axes!r}")
    places = [place + array.ndim if place < 0 else place for place, array in zip(pairs, (x, y), strict=True)]
    if x.ndim == y.ndim == 2:  # the axis that is not summed over is the batch axis
        x, y = (xp.matrix_transpose(a) if place == 0 else a for a, place in zip((x, y), places, strict=True))
        places = [place or 1 for place in places]
    if not (0 < places[0] < x.ndim and 0 < places[1] < y.ndim):
        raise ValueError(
            f"axes must name an axis after the first of each array, or any of two matrices, got {axes!r} for {x.ndim} "
            f"and {y.ndim} axes"
        )
    for axis, other, what in ((0, 0, "samples"), (*places, "elements to sum over")):
        a, b = x.shape[axis], y.shape[other]
        if differ(a, b) and (axis or 1 not in (a, b)):
            raise ValueError(f"x and y must have as many {what}, got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    left = [length for axis, length in enumerate(x.shape) if axis not in (0, places[0])]
    right = [length for axis, length in enumerate(y.shape) if axis not in (0, places[1])]
    rows = _as_matrices(xp, x, places[0], len(left), contracted=-1)
    columns = _as_matrices(xp, y, places[1], len(right), contracted=-2)
    product = xp.matmul(rows, columns)
    if len(left) == 1 and len(right) == 1:
        return product
    shape = (product.shape[0], *left, *right)
    return xp.reshape(product, shape if len(shape) > 1 else (product.shape[0], 1))


def _as_matrices(xp: Any, x: Array, axis: int, others: int, *, contracted: int) -> Array:
    """Reshape a batch to matrices, with the summed axis last or second to last, and all other axes as one."""
    x = xp.moveaxis(x, axis, -1 if contracted == -1 else 1)
    if others == 1:
        return x
    if not others:
        return xp.expand_dims(x, axis=1 if contracted == -1 else 2)
    length = x.shape[contracted] if contracted == -1 else x.shape[1]
    return xp.reshape(x, (x.shape[0], -1, length) if contracted == -1 else (x.shape[0], length, -1))
