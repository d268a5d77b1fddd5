"""MRG31k3p for NumPy arrays: the states and numbers that compiled loops make.

What this chapter must satisfy: the bits of `nbm_xp.rng.recurrence` and `nbm_xp.rng.uniforms`. It is imported only when
NumPy draws are made, because numba takes a moment to import.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from . import compiled_loops as loops
from .integers import STREAM_STEPS, State, transition

__all__ = ["advance", "bernoulli", "draw", "runs", "substreams"]

_SAMPLES = frozenset(("bool", "int8", "int32", "int64", "float32", "float64"))
_SCALES = {name: np.asarray([scale]) for name, scale in loops.SCALES.items()}
_BOUNDS = frozenset(np.dtype(name) for name in loops.SCALES)
_LAYOUT: Final = ("C", "A", "W")


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
    numbers = _numbers(states, states.shape[0])
    new = np.empty_like(numbers)
    loops.advance(np.asarray([transition(steps + 1), transition(steps)], np.uint32), numbers, ahead, new)
    return new.view(np.int32).T


def draw(states: Any, n: int, dtype: str) -> tuple[Any, Any]:
    """Draw the next `n` uniforms of the streams.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    n : int
        How many.
    dtype : {"float16", "float32", "float64"}
        Of what dtype.

    Returns
    -------
    uniforms : numpy.ndarray
        Of shape (n,).
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).
    """
    numbers = _numbers(states, n)
    after = np.empty_like(numbers)
    out = np.empty(n, dtype)
    if dtype == "float16":
        loops.draw_float16(numbers, loops.FLOAT16, out.view(np.uint16), after)
    else:
        loops.draw(numbers, loops.SCALES[dtype], out, after)
    return out, _completed(after, states)


def bernoulli(states: Any, p: Any, sample: str, dtype: str) -> tuple[Any, Any] | None:
    """Compare the next uniforms of the streams with probabilities, without writing the uniforms down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    p : numpy.ndarray
        The probabilities, one for each draw.
    sample : str
        The dtype of the answer.
    dtype : str
        The dtype of the uniforms.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than `p`, else 0; of the shape of `p`.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).

    Notes
    -----
    None in place of both says that this function is not made for these dtypes.
    """
    if dtype not in _SCALES or p.dtype not in _BOUNDS or sample not in _SAMPLES:
        return None
    numbers = _numbers(states, p.size)
    after = np.empty_like(numbers)
    out = np.empty(p.shape, sample)
    bounds = p if p.flags.carray else np.require(p, requirements=_LAYOUT)
    loops.bernoulli(numbers, _SCALES[dtype], bounds.reshape(-1), out.reshape(-1), after)
    return out, _completed(after, states)


def runs(begins: Any, lengths: Any, rows: Any, states: Any, dtype: str) -> Any:
    """Draw runs of consecutive elements of a draw, each run anywhere in it.

    Parameters
    ----------
    begins, lengths : numpy.ndarray
        int64, of shape (count,): where each run begins, and how long it is.
    rows : six numpy.ndarrays
        The rows of the first element of each run, not centred.
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
    table = np.stack(rows, axis=-1).astype(np.uint32)
    loops.runs(begins, lengths, table, _numbers(states, states.shape[0]), scale, out)
    return loops.FLOAT16[out & 0x7FFF].view(np.float16) if dtype == "float16" else out


def _numbers(states: Any, count: int) -> Any:
    """The first `count` states, number by number, as numba is to have them.

    States keep their shape (count, 6) while in memory all first numbers stand together, then all second ones: read and
    written in turn, and no copy is made here unless states come from elsewhere. Read-only arrays are copied because
    numba takes them for another type and would compile anew.
    """
    taken = states[:count].T
    if not (taken.flags.carray and taken.dtype == np.int32):
        taken = np.require(taken, np.int32, _LAYOUT)
    return taken.view(np.uint32)


def _completed(after: Any, states: Any) -> Any:
    """All states after a draw that moved the first of them."""
    moved = after.view(np.int32)
    if moved.shape[1] < states.shape[0]:
        moved = np.concatenate([moved, states[moved.shape[1] :].T], axis=1)
    return moved.T
