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

_FLOAT32 = np.dtype("float32")
_SAMPLES = {name: np.dtype(name) for name in ("bool", "int8", "int32", "int64", "float32", "float64")}
_REAL = {np.dtype(name): name for name in ("float32", "float64")}
_DECIDED = {name: dtype for name, dtype in _SAMPLES.items() if name != "bool"}
_NO_SHIFTS = np.empty(0, _FLOAT32)
_MOST_OPEN: Final = 1024  # answers that the compiled loop may leave to the library's sigmoid


class _Open(threading.local):
    """Where a thread's loops leave answers open: made once, since draws may be small and many."""

    def __init__(self) -> None:
        self.places = np.empty(_MOST_OPEN, np.int64)
        self.uniforms, self.odds = np.empty(_MOST_OPEN, _FLOAT32), np.empty(_MOST_OPEN, _FLOAT32)

    def decide(self, count: int, answers: Any, sigmoid: Callable[[Any], Any]) -> None:
        """Determine the open results by the library's sigmoid."""
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
    after, bounds = room_for(numbers.shape[1]), contiguous(p)

    found = together(threads, numbers.shape[1], out.size, lambda claims: compare(numbers, bounds, out, after, claims))
    # -0.0 may be wrong, and is not
    wrong = int(np.count_nonzero(~((bounds >= 0) & (bounds <= 1)))) if any(found) else 0
    return out, completed(after, states), wrong


def bernoulli_of_sigmoid(
    states: Any,
    terms: tuple[Any, ...],
    shape: Any,
    sample: str,
    sigmoid: Callable[[Any], Any],
    again: Callable[[], Any] | None = None,
) -> tuple[Any, Any] | None:
    """Compare the next float32 uniforms of the streams with the sigmoids of log-odds, without writing either down.

    Parameters
    ----------
    states : numpy.ndarray
        int32, of shape (count, 6).
    terms : one or two numpy.ndarrays
        The log-odds, or their two summands: a matrix, and a number for each of its columns or rows.
    shape : tuple of ints
        Shape of the result.
    sample : str
        Dtype of the result.
    sigmoid : callable
        The library's own, of float32 vectors: it decides where that depends on rounding.
    again : callable, optional
        Function that computes the log-odds again; the result may then take the place of the first term.

    Returns
    -------
    sample : numpy.ndarray
        1 where the uniform is less than the sigmoid, else 0.
    new : numpy.ndarray
        The states after the draw, int32, of shape (count, 6).

    Notes
    -----
    None in place of both says that this function is not made for these arrays, or that many answers depend on rounding.
    """
    x, shifts = terms if len(terms) > 1 else (*terms, _NO_SHIFTS)
    if sample not in _DECIDED or getattr(x, "dtype", None) != _FLOAT32 or getattr(shifts, "dtype", None) != _FLOAT32:
        return None
    if x.shape != shape:
        x, shifts = shifts, x
    rows, columns = shape if len(shape) == 2 else (0, 0)
    along_rows = shifts.shape in ((columns,), (1, columns))
    if x.shape != shape or not (len(terms) == 1 or along_rows or shifts.shape == (rows, 1)):
        return None
    in_place = again is not None and x.flags.carray and x.dtype == _DECIDED[sample]
    out, still = x if in_place else np.empty(shape, _DECIDED[sample]), _open
    numbers = number_by_number(states, out.size)
    after, compare = room_for(numbers.shape[1]), functions[f"bernoulli_of_sigmoid_{sample}"]
    scratch = still.places, still.uniforms, still.odds
    left_open = compare(numbers, contiguous(x), columns, contiguous(shifts), along_rows, out, after, *scratch)
    if left_open > _MOST_OPEN:
        found = bernoulli(states, sigmoid(again()), shape, sample, "float32") if in_place and again else None
        return found and found[:2]
    if left_open:
        still.decide(left_open, out.reshape(-1), sigmoid)
    return out, completed(after, states)
