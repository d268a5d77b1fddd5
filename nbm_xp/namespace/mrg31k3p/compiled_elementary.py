"""Logarithms and exponentials of NumPy arrays, compiled.

What this chapter must satisfy: the bits of `nbm_xp.rng.elementary`, in one pass over memory. The exponent of a double
is read from its bits and written to them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float64, int64

from nbm_xp.namespace.compiled_loops import compiled_loop

from . import approximations
from .approximations import LN2_HIGH, LN2_LOW

__all__ = ["exp", "log", "logs_in_place", "sqrt"]

_log_from_parts, _exp_near_zero = (
    numba.njit(inline="always")(function) for function in (approximations.log_from_parts, approximations.exp_near_zero)
)
_DIGITS = 0x000FFFFFFFFFFFFF  # of a double
_TO_ROOT = 0x0009_5F61_9980_C433  # from the digits of the root of 2 to a carry into the exponent
_LEAST, _MOST = -708.0, 709.0


@numba.njit(inline="always")
def logs_in_place(x: Any, bits: Any, count: int) -> None:
    """Put the logarithms of positive doubles in their place; `bits` is the same memory as integers."""
    for i in range(count):
        b = bits[i]
        digits = b & int64(_DIGITS)
        carry = (digits + int64(_TO_ROOT)) >> int64(52)
        k = float64((b >> int64(52)) - int64(1023) + carry)
        bits[i] = digits | ((int64(1023) - carry) << int64(52))
        x[i] = _log_from_parts(x[i] - 1.0, k)


@compiled_loop
def _log(x: Any, bits: Any) -> None:
    logs_in_place(x, bits, x.size)


@compiled_loop
def _exp(x: Any, power: Any, bits: Any) -> None:
    for i in range(x.size):
        inside = min(max(x[i], _LEAST), _MOST)
        k = np.rint(inside * 1.44269504088896338700e00)
        bits[0] = (int64(k) + int64(1023)) << int64(52)
        value = _exp_near_zero(inside - k * LN2_HIGH, k * LN2_LOW) * power[0]
        x[i] = 0.0 if x[i] < _LEAST else value


sqrt = np.sqrt
"""NumPy's root is the processor's, which IEEE 754 fixes."""


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    _log(out, out.view(np.int64))
    return out.reshape(x.shape)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    out, power = np.array(x, np.float64, order="C").reshape(-1), np.empty(1)
    _exp(out, power, power.view(np.int64))
    return out.reshape(x.shape)
