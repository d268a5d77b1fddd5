"""MRG31k3p for NumPy arrays: the states and numbers that the compiled core makes.

Contract: the bits of `nbm_xp.rng.recurrence`, `uniforms` and `distributions`, and of `nbm_xp.namespace.elementary`; no
lock is held, so that threads run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from nbm_xp.namespace.core import ROOM, functions, room

from .integers import OUTPUT_STEPS, STREAM_STEPS, State, transition

_INT32 = np.dtype("int32")
_LAYOUT: Final = ("C", "A")
_WORTH_A_THREAD: Final = 2**16  # elements, which take some 50 microseconds
_PAGE: Final = (
    1024  # streams whose float32 numbers of one step fill a page: threads that write to one wait for each other
)
_ALONE: Final = np.empty(0, np.int64)  # claims of one thread
_MANY: Final = 2**15  # bytes of states
_RUNS: Final = {"float16": "int32", "float32": "float32", "float64": "float64", "wide": "wide"}


@lru_cache(maxsize=1)
def _jumps() -> Any:
    """The matrices of 1, 2, 4, … streams."""
    return np.asarray([transition(STREAM_STEPS << k) for k in range(31)], np.uint32).reshape(31, 2, 3, 3)


@lru_cache(maxsize=1)
def _float16() -> Any:
    """The bits of the float16 numbers that the last 15 bits of an integer become."""
    table = np.empty(2**15, np.uint16)
    functions["half_table"](table)
    return table


def substreams(state: State, count: int) -> Any:
    """See `nbm_xp.rng.recurrence.substreams`."""
    numbers = room_for(count)
    numbers[:, 0] = state
    functions["substreams"](_jumps(), numbers)
    return numbers.T


def advance(states: Any, n: int) -> Any:
    """See `nbm_xp.rng.recurrence.advance`."""
    steps, ahead = divmod(n, states.shape[0])
    numbers = number_by_number(states, states.shape[0])
    new = room_for(numbers.shape[1])
    functions["advance"](_matrices(steps + 1, steps), numbers, ahead, new)
    return new.T


@lru_cache(maxsize=64)
def _matrices(*steps: int) -> Any:
    """The matrices that advance a state by each number of steps."""
    return np.asarray([transition(count) for count in steps], np.uint32)


def draw(
    states: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    n : int
        Number of uniforms.
    dtype : {"float16", "float32", "float64", "wide"}
        Dtype of the uniforms; see `nbm_xp.rng.uniforms.numbers`.
    scale_and_shift : two floats, optional
        Factor of each uniform, and number added to the product; not for float16.
    threads : int
        Number of threads.
    out : numpy.ndarray, optional
        Array of `n` elements of that dtype, which the uniforms are written to if it is contiguous.

    Returns
    -------
    uniforms : numpy.ndarray
        `out` if it was written to; else an array of shape (n,).
    new : numpy.ndarray
        States after the draw, int32, of shape (count, 6); None if the uniforms are wide.
    """
    if dtype == "wide":
        return _draw_wide(states, n, scale_and_shift, threads, out), None
    numbers = number_by_number(states, n)
    after = room_for(numbers.shape[1])
    line, uniforms = _memory(n, dtype, out)
    fill, table = functions[f"draw_{dtype}"], _float16() if dtype == "float16" else np.asarray(scale_and_shift, dtype)

    together(threads, numbers.shape[1], n, lambda claims: fill(numbers, table, line, after, claims))
    return uniforms, completed(after, states)


def _draw_wide(states: Any, n: int, scale_and_shift: Any, threads: int, out: Any) -> Any:
    """Draw the next `n` uniforms of the streams, of 53 bits: see `draw`."""
    count = min(n, states.shape[0])
    planes = np.empty((2, 6, count), np.uint32)
    planes[0] = number_by_number(states, count)
    functions["advance"](_matrices(0, OUTPUT_STEPS), planes[0], 0, planes[1])
    line, uniforms = _memory(n, "float64", out)
    fill, factors = functions["draw_wide"], np.asarray(scale_and_shift, np.float64)

    together(threads, count, n, lambda claims: fill(planes, factors, line, claims))
    return uniforms


def normals(
    states: Any, rows: Any, n: int, dtype: str, scale_and_shift: Any = (), threads: int = 1, out: Any = None
) -> Any:
    """Make normal numbers of pairs of steps of the streams, without writing the uniforms down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places, not centred.
    n, dtype, scale_and_shift, threads, out
        See `draw`; not for float16.

    Returns
    -------
    numpy.ndarray
        `out`, or of shape (n,); see `nbm_xp.rng.uniforms.stepwise_normals`.
    """
    count = min(n, states.shape[0])
    numbers = number_by_number(states, count)
    (line, drawn), factors = _memory(n, dtype, out), np.asarray(scale_and_shift, dtype)
    make = functions[f"normals_{dtype}"]

    def part(begin: int, end: int) -> None:
        begin, end = 2 * count * begin, 2 * count * end
        row = np.stack(rows(np.asarray([begin])), axis=-1).astype(np.uint32)
        make(numbers, row, factors, line[begin:end])

    side_by_side(threads, n, -(-n // (2 * count)), part)
    return drawn


def box_muller(u1: Any, u2: Any) -> None:
    """Turn pairs of uniforms, of contiguous arrays, into normal numbers in place: see `nbm_xp.rng.uniforms.polar`."""
    functions[f"box_muller_{u1.dtype}"](u1, u2)


def cut_at_steps(begins: Any, lengths: Any, streams: int) -> tuple[Any, Any]:
    """Cut runs wherever the streams start anew: into pieces of one step each.

    Examples
    --------
    >>> begins, lengths = cut_at_steps(np.asarray([1]), np.asarray([5]), 4)
    >>> begins.tolist(), lengths.tolist()
    ([1, 4], [3, 2])
    """
    first, last = begins // streams, (begins + lengths - 1) // streams
    counts = last - first + 1
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.maximum(np.repeat(begins, counts), (np.repeat(first, counts) + nth) * streams)
    ends = np.minimum(np.repeat(begins + lengths, counts), (np.repeat(first, counts) + nth + 1) * streams)
    return starts, ends - starts


def side_by_side(threads: int, n: int, count: int, part: Callable[..., Any]) -> list[Any]:
    """Run ``part(begin, end)`` in threads on consecutive ranges of `count` items with `n` elements in total.

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
    others = [_pool(workers - 1).submit(part, *ends) for ends in pairwise(edges[1:])]
    return [part(*edges[:2]), *(other.result() for other in others)]


@lru_cache(maxsize=4)
def _pool(workers: int) -> ThreadPoolExecutor:
    """Pool of threads, reused as starting threads takes as long as drawing a million numbers."""
    return ThreadPoolExecutor(workers, "nbm_xp draws")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads


def together(threads: int, streams: int, n: int, fill: Callable[[Any], Any]) -> list[Any]:
    """Fill one draw of `n` elements by ``fill(claims)`` in each thread, which claims streams that no other has.

    Each takes an equal share. Threads that have finished take the rest of a thread that starts late, and a thread that
    has not started when all streams are taken is cancelled.
    """
    workers = min(threads, n // _WORTH_A_THREAD)
    if workers <= 1:
        return [fill(_ALONE)]
    claims = np.asarray([0, -(-streams // (workers * _PAGE)) * _PAGE])
    others = [_pool(workers - 1).submit(fill, claims) for _ in range(workers - 1)]
    return [fill(claims), *(other.result() for other in others if not other.cancel())]


def rows(first: tuple[int, ...], count: int) -> Any:
    """Make the rows of consecutive outputs, of which the first is given; see `nbm_xp.rng.recurrence.orbit`.

    Returns
    -------
    six numpy.ndarrays
        int64, of shape (count,), not centred.
    """
    table = np.empty((6, count), np.int64)
    functions["rows"](np.asarray(first, np.uint32), table)
    return tuple(table)


def runs(begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    """Draw runs of consecutive elements of a draw, each run anywhere in it.

    Parameters
    ----------
    begins, lengths : numpy.ndarray
        Start and length of each run, int64, of shape (count,).
    rows : callable
        ``rows(places)`` gives the rows of the elements at some places, not centred.
    states : numpy.ndarray
        Initial states of all streams, of shape (streams, 6).
    dtype : {"float16", "float32", "float64", "wide"}
        Of what dtype.

    Returns
    -------
    numpy.ndarray
        The runs, concatenated.
    """
    kind = _RUNS[dtype]
    out = np.empty(int(lengths.sum()), "float64" if kind == "wide" else kind)
    table = np.stack(rows(begins), axis=-1).astype(np.uint32)
    states = number_by_number(states, states.shape[0])
    functions[f"runs_{kind}"](contiguous(begins), contiguous(lengths), table, states, out)
    return _float16()[out & 0x7FFF].view(np.float16) if dtype == "float16" else out


def _memory(n: int, dtype: str, out: Any) -> tuple[Any, Any]:
    """Contiguous memory for a number of elements, and its array: `out` if that is contiguous."""
    if out is not None and out.flags.carray and out.dtype.isnative:
        return out.reshape(-1), out
    line = np.empty(n, dtype)
    return line, line


def contiguous(x: Any) -> Any:
    """The array, or its elements in contiguous memory, as the core requires."""
    flags, dtype = x.flags, x.dtype
    lies = flags.c_contiguous and flags.aligned and dtype.isnative
    return x if lies else np.require(x, dtype.newbyteorder("="), _LAYOUT)


def room_for(count: int) -> Any:
    """Memory for a number of states, number by number.

    Memory of the usual size of a draw is cached and reused, so that its pages need not be allocated again.
    """
    if room is None or not _MANY <= count * 24 <= ROOM:
        return np.empty((6, count), _INT32)
    return np.ndarray((6, count), _INT32, room())


def number_by_number(states: Any, count: int) -> Any:
    """The first `count` states, number by number, as the core requires.

    States keep their shape (count, 6) while in memory all first numbers stand together, then all second ones: read and
    written in turn, and no copy is made here unless states come from elsewhere.
    """
    taken = states.T if states.shape[0] <= count else states[:count].T
    flags = taken.flags
    if not (flags.c_contiguous and flags.aligned and taken.dtype == _INT32):
        taken = np.require(taken, _INT32, _LAYOUT)
    return taken


def completed(after: Any, states: Any) -> Any:
    """All states after a draw that moved the first of them."""
    moved = after.shape[1]
    return (np.concatenate([after, states[moved:].T], axis=1) if moved < states.shape[0] else after).T


def elementwise(name: str, x: Any, *constants: Any) -> Any:
    """Apply a function of the core to each element of a float64 array, with constants for all elements or for each."""
    if name == "sqrt":
        return np.sqrt(x)  # the processor's, which IEEE 754 fixes
    if name in ("log", "exp"):
        out = np.array(x, np.float64, order="C").reshape(-1)
        functions[name](out)
    else:
        out = np.empty(x.size)
        functions[name](contiguous(x), *map(contiguous, constants), out)
    return out.reshape(x.shape)


def sampled(name: str, draws: Any, *columns: Any) -> Any:
    """A number for each element of a block, by a function of the core that draws its uniforms until one is accepted.

    Parameters
    ----------
    name : str
        The function: see ``loops/samplers.h``.
    draws : ElementUniforms
        Which uniforms the elements have.
    *columns
        Parameters for all elements or for each, of the dtype of the numbers; those without any are float64.
    """
    out = np.empty(draws.count, columns[0].dtype if columns else np.float64)
    states = number_by_number(draws.states(), draws.streams)
    row = np.stack(draws.rows(), axis=-1).astype(np.uint32)
    own = map(contiguous, columns)
    runs = contiguous(draws.begins), contiguous(draws.lengths)
    lost = functions[name](states, draws.first, draws.step, *runs, row, out, *own)
    if lost:
        raise RuntimeError(f"a thousand attempts were not enough for {lost} elements")
    return out


def whole_digits(states: Any, n: int, low: int, span: int, dtype: str, threads: int) -> Any:
    """Draw `n` integers of one common span, from one output each; None if any output must be rejected."""
    numbers, out = number_by_number(states, n).copy(), np.empty(n, dtype)
    if out.itemsize == 2:
        return None
    fill, bits = functions[f"whole_digits_{out.itemsize}"], out.view(f"i{out.itemsize}")
    low = (low + 2**63) % 2**64 - 2**63  # sums wrap around
    refused = together(threads, numbers.shape[1], n, lambda claims: fill(numbers, low, span, bits, claims))
    return None if any(refused) else out
