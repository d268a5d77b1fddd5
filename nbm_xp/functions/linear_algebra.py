"""Products, diagonals, decompositions and equations of matrices.

Arguments of different dtypes are cast to what NumPy's promotion gives; decompositions make integers floating point.
Source: the array API standard 2024.12, https://data-apis.org/array-api/2024.12/extensions/linear_algebra_functions.html.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, promote

from ._arguments import Array, as_array, differ, floats, is_value, pair

__all__ = ["batch_dot", "diag", "dot", "fill_diagonal", "solve", "svd"]


def dot(x: Array, y: Array) -> Array:
    """Sum of products over the last axis of one array and the last but one of another.

    Parameters
    ----------
    x : array
        A number, vector, matrix or array of more axes.
    y : array
        Likewise; of a vector, its only axis is summed over.

    Returns
    -------
    array
        The matrix product of matrices, the inner product of vectors, the plain product where one has no axes.

    Raises
    ------
    ValueError
        If the lengths of the axes to sum over differ.

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
    """The diagonal of a matrix, or the square matrix with a vector on its diagonal.

    Parameters
    ----------
    x : array
        A matrix (of several, each one's diagonal), or a vector.

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
    """A square matrix with another diagonal.

    Parameters
    ----------
    x : array
        A square matrix.
    val : array or number
        The new diagonal, or one value for all of it.

    Returns
    -------
    array
        A new matrix; `x` is left as it is.

    Raises
    ------
    ValueError
        If `x` is not square, or `val` does not fit.

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
    """The x for which ``a x = b``.

    Parameters
    ----------
    a : array
        A square matrix.
    b : array
        A vector, or a matrix of columns.

    Returns
    -------
    array
        Of the shape of `b`.

    Raises
    ------
    ValueError
        If `a` is not square, `b` does not fit, or (in libraries that check) `a` is singular.

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
        A matrix of shape (m, n).

    Returns
    -------
    tuple of array
        U of shape (m, m), the singular values in descending order, and the transpose of V of shape (n, n), so that
        ``x`` is ``U[:, :k] @ diag(S) @ VT[:k]`` for k singular values. The signs of the vectors are the library's.

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
    """Sum of products over one axis of each of two batches, sample by sample.

    Parameters
    ----------
    x, y : array
        Batches along the first axis, with another axis or more.
    axes : int or pair of int, optional
        Which axis of `x` and which of `y` to sum over. By default the last of `x`, and of `y` the last but one, or the
        last where it is the only one beside the batch's. Of two matrices it may be the first: the other axis is the
        batch's then.

    Returns
    -------
    array
        With the axes of `x` and then those of `y`, less what was summed over and the batch's second occurrence; of
        shape (batch, 1) where that leaves one axis.

    Raises
    ------
    ValueError
        If an array has fewer than two axes, or `axes` names the batch's or none that is there.

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
    if x.ndim == y.ndim == 2:  # the axis that is not summed over is the batch's
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
    """A batch of matrices: the contracted axis last or last but one, all others as one axis."""
    x = xp.moveaxis(x, axis, -1 if contracted == -1 else 1)
    if others == 1:
        return x
    if not others:
        return xp.expand_dims(x, axis=1 if contracted == -1 else 2)
    length = x.shape[contracted] if contracted == -1 else x.shape[1]
    return xp.reshape(x, (x.shape[0], -1, length) if contracted == -1 else (x.shape[0], length, -1))
