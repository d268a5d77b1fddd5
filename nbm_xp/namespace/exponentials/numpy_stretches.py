"""NumPy: functions of large arrays, a stretch at a time, so that what is computed on the way stays in the cache."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions

__all__ = ["sigmoid", "softplus", "softplus_into"]

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


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` of a float32 array by the compiled loop, or None."""
    if type(x) is not np.ndarray or not x.ndim or x.dtype.char != "f":
        return None
    return softplus_into(x, np.empty(x.shape, x.dtype.newbyteorder("=")))


def softplus_into(x: Any, out: Any) -> Any:
    """The same in memory that is there, to whose shape `x` broadcasts, and which may be that of `x`."""
    as_laid = x.shape == out.shape and x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative
    target = out if out.flags.c_contiguous and out.flags.aligned else np.empty(out.shape, out.dtype)
    if not as_laid:
        np.copyto(target, x)
    functions["softplus"](x if as_laid else target, target)
    if target is not out:
        np.copyto(out, target)
    return out
