"""Ones and zeros by probabilities for NumPy arrays: the loops of the compiled core, and what these leave open.

Contract: the answers of uniforms that are compared with probabilities or with the library's own
sigmoids, to the last bit; what the loops are not made for is left to the portable form.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from nbm_xp.namespace.core import functions

from .numpy_draws import completed, contiguous, number_by_number, room_for, together

__all__ = ["bernoulli", "bernoulli_of_sigmoid", "bernoulli_of_sum"]

_FLOAT32 = np.dtype("float32")
_SAMPLES = {name: np.dtype(name) for name in ("bool", "int8", "int32", "int64", "float32", "float64")}
_REAL = {np.dtype(name): name for name in ("float32", "float64")}
_DECIDED = {name: dtype for name, dtype in _SAMPLES.items() if name != "bool"}
_BY_ODDS = {dtype.char: f"bernoulli_of_sigmoid_{name}" for name, dtype in _DECIDED.items()}
_NO_SHIFTS = np.empty(0, _FLOAT32)
_MOST_OPEN: Final = 1024  # answers that the compiled loop may leave to the library's sigmoid


class _Open(threading.local):
    """Where a thread's loops leave answers open: made once, since draws may be small and many."""

    def __init__(self) -> None:
        self.places = np.empty(_MOST_OPEN, np.int64)
        self.uniforms, self.odds = np.empty(_MOST_OPEN, _FLOAT32), np.empty(_MOST_OPEN, _FLOAT32)

    def decide(self, count: int, answers: Any, sigmoid: Callable[[Any], Any]) -> None:
        """Determine the open results by the library's sigmoid."""
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
        Probabilities: one for each draw, or one for all.
    shape : tuple of ints
        Shape of the result.
    sample : str
        Dtype of the result.
    dtype : str
        Dtype of the uniforms.
    threads : int
        Number of threads.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than `p`, else 0.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).
    wrong : int
        Number of elements of `p` outside the interval from 0 to 1.

    Notes
    -----
    None in place of all three says that this function is not made for these dtypes.
    """
    kind = _REAL.get(p.dtype)
    if dtype == "float16" or kind is None or sample not in _SAMPLES:
        return None
    compare = functions[f"bernoulli_{dtype}_{kind}_{sample}"]
    out = np.empty(shape, _SAMPLES[sample])
    numbers = number_by_number(states, out.size)
    after = room_for(numbers.shape[1])
    bounds, flat = contiguous(p), out.reshape(-1)

    found = together(threads, numbers.shape[1], out.size, lambda claims: compare(numbers, bounds, flat, after, claims))
    may_be_wrong = any(found)  # -0.0 may be, and is not
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
        Dtype of the result.
    dtype : str
        Dtype of the uniforms.
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
        Dtype of the uniforms.
    sigmoid : callable
        The library's own, of arrays like `x`: it decides where that depends on rounding.
    sums : callable
        Function that computes ``x + shifts`` again.

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
    taken = dtype == "float32" and x.dtype == shifts.dtype == _FLOAT32
    if not taken or not x.flags.carray or not (along_rows or shifts.shape == (rows, 1)):
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
    after, still = room_for(numbers.shape[1]), _open
    scratch = still.places, still.uniforms, still.odds
    compare = functions[_BY_ODDS[out.dtype.char]]
    left_open = compare(numbers, x, columns, shifts, along_rows, out, after, *scratch)
    if left_open > _MOST_OPEN:
        return None
    still.decide(left_open, out, sigmoid)
    return completed(after, states)
