"""NumPy: functions of large arrays, a stretch at a time, so that what is computed on the way stays in the cache."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["sigmoid"]

_STRETCH = 1 << 15
_LARGE = 1 << 16


@lru_cache(maxsize=16)
def _constants(dtype: Any, saturated: float) -> tuple[Any, Any]:
    """Two numbers as arrays, which NumPy need not make of Python's in every call."""
    return np.asarray(saturated, dtype), np.asarray(1.0, dtype)


def sigmoid(x: Any, saturated: float) -> Any:
    """``e / (1 + e)`` with ``e = exp(min(x, saturated))``, or None."""
    if not x.ndim:  # a number, which cannot be written to
        return None
    highest, one = _constants(x.dtype, saturated)
    if x.size < _LARGE:
        e = np.minimum(x, highest)
        np.exp(e, out=e)
        out = e + one
        return np.divide(e, out, out=out)
    if not x.flags.c_contiguous:
        return None
    out = np.empty_like(x)
    source, target = x.reshape(-1), out.reshape(-1)
    exponential = np.empty(_STRETCH, x.dtype)
    for start in range(0, x.size, _STRETCH):
        part, result = source[start : start + _STRETCH], target[start : start + _STRETCH]
        e = exponential[: part.size]
        np.minimum(part, highest, out=e)
        np.exp(e, out=e)
        np.add(e, one, out=result)
        np.divide(e, result, out=result)
    return out
