"""MRG31k3p for NumPy arrays: the states and numbers that compiled loops make.

What this chapter must satisfy: the bits of `nbm_xp.rng.recurrence` and `nbm_xp.rng.uniforms`. It is imported only when
NumPy draws are made, because numba takes a moment to import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final

import numpy as np

from . import compiled_loops as loops
from . import compiled_trials as trials
from .integers import STREAM_STEPS, State, transition

__all__ = [
    "advance", "bernoulli", "bernoulli_of_sigmoid", "bernoulli_of_sum", "contiguous", "draw", "normals",
    "number_by_number", "runs", "side_by_side", "substreams",
]  # fmt: skip

_SAMPLES = {name: np.dtype(name) for name in ("bool", "int8", "int32", "int64", "float32", "float64")}
_SCALES = {name: np.asarray([scale]) for name, scale in loops.SCALES.items()}
_BITS: dict[Any, Any] = {np.dtype("float32"): np.dtype("uint32"), np.dtype("float64"): np.dtype("uint64")}
_ONES = {kind: int(np.asarray([1.0], kind).view(bits)[0]) for kind, bits in _BITS.items()}
_DECIDED = {name: dtype for name, dtype in _SAMPLES.items() if name != "bool"}
_FLOAT32, _INT32, _UINT32 = np.dtype("float32"), np.dtype("int32"), np.dtype("uint32")
_LAYOUT: Final = ("C", "A", "W")
_WORTH_A_THREAD: Final = 2**16  # elements, which take some 50 microseconds
_NO_SHIFTS = np.empty(0, _FLOAT32)
_MOST_OPEN: Final = 1024  # answers that the compiled loop may leave to the library's sigmoid


class _Open(threading.local):
    """Where a thread's loops leave answers open: made once, since draws may be small and many."""

    def __init__(self) -> None:
        self.places = np.empty(_MOST_OPEN, np.int64)
        self.uniforms, self.odds = np.empty(_MOST_OPEN, _FLOAT32), np.empty(_MOST_OPEN, _FLOAT32)

    def decide(self, count: int, answers: Any, sigmoid: Callable[[Any], Any]) -> None:
        """Let the library's sigmoid give the answers that are open."""
        if count:
            answers[self.places[:count]] = self.uniforms[:count] < sigmoid(self.odds[:count])


_open = _Open()


@lru_cache(maxsize=1)
def _jumps() -> Any:
    """The matrices of 1, 2, 4, … streams."""
    return np.asarray([transition(STREAM_STEPS << k) for k in range(31)], np.uint32).reshape(31, 2, 3, 3)


def substreams(state: State, count: int) -> Any:
    """See `nbm_xp.rng.recurrence.substreams`."""
    numbers = np.empty((6, count), np.uint32)
    numbers[:, 0] = state
    loops.substreams(_jumps()[: (count - 1).bit_length()], numbers)
    return numbers.view(np.int32).T


def advance(states: Any, n: int) -> Any:
    """See `nbm_xp.rng.recurrence.advance`."""
    steps, ahead = divmod(n, states.shape[0])
    numbers = number_by_number(states, states.shape[0])
    new = np.empty_like(numbers)
    loops.advance(np.asarray([transition(steps + 1), transition(steps)], np.uint32), numbers, ahead, new)
    return new.view(np.int32).T


def draw(states: Any, n: int, dtype: str, stretch: Any = (), threads: int = 1, out: Any = None) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    n : int
        How many.
    dtype : {"float16", "float32", "float64"}
        Of what dtype.
    stretch : two floats, optional
        What each uniform is multiplied by, and what is added then; not for float16.
    threads : int
        How many threads work side by side.
    out : numpy.ndarray, optional
        Has `n` elements of that dtype; they are the uniforms then, if they lie one after the other.

    Returns
    -------
    uniforms : numpy.ndarray
        `out`, where they are there; else of shape (n,).
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).
    """
    numbers = number_by_number(states, n)
    after = np.empty_like(numbers)
    line, uniforms = _memory(n, dtype, out)
    if dtype == "float16":
        loops.draw_float16(numbers, loops.FLOAT16, line.view(np.uint16), after)
    else:
        scale, factors = loops.SCALES[dtype], np.asarray(stretch, dtype)

        def part(begin: int, end: int, states: Any, new: Any) -> None:
            loops.draw(states, scale, factors, line[begin:end], new)

        _by_steps(threads, n, numbers, after, part)
    return uniforms, _completed(after, states)


def bernoulli(
    states: Any, p: Any, shape: Any, sample: str, dtype: str, threads: int = 1
) -> tuple[Any, Any, int] | None:
    """Compare the next uniforms of the streams with probabilities, without writing the uniforms down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    p : numpy.ndarray
        The probabilities, one for each draw, or a single one.
    shape : tuple of ints
        The shape of the answer.
    sample : str
        The dtype of the answer.
    dtype : str
        The dtype of the uniforms.
    threads : int
        How many threads work side by side.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than `p`, else 0.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).
    wrong : int
        How many of an array `p` are not from 0 to 1.

    Notes
    -----
    None in place of all three says that this function is not made for these dtypes.
    """
    kind = p.dtype
    if dtype not in _SCALES or kind not in _BITS or sample not in _SAMPLES:
        return None
    out = np.empty(shape, _SAMPLES[sample])
    numbers = number_by_number(states, out.size)
    after = np.empty_like(numbers)
    bounds = contiguous(p)
    bits, flat, scales = bounds.view(_BITS[kind]), out.reshape(-1), _SCALES[dtype]

    if threads == 1:
        largest = trials.bernoulli(numbers, scales, bounds, bits, flat, after)
    else:

        def part(begin: int, end: int, states: Any, new: Any) -> Any:
            own = slice(None) if bounds.size == 1 else slice(begin, end)
            return trials.bernoulli(states, scales, bounds[own], bits[own], flat[begin:end], new)

        largest = max(_by_steps(threads, out.size, numbers, after, part))
    may_be_wrong = largest > _ONES[kind]  # -0.0 is not
    wrong = np.count_nonzero(~((bounds >= 0) & (bounds <= 1))) if may_be_wrong else 0
    return out, _completed(after, states), int(wrong)


def bernoulli_of_sigmoid(
    states: Any, x: Any, sample: str, dtype: str, sigmoid: Callable[[Any], Any]
) -> tuple[Any, Any] | None:
    """Compare the next uniforms of the streams with the sigmoids of `x`, without writing either down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    x : numpy.ndarray
        The log-odds, one for each draw.
    sample : str
        The dtype of the answer.
    dtype : str
        The dtype of the uniforms.
    sigmoid : callable
        The library's own, of vectors like `x`: it decides where that depends on rounding.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than ``sigmoid(x)``, else 0; of the shape of `x`.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).

    Notes
    -----
    None in place of both says that this function is not made for these dtypes, or that many answers depend on rounding.
    """
    if dtype != "float32" or x.dtype != _FLOAT32 or sample not in _DECIDED:
        return None
    out = np.empty(x.shape, _DECIDED[sample])
    after = _by_odds(states, contiguous(x), x.size, _NO_SHIFTS, False, out.reshape(-1), sigmoid)
    return None if after is None else (out, after)


def bernoulli_of_sum(
    states: Any, x: Any, shifts: Any, dtype: str, sigmoid: Callable[[Any], Any], sums: Callable[[], Any]
) -> tuple[Any, Any] | None:
    """Compare the next uniforms of the streams with the sigmoids of ``x + shifts``, which are not written down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    x : numpy.ndarray
        A matrix that is nobody else's: the answer may take its place.
    shifts : numpy.ndarray
        One for each column of `x`, or one for each row, of shape (rows, 1).
    dtype : str
        The dtype of the uniforms.
    sigmoid : callable
        The library's own, of arrays like `x`: it decides where that depends on rounding.
    sums : callable
        What gives ``x + shifts`` anew.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than the sigmoid, else 0; of the shape and dtype of `x`.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).

    Notes
    -----
    None in place of both says that this function is not made for such arrays, and has left them as they were.
    """
    rows, columns = x.shape if x.ndim == 2 else (0, 0)
    along_rows = shifts.shape in ((columns,), (1, columns))
    kinds = {np.dtype(dtype), x.dtype, shifts.dtype}
    if kinds != {_FLOAT32} or not x.flags.carray or not (along_rows or shifts.shape == (rows, 1)):
        return None
    flat = x.reshape(-1)
    after = _by_odds(states, flat, columns, contiguous(shifts), along_rows, flat, sigmoid)
    if after is None:  # x has been written over
        found = bernoulli(states, sigmoid(sums()), x.shape, "float32", dtype)
        return found and found[:2]
    return x, after


def _by_odds(
    states: Any, x: Any, columns: int, shifts: Any, along_rows: bool, out: Any, sigmoid: Callable[[Any], Any]
) -> Any:
    """Fill `out`; gives the states after the draw, or None where the compiled loop leaves too many answers open."""
    numbers = number_by_number(states, out.size)
    after, still = np.empty_like(numbers), _open
    scratch = still.places, still.uniforms, still.odds
    left_open = trials.bernoulli_of_sigmoid(numbers, x, columns, shifts, along_rows, out, after, *scratch)
    if left_open > _MOST_OPEN:
        return None
    still.decide(left_open, out, sigmoid)
    return _completed(after, states)


def normals(states: Any, rows: Any, n: int, dtype: str, stretch: Any = (), threads: int = 1, out: Any = None) -> Any:
    """Make normal numbers of the next uniforms of the streams, without writing the uniforms down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places, not centred.
    n : int
        How many.
    dtype : {"float32", "float64"}
        Of what dtype.
    stretch : two floats, optional
        What each number is multiplied by, and what is added then.
    threads : int
        How many threads work side by side.
    out : numpy.ndarray, optional
        See `draw`.

    Returns
    -------
    numpy.ndarray
        `out`, or of shape (n,): the cosines of all pairs, then the sines; see `nbm_xp.rng.transforms.paired`.
    """
    from . import compiled_normals

    half = (n + 1) // 2
    numbers = number_by_number(states, states.shape[0])
    (line, drawn), factors = _memory(n, dtype, out), np.asarray(stretch, dtype)

    def part(begin: int, end: int) -> None:
        places = np.asarray([begin, half + begin])
        table = np.stack(rows(places), axis=-1).astype(np.uint32)
        cosines, sines = line[begin:end], line[half + begin : half + end]
        compiled_normals.normals(numbers, loops.SCALES[dtype], table, places, end - begin, factors, cosines, sines)

    side_by_side(threads, n, half, part)
    return drawn


def side_by_side(threads: int, n: int, count: int, part: Callable[..., Any]) -> list[Any]:
    """Do the parts of some work in threads: ``part(begin, end)`` for stretches of `count` things, `n` elements in all.

    Examples
    --------
    >>> side_by_side(2, 10**6, 100, lambda begin, end: (begin, end))
    [(0, 50), (50, 100)]
    >>> side_by_side(1, 10**6, 100, lambda begin, end: (begin, end))
    [(0, 100)]
    """
    workers = min(threads, -(-n // _WORTH_A_THREAD), count)
    if workers <= 1:
        return [part(0, count)]
    edges = [count * i // workers for i in range(workers + 1)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(part, edges[:-1], edges[1:]))


def _by_steps(threads: int, n: int, numbers: Any, after: Any, part: Callable[..., Any]) -> list[Any]:
    """Divide the steps of a draw among threads, so that each fills memory of its own, from states jumped to.

    ``part(begin, end, states, new)`` draws the elements from `begin` to `end`, and puts the states after them in `new`.
    """
    if threads == 1:
        return [part(0, n, numbers, after)]
    streams = numbers.shape[1]
    steps = -(-n // streams)

    def some(begin: int, end: int) -> Any:
        matrices = np.asarray([transition(begin)] * 2, np.uint32)
        states, last = numbers, end == steps
        if begin:
            states = np.empty_like(numbers)
            loops.advance(matrices, numbers, 0, states)
        new = after if last else np.empty_like(numbers)
        return part(begin * streams, n if last else end * streams, states, new)

    return side_by_side(threads, n, steps, some)


def runs(begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    """Draw runs of consecutive elements of a draw, each run anywhere in it.

    Parameters
    ----------
    begins, lengths : numpy.ndarray
        int64, of shape (count,): where each run begins, and how long it is.
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places, not centred.
    states : numpy.ndarray
        The states in which all the streams start, of shape (streams, 6).
    dtype : {"float16", "float32", "float64"}
        Of what dtype.

    Returns
    -------
    numpy.ndarray
        The runs one after the other.
    """
    scale: Any = loops.SCALES.get(dtype, np.int32(1))
    out: Any = np.empty(int(lengths.sum()), scale.dtype)
    table = np.stack(rows(begins), axis=-1).astype(np.uint32)
    loops.runs(begins, lengths, table, number_by_number(states, states.shape[0]), scale, out)
    return loops.FLOAT16[out & 0x7FFF].view(np.float16) if dtype == "float16" else out


def _memory(n: int, dtype: str, out: Any) -> tuple[Any, Any]:
    """Memory for so many numbers one after the other, and the array that it is of: `out`, where that lies so."""
    if out is not None and out.flags.carray:
        return out.reshape(-1), out
    line = np.empty(n, dtype)
    return line, line


def contiguous(x: Any) -> Any:
    """All elements one after the other, as numba is to have them."""
    return (x if x.flags.carray else np.require(x, requirements=_LAYOUT)).reshape(-1)


def number_by_number(states: Any, count: int) -> Any:
    """The first `count` states, number by number, as numba is to have them.

    States keep their shape (count, 6) while in memory all first numbers stand together, then all second ones: read and
    written in turn, and no copy is made here unless states come from elsewhere. Read-only arrays are copied because
    numba takes them for another type and would compile anew.
    """
    taken = states.T if states.shape[0] <= count else states[:count].T
    if not (taken.flags.carray and taken.dtype == _INT32):
        taken = np.require(taken, _INT32, _LAYOUT)
    return taken.view(_UINT32)


def _completed(after: Any, states: Any) -> Any:
    """All states after a draw that moved the first of them."""
    moved = after.view(_INT32)
    if moved.shape[1] < states.shape[0]:
        moved = np.concatenate([moved, states[moved.shape[1] :].T], axis=1)
    return moved.T
