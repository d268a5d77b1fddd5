"""The compound operations of neon: products that are scaled, optionally rectified, and added to a previous array.

Each returns ``alpha · product + beta · previous``; if rectified, ``max(0, alpha · product) + beta · previous``.
Source: neon's documentation, https://neon.nervanasys.com/docs/latest/generated/neon.backends.backend.Backend.html.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, in_one_library, is_integer, promote
from nbm_xp.tape.lengths import as_length

from ._arguments import Array, as_array, floats, pair
from .activations import relu as rectified
from .joining import sums_at

__all__ = ["batched_product", "compound_product", "lookup_gradient", "recurrent_input", "scaled", "sums_by_map"]


def scaled(
    x: Array, previous: Array | None = None, alpha: float = 1.0, beta: float = 0.0, *, relu: bool = False
) -> Array:
    """``alpha * x``, optionally rectified, plus ``beta * previous``.

    Parameters
    ----------
    x : array
    previous : array, optional
        Array of the same shape. Ignored if `beta` is 0, even if it contains nan.
    alpha, beta : float
    relu : bool
        Whether to replace negative elements of ``alpha * x`` by 0.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.asarray([1.0, -1.0]), np.asarray([10.0, 10.0]), 2.0, 0.5, relu=True)
    array([7., 5.])
    """
    x = as_array(x)
    if alpha != 1:
        x = _times(x, alpha)
    if relu:
        x = rectified(x)
    if beta == 0:
        return x
    if previous is None:
        raise ValueError(f"previous must be given where beta is not 0, got beta {beta}")
    x, previous = promote(x, previous if beta == 1 else _times(as_array(previous), beta))
    return x + previous


def _times(x: Array, factor: float) -> Array:
    """The product, in floating point if the factor is not an integer."""
    if is_integer(x):
        if factor == int(factor):
            return x * int(factor)
        x = floats(x)[1]
    return x * factor


def compound_product(
    a: Array, b: Array, previous: Array | None = None, alpha: float = 1.0, beta: float = 0.0, *, relu: bool = False
) -> Array:
    """``alpha * a @ b``, optionally rectified, plus ``beta * previous``.

    Parameters
    ----------
    a, b : array
        Matrices, of shapes (rows, inner) and (inner, columns).
    previous, alpha, beta, relu
        See `scaled`.

    Returns
    -------
    array
        Of shape (rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> compound_product(np.asarray([[1.0, 2.0]]), np.asarray([[3.0], [4.0]]), np.asarray([[1.0]]), 2.0, -1.0)
    array([[21.]])
    """
    a, b = promote(as_array(a), as_array(b))
    return scaled(array_namespace(a, b).matmul(a, b), previous, alpha, beta, relu=relu)


def batched_product(
    a: Array, b: Array, previous: Array | None = None, alpha: float = 1.0, beta: float = 0.0, *, relu: bool = False
) -> Array:
    """Products of one matrix with each matrix of a batch, or the sum of the products of pairs of matrices.

    Parameters
    ----------
    a : array
        One matrix, of shape (rows, inner), or a batch, of shape (batch, rows, inner).
    b : array
        Batch of matrices, of shape (batch, inner, columns).
    previous, alpha, beta, relu
        See `scaled`.

    Returns
    -------
    array
        Of shape (batch, rows, columns) where `a` is one matrix; else the sum over the batch, (rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.asarray([[[1.0, 2.0]], [[3.0, 4.0]]]), np.ones((2, 2, 1))
    >>> batched_product(a[0], b).reshape(-1), batched_product(a, b)
    (array([3., 3.]), array([[10.]]))
    """
    a, b = promote(as_array(a), as_array(b))
    xp = array_namespace(a, b)
    if a.ndim == 2:
        return scaled(xp.matmul(a, b), previous, alpha, beta, relu=relu)
    return scaled(xp.tensordot(a, b, axes=((0, 2), (0, 1))), previous, alpha, beta, relu=relu)


def recurrent_input(weights: Array, previous: Array, bias: Array, forward: Array) -> Array:
    """Input of a recurrent layer's activation at one step.

    Parameters
    ----------
    weights : array
        Of shape (units, units).
    previous : array
        Units of the previous step, of shape (units, images).
    bias : array
        Of shape (units, 1).
    forward : array
        Input from the layer below, of shape (units, images).

    Returns
    -------
    array
        ``weights @ previous + forward + bias``.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> recurrent_input(2 * one, 3 * one, 4 * one, 5 * one)
    array([[15.]])
    """
    _, product, bias = pair(compound_product(weights, previous, forward, beta=1.0), bias)
    return product + bias


def sums_by_map(x: Array, maps: int) -> Array:
    """Sums of each feature map over positions and images, in single precision.

    Parameters
    ----------
    x : array
        Of shape (maps · positions, images).
    maps : int
        Number of feature maps.

    Returns
    -------
    array
        Of shape (maps, 1), float32.

    Examples
    --------
    >>> import numpy as np
    >>> sums_by_map(np.arange(8.0).reshape(4, 2), 2)
    array([[ 6.],
           [22.]], dtype=float32)
    """
    x = as_array(x)
    xp = array_namespace(x)
    single = dtype_of(xp, "float32")
    if dtype_name(x) != "float64":  # half precision is too coarse for the sum
        x = xp.astype(x, single, copy=False)
    total: Any = xp.sum(xp.reshape(x, (maps, -1)), axis=1, keepdims=True)
    return xp.astype(total, single, copy=False)


def lookup_gradient(
    previous: Array, indices: Array, errors: Array, alpha: float = 1.0, beta: float = 0.0, *, padding: int | None = None
) -> Array:
    """Gradient of an embedding table: `previous`, updated in the rows that were looked up.

    Parameters
    ----------
    previous : array
        Previous gradient, of shape (rows, units).
    indices : array of int
        Numbers of the rows that were looked up, of shape (1, n).
    errors : array
        Gradients with respect to the looked-up rows, of shape (units, n).
    alpha, beta : float
        Rows that were looked up become `alpha` times the sum of their errors, plus `beta` times `previous`.
    padding : int, optional
        Number of the padding row, which keeps its previous gradient.

    Returns
    -------
    array
        Of the shape of `previous`. Rows that were not looked up, and the `padding` row, are unchanged.

    Raises
    ------
    IndexError
        If an index is out of range and the library checks it.

    Examples
    --------
    >>> import numpy as np
    >>> indices, errors = np.asarray([[2, 0, 2]]), np.asarray([[1.0, 2.0, 4.0]])
    >>> lookup_gradient(np.full((3, 1), 9.0), indices, errors).reshape(-1)
    array([2., 9., 5.])
    """
    previous, errors, indices = in_one_library(tuple(map(as_array, (previous, errors, indices))))
    previous, errors = promote(previous, errors)
    xp = array_namespace(previous, indices, errors)
    rows, places = as_length(previous.shape[0]), xp.reshape(indices, (-1,))
    looked_up = sums_at(xp.ones_like(errors[0, :]), places, length=rows) > 0
    if padding is not None:
        looked_up = looked_up & (xp.arange(rows) != padding)
    found = scaled(sums_at(xp.permute_dims(errors, (1, 0)), places, length=rows), previous, alpha, beta)
    return xp.where(xp.expand_dims(looked_up, axis=1), found, previous)
