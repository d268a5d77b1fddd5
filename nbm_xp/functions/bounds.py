"""Values held between bounds, which are numbers or arrays, or missing.

Source: the array API standard 2024.12,
https://data-apis.org/array-api/2024.12/API_specification/generated/array_api.clip.html.
"""

from __future__ import annotations

from typing import Any, Literal

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.namespace.errors import FAILURES, check_choice, reraise
from nbm_xp.tape import is_tensor, stop_gradient
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, as_array, floats, is_value, of_floats

__all__ = ["clip"]


def clip(x: Array, min_value: Array, max_value: Array, *, crossed: Literal["min", "max"] = "min") -> Array:
    """Limit elements to an interval.

    Parameters
    ----------
    x : array
        What to limit.
    min_value, max_value : number or array or None
        The interval, bounds included; None is an infinite bound, and as infinity is no integer, integers then become
        floating point.
    crossed : {"min", "max"}
        What the result is where `max_value` is below `min_value`.

    Returns
    -------
    array
        The gradient passes inside the interval and at its bounds.

    Examples
    --------
    >>> import numpy as np
    >>> clip(np.asarray([-2.0, 0.5, 9.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    try:
        if crossed != "min":
            check_choice("crossed", crossed, ("min", "max"))
        xp = of_floats(x)
        if xp is None or xp is recorded or type(min_value) not in _REAL or type(max_value) not in _REAL:
            return _clip(x, min_value, max_value, crossed)
        if min_value > max_value:
            min_value = max_value = min_value if crossed == "min" else max_value
        return xp.minimum(xp.maximum(x, min_value), max_value)
    except FAILURES as error:
        reraise(error)


_REAL = frozenset((int, float))


def _giving_way(xp: Any, crossed: Array, wins: Array, gives_way: Array) -> Array:
    """A bound that gives way to the other where they are crossed, and leaves it the whole gradient there."""
    return xp.where(crossed, stop_gradient(wins) if is_tensor(wins) else wins, gives_way)


def _clip(x: Array, low: Array, high: Array, crossed: str) -> Array:
    """The same for bounds that are arrays, missing or wider than `x`, and recorded."""
    if low is None or high is None:
        x = floats(x)[1]
    x, low, high = promote(as_array(x), low, high)
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
