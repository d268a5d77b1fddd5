"""Rules for the values of parameters.

Contract: an error names the parameter, its value and what is allowed. Values in arrays on Dask, in Tensors, or while a
library compiles are unknown; the task that uses them checks them by the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from nbm_xp.namespace import (
    array_namespace,
    concrete_int,
    dtype_name,
    dtype_of,
    is_array,
    is_bool,
    is_complex,
    is_integer,
    is_lazy,
    promote_types,
    running_dtype,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.compiling import is_traced

from .parameters import LARGEST, bounds_of, checked, is_double, is_number, known_integer

MOST_TRIALS: Final = 2**53
LARGEST_MEAN: Final = 9.2e18
_SLACK: Final = {"float16": 2.0**-5, "float32": 2.0**-11.5}


@dataclass(frozen=True)
class Rule:
    """What is allowed: in words, and as a condition on a number or an array, or on several of them."""

    text: str
    holds: Callable[..., Any]


def _is_inside(least: float, most: float, above: bool, below: bool, x: Any) -> Any:
    if isinstance(most, int) and is_array(x) and is_integer(x):
        most = min(most, bounds_of(dtype_name(x))[1])  # JAX compares an array with values of its dtype only
    return ((x > least) if above else (x >= least)) & ((x < most) if below else (x <= most))


def interval(text: str, least: float, most: float, *, above: bool = False, below: bool = False) -> Rule:
    """Return the rule that a value lies between two bounds; `above` and `below` exclude them.

    Examples
    --------
    >>> interval("from 0 to less than 1", 0, 1, below=True).holds(1.0)
    False
    """
    return Rule(text, partial(_is_inside, least, most, above, below))


FINITE: Final = interval("finite", -math.inf, math.inf, above=True, below=True)
NOT_NEGATIVE: Final = interval("finite and 0 or more", 0, math.inf, below=True)
POSITIVE: Final = interval("finite and more than 0", 0, math.inf, above=True, below=True)
PROBABILITY: Final = interval("from 0 to 1", 0, 1.0)
SOME_PROBABILITY: Final = interval("more than 0 and at most 1", 0, 1.0, above=True)
BELOW_ONE: Final = interval("from 0 to less than 1", 0, 1.0, below=True)
ABOVE_ONE: Final = interval("finite and more than 1", 1, math.inf, above=True, below=True)
RATE: Final = interval(f"from 0 to {LARGEST_MEAN:g}", 0, LARGEST_MEAN)
TRIALS: Final = interval("an integer from 0 to 2**53", 0, MOST_TRIALS)
_IN_DTYPE: Final = {
    dtype: interval("finite", *((-int(most), int(most)) if dtype == "float16" else (-most, most)))
    for dtype, most in LARGEST.items()
}


def require(name: str, value: Any, rule: Rule) -> None:
    """Raise an error for a parameter that breaks a rule, with the first value that does.

    Examples
    --------
    >>> require("scale", 1.0, POSITIVE)
    >>> require("scale", -1.0, POSITIVE)
    Traceback (most recent call last):
        ...
    ValueError: scale must be finite and more than 0, got -1.0
    """
    if is_number(value):
        if not rule.holds(value) or not is_double(value):
            raise ValueError(f"{name} must be {rule.text}, got {value!r}")
    elif is_array(value):
        if is_complex(value):
            raise TypeError(f"{name} must be real, got an array of {dtype_name(value)}")
        wrong = _first_broken(rule, value)
        if wrong:
            raise ValueError(f"{name} must be {rule.text}, got {wrong[0]} in it")


def require_finite_in(dtype: str, name: str, value: Any) -> None:
    """Raise an error for a finite value that becomes infinite when rounded to a floating-point dtype."""
    if is_array(value):
        known = is_bool(value) or (is_integer(value) and dtype != "float16")
        if known or promote_types(dtype_name(value), dtype) == dtype:
            return
    require(f"{name} in {dtype}", value, _IN_DTYPE[dtype])


def require_together(rule: Rule, values: dict[str, Any]) -> None:
    """Raise an error for parameters that together break a rule.

    Examples
    --------
    >>> require_together(Rule("in ascending order", lambda low, high: low <= high), {"low": 2.0, "high": 1.0})
    Traceback (most recent call last):
        ...
    ValueError: low, high must be in ascending order, got 2.0, 1.0
    """
    wrong = _first_broken(rule, *values.values())
    if wrong:
        raise ValueError(f"{', '.join(values)} must be {rule.text}, got {', '.join(map(repr, wrong))}")


def require_held(counts: Any, dtype: str) -> None:
    """Raise an error for counts, float64 integers from 0 to 2**63, that a dtype cannot hold.

    Examples
    --------
    >>> import numpy as np
    >>> require_held(np.asarray([5.0, 300.0]), "int8")
    Traceback (most recent call last):
        ...
    ValueError: dtype must hold all counts, and int8 holds none above 127; got a count of 300
    """
    _, most = bounds_of(dtype)
    wrong = most < 2**63 - 1 and _first_broken(interval("a count", 0, most), counts)
    if wrong:
        raise ValueError(
            f"dtype must hold all counts, and {dtype} holds none above {most}; got a count of {wrong[0]:.0f}"
        )


def _first_broken(rule: Rule, *values: Any) -> list[Any] | None:
    """Return the first values of numbers and arrays that break a rule, or None."""
    arrays = [value for value in values if is_array(value)]
    if not arrays:
        return None if rule.holds(*values) else list(values)
    xp = array_namespace(*arrays)
    if is_lazy(xp):
        return None
    broken = ~rule.holds(*values)
    flat = xp.astype(xp.reshape(broken, (-1,)), dtype_of(xp, "int32"))
    count = xp.sum(flat)
    if 0 in broken.shape or is_traced([count]) or not concrete_int(count):
        return None
    place = concrete_int(xp.argmax(flat))
    return [
        to_numpy(xp.reshape(xp.broadcast_to(value, broken.shape), (-1,))[place]).item() if is_array(value) else value
        for value in values
    ]


def require_weights(name: str, p: Any) -> None:
    """Raise an error unless `p` holds probabilities along the last axis that add up to 1.

    The tolerance of the sum is about the square root of the precision of the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> require_weights("p", np.asarray([0.5, 0.6]))
    Traceback (most recent call last):
        ...
    ValueError: p must add up to 1 along the last axis, got 1.1
    """
    if not is_array(p) or not p.ndim:
        raise TypeError(f"{name} must be an array of probabilities, got {p!r}")
    if not p.shape[-1]:
        raise ValueError(f"{name} must have probabilities along its last axis, got shape {tuple(p.shape)}")
    xp = array_namespace(p)
    if is_lazy(xp) or 0 in p.shape:
        return
    require(name, p, PROBABILITY)
    slack = _SLACK.get(dtype_name(p), 2.0**-26)
    with wide_dtypes(xp):
        total = xp.sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
        wrong = _first_broken(interval("1", 1.0 - slack, 1.0 + slack), total)
    if wrong:
        raise ValueError(f"{name} must add up to 1 along the last axis, got {wrong[0]:.12g}")


def integer(name: str, value: Any) -> Any:
    """Return an int or an array of ints, without axes as an int; else raise an error. An empty list is accepted."""
    listed = isinstance(value, (list, tuple))
    found = checked(name, value)
    if not is_array(found):
        if isinstance(found, float):
            raise TypeError(f"{name} must be an int or an array of ints, got {found!r}")
        return found
    known = known_integer(found)
    if not (listed and 0 in found.shape) and (
        not is_integer(found) or (dtype_name(found) == "uint64" and known is found)
    ):
        raise TypeError(f"{name} must be an int or an array of ints, of int64 at most; got one of {dtype_name(found)}")
    return known


def require_enough(population: int, count: int, p: Any = None) -> None:
    """Raise an error for a sample without replacement larger than the population, or than its part with ``p > 0``."""
    if count > population:
        raise ValueError(f"size must be at most {population} without replacement, got {count}")
    if p is None or is_lazy(xp := array_namespace(p)):
        return
    possible = xp.sum(xp.astype(p > 0, running_dtype(xp, "int64")))
    if not is_traced([possible]) and count > (possible := concrete_int(possible)):
        raise ValueError(f"size must be at most {possible}, as many as have a probability in p; got {count}")
