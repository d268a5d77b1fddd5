"""NumPy: which arrays the compiled loops are for, and what they are handed."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions

__all__ = ["log_softmax", "logsumexp", "softmax"]

_LARGE = 1 << 12
"""Elements from which on it pays to ask whether the loops are made for an array."""


def _rows(x: Any, axis: Any) -> Any:
    """The array as a matrix whose rows lie along the axis; None for what the loops are not made for."""
    if isinstance(axis, tuple):
        axis = axis[0] if len(axis) == 1 else None
    last = axis in (-1, x.ndim - 1) and x.ndim > 0
    if not last or x.size < _LARGE or x.dtype != np.float32 or not x.flags.c_contiguous or x.shape[-1] < 8:
        return None
    return x.reshape(-1, x.shape[-1])


def _run(name: str, rows: Any, out: Any) -> Any:
    functions[name](rows, rows.shape[1], out)
    return out


def softmax(x: Any, axis: Any) -> Any:
    """Softmax along the last axis, or None."""
    rows = _rows(x, axis)
    return None if rows is None else _run("softmax", rows, np.empty_like(x))


def log_softmax(x: Any, axis: Any) -> Any:
    """Logarithm of the softmax along the last axis, or None."""
    rows = _rows(x, axis)
    return None if rows is None else _run("log_softmax", rows, np.empty_like(x))


def logsumexp(x: Any, axis: Any) -> Any:
    """Logarithm of the sum of exponentials along the last axis, which is removed; or None."""
    rows = _rows(x, axis)
    return None if rows is None else _run("logsumexp", rows, np.empty(x.shape[:-1], x.dtype))
