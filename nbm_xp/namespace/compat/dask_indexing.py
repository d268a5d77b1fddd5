"""Dask: indexing by arrays, block by block and lazily."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dask_blocks import at_places
from .dask_names import da, original
from .dask_shaping import reshape

__all__ = ["add_along", "take", "take_along_axis"]


def _take_block(x: Any, indices: Any, axis: int) -> Any:
    from nbm_xp.namespace import array_namespace

    return array_namespace(x).take_along_axis(x, indices, axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The standard's `take_along_axis`, which Dask lacks: `x` is one block along the axis, the others stay."""
    if not isinstance(indices, da.Array):
        indices = da.from_array(np.asarray(indices))
    if indices.ndim != x.ndim:
        raise ValueError(f"indices must have {x.ndim} dimensions as x has, got {indices.ndim}")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    axis %= x.ndim
    labels = tuple(range(x.ndim))
    own = tuple(x.ndim if label == axis else label for label in labels)
    return da.blockwise(
        _take_block, labels, x.rechunk({axis: -1}), own, indices, labels, axis=axis, dtype=x.dtype,
        meta=x._meta, concatenate=True,
    )  # fmt: skip


def _within(indices: Any, length: int) -> Any:
    """A block of indices as it is, unless one lies beyond the axis."""
    beyond = (indices < -length) | (indices >= length)
    if bool(beyond.any()):
        raise IndexError(f"index {int(indices[beyond][0])} is out of bounds for an axis of length {length}")
    return indices


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The standard's `take`, whose indices may have any number of axes; Dask's own takes one.

    Nor does Dask's own see that an index in a Dask array lies beyond the axis: it gives the first element for it.
    Indices on a device are taken as they are, since to look at them would copy them to the host.
    """
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis must be given to take for an array of {x.ndim} axes")
    place = (axis or 0) % x.ndim
    if isinstance(getattr(indices, "_meta", None), np.ndarray) and x.shape[place] == x.shape[place]:
        indices = indices.map_blocks(_within, x.shape[place], dtype=indices.dtype, meta=indices._meta)
    if getattr(indices, "ndim", 1) == 1:
        return original.take(x, indices, axis=place)
    flat = original.take(x, reshape(indices, (-1,)), axis=place)
    return reshape(flat, (*x.shape[:place], *indices.shape, *x.shape[place + 1 :]))


def _added(x: Any, places: Any, values: Any, axis: int) -> Any:
    from nbm_xp.namespace import scatter_add

    return scatter_add(x, (slice(None),) * axis + (places,), values)


def add_along(x: Any, axis: int, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.add_along`. Each block of x takes what falls into it, one block after another."""
    x, index, values = map(da.asarray, (x, index, values))
    return at_places("scatter-add", _added, x, index, values, axis)
