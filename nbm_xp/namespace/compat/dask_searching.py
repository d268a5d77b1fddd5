"""Dask: places in a sorted array. Its own `searchsorted` fails for values without axes, and takes no sorter."""

from __future__ import annotations

from typing import Any

from .dask_names import da, original

__all__ = ["searchsorted"]


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """The standard's `searchsorted`."""
    if sorter is not None:
        x1 = da.take(x1, sorter, axis=0)
    if getattr(x2, "ndim", 0):
        return original.searchsorted(x1, da.asarray(x2), side=side)
    return original.searchsorted(x1, da.asarray(x2, dtype=x1.dtype)[None], side=side)[0]
