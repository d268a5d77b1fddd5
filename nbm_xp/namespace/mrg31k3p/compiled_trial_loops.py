"""Ones and zeros by probabilities, compiled for NumPy arrays.

What this chapter must satisfy: the answers of uniforms that are compared with probabilities, to the last bit, while the
uniforms never reach memory; and where the probabilities are sigmoids of something, nor do those. As in
`compiled_loops`, loops become vector instructions, and no lock is held.

Whether ``u < e / (1 + e)``, with ``e = exp(x)``, is asked as ``u (1 + e) < e``, with an exponential that is good to
six digits. Where both sides are closer than the errors of it and of the library's own sigmoid, the answer is left open:
that sigmoid then decides, about once in 10**5.

References
----------
.. [1] E. Ya. Remez, "Sur la détermination des polynômes d'approximation de degré donnée", Communications of the Kharkov
   Mathematical Society 10 (1934), for the polynomial with the least relative error.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import float32, int32

from nbm_xp.namespace.compiled_loops import compiled_loop
from nbm_xp.namespace.float_bits import bits_as_float, float_as_bits

from .compiled_loops import SCALES, TILE, inlined, load, one_step, panels, store, three_steps

__all__ = ["bernoulli", "bernoulli_of_sigmoid"]

_CLOSE = np.float32(2.0**-17)  # of the odds; the polynomial is off by 2**-18.5 at most, what is rounded by 2**-19
_HIGHEST = np.float32(40.0)  # where the sigmoid rounds to 1
_LOWEST = np.float32(-30.0)  # where it is far below the least uniform, 2**-31
_PER_LOG_2, _LOG_2 = np.float32(1.44269504088896341), np.float32(0.6931471805599453)
_ROUNDING = np.float32(12582912.0)  # 1.5 * 2**23: adding and taking it away rounds to an integer, the lowest bits
_SCALE = SCALES["float32"]


@inlined
def _compare(row: Any, p: Any, bits: Any, place: int, out: Any, largest: Any) -> Any:
    """Put 1 where a uniform lies below `p`, else 0; gives the largest of `bits` so far, which are those of `p`."""
    one, zero = out.dtype.type(1), out.dtype.type(0)
    target = out[place : place + row.size]
    if p.size == 1:
        for i in range(row.size):
            target[i] = one if row[i] < p[0] else zero
    else:
        bounds, theirs = p[place : place + row.size], bits[place : place + row.size]
        for i in range(row.size):
            target[i] = one if row[i] < bounds[i] else zero
        for i in range(row.size):
            largest = max(largest, theirs[i])
    return largest


@compiled_loop
def bernoulli(states: Any, scales: Any, p: Any, bits: Any, out: Any, new: Any) -> Any:
    """Fill `out` with 1 where a uniform lies below `p`, else 0; gives the largest of `bits`, those of `p`.

    Read as unsigned integers, the bits of probabilities are at most those of 1: what is larger, negative or nan has
    larger ones. So one look at the largest tells whether all are probabilities.
    """
    streams = states.shape[1]
    scale = scales[0]
    tile = np.empty(9 * TILE, np.uint32)
    rows = np.empty(3 * TILE, scales.dtype)
    largest = bits[0]  # which are all there are of a single `p`
    before = states
    for begin, triples, end in panels(out.size, streams):
        for first in range(0, streams, TILE):
            width = min(TILE, streams - first)
            load(tile, before, first, width)
            row1, row2, row3 = rows[:width], rows[TILE : TILE + width], rows[2 * TILE : 2 * TILE + width]
            for place in range(begin + first, triples, 3 * streams):
                three_steps(tile, scale, row1, row2, row3)
                largest = _compare(row1, p, bits, place, out, largest)
                largest = _compare(row2, p, bits, place + streams, out, largest)
                largest = _compare(row3, p, bits, place + 2 * streams, out, largest)
            for place in range(triples + first, end, streams):
                row1 = rows[: min(width, end - place)]
                one_step(tile, scale, row1)
                largest = _compare(row1, p, bits, place, out, largest)
            store(tile, new, first, width)
        before = new
    return largest


@inlined
def _distance(u: Any, x: Any) -> Any:
    """``u (1 + e) - e``, which is below 0 where `u` is below the sigmoid, and the odds ``e = exp(x)``, for nan tiny."""
    v = x if x > _LOWEST else _LOWEST
    v = v if v < _HIGHEST else _HIGHEST
    rounded = v * _PER_LOG_2 + _ROUNDING
    r = v - (rounded - _ROUNDING) * _LOG_2
    e = float32(4.145856574177742e-2) * r + float32(1.6790932416915894e-1)
    e = e * r + float32(5.000436305999756e-1)
    e = e * r + float32(9.999634027481079e-1)
    e = e * r + float32(9.999992847442627e-1)
    e = bits_as_float(int32(float_as_bits(e) + int32(float_as_bits(rounded) << int32(23))))
    return (u - float32(1)) * e + u, e


@inlined
def _compare_by_odds(row: Any, inputs: Any, target: Any) -> Any:
    """Put 1 where a uniform lies below the sigmoid of an input, else 0; gives whether all are certain."""
    one, zero, signs = target.dtype.type(1), target.dtype.type(0), int32(0)
    for i in range(row.size):
        distance, e = _distance(row[i], inputs[i])
        target[i] = one if distance < float32(0) else zero
        signs = int32(signs | float_as_bits(abs(distance) - _CLOSE * e))
    return signs >= int32(0)


@numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})
def _note_open(
    row: Any, inputs: Any, target: Any, place: int, places: Any, uniforms: Any, odds: Any, found: int
) -> int:
    """Note which answers are not certain: where they stand, and what they are asked of; gives how many there are."""
    for begin in range(0, row.size, 64):
        some, theirs = row[begin : begin + 64], inputs[begin : begin + 64]
        if _compare_by_odds(some, theirs, target[begin : begin + 64]):
            continue
        for i in range(some.size):
            distance, e = _distance(some[i], theirs[i])
            if abs(distance) < _CLOSE * e:
                if found < places.size:
                    places[found] = place + begin + i
                    uniforms[found] = some[i]
                    odds[found] = theirs[i]
                found += 1
    return found


@inlined
def _decide(row: Any, inputs: Any, place: int, out: Any, places: Any, uniforms: Any, odds: Any, found: int) -> int:
    """Put 1 where a uniform lies below the sigmoid of an input, 0 where above, and note where neither is certain."""
    target = out[place : place + row.size]
    if not _compare_by_odds(row, inputs, target):
        found = _note_open(row, inputs, target, place, places, uniforms, odds, found)
    return found


@inlined
def _log_odds(x: Any, place: int, columns: int, shifts: Any, along_rows: bool, odds: Any) -> None:
    """Elements of a matrix from some place on, each with the shift of its column or its row, if there are any."""
    if not shifts.size:
        inputs = x[place : place + odds.size]
        for i in range(odds.size):
            odds[i] = inputs[i]
        return
    done = 0
    while done < odds.size:
        row, first = divmod(place + done, columns)
        width = min(columns - first, odds.size - done)
        inputs, into = x[place + done : place + done + width], odds[done : done + width]
        if along_rows:
            own = shifts[first : first + width]
            for i in range(width):
                into[i] = inputs[i] + own[i]
        else:
            shift = shifts[row]
            for i in range(width):
                into[i] = inputs[i] + shift
        done += width


@compiled_loop(fastmath={"contract"})
def bernoulli_of_sigmoid(
    states: Any,
    x: Any,
    columns: int,
    shifts: Any,
    along_rows: bool,
    out: Any,
    new: Any,
    places: Any,
    uniforms: Any,
    odds: Any,
) -> int:
    """Fill `out` with 1 where a float32 uniform lies below the sigmoid of `x` and a shift, with 0 where above.

    `x` is a matrix with so many columns, element after element; there is a shift for each column, or for each row, or
    none. `out` may be `x`, whose elements are read before what takes their place is written.

    Gives how many answers are open. Their places, and uniforms and log-odds there, are in `places`, `uniforms` and
    `odds` as far as there is room.
    """
    streams = states.shape[1]
    tile = np.empty(9 * TILE, np.uint32)
    rows, inputs = np.empty(3 * TILE, np.float32), np.empty(TILE, np.float32)
    found = 0
    before = states
    for begin, triples, end in panels(out.size, streams):
        for first in range(0, streams, TILE):
            width = min(TILE, streams - first)
            load(tile, before, first, width)
            row1, row2, row3 = rows[:width], rows[TILE : TILE + width], rows[2 * TILE : 2 * TILE + width]
            own = inputs[:width]
            for place in range(begin + first, triples, 3 * streams):
                three_steps(tile, _SCALE, row1, row2, row3)
                _log_odds(x, place, columns, shifts, along_rows, own)
                found = _decide(row1, own, place, out, places, uniforms, odds, found)
                there = place + streams
                _log_odds(x, there, columns, shifts, along_rows, own)
                found = _decide(row2, own, there, out, places, uniforms, odds, found)
                there = place + 2 * streams
                _log_odds(x, there, columns, shifts, along_rows, own)
                found = _decide(row3, own, there, out, places, uniforms, odds, found)
            for place in range(triples + first, end, streams):
                row1 = rows[: min(width, end - place)]
                own = inputs[: row1.size]
                one_step(tile, _SCALE, row1)
                _log_odds(x, place, columns, shifts, along_rows, own)
                found = _decide(row1, own, place, out, places, uniforms, odds, found)
            store(tile, new, first, width)
        before = new
    return found
