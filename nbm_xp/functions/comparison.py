"""Comparison of two arrays, element by element: order, equality, maximum and minimum.

Shapes are broadcast, dtypes are promoted as in NumPy, Python numbers are weak. nan is neither equal to, nor larger or
smaller than, any number. Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/elementwise_functions.html.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from nbm_xp.namespace import array_namespace
from nbm_xp.tape import composite
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, as_array, floats, of_pair, pair

__all__ = [
    "Ties", "allclose", "equal", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "not_equal",
]  # fmt: skip

Ties: TypeAlias = Literal["share", "first", "whole"]


def maximum(x: Array, y: Array, *, ties: Ties = "share") -> Array:
    """The larger of two, element by element; nan where either is nan.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.
    ties : {"share", "first", "whole"}
        Gradient where both are equal: half to each argument; all of it to the first, as in TensorFlow; or all of it
        to each, as in Theano.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> maximum(np.asarray([-1.0, 2.0]), 0)
    array([0., 2.])
    """
    return _chosen("maximum", x, y, ties)


def minimum(x: Array, y: Array, *, ties: Ties = "share") -> Array:
    """The smaller of two, element by element; nan where either is nan.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.
    ties : {"share", "first", "whole"}
        Gradient where both are equal: half to each argument; all of it to the first, as in TensorFlow; or all of it
        to each, as in Theano.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> minimum(np.asarray([-1.0, 2.0]), 0)
    array([-1.,  0.])
    """
    return _chosen("minimum", x, y, ties)


def _chosen(name: str, x: Array, y: Array, ties: Ties) -> Array:
    xp, x, y = pair(x, y)
    if xp is recorded and ties == "whole":
        return _chosen_whole(x, y, name=name)
    if xp is recorded and ties == "first":
        first = x >= y if name == "maximum" else x <= y
        return xp.where(first | (x != x), x, y)
    return getattr(xp, name)(x, y)


def _to_first(g: Array, out: Array, x: Array, y: Array, *, name: str) -> Array:
    return array_namespace(g).where(x == out, g, 0.0)


def _to_second(g: Array, out: Array, x: Array, y: Array, *, name: str) -> Array:
    return array_namespace(g).where(y == out, g, 0.0)


@composite(arrays=2, gradient=(_to_first, _to_second), elementwise=True, name="chosen_whole", may_overlap=False)
def _chosen_whole(x: Array, y: Array, *, name: str) -> Array:
    return getattr(array_namespace(x, y), name)(x, y)


@of_pair
def equal(x: Array, y: Array) -> Array:
    """Whether elements are equal; nan equals nothing.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> equal(np.asarray([1, 2]), 2)
    array([False,  True])
    """


@of_pair
def not_equal(x: Array, y: Array) -> Array:
    """Whether elements differ; nan differs from everything.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> not_equal(np.asarray([1, 2]), 2)
    array([ True, False])
    """


@of_pair
def greater(x: Array, y: Array) -> Array:
    """Whether elements of the first array are larger.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> greater(np.asarray([1, 2, 3]), 2)
    array([False, False,  True])
    """


@of_pair
def greater_equal(x: Array, y: Array) -> Array:
    """Whether elements of the first array are larger or equal.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> greater_equal(np.asarray([1, 2, 3]), 2)
    array([False,  True,  True])
    """


@of_pair
def less(x: Array, y: Array) -> Array:
    """Whether elements of the first array are smaller.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> less(np.asarray([1, 2, 3]), 2)
    array([ True, False, False])
    """


@of_pair
def less_equal(x: Array, y: Array) -> Array:
    """Whether elements of the first array are smaller or equal.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> less_equal(np.asarray([1, 2, 3]), 2)
    array([ True,  True, False])
    """


def allclose(x: Array, y: Array, rtol: float = 1e-05, atol: float = 1e-08) -> Array:
    """Whether all elements of two arrays are equal within a tolerance.

    Parameters
    ----------
    x, y : array or number
        Arrays to compare; shapes are broadcast.
    rtol : float
        Tolerance relative to ``|y|``.
    atol : float
        Absolute tolerance, added to ``rtol * |y|``.

    Returns
    -------
    array of bool
        A scalar. Equal infinities are close; nan is close to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> bool(allclose(np.asarray([1.0, np.inf]), np.asarray([1.0 + 1e-9, np.inf])))
    True
    """
    _, x, y = pair(as_array(x), as_array(y))
    (_, x), (_, y) = floats(x), floats(y)
    xp = array_namespace(x, y)
    finite = xp.isfinite(y)
    centre = xp.where(finite, y, 0.0)
    near = xp.abs(x - centre) <= atol + rtol * xp.abs(centre)
    return xp.all(xp.where(finite, near, x == y))
