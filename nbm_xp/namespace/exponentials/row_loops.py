"""Loops over the rows of a float32 matrix, with an exponential in vector instructions.

``exp(x) = 2**n exp(r)`` with ``n`` the integer nearest to ``x / log 2``, so that ``r`` is at most ``log 2 / 2`` in
size, and a polynomial for ``exp(r)``: an error of one or two units in the last place. Below -87.3, where the result
would be no normal number, it is 0. nan stays nan.

References
----------
S. L. Moshier, Cephes Mathematical Library, ``expf``, for the coefficients of the polynomial.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32, int32

from nbm_xp.namespace.compiled_loops import compiled_loop
from nbm_xp.namespace.float_bits import bits_as_float, float_as_bits

__all__ = ["log_softmax", "logsumexp", "softmax"]

_PER_LOG_2 = np.float32(1.44269504088896341)
_LOG_2_HIGH, _LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDING = np.float32(12582912.0)  # 1.5 * 2**23: adding and taking it away rounds to an integer
_LEAST = np.float32(-87.3)
_SUMS = {"reassoc", "contract", "nsz"}


@compiled_loop(fastmath={"contract", "nsz"})  # sums must not be regrouped here
def _exp(x: Any) -> Any:
    n = x * _PER_LOG_2 + _ROUNDING - _ROUNDING
    r = x - n * _LOG_2_HIGH - n * _LOG_2_LOW
    p = float32(1.9875691500e-4) * r + float32(1.3981999507e-3)
    p = p * r + float32(8.3334519073e-3)
    p = p * r + float32(4.1665795894e-2)
    p = p * r + float32(1.6666665459e-1)
    p = p * r + float32(5.0000001201e-1)
    p = p * r * r + r + float32(1)
    scaled = p * bits_as_float(int32((int32(n) + int32(127)) << int32(23)))
    return float32(0) if x < _LEAST else scaled


@compiled_loop
def _largest(row: Any) -> Any:
    """The largest element, compared as integers that are in the order of the numbers; nan is above all."""
    largest = int32(-2147483648)
    for j in range(row.size):
        bits = float_as_bits(row[j])
        largest = max(largest, bits ^ ((bits >> int32(31)) & int32(0x7FFFFFFF)))
    return bits_as_float(int32(largest ^ ((largest >> int32(31)) & int32(0x7FFFFFFF))))


@compiled_loop(fastmath=_SUMS)
def softmax(x: Any, out: Any) -> None:
    """Rows of weights that add up to 1."""
    for i in range(x.shape[0]):
        row, weights = x[i], out[i]
        largest, total = _largest(row), float32(0)
        for j in range(row.size):
            weight = _exp(row[j] - largest)
            weights[j] = weight
            total += weight
        share = float32(1) / total
        for j in range(row.size):
            weights[j] *= share


@compiled_loop(fastmath=_SUMS)
def _log_of_sum(row: Any) -> Any:
    """The largest element, and the logarithm of the sum of exponentials of what the others are below it."""
    largest, total = _largest(row), float32(0)
    for j in range(row.size):
        total += _exp(row[j] - largest)
    return largest, float32(math.log(total))


@compiled_loop
def log_softmax(x: Any, out: Any) -> None:
    """Rows whose exponentials add up to 1."""
    for i in range(x.shape[0]):
        row, logarithms = x[i], out[i]
        largest, rest = _log_of_sum(row)
        for j in range(row.size):
            logarithms[j] = row[j] - largest - rest


@compiled_loop
def logsumexp(x: Any, out: Any) -> None:
    """The logarithm of the sum of exponentials of each row; an infinite largest element decides it."""
    for i in range(x.shape[0]):
        largest, rest = _log_of_sum(x[i])
        out[i, 0] = largest if abs(largest) == math.inf else largest + rest
