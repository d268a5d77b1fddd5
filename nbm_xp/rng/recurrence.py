"""MRG31k3p on arrays: many states advanced, jumped and turned into integers at once, on any array library.

Contract: the same integers to the last bit on every library, from signed 64-bit products, sums and remainders alone.
Many states are stored as six arrays of one shape (`Six`), one for each integer of the state.

Element ``i`` of a draw of ``n`` numbers from ``S`` streams is output ``i div S`` of stream ``i mod S``. Output ``t`` of
a stream with initial state ``s`` is ``row[t] · s``, where ``row[t]`` is the first row of the transition matrix to the
power ``t + 1``. So a table of rows and a table of states give any element, in any order, by six products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import array_namespace, asarray, concrete_int, dtype_of, host_namespace, wide_dtypes
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.integers import M1, M2, STREAM_STEPS, Followed, Transition, centred, row_of, transition
from nbm_xp.namespace.mrg31k3p.integers import jump as jump_of_ints

Six: TypeAlias = tuple[Any, ...]

# Number of elements computed at once, to limit the memory of intermediate values.
ELEMENTS_AT_ONCE: Final = 2**20

# Largest number of rows in a table.
LONGEST_TABLE: Final = 1024


def split(xp: Any, states: Any) -> Six:
    """Return an array of states of shape (count, 6) as six 64-bit arrays of shape (count,)."""
    wide = xp.astype(states, dtype_of(xp, "int64"))
    return tuple(wide[..., k] for k in range(6))


def join(xp: Any, six: Six) -> Any:
    """Return six arrays as one int32 array with a last axis of six, the form in which states are stored."""
    return xp.astype(xp.stack(six, axis=-1), dtype_of(xp, "int32"))


def _times(matrices: Transition, x: Six) -> Six:
    """Multiply states by two matrices with centred entries."""
    halves = zip(matrices, (x[:3], x[3:]), (M1, M2), strict=True)
    return tuple((r * a + s * b + t * c) % m for rows, (a, b, c), m in halves for r, s, t in rows)


def orbit(xp: Any, start: Six, steps: int, count: int, *, rows: bool = False) -> Six:
    """Return the states 0, `steps`, 2 `steps`, … steps after `start`, of shape (1, …), by doubling.

    If `rows`, `start` holds row vectors, which are multiplied from the right.
    """
    out, length = start, 1
    while length < count:
        matrices = centred(transition(steps * length), transpose=rows)
        more = _times(matrices, tuple(value[: min(length, count - length), ...] for value in out))
        out = tuple(xp.concat(pair, axis=0) for pair in zip(out, more, strict=True))
        length = min(2 * length, count)
    return out


def _ladder(xp: Any, start: Six, steps: Any, largest: int) -> Six:
    """Return the rows that lie each its own number of steps after `start`, one bit of the numbers at a time."""
    out = start
    for bit in range(largest.bit_length()):
        moved = _times(centred(transition(1 << bit), transpose=True), out)
        taken = (steps >> bit) % 2 == 1
        out = tuple(xp.where(taken, new, old) for new, old in zip(moved, out, strict=True))
    return out


def _constant(xp: Any, values: Sequence[Any]) -> Six:
    """Return six arrays of shape (1,) of six integers, or of six arrays without axes."""
    kind = dtype_of(xp, "int64")
    return tuple(
        asarray([v], xp, "int64") if isinstance(v, int) else xp.reshape(xp.astype(v, kind), (1,)) for v in values
    )


def _centre(xp: Any, rows: Six) -> Six:
    """Return the entries of rows as residues nearest to zero; see `centred`."""
    moduli = (M1, M1, M1, M2, M2, M2)
    return tuple(xp.where(v > m // 2, v - m, v) for v, m in zip(rows, moduli, strict=True))


@lru_cache(maxsize=64)
def _table(first: int, count: int) -> Six:
    """Return the centred rows of `count` consecutive outputs, as NumPy arrays."""
    xp = host_namespace()
    return _centre(xp, orbit(xp, _constant(xp, row_of(first + 1)), 1, count, rows=True))


def _outputs(xp: Any, rows: Six, x: Six) -> Any:
    """Return the 31-bit integers, from 1 to M1, that centred rows give with states."""
    first = (rows[0] * x[0] + rows[1] * x[1] + rows[2] * x[2]) % M1
    second = (rows[3] * x[3] + rows[4] * x[4] + rows[5] * x[5]) % M2
    difference = first - second
    return xp.where(difference > 0, difference, difference + M1)


def substreams(xp: Any, state: Followed, count: int) -> Any:
    """Return the initial states of `count` streams, each 2**72 steps after the previous one.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> substreams(get_namespace("numpy"), (234,) * 6, 2)[:, 0].tolist()
    [234, 704833060]
    """
    return join(xp, orbit(xp, _constant(xp, state), STREAM_STEPS, count))


def moved(xp: Any, states: Any, steps: int) -> Any:
    """Return the states `steps` steps after the given ones, for all streams.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> moved(xp, xp.ones((1, 6), dtype=xp.int32), 1).tolist()
    [[4194433, 1, 1, 65537, 1, 1]]
    """
    return join(xp, _times(centred(transition(steps)), split(xp, states)))


def jumped(state: Followed, steps: int) -> Followed:
    """Return the state `steps` steps after one of six ints, or of six 64-bit arrays, which may be traced.

    Examples
    --------
    >>> jumped((1, 1, 1, 1, 1, 1), 1)
    (4194433, 1, 1, 65537, 1, 1)
    """
    if isinstance(state[0], int):
        return jump_of_ints(state, steps)
    with wide_dtypes(array_namespace(state[0])):
        return _times(centred(transition(steps)), state)


def advance(xp: Any, states: Any, n: int) -> Any:
    """Return the states of all streams after a draw of `n` elements, without making the draw.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> states = xp.ones((2, 6), dtype=xp.int32)
    >>> advance(xp, states, 3)[:, 0].tolist()
    [4194433, 4194433]
    """
    steps, ahead = divmod(n, states.shape[0])
    others = moved(xp, states[ahead:, :], steps)
    return xp.concat([moved(xp, states[:ahead, :], steps + 1), others], axis=0) if ahead else others


def integers(xp: Any, states: Any, n: int) -> Any:
    """Return the next `n` integers of the streams.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> integers(xp, xp.ones((2, 6), dtype=xp.int32), 3).tolist()
    [4128896, 4128896, 4107827]
    """
    count = min(states.shape[0], n)
    if not count:
        return xp.zeros((0,), dtype=dtype_of(xp, "int64"))
    six, steps, at_once = split(xp, states[:count, :]), -(-n // count), max(1, ELEMENTS_AT_ONCE // count)
    parts = []
    for first in range(0, steps, at_once):
        rows = tuple(asarray(row, xp)[:, None] for row in _table(first, min(at_once, steps - first)))
        parts.append(xp.reshape(_outputs(xp, rows, six), (-1,)))
    return (xp.concat(parts, axis=0) if len(parts) > 1 else parts[0])[:n]


def integers_at(xp: Any, states: Any, places: Any, span: tuple[int, int], output: int = 0) -> Any:
    """Return the integers at any indices of a draw, each computed alone.

    `states` are those of all streams; `span` is the smallest and the largest of `places`; `output` is the index of the
    output of each element.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> states = substreams(xp, (234,) * 6, 3)
    >>> whole = integers(xp, states, 10)
    >>> integers_at(xp, states, xp.asarray([9, 4]), (4, 9)).tolist() == whole[[9, 4]].tolist()
    True
    """
    streams, shape, places = states.shape[0], places.shape, xp.reshape(places, (-1,))
    rows = _centre(xp, rows_at(xp, places // streams, (span[0] // streams, span[1] // streams), output))
    return xp.reshape(_outputs(xp, rows, _gathered(xp, split(xp, states), places % streams)), shape)


def rows_at(xp: Any, steps: Any, span: tuple[int, int], output: int = 0) -> Six:
    """Return the rows of any outputs: from one table if they lie close together, else each on its own."""
    first, length = span[0], span[1] - span[0] + 1
    start = row_of(first + 1, output)
    if length > steps.shape[0] + LONGEST_TABLE:
        return _ladder(xp, _constant(xp, start), steps - first, length - 1)
    own = kernel("rng.rows", xp)
    table = orbit(xp, _constant(xp, start), 1, length, rows=True) if own is None else own(start, length)
    return _gathered(xp, table, steps - first)


def rows_of(streams: int, output: int = 0) -> Callable[[Any], Six]:
    """Return a function of NumPy indices that gives the rows of these elements, in a draw from `streams` streams."""
    host = host_namespace()

    def rows(places: Any) -> Six:
        steps = places // streams
        return rows_at(host, steps, (concrete_int(host.min(steps)), concrete_int(host.max(steps))), output)

    return rows


def _gathered(xp: Any, six: Six, index: Any) -> Six:
    """Take the elements at `index` of all six."""
    return tuple(xp.take(value, index, axis=0) for value in six)
