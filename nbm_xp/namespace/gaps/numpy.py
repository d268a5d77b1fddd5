"""NumPy: array-api-compat's namespace is right as it stands; a kernel for sums into repeated places."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy
import numpy as np

__all__ = ["build", "scatter_add"]


def build() -> Any:
    """The namespace for NumPy arrays."""
    return array_api_compat.numpy


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.scatter_add`. Rows are added element by element, for which NumPy has a fast loop."""
    out = np.array(x, order="C")
    if isinstance(index, tuple) and len(index) == 1:
        index = index[0]
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and out.ndim > 1:
        length, width = out.shape[0], out[:1].size
        if index.size and (index.min() < -length or index.max() >= length):
            raise IndexError(f"an index is out of bounds for an axis of length {length}")
        rows = np.where(index < 0, index + length, index).astype(np.intp).reshape(-1, 1)
        added = np.broadcast_to(values, (*index.shape, *out.shape[1:]))
        np.add.at(out.reshape(-1), (rows * width + np.arange(width)).reshape(-1), added.reshape(-1))
    else:
        np.add.at(out, index, values)
    return out
