"""Dask: `max` and `min` of arrays without elements, and `mean` of float16, whose sums overflow at 65504.

Of arrays without elements, blocks come out in other shapes than was promised. Reduced over an axis that has a length,
they are an array without elements again; over an axis without, an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dask_names import da, original

__all__ = ["EXTREMA", "mean"]


def _extremum(name: str) -> Callable[..., Any]:
    function = getattr(original, name)

    def mended(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 not in x.shape:
            found = function(x, axis=axis, keepdims=keepdims)
            return found if found.dtype == x.dtype else found.astype(x.dtype)  # Dask's expressions say it was a sum's
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        reduced = [a % x.ndim for a in axes]
        if 0 in [x.shape[a] for a in reduced]:
            raise ValueError(f"{name} of no elements is not defined: x has shape {x.shape}, axis is {axis}")
        shape = tuple(1 if i in reduced else n for i, n in enumerate(x.shape) if keepdims or i not in reduced)
        return da.zeros(shape, dtype=x.dtype, chunks=-1)

    mended.__name__ = mended.__qualname__ = name
    return mended


EXTREMA = {name: _extremum(name) for name in ("max", "min")}
"""By name."""


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean, of float16 by way of float32, as NumPy has it."""
    if x.dtype != "float16":
        return original.mean(x, axis=axis, keepdims=keepdims)
    return original.mean(x.astype("float32"), axis=axis, keepdims=keepdims).astype(x.dtype)
