"""What parameters of random draws may be.

Contract: an error names the parameter, what it was and what is allowed. Values on Dask are not
known when a draw is recorded, so they are held to the same rules by the task that uses them.
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

from .parameters import LARGEST, checked, is_double, known_integer, most_of

__all__ = [
    "ABOVE_ONE", "BELOW_ONE", "FINITE", "LARGEST_MEAN", "MOST_TRIALS", "NOT_NEGATIVE", "POSITIVE", "PROBABILITY",
    "RATE", "Rule", "SOME_PROBABILITY", "TRIALS", "check_weights", "finite_in", "require", "require_enough",
    "require_held", "require_integer", "require_real", "require_together", "weights_of", "within",
]  # fmt: skip

MOST_TRIALS: Final = 2**53
LARGEST_MEAN: Final = 9.2e18
_SLACK: Final = {"float16": 2.0**-5, "float32": 2.0**-11.5}


@dataclass(frozen=True)
class Rule:
    """What is allowed: in words, and as a condition on an array."""

    text: str
    holds: Callable[..., Any]


def _is_between(least: float, most: float, x: Any) -> Any:
    return (x >= least) & (x <= most)


def _is_beyond(least: float, x: Any) -> Any:
    return (x > least) & (x < math.inf)


def _is_finite(x: Any) -> Any:
    return abs(x) < math.inf


def _is_not_negative(x: Any) -> Any:
    return (x >= 0) & (x < math.inf)


def _is_some_probability(x: Any) -> Any:
    return (x > 0) & (x <= 1)


def _is_below_one(x: Any) -> Any:
    return (x >= 0) & (x < 1)


def _is_count(x: Any) -> Any:
    most = min(MOST_TRIALS, most_of(dtype_name(x))) if is_array(x) and is_integer(x) else MOST_TRIALS
    return (x >= 0) & (x <= most)  # on JAX an array is compared with what its dtype holds


FINITE: Final = Rule("finite", _is_finite)
NOT_NEGATIVE: Final = Rule("finite and 0 or more", _is_not_negative)
POSITIVE: Final = Rule("finite and more than 0", partial(_is_beyond, 0))
PROBABILITY: Final = Rule("from 0 to 1", partial(_is_between, 0, 1))
SOME_PROBABILITY: Final = Rule("more than 0 and at most 1", _is_some_probability)
BELOW_ONE: Final = Rule("from 0 to less than 1", _is_below_one)
ABOVE_ONE: Final = Rule("finite and more than 1", partial(_is_beyond, 1))
RATE: Final = Rule(f"from 0 to {LARGEST_MEAN:g}", partial(_is_between, 0, LARGEST_MEAN))
TRIALS: Final = Rule("an integer from 0 to 2**53", _is_count)


def finite_in(dtype: str) -> Rule:
    """The rule that a value rounded to a floating-point dtype is finite.

    Examples
    --------
    >>> finite_in("float32").holds(1e38), finite_in("float32").holds(1e39)
    (True, False)
    """
    return Rule("finite", partial(_is_finite_in, dtype))


def _is_finite_in(dtype: str, x: Any) -> Any:
    if not is_array(x):
        return abs(x) <= LARGEST[dtype]
    if is_bool(x):
        return x == x
    if is_integer(x):
        return abs(x) <= int(LARGEST[dtype]) if dtype == "float16" else x == x
    return abs(x) < math.inf if promote_types(dtype_name(x), dtype) == dtype else abs(x) <= LARGEST[dtype]


def within(least: int, most: int, what: str) -> Rule:
    """The rule that a value lies between two bounds.

    Examples
    --------
    >>> within(0, 5, "what a die shows").text
    'within what a die shows, 0 to 5'
    """
    return Rule(f"within {what}, {least} to {most}", partial(_is_between, least, most))


def require_real(name: str, value: Any) -> None:
    """Raise an error for complex numbers."""
    if is_array(value) and is_complex(value):
        raise TypeError(f"{name} must be real, got an array of {dtype_name(value)}")


def require(name: str, value: Any, rule: Rule) -> None:
    """Raise an error for a parameter that breaks a rule; nothing is known of a Dask array, or while a library compiles.

    Parameters
    ----------
    name : str
        What the parameter is called.
    value : number or array
        What it is.
    rule : Rule
        What it must be.

    Raises
    ------
    ValueError
        With the first value that breaks the rule.

    Examples
    --------
    >>> require("scale", 1.0, POSITIVE)
    >>> require("scale", -1.0, POSITIVE)
    Traceback (most recent call last):
        ...
    ValueError: scale must be finite and more than 0, got -1.0
    """
    require_real(name, value)
    if not is_array(value):
        if not rule.holds(value) or not is_double(value):
            raise ValueError(f"{name} must be {rule.text}, got {value!r}")
        return
    wrong = _first_broken(value, rule)
    if wrong is not None:
        raise ValueError(f"{name} must be {rule.text}, got {wrong} in it")


def require_together(values: dict[str, Any], rule: Rule) -> None:
    """Raise an error for parameters that are not to one another what a rule says; nothing is known of Dask arrays.

    Parameters
    ----------
    values : dict
        Numbers and arrays, by the names of the parameters.
    rule : Rule
        It takes all of them, and says what they must be.

    Examples
    --------
    >>> require_together({"low": 2.0, "high": 1.0}, Rule("in ascending order", lambda low, high: low <= high))
    Traceback (most recent call last):
        ...
    ValueError: low, high must be in ascending order, got 2.0, 1.0
    """
    arrays = [value for value in values.values() if is_array(value)]
    found: Any = values.values()
    if not arrays:
        if rule.holds(*found):
            return
    else:
        xp = array_namespace(*arrays)
        if is_lazy(xp):
            return
        broken = ~rule.holds(*found)
        count = xp.sum(xp.astype(broken, dtype_of(xp, "int32")))
        if 0 in broken.shape or is_traced([count]) or not concrete_int(count):
            return
        place = concrete_int(xp.argmax(xp.astype(xp.reshape(broken, (-1,)), dtype_of(xp, "int32"))))
        found = [
            to_numpy(xp.reshape(xp.broadcast_to(value, broken.shape), (-1,))[place]).item()
            if is_array(value)
            else value
            for value in found
        ]
    raise ValueError(f"{', '.join(values)} must be {rule.text}, got {', '.join(map(repr, found))}")


def require_held(counts: Any, dtype: str) -> None:
    """Raise an error for a dtype that does not hold counts.

    Parameters
    ----------
    counts : array
        float64, whole, 0 or more, and at most 2**63.
    dtype : str
        The dtype they are to have.

    Examples
    --------
    >>> import numpy as np
    >>> require_held(np.asarray([5.0, 300.0]), "int8")
    Traceback (most recent call last):
        ...
    ValueError: dtype must hold all counts, and int8 holds none above 127; got a count of 300
    """
    most = most_of(dtype)
    if most >= 2**63 - 1:
        return
    wrong = _first_broken(counts, Rule("a count", partial(_is_between, 0, most)))
    if wrong is not None:
        raise ValueError(f"dtype must hold all counts, and {dtype} holds none above {most}; got a count of {wrong:.0f}")


def _first_broken(x: Any, rule: Rule) -> Any:
    """The first value of an array that breaks a rule, or None."""
    xp = array_namespace(x)
    if is_lazy(xp) or 0 in x.shape:
        return None
    flat = xp.reshape(x, (-1,))
    broken = xp.astype(~rule.holds(flat), dtype_of(xp, "int32"))
    count = xp.sum(broken)
    if is_traced([count]) or not concrete_int(count):
        return None
    return to_numpy(flat[concrete_int(xp.argmax(broken))]).item()


def check_weights(name: str, p: Any) -> None:
    """Raise an error for probabilities outside 0 to 1 or that do not add up to 1; nothing is known of a Dask array.

    Parameters
    ----------
    name : str
        What they are called.
    p : array
        Probabilities along the last axis. Their sum may be wrong by the root of their dtype's precision.

    Examples
    --------
    >>> import numpy as np
    >>> check_weights("p", np.asarray([0.5, 0.6]))
    Traceback (most recent call last):
        ...
    ValueError: p must add up to 1 along the last axis, got 1.1
    """
    if not p.ndim or not p.shape[-1]:
        raise ValueError(f"{name} must have probabilities along its last axis, got shape {tuple(p.shape)}")
    xp = array_namespace(p)
    if is_lazy(xp) or 0 in p.shape:
        return
    require(name, p, PROBABILITY)
    slack = _SLACK.get(dtype_name(p), 2.0**-26)
    with wide_dtypes(xp):
        total = xp.sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
        wrong = _first_broken(total, Rule("1", lambda s: abs(s - 1.0) <= slack))
    if wrong is not None:
        raise ValueError(f"{name} must add up to 1 along the last axis, got {wrong:.12g}")


def require_integer(name: str, value: Any) -> None:
    """Raise an error for what is neither an int nor an array of ints; an empty list may be one."""
    listed = isinstance(value, (list, tuple))
    value = checked(name, value)
    if not is_array(value):
        if isinstance(value, float):
            raise TypeError(f"{name} must be an int or an array of ints, got {value!r}")
    elif listed and 0 in value.shape:
        return
    elif not is_integer(value) or (dtype_name(value) == "uint64" and known_integer(value) is value):
        raise TypeError(f"{name} must be an int or an array of ints, of int64 at most; got one of {dtype_name(value)}")


def weights_of(name: str, p: Any) -> Any:
    """Raise an error for what are no probabilities."""
    if not is_array(p) or not p.ndim:
        raise TypeError(f"{name} must be an array of probabilities, got {p!r}")
    check_weights(name, p)
    return p


def require_enough(population: int, count: int, weights: list[Any]) -> None:
    """Raise an error for more choices without replacement than there are things."""
    if count > population:
        raise ValueError(f"size must be at most {population} without replacement, got {count}")
    for p in weights:
        xp = array_namespace(p)
        if is_lazy(xp):
            continue
        possible = xp.sum(xp.astype(p > 0, running_dtype(xp, "int64")))
        if not is_traced([possible]) and count > (possible := concrete_int(possible)):
            raise ValueError(f"size must be at most {possible}, as many as have a probability in p; got {count}")
