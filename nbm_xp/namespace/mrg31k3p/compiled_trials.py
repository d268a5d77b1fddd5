"""Ones and zeros by probabilities for NumPy arrays: the loops of `compiled_trial_loops`, and what these leave open.

What this chapter must satisfy: the answers of uniforms that are compared with probabilities or with the library's own
sigmoids, to the last bit; what the loops are not made for is left to the portable form.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from . import compiled_trial_loops as loops
from .compiled import by_steps, completed, contiguous, number_by_number
from .compiled_loops import SCALES

__all__ = ["bernoulli", "bernoulli_of_sigmoid", "bernoulli_of_sum"]

_FLOAT32 = np.dtype("float32")
_SAMPLES = {name: np.dtype(name) for name in ("bool", "int8", "int32", "int64", "float32", "float64")}
_SCALES = {name: np.asarray([scale]) for name, scale in SCALES.items()}
_BITS: dict[Any, Any] = {np.dtype("float32"): np.dtype("uint32"), np.dtype("float64"): np.dtype("uint64")}
_ONES = {kind: int(np.asarray([1.0], kind).view(bits)[0]) for kind, bits in _BITS.items()}
_DECIDED = {name: dtype for name, dtype in _SAMPLES.items() if name != "bool"}
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
        How many of `p` are not from 0 to 1.

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
        largest = loops.bernoulli(numbers, scales, bounds, bits, flat, after)
    else:

        def part(begin: int, end: int, states: Any, new: Any) -> Any:
            own = slice(None) if bounds.size == 1 else slice(begin, end)
            return loops.bernoulli(states, scales, bounds[own], bits[own], flat[begin:end], new)

        largest = max(by_steps(threads, out.size, numbers, after, part))
    may_be_wrong = largest > _ONES[kind]  # -0.0 is not
    wrong = np.count_nonzero(~((bounds >= 0) & (bounds <= 1))) if may_be_wrong else 0
    return out, completed(after, states), int(wrong)


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
    left_open = loops.bernoulli_of_sigmoid(numbers, x, columns, shifts, along_rows, out, after, *scratch)
    if left_open > _MOST_OPEN:
        return None
    still.decide(left_open, out, sigmoid)
    return completed(after, states)
