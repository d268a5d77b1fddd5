"""NumPy: which arrays lie in the same memory, and which can be seen in another shape."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["address", "is_plain", "may_overlap", "reshaped_view"]


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    if not x.size:
        return x.reshape(shape)
    try:
        return np.reshape(x, shape, copy=False)
    except ValueError:
        return None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether the stretches of memory that two arrays span overlap."""
    return bool(np.may_share_memory(x, y))


def is_plain(x: Any) -> bool:
    """Whether an array is writable and its elements lie one after another."""
    flags = x.flags
    return bool(flags.c_contiguous and flags.writeable)


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.ctypes.data)
