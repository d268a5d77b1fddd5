"""NumPy: functions of large arrays, a stretch at a time, so that what is computed on the way stays in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["sigmoid"]

_STRETCH = 1 << 15
_LARGE = 1 << 16


def sigmoid(x: Any, saturated: float) -> Any:
    """``e / (1 + e)`` with ``e = exp(min(x, saturated))``, or None."""
    if x.size < _LARGE:
        e = np.minimum(x, saturated)
        if not e.ndim:  # a number, which cannot be written to
            return None
        np.exp(e, out=e)
        out = e + 1.0
        return np.divide(e, out, out=out)
    if not x.flags.c_contiguous:
        return None
    out = np.empty_like(x)
    source, target = x.reshape(-1), out.reshape(-1)
    exponential = np.empty(_STRETCH, x.dtype)
    for start in range(0, x.size, _STRETCH):
        part, result = source[start : start + _STRETCH], target[start : start + _STRETCH]
        e = exponential[: part.size]
        np.minimum(part, saturated, out=e)
        np.exp(e, out=e)
        np.add(e, 1.0, out=result)
        np.divide(e, result, out=result)
    return out
