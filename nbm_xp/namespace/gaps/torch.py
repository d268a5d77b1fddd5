"""PyTorch: sums into unsigned integers, and a kernel for sums along an axis that an index names.

PyTorch cannot compute with uint16, uint32 and uint64: sums and products into them are made as int64, which has the
same bits, and cast. Not to be mended from a namespace: other arithmetic of these dtypes; sums of unsigned integers
are int64 unless a dtype is asked for (the standard says uint64), since uint64 would be of no use afterwards; and
slices with negative steps are refused (use `flip`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from ..dtypes import dtype_name
from .overlay import overlay

__all__ = ["add_along", "build"]

_ONLY_STORED = frozenset({"uint16", "uint32", "uint64"})


def _through_int64(function: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    """The sum or product, computed as int64 where PyTorch cannot compute as asked."""

    @functools.wraps(function)
    def mended(x: Any, /, *, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None and dtype_name(dtype) in _ONLY_STORED:
            return function(xp.astype(x, xp.int64), dtype=xp.int64, **options).to(dtype)
        return function(x, dtype=dtype, **options)

    return mended


def build() -> Any:
    """The namespace for PyTorch tensors."""
    original: Any = importlib.import_module("array_api_compat.torch")
    names = ("cumulative_prod", "cumulative_sum", "prod", "sum")
    return overlay(original, "torch", {name: _through_int64(getattr(original, name), original) for name in names})


def add_along(x: Any, axis: int, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.add_along`."""
    length = x.shape[axis]
    if index.numel() and bool(((index < -length) | (index >= length)).any()):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    return x.index_add(axis, index % length if length else index, values)
