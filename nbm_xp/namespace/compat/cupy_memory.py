"""CuPy: which arrays lie in the same memory, and which can be seen in another shape."""

from __future__ import annotations

from typing import Any

__all__ = ["address", "is_plain", "may_overlap", "reshaped_view"]


def _block(x: Any) -> int:
    """The start of the allocation that an array lies in."""
    return int(x.data.mem.ptr)


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    seen = x.reshape(shape)
    return seen if not x.size or _block(seen) == _block(x) else None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether two arrays may overlap: they do not, in two allocations."""
    return _block(x) == _block(y)


def is_plain(x: Any) -> bool:
    """Whether the elements of an array lie one after another."""
    return bool(x.flags.c_contiguous)


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.data.ptr)
