"""Normal numbers by the method of Box and Muller, compiled for NumPy arrays.

What this chapter must satisfy: the bits of `nbm_xp.rng.transforms.box_muller`; uniforms are made a few at a time, stay
in the cache next to the processor and never reach memory. As in `compiled_loops`, loops become vector instructions,
and no lock is held. Sums and products are not contracted, since numba's compiler does so only where it is told.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float64

from nbm_xp.namespace.compiled_loops import compiled_loop

from . import approximations
from .approximations import HALF_PI_HIGH, HALF_PI_LOW, TWO_PI
from .compiled_elementary import logs_in_place
from .compiled_loops import at_random, next_row

__all__ = ["AT_ONCE", "normals"]

AT_ONCE = 1024
"""Pairs made at once."""

_sine, _cosine = (
    numba.njit(inline="always")(function)
    for function in (approximations.sine_near_zero, approximations.cosine_near_zero)
)


@numba.njit(inline="always")
def _waves(angle: float, real: Any) -> Any:
    """The cosine and the sine of an angle from 0 to a turn."""
    quarters = np.rint(angle * 0.6366197723675814)
    r = (angle - quarters * HALF_PI_HIGH) - quarters * HALF_PI_LOW
    s, c = _sine(r), _cosine(r)
    odd = (quarters == 1.0) | (quarters == 3.0)
    sine, cosine = (c, s) if odd else (s, c)
    sine = -sine if (quarters == 2.0) | (quarters == 3.0) else sine
    cosine = -cosine if (quarters == 1.0) | (quarters == 2.0) else cosine
    return real(cosine), real(sine)


@compiled_loop
def normals(
    states: Any, scale: Any, rows: Any, places: Any, pairs: int, stretch: Any, cosines: Any, sines: Any
) -> None:
    """Fill `cosines` and `sines` with what so many pairs of uniforms make.

    The uniforms are elements from ``places[0]`` and from ``places[1]`` on, whose rows are `rows`. `sines` may be
    shorter. Where `stretch` is not empty, each number is multiplied by its first and increased by its second.
    """
    real = cosines.dtype.type
    streams = states.shape[1]
    u1, u2 = np.empty(AT_ONCE, cosines.dtype), np.empty(AT_ONCE, cosines.dtype)
    radius = np.empty(AT_ONCE, np.float64)
    bits = radius.view(np.int64)
    row1 = rows[0, 0], rows[0, 1], rows[0, 2], rows[0, 3], rows[0, 4], rows[0, 5]
    row2 = rows[1, 0], rows[1, 1], rows[1, 2], rows[1, 3], rows[1, 4], rows[1, 5]
    stream1, stream2 = places[0] % streams, places[1] % streams
    begin = 0
    while begin < pairs:
        width = min(AT_ONCE, pairs - begin, streams - stream1, streams - stream2)
        at_random(states, stream1, width, row1, scale, u1)
        at_random(states, stream2, width, row2, scale, u2)
        for i in range(width):
            radius[i] = float64(u1[i])
        logs_in_place(radius, bits, width)
        for i in range(width):
            u1[i] = np.sqrt(real(real(-2.0) * real(radius[i])))
        out1, out2 = cosines[begin : begin + width], sines[begin : begin + width]
        for i in range(out2.size):
            cosine, sine = _waves(float64(real(u2[i] * real(TWO_PI))), real)
            out1[i] = u1[i] * cosine
            out2[i] = u1[i] * sine
        for i in range(out2.size, width):
            cosine, sine = _waves(float64(real(u2[i] * real(TWO_PI))), real)
            out1[i] = u1[i] * cosine
        if stretch.size:
            for i in range(width):
                out1[i] = out1[i] * stretch[0] + stretch[1]
            for i in range(out2.size):
                out2[i] = out2[i] * stretch[0] + stretch[1]
        begin += width
        stream1 += width
        stream2 += width
        if stream1 == streams:
            stream1 = 0
            row1 = next_row(row1)
        if stream2 == streams:
            stream2 = 0
            row2 = next_row(row2)
