"""MRG31k3p written out in Python's integers, one step after the other: the oracle for the generator's tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.golden.mrg import advanced

M1, M2 = 2**31 - 1, 2**31 - 21069


def step(state: Sequence[int]) -> tuple[list[int], int]:
    """The state after one step, and the integer that comes with it."""
    x1, x2, x3, y1, y2, y3 = map(int, state)
    x = (2**22 * x2 + 129 * x3) % M1
    y = (2**15 * y1 + (2**15 + 1) * y3) % M2
    return [x, x1, x2, y, y1, y2], (x - y) % M1 or M1


def starts(state: Sequence[int], count: int) -> list[list[int]]:
    """The states in which so many streams start."""
    states = [list(map(int, state))]
    while len(states) < count:
        states.append(advanced(states[-1], 2**72))
    return states


def stepped(states: Sequence[Sequence[int]], n: int) -> tuple[NDArray[np.int64], list[list[int]]]:
    """The next `n` integers of streams, dealt out in turn, and the states after them."""
    after = [list(map(int, state)) for state in states]
    integers = np.empty(n, dtype=np.int64)
    for i in range(n):
        stream = i % len(after)
        after[stream], integers[i] = step(after[stream])
    return integers, after


def scaled(integers: NDArray[np.int64], dtype: str) -> NDArray[np.floating]:
    """Theano's uniforms from integers."""
    if dtype == "float16":
        few = (integers & 0x7FFF) + 1
        return (few * np.float64(np.float16(3.0458e-05))).astype(np.float16)
    if dtype == "float32":
        return integers.astype(np.float32) * np.float32(4.6566126e-10)
    return integers * 2.0**-31
