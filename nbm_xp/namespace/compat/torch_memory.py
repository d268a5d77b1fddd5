"""PyTorch: which tensors lie in the same memory, and which can be seen in another shape."""

from __future__ import annotations

from typing import Any

__all__ = ["address", "is_plain", "may_overlap", "reshaped_view"]


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    try:
        return x.view(shape)
    except RuntimeError:
        return None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether two tensors may overlap: they do not, in two storages."""
    return bool(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())


def is_plain(x: Any) -> bool:
    """Whether the elements of a tensor lie one after another, and no graph of PyTorch's own is built from it."""
    return bool(x.is_contiguous()) and not x.requires_grad


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.data_ptr())
