"""MRG31k3p compiled for NumPy arrays.

What this chapter must satisfy: the bits of `nbm_xp.rng.recurrence` and `nbm_xp.rng.uniforms` at several times their
speed; loops that the compiler turns into vector instructions; no lock held, so that threads run side by side. It is
imported only when NumPy draws are made, because numba takes a moment to import. What is compiled is kept on disk.

Two ways lead to the integers. *Stepping* carries a tile of streams along in 32-bit arithmetic, where both remainders
are shifts, adds and one unsigned minimum: ``2**31`` is 1 modulo M1 and 21069 modulo M2. *Random access* multiplies a
row of a transition matrix with a state in 64-bit arithmetic; nothing runs from one element to the next.

For the compiler's sake every index is one of a slice that starts at 0 (it need not wonder whether it is negative), and
what is written shares no array with what is read, or lies a fixed distance from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import int32, uint32, uint64

from nbm_xp.namespace.compiled_loops import compiled_loop

from .integers import M1, M2

__all__ = [
    "FLOAT16", "SCALES", "TILE", "advance", "at_places", "at_random", "draw", "draw_float16", "inlined", "later_row",
    "load", "next_row", "one_step", "panels", "rows", "runs", "store", "substreams", "three_steps",
]  # fmt: skip

_F = TypeVar("_F", bound=Callable[..., Any])

TILE = 5120  # streams carried along together: a third of 15,360, whose numbers stay in the second cache
_PANEL = 2**19  # numbers
_FOLD = 2**32 - 2 * M2  # 2**32 modulo M2
FLOAT16 = ((np.arange(2**15) + 1) * 511 * 2.0**-24).astype(np.float16).view(np.uint16)
SCALES = {"float32": np.float32(4.6566126e-10), "float64": np.float64(2.0**-31)}


def inlined(function: _F) -> _F:
    """A helper whose body numba puts in the place of each call."""
    return cast("_F", numba.njit(inline="always")(function))


@inlined
def _next_first(x2: Any, x3: Any) -> Any:
    """2**22 x2 + 129 x3 modulo M1: a product with a power of two turns 31 bits around."""
    a = uint32((x2 & uint32(0x1FF)) << uint32(22)) | uint32(x2 >> uint32(9))
    b = uint32((x3 & uint32(0xFFFFFF)) << uint32(7)) | uint32(x3 >> uint32(24))
    v = uint32(a + b)
    v = uint32(uint32(min(v, uint32(v - uint32(M1)))) + x3)
    return uint32(min(v, uint32(v - uint32(M1))))


@inlined
def _next_second(y1: Any, y3: Any) -> Any:
    """2**15 (y1 + y3) + y3 modulo M2."""
    v = uint32(y1 + y3)  # below 2 M2, with which the next sum, of 31 bits and 16 by 15, still is
    v = uint32(uint32((v & uint32(0xFFFF)) << uint32(15)) + uint32(uint32(v >> uint32(16)) * uint32(21069)))
    v = uint32(uint32(min(v, uint32(v - uint32(M2)))) + y3)
    return uint32(min(v, uint32(v - uint32(M2))))


@inlined
def _combined(x: Any, y: Any) -> Any:
    """(x - y) modulo M1, with M1 in place of 0."""
    d = int32(uint32(x - y))
    return d if d > int32(0) else int32(d + int32(M1))


@inlined
def _dot_first(p: Any, q: Any, r: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute p a + q b + r c modulo M1."""
    v = uint64(uint64(p) * uint64(a) + uint64(q) * uint64(b) + uint64(r) * uint64(c))
    v = uint64((v & uint64(M1)) + (v >> uint64(31)))
    w = uint32((v & uint64(M1)) + (v >> uint64(31)))
    return uint32(min(w, uint32(w - uint32(M1))))


@inlined
def _dot_second(p: Any, q: Any, r: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute p a + q b + r c modulo M2."""
    v = uint64(uint64(p) * uint64(a) + uint64(q) * uint64(b) + uint64(r) * uint64(c))
    v = uint64(uint64(uint32(v)) + uint64(uint32(v >> uint64(32))) * uint64(_FOLD))  # below 2**47
    w = uint32((v & uint64(M1)) + uint64(uint32(v >> uint64(31))) * uint64(21069))  # below 2 M2
    return uint32(min(w, uint32(w - uint32(M2))))


@inlined
def _output(row: Any, x1: Any, x2: Any, x3: Any, y1: Any, y2: Any, y3: Any) -> Any:
    """The integer that a row gives of a state: `_combined` of both products, the first of which stays unreduced."""
    p, q, r, s, t, u = row
    v = uint64(uint64(p) * uint64(x1) + uint64(q) * uint64(x2) + uint64(r) * uint64(x3))
    v = uint64((v & uint64(M1)) + (v >> uint64(31)))
    v = uint64(v + uint64(uint32(uint32(M1) - _dot_second(s, t, u, y1, y2, y3))))
    d = uint32(uint32((v & uint64(M1)) + (v >> uint64(31))) - uint32(1))
    return int32(uint32(uint32(min(d, uint32(d - uint32(M1)))) + uint32(1)))


@inlined
def load(tile: Any, states: Any, first: int, width: int) -> None:
    """Take the states of some streams into a tile."""
    for k in range(6):
        numbers, place = states[k, first : first + width], tile[k * TILE : k * TILE + width]
        for i in range(width):
            place[i] = numbers[i]


@inlined
def store(tile: Any, states: Any, first: int, width: int) -> None:
    """Put a tile back."""
    for k in range(6):
        numbers, place = states[k, first : first + width], tile[k * TILE : k * TILE + width]
        for i in range(width):
            numbers[i] = place[i]


@inlined
def _step(tile: Any, width: int) -> None:
    """Take the first `width` streams of a tile one step on, and leave their integers behind their states."""
    for i in range(width):
        x = _next_first(tile[TILE + i], tile[2 * TILE + i])
        y = _next_second(tile[3 * TILE + i], tile[5 * TILE + i])
        tile[6 * TILE + i] = uint32(_combined(x, y))
        tile[7 * TILE + i] = x
        tile[8 * TILE + i] = y
    for k in (2, 1, 5, 4):
        for i in range(width):
            tile[k * TILE + i] = tile[(k - 1) * TILE + i]
    for i in range(width):
        tile[i] = tile[7 * TILE + i]
        tile[3 * TILE + i] = tile[8 * TILE + i]


@inlined
def three_steps(tile: Any, scale: Any, row1: Any, row2: Any, row3: Any) -> None:
    """Take the streams of a tile three steps on; their uniforms go into three rows."""
    real = row1.dtype.type
    for i in range(row1.size):
        x1, x2, x3 = tile[i], tile[TILE + i], tile[2 * TILE + i]
        y1, y2, y3 = tile[3 * TILE + i], tile[4 * TILE + i], tile[5 * TILE + i]
        x3, y3 = _next_first(x2, x3), _next_second(y1, y3)
        row1[i] = real(_combined(x3, y3)) * scale
        x2, y2 = _next_first(x1, x2), _next_second(y3, y2)
        row2[i] = real(_combined(x2, y2)) * scale
        x1, y1 = _next_first(x3, x1), _next_second(y2, y1)
        row3[i] = real(_combined(x1, y1)) * scale
        tile[i], tile[TILE + i], tile[2 * TILE + i] = x1, x2, x3
        tile[3 * TILE + i], tile[4 * TILE + i], tile[5 * TILE + i] = y1, y2, y3


@inlined
def one_step(tile: Any, scale: Any, row: Any) -> None:
    """Take the first streams of a tile one step on; their uniforms go into a row."""
    real = row.dtype.type
    _step(tile, row.size)
    for i in range(row.size):
        row[i] = real(int32(tile[6 * TILE + i])) * scale


@inlined
def _stretch(row: Any, stretch: Any) -> None:
    """Multiply a row that was just written, then add; nothing where there is no factor."""
    if stretch.size:
        for i in range(row.size):
            row[i] = row[i] * stretch[0] + stretch[1]


@inlined
def panels(size: int, streams: int) -> Any:
    """Stretches of a draw that stay in the caches while tile after tile of streams fills its part of them.

    Gives for each where it begins, where its steps in threes end and where it ends. Memory that is new to the process
    is so written right after it was first touched.
    """
    length = max(1, _PANEL // (3 * streams)) * 3 * streams
    return [
        (begin, begin + min(length, size - begin) // (3 * streams) * 3 * streams, min(begin + length, size))
        for begin in range(0, size, length)
    ]


@compiled_loop
def draw(states: Any, scale: Any, stretch: Any, out: Any, new: Any) -> None:
    """Fill `out` with uniforms, `new` with the states after it."""
    streams = states.shape[1]
    tile = np.empty(9 * TILE, np.uint32)
    before = states
    for begin, triples, end in panels(out.size, streams):
        for first in range(0, streams, TILE):
            width = min(TILE, streams - first)
            load(tile, before, first, width)
            for place in range(begin + first, triples, 3 * streams):
                row1 = out[place : place + width]
                row2 = out[place + streams : place + streams + width]
                row3 = out[place + 2 * streams : place + 2 * streams + width]
                three_steps(tile, scale, row1, row2, row3)
                _stretch(row1, stretch)
                _stretch(row2, stretch)
                _stretch(row3, stretch)
            for place in range(triples + first, end, streams):
                row1 = out[place : place + width]
                one_step(tile, scale, row1)
                _stretch(row1, stretch)
            store(tile, new, first, width)
        before = new


@compiled_loop
def draw_float16(states: Any, table: Any, out: Any, new: Any) -> None:
    """Fill `out`, the bits of float16 numbers, by looking the lowest 15 bits of each integer up."""
    streams = states.shape[1]
    tile = np.empty(9 * TILE, np.uint32)
    for first in range(0, streams, TILE):
        width = min(TILE, streams - first)
        load(tile, states, first, width)
        for place in range(first, out.size, streams):
            row = out[place : place + width]
            _step(tile, row.size)
            for i in range(row.size):
                row[i] = table[tile[6 * TILE + i] & uint32(0x7FFF)]
        store(tile, new, first, width)


@inlined
def _multiply(matrices: Any, states: Any, new: Any, first: int, width: int, shift: int) -> None:
    """Put the products of both matrices with some states `shift` places further on in `new`."""
    for half in range(2):
        a = states[3 * half, first : first + width]
        b = states[3 * half + 1, first : first + width]
        c = states[3 * half + 2, first : first + width]
        for row in range(3):
            p, q, r = matrices[half, row, 0], matrices[half, row, 1], matrices[half, row, 2]
            product = new[3 * half + row, first + shift : first + shift + width]
            if half == 0:
                for i in range(width):
                    product[i] = _dot_first(p, q, r, a[i], b[i], c[i])
            else:
                for i in range(width):
                    product[i] = _dot_second(p, q, r, a[i], b[i], c[i])


@compiled_loop
def substreams(jumps: Any, states: Any) -> None:
    """Complete states from the first: `jumps` holds the matrices of 1, 2, 4, … streams."""
    count = states.shape[1]
    length = 1
    for k in range(jumps.shape[0]):
        _multiply(jumps[k], states, states, 0, min(length, count - length), length)
        length *= 2


@compiled_loop
def advance(matrices: Any, states: Any, ahead: int, new: Any) -> None:
    """Move the first streams on by the first pair of matrices, the others by the second."""
    _multiply(matrices[0], states, new, 0, ahead, 0)
    _multiply(matrices[1], states, new, ahead, states.shape[1] - ahead, 0)


@inlined
def at_random(states: Any, stream: int, width: int, row: Any, scale: Any, out: Any) -> None:
    """Fill the first `width` of `out` with uniforms of streams from one on, by the row of one output of each."""
    real = out.dtype.type
    end = stream + width
    x1, x2, x3 = states[0, stream:end], states[1, stream:end], states[2, stream:end]
    y1, y2, y3 = states[3, stream:end], states[4, stream:end], states[5, stream:end]
    place = out[:width]
    for i in range(width):
        place[i] = real(_output(row, x1[i], x2[i], x3[i], y1[i], y2[i], y3[i])) * scale


@inlined
def at_places(states: Any, stream: int, places: Any, count: int, row: Any, scale: Any, out: Any) -> None:
    """Fill the first `count` of `out` as `at_random` does, of the streams at some places from one stream on."""
    real = out.dtype.type
    x1, x2, x3, y1, y2, y3 = states[0], states[1], states[2], states[3], states[4], states[5]
    for i in range(count):
        one = stream + places[i]
        out[i] = real(_output(row, x1[one], x2[one], x3[one], y1[one], y2[one], y3[one])) * scale


@inlined
def later_row(row: Any, matrices: Any) -> Any:
    """The row of the output that follows by as many steps as the matrices of a transition take."""
    p, q, r, s, t, u = row
    first, second = matrices[0], matrices[1]
    return (
        _dot_first(p, q, r, first[0, 0], first[1, 0], first[2, 0]),
        _dot_first(p, q, r, first[0, 1], first[1, 1], first[2, 1]),
        _dot_first(p, q, r, first[0, 2], first[1, 2], first[2, 2]),
        _dot_second(s, t, u, second[0, 0], second[1, 0], second[2, 0]),
        _dot_second(s, t, u, second[0, 1], second[1, 1], second[2, 1]),
        _dot_second(s, t, u, second[0, 2], second[1, 2], second[2, 2]),
    )


@inlined
def next_row(row: Any) -> Any:
    """The row of the next output."""
    p, q, r, s, t, u = row
    return (
        q,
        _dot_first(2**22, 0, 1, p, 0, r),
        _dot_first(2**7 + 1, 0, 0, p, 0, 0),
        _dot_second(2**15, 1, 0, s, t, 0),
        u,
        _dot_second(2**15 + 1, 0, 0, s, 0, 0),
    )


@compiled_loop
def rows(first: Any, table: Any) -> None:
    """Fill `table`, of shape (6, count), with the rows of consecutive outputs."""
    row = first[0], first[1], first[2], first[3], first[4], first[5]
    for k in range(table.shape[1]):
        for i in range(6):
            table[i, k] = row[i]
        row = next_row(row)


@compiled_loop
def runs(begins: Any, lengths: Any, rows: Any, states: Any, scale: Any, out: Any) -> None:
    """Fill `out` with runs of consecutive elements, `rows` being the row of the first element of each."""
    streams = states.shape[1]
    place = 0
    for k in range(begins.size):
        row = rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3], rows[k, 4], rows[k, 5]
        stream = begins[k] % streams
        rest = lengths[k]
        while rest:
            width = min(rest, streams - stream)
            at_random(states, stream, width, row, scale, out[place : place + width])
            place += width
            rest -= width
            stream = 0
            row = next_row(row)
