"""PyTorch: array-api-compat's namespace is right as it stands; a kernel for sums along an axis.

Not to be mended from a namespace: slices with negative steps (use `flip`), and sums of unsigned integers, which are
int64 since PyTorch has no arithmetic for uint64.
"""

from __future__ import annotations

from typing import Any

from .overlay import overlay

__all__ = ["add_along", "build"]


def build() -> Any:
    """The namespace for PyTorch tensors."""
    import array_api_compat.torch

    return overlay(array_api_compat.torch, "torch", {})


def add_along(x: Any, axis: int, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.add_along`."""
    length = x.shape[axis]
    if index.numel() and bool(((index < -length) | (index >= length)).any()):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    return x.index_add(axis, index % length if length else index, values)
