"""Clipping; maxima, minima and their indices; whether any or all elements are true.

`axis` is None for all axes, a number, or several in a tuple or list; `keepdims` keeps the reduced axes with length 1.
Dtypes are kept. The parameter `ties` selects the gradient of equal elements: equal shares, or, as in Theano, all of it
to each. Sources: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/statistical_functions.html and
https://data-apis.org/array-api/2024.12/API_specification/generated/array_api.clip.html.
"""

from __future__ import annotations

import operator
from typing import Any, Literal, TypeAlias

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.tape import composite, is_tensor, stop_gradient
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, Axis, as_array, axes, floats, is_truth, is_value, numbers, spread

__all__ = ["Ties", "all", "any", "argmax", "argmin", "clip", "max", "min"]


def clip(x: Array, min_value: Array, max_value: Array, *, crossed: Literal["min", "max"] = "min") -> Array:
    """Limit elements to an interval.

    Parameters
    ----------
    x : array
        Elements to clip.
    min_value, max_value : number or array or None
        Bounds of the interval, included. None is an infinite bound, with which integers become floating point.
    crossed : {"min", "max"}
        Bound that the result takes where `max_value` is below `min_value`.

    Returns
    -------
    array
        The gradient is passed on inside the interval and at its bounds, and is 0 outside.

    Examples
    --------
    >>> import numpy as np
    >>> clip(np.asarray([-2.0, 0.5, 9.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    if min_value is None or max_value is None:
        x = floats(x)[1]
    x, low, high = promote(as_array(x), min_value, max_value)
    xp = array_namespace(x, low, high)
    if low is not None and high is not None:
        if not (is_value(low) or is_value(high)):
            if high < low:
                low = high = low if crossed == "min" else high
        elif crossed == "min":
            high = _giving_way(xp, high < low, low, high)
        else:
            low = _giving_way(xp, high < low, high, low)
    if xp is recorded:
        return xp.clip(x, low, high)
    if low is not None:
        x = xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


def _giving_way(xp: Any, crossed: Array, wins: Array, gives_way: Array) -> Array:
    """A bound replaced by the other bound where they are crossed, without a gradient there."""
    return xp.where(crossed, stop_gradient(wins) if is_tensor(wins) else wins, gives_way)


Ties: TypeAlias = Literal["share", "whole"]


def max(x: Array, axis: Axis = None, keepdims: bool = False, *, ties: Ties = "share") -> Array:
    """Maximum of the elements; nan if any is nan.

    Parameters
    ----------
    x : array
        Array with at least one element along the axes to reduce.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.
    ties : {"share", "whole"}
        Gradient where several elements are the maximum: shared equally among them, or all of it to each.

    Returns
    -------
    array
        The dtype is kept.

    Examples
    --------
    >>> import numpy as np
    >>> max(np.asarray([[1, 5], [7, 2]]), axis=1)
    array([5, 7])
    """
    return _extreme("max", x, axis, keepdims, ties)


def min(x: Array, axis: Axis = None, keepdims: bool = False, *, ties: Ties = "share") -> Array:
    """Minimum of the elements; nan if any is nan.

    Parameters
    ----------
    x : array
        Array with at least one element along the axes to reduce.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.
    ties : {"share", "whole"}
        Gradient where several elements are the minimum: shared equally among them, or all of it to each.

    Returns
    -------
    array
        The dtype is kept.

    Examples
    --------
    >>> import numpy as np
    >>> min(np.asarray([[1, 5], [7, 2]]), axis=1)
    array([1, 2])
    """
    return _extreme("min", x, axis, keepdims, ties)


def _extreme(name: str, x: Array, axis: Axis, keepdims: bool, ties: Ties) -> Array:
    xp, y = numbers(x)
    if xp is recorded and ties == "whole":
        found = _extreme_whole(y, name=name, axis=axes(axis), keepdims=keepdims)
    else:
        found = getattr(xp, name)(y, axis=axes(axis), keepdims=keepdims)
    return xp.astype(found, xp.bool) if y is not x and is_truth(x) else found


def _to_every_tie(g: Array, out: Array, x: Array, *, name: str, axis: Axis, keepdims: bool) -> Array:
    xp = array_namespace(g)
    return xp.where(x == spread(out, x, axis, keepdims), spread(g, x, axis, keepdims), 0.0)


@composite(gradient=_to_every_tie, name="extreme_whole", may_overlap=False)
def _extreme_whole(x: Array, *, name: str, axis: Axis, keepdims: bool) -> Array:
    return getattr(array_namespace(x), name)(x, axis=axis, keepdims=keepdims)


def any(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element is true; False for no elements.

    Parameters
    ----------
    x : array or list of arrays
        All elements except 0 are true, nan included.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> any(np.asarray([[0, 1], [0, 0]]), axis=1)
    array([ True, False])
    """
    x = as_array(x)
    return array_namespace(x).any(x, axis=axes(axis), keepdims=keepdims)


def all(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements are true; True for no elements.

    Parameters
    ----------
    x : array or list of arrays
        All elements except 0 are true, nan included.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all axes.
    keepdims : bool
        Whether to keep reduced axes, with length 1.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> import numpy as np
    >>> all(np.asarray([[2, 1], [0, 1]]), axis=1)
    array([ True, False])
    """
    x = as_array(x)
    return array_namespace(x).all(x, axis=axes(axis), keepdims=keepdims)


def argmax(x: Array, axis: Axis = -1, *, keepdims: bool = False) -> Array:
    """Index of the maximum, the first of several.

    Parameters
    ----------
    x : array
        Array with at least one element along the axes to reduce.
    axis : int or sequence of int or None
        Axis to reduce. With several axes, or None for all, the index refers to these axes flattened.
    keepdims : bool
        Whether to keep the reduced axis, with length 1; all axes if `axis` is None. Not allowed with several axes.

    Returns
    -------
    array of int64

    Examples
    --------
    >>> import numpy as np
    >>> argmax(np.asarray([[1, 5], [7, 2]]))
    array([1, 0])
    """
    return _place("argmax", x, axis, keepdims)


def argmin(x: Array, axis: Axis = -1, *, keepdims: bool = False) -> Array:
    """Index of the minimum, the first of several.

    Parameters
    ----------
    x : array
        Array with at least one element along the axes to reduce.
    axis : int or sequence of int or None
        Axis to reduce. With several axes, or None for all, the index refers to these axes flattened.
    keepdims : bool
        Whether to keep the reduced axis, with length 1; all axes if `axis` is None. Not allowed with several axes.

    Returns
    -------
    array of int64

    Examples
    --------
    >>> import numpy as np
    >>> argmin(np.asarray([[1, 5], [7, 2]]))
    array([0, 1])
    """
    return _place("argmin", x, axis, keepdims)


def _place(name: str, x: Array, axis: Axis, keepdims: bool) -> Array:
    xp, x = numbers(x)
    if axis is not None and type(axis) is not int:
        x, axis = _flattened_last(x, axis, keepdims)
    return getattr(xp, name)(x, axis=axis, keepdims=keepdims)


def _flattened_last(x: Array, axis: Any, keepdims: bool) -> tuple[Array, int]:
    """The array with several axes flattened into one, the last; and the number of that axis."""
    if not isinstance(axis, (list, tuple)):
        return x, axis_of(axis, x.ndim)
    if keepdims:
        raise ValueError(f"axis must be one axis or None where axes are kept, got {axis!r}")
    xp = array_namespace(x)
    moved = sorted({operator.index(a) + (x.ndim if a < 0 else 0) for a in axis})
    kept = [a for a in range(x.ndim) if a not in moved]
    if len(kept) + len(axis) != x.ndim:
        raise ValueError(f"axis must name axes of an array of {x.ndim} axes once each, got {tuple(axis)}")
    return xp.reshape(xp.permute_dims(x, (*kept, *moved)), (*(x.shape[a] for a in kept), -1)), -1
