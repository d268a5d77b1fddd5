"""Integers of equal probability, compiled for NumPy arrays.

What this chapter must satisfy: the integers of `nbm_xp.rng.distributions.whole_numbers`. A remainder is found by a
quotient of doubles, which is exact for the outputs of the recurrence and wrong by one at most for pairs of them, so
that the loops become vector instructions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import float64, int8, int32, int64, uint64

from nbm_xp.namespace.compiled_loops import compiled_loop

from .compiled_elements import Draws, each_until_accepted, part, until_accepted
from .integers import M1

__all__ = ["digits", "wide_integers"]

_SCALE: Final = np.asarray([1], np.int32)
_PAIRS: Final = M1 * M1


@part
def _digit(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    z, low, span = u[0], own[0], own[1]
    for i in range(count):
        n, d = int32(z[i] - 1), int32(span[i])
        whole = int32(int32(float64(n) / float64(d)) * d)
        value[i] = low[i] + int64(int32(n - whole))
        done[i] = int8(1) if int64(whole) + int64(d) <= int64(M1) else int8(0)


@part
def _digit_of_two(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    first, second, low, span = u[0], u[1], own[0], own[1]
    for i in range(count):
        n = (int64(first[i]) - 1) * int64(M1) + (int64(second[i]) - 1)
        r = n - int64(float64(n) / float64(span[i])) * span[i]
        r = r + (span[i] if r < 0 else int64(0))
        r = r - (span[i] if r >= span[i] else int64(0))
        value[i] = low[i] + r
        done[i] = int8(1) if n - r + span[i] <= int64(_PAIRS) else int8(0)


@part
def _wide(u: Any, own: Any, count: int, value: Any, done: Any, spare: Any, bits: Any) -> None:
    first, second, third, start, most = u[0], u[1], u[2], own[0], own[1]
    for i in range(count):
        a, b, c = int64(first[i]) - 1, int64(second[i]) - 1, int64(third[i]) - 1
        n = int64((uint64(a) & uint64(0x3FFFFF)) << uint64(42))
        n = n | ((b & int64(0x1FFFFF)) << int64(21)) | (c & int64(0x1FFFFF))
        fits = (a < int64(M1 - M1 % 2**22)) & (max(b, c) < int64(M1 - M1 % 2**21)) & (n <= most[i])
        value[i] = int64(uint64(n) + uint64(start[i]))
        done[i] = int8(1) if fits else int8(0)


@compiled_loop
def _digits(block: Any, out: Any) -> int:
    return until_accepted(_digit, 1, block, out)


@compiled_loop
def _digits_of_two(block: Any, out: Any) -> int:
    return until_accepted(_digit_of_two, 2, block, out)


@compiled_loop
def _wide_integers(block: Any, out: Any) -> int:
    return until_accepted(_wide, 3, block, out)


def digits(draws: Draws, each: int, low: Any, span: Any) -> Any:
    """Integers of one or two outputs each: see `nbm_xp.rng.distributions.whole_numbers.integers`."""
    return each_until_accepted(_digits if each == 1 else _digits_of_two, draws, _SCALE, "int64", low, span)


def wide_integers(draws: Draws, start: int, most: int) -> Any:
    """Integers of three outputs each, from `start` on: see `nbm_xp.rng.distributions.whole_numbers.wide_integers`."""
    return each_until_accepted(_wide_integers, draws, _SCALE, "int64", np.asarray([start]), np.asarray([most]))
