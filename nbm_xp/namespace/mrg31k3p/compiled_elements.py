"""Numbers that are made each of its own uniforms, compiled for NumPy arrays: the loop that all of them share.

What this chapter must satisfy: the bits of `nbm_xp.rng.distributions`, whose methods try until they accept. Uniforms
are made a few at a time and never reach memory; those of a further attempt are made for the elements alone that need
it, out of the same states. As in `compiled_loops`, no lock is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numba
import numpy as np

from .compiled import contiguous, number_by_number
from .compiled_loops import at_places, at_random, inlined, later_row, next_row
from .integers import transition

__all__ = ["AT_ONCE", "Draws", "each_until_accepted", "part", "until_accepted"]

AT_ONCE: Final = 1024
"""Elements made at once."""

TRIES: Final = 1000
"""More attempts than any element needs."""

SPARE: Final = 4
"""Arrays of doubles that an attempt may fill as it likes."""

part = numba.njit(nogil=True, error_model="numpy")
"""What decorates the parts of a compiled loop that stay functions of their own."""


class Draws(Protocol):
    """Which uniforms the elements of a block have: see `nbm_xp.rng.distributions.element_uniforms`."""

    streams: int
    n: int
    begins: Any
    lengths: Any
    first: int
    step: int

    @property
    def count(self) -> int:
        """How many elements there are."""

    def states(self) -> Any:
        """The states of all streams."""

    def rows(self) -> Any:
        """The rows of the first elements of the runs, not centred."""


@part
def _at_random(states: Any, stream: int, width: int, row: Any, scale: Any, out: Any) -> None:
    at_random(states, stream, width, row, scale, out)


@part
def _at_places(states: Any, stream: int, places: Any, count: int, row: Any, scale: Any, out: Any) -> None:
    at_places(states, stream, places, count, row, scale, out)


@part
def _later_row(row: Any, matrices: Any) -> Any:
    return later_row(row, matrices)


@part
def _next_row(row: Any) -> Any:
    return next_row(row)


@part
def _refused(done: Any, count: int, where: Any) -> int:
    """Put the places of what is not done in `where`; gives how many they are."""
    found = 0
    for begin in range(0, count, 64):
        some = done[begin : min(begin + 64, count)]
        accepted = np.int32(0)
        for i in range(some.size):
            accepted += some[i]
        if accepted < some.size:
            for i in range(some.size):
                where[found] = begin + i
                found += 1 - some[i]
    return found


@inlined
def until_accepted(attempt: Any, each: int, block: Any, out: Any) -> int:
    """Fill `out` with the numbers of runs of elements; gives how many elements were never accepted.

    Parameters
    ----------
    attempt : function
        ``attempt(u, own, count, value, done, spare, bits)`` makes `count` numbers of the rows of `u` by the rows of
        `own`, parameters. It fills `value`, and `done` with 1 where a number is accepted, else 0.
    each : int
        How many uniforms an attempt takes.
    block : tuple
        The states of the streams; what an integer is multiplied by, in an array; how many streams are a step ahead of
        the others after a draw; where the runs begin, how long they are, and the rows of their first elements; for the
        other streams and for those ahead, the matrices from uniform 0 to the first that is counted, none where that is
        the same, and those from one to the next; parameters, one for all elements or one for each.
    out : array
        A number for each element.
    """
    states, scales, ahead, begins, lengths, rows, to_first, onward, columns = block
    streams = states.shape[1]
    u = np.empty((each, AT_ONCE), scales.dtype)
    own = np.empty((len(columns), AT_ONCE), columns[0].dtype)
    value, done = np.empty(AT_ONCE, out.dtype), np.empty(AT_ONCE, np.int8)
    left, where = np.arange(AT_ONCE), np.empty(AT_ONCE, np.int64)
    spare = np.empty((SPARE, AT_ONCE), np.float64)
    bits = spare.view(np.int64)
    place = 0
    lost = 0
    for c in range(len(columns)):
        own[c, :] = columns[c][0]
    for k in range(begins.size):
        row = rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3], rows[k, 4], rows[k, 5]
        stream, rest = begins[k] % streams, lengths[k]
        while rest:
            later = 1 if stream < ahead else 0
            count = min(rest, AT_ONCE, (ahead if later else streams) - stream)
            here = _later_row(row, to_first[later]) if to_first.shape[0] else row
            for c in range(len(columns)):
                column = columns[c]
                if column.size > 1:
                    own[c, :count] = column[place : place + count]
            _at_random(states, stream, count, here, scales[0], u[0])
            for j in range(1, each):
                here = _later_row(here, onward[later])
                _at_random(states, stream, count, here, scales[0], u[j])
            target = out[place : place + count]
            attempt(u, own, count, target, done, spare, bits)
            waiting = _refused(done, count, where)
            tried, most = 1, waiting
            while waiting and tried < TRIES:
                for i in range(waiting):
                    left[i] = left[where[i]]
                for c in range(len(columns)):
                    if columns[c].size > 1:
                        for i in range(waiting):
                            own[c, i] = own[c, where[i]]
                for j in range(each):
                    here = _later_row(here, onward[later])
                    _at_places(states, stream, left, waiting, here, scales[0], u[j])
                attempt(u, own, waiting, value, done, spare, bits)
                for i in range(waiting):
                    target[left[i]] = value[i]
                waiting = _refused(done, waiting, where)
                tried += 1
            for i in range(most):
                left[i] = i
            lost += waiting
            place += count
            rest -= count
            stream += count
            if stream == streams:
                stream = 0
                row = _next_row(row)
    return lost


def each_until_accepted(loop: Callable[..., int], draws: Draws, scale: Any, dtype: Any, *columns: Any) -> Any:
    """Run a compiled loop, which calls `until_accepted`, for a block of a draw.

    Parameters
    ----------
    loop : callable
        ``loop(block, out)``.
    draws : Draws
        The elements.
    scale : numpy.ndarray
        What an integer of the recurrence is multiplied by, of shape (1,) and of the dtype of an attempt's uniforms.
    dtype : str
        Of the numbers.
    *columns : numpy.ndarray
        Parameters, of shape (1,) or (count,), of one dtype.

    Returns
    -------
    numpy.ndarray
        Of shape (count,).
    """
    steps, ahead = divmod(draws.n, draws.streams)
    states = number_by_number(draws.states(), draws.streams)
    to_first = _matrices(steps, draws.first) if draws.first else np.empty((0, 2, 3, 3), np.uint32)
    onward = _matrices(steps, draws.step)
    rows = np.stack(draws.rows(), axis=-1).astype(np.uint32)
    parameters = tuple(map(contiguous, columns))
    block = (
        states,
        scale,
        ahead,
        contiguous(draws.begins),
        contiguous(draws.lengths),
        rows,
        to_first,
        onward,
        parameters,
    )
    out = np.empty(draws.count, dtype)
    lost = loop(block, out)
    if lost:
        raise RuntimeError(f"{TRIES} attempts were not enough for {lost} elements")
    return out


def _matrices(steps: int, draws: int) -> Any:
    """What takes a row so many draws on, in streams that are not ahead and in those that are."""
    return np.asarray([transition(draws * steps), transition(draws * (steps + 1))], np.uint32)
