"""Logarithms, exponentials and normal quantiles of NumPy arrays, compiled.

What this chapter must satisfy: the bits of `nbm_xp.rng.elementary` and `nbm_xp.rng.quantiles`, in one pass over
memory. The exponent of a double is read from its bits and written to them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float64, int64

from nbm_xp.namespace.compiled_loops import compiled_loop

from . import approximations
from .approximations import FARTHEST, HALF_WIDTH, LN2_HIGH, LN2_LOW

__all__ = ["exp", "log", "logs_in_place", "normal_quantile", "quantiles", "sqrt"]

_log_from_parts, _exp_near_zero, _central_quantile, _outer_quantile = (
    numba.njit(inline="always")(function)
    for function in (
        approximations.log_from_parts,
        approximations.exp_near_zero,
        approximations.central_quantile,
        approximations.outer_quantile,
    )
)
_AT_ONCE = 1024
_DIGITS = 0x000FFFFFFFFFFFFF  # of a double
_TO_ROOT = 0x0009_5F61_9980_C433  # from the digits of the root of 2 to a carry into the exponent
_LEAST, _MOST = -708.0, 709.0


@numba.njit(inline="always")
def logs_in_place(x: Any, bits: Any, count: int) -> None:
    """Put the logarithms of positive doubles in their place; `bits` is ``x.view(np.int64)``.

    The view is to be taken in the loop that is compiled: only so does the compiler know how the two overlap.
    """
    for i in range(count):
        b = bits[i]
        digits = b & int64(_DIGITS)
        carry = (digits + int64(_TO_ROOT)) >> int64(52)
        k = float64((b >> int64(52)) - int64(1023) + carry)
        bits[i] = digits | ((int64(1023) - carry) << int64(52))
        x[i] = _log_from_parts(x[i] - 1.0, k)


@compiled_loop
def _log(x: Any) -> None:
    logs_in_place(x, x.view(np.int64), x.size)


@compiled_loop
def _exp(x: Any) -> None:
    power = np.empty(_AT_ONCE)
    bits = power.view(np.int64)
    for begin in range(0, x.size, _AT_ONCE):
        row = x[begin : begin + _AT_ONCE]
        for i in range(row.size):
            k = np.rint(min(max(row[i], _LEAST), _MOST) * 1.44269504088896338700e00)
            bits[i] = (int64(k) + int64(1023)) << int64(52)
        for i in range(row.size):
            inside = min(max(row[i], _LEAST), _MOST)
            k = np.rint(inside * 1.44269504088896338700e00)
            value = _exp_near_zero(inside - k * LN2_HIGH, k * LN2_LOW) * power[i]
            row[i] = 0.0 if row[i] < _LEAST else value


@numba.njit(nogil=True, error_model="numpy")
def quantiles(p: Any, count: int, out: Any, spare: Any, places: Any) -> None:
    """Put the normal quantiles of the first `count` probabilities of a row in `out`.

    `spare` and `places`, doubles and integers that are overwritten, have room for as many.
    """
    for i in range(count):
        q = p[i] - 0.5
        out[i] = q * _central_quantile(HALF_WIDTH**2 - q * q)
    found = 0
    for i in range(count):
        places[found] = i
        found += abs(p[i] - 0.5) > HALF_WIDTH
    for i in range(found):
        one = p[places[i]]
        spare[i] = max(min(one, 1.0 - one), FARTHEST)
    logs_in_place(spare, spare.view(np.int64), found)
    for i in range(found):
        spare[i] = _outer_quantile(np.sqrt(-spare[i]) - 1.6)
    for i in range(found):
        out[places[i]] = -spare[i] if p[places[i]] < 0.5 else spare[i]


@compiled_loop
def _normal_quantile(p: Any, out: Any) -> None:
    spare, places = np.empty(_AT_ONCE), np.empty(_AT_ONCE, np.int64)
    for begin in range(0, p.size, _AT_ONCE):
        row, target = p[begin : begin + _AT_ONCE], out[begin : begin + _AT_ONCE]
        quantiles(row, row.size, target, spare, places)


sqrt = np.sqrt
"""NumPy's root is the processor's, which IEEE 754 fixes."""


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    _log(out)
    return out.reshape(x.shape)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    _exp(out)
    return out.reshape(x.shape)


def normal_quantile(p: Any) -> Any:
    """See `nbm_xp.rng.quantiles.normal_quantile`, of float64."""
    out = np.empty(p.shape)
    _normal_quantile(np.require(p, np.float64, ("C", "A", "W")).reshape(-1), out.reshape(-1))
    return out
