"""Dask: copies with a part replaced, lazily; it assigns nothing by integer arrays, nor to no elements."""

from __future__ import annotations

from typing import Any

from .dask_blocks import BlockPlaces
from .dask_names import da, lifted

__all__ = ["put", "replaced"]


def _replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    out = x.copy()
    if 0 not in x[index].shape:
        out[index] = values
    return out


replaced = lifted(_replaced)
"""See `nbm_xp.namespace.assignment.replaced`."""


def _put_block(axis: int, length: int, place: Any, x: Any, indices: Any, values: Any) -> Any:
    """One block of x with what falls into it replaced; the blocks of indices and values come in two lists."""
    from nbm_xp.namespace import array_namespace, concrete_int
    from nbm_xp.namespace.assignment import put as put_in

    xp = array_namespace(x)
    start, extent = place[0][axis], x.shape[axis]
    for index, value in zip(indices, values, strict=True):
        if concrete_int(xp.count_nonzero((index < -length) | (index >= length))):
            raise IndexError(f"an index is out of bounds for axis {axis} of length {length}")
        local = xp.where(index < 0, index + length, index) - start
        (chosen,) = xp.nonzero((local >= 0) & (local < extent))
        if chosen.size:
            x = put_in(x, xp.take(local, chosen), xp.take(value, chosen, axis=axis), axis)
    return x


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.assignment.put`. Each block of x takes what falls into it, one block after another."""
    x, places = da.asarray(x), da.asarray(places)
    shape = (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :])
    if not isinstance(values, da.Array):
        values = da.full_like(x, values, shape=shape)
    values = da.broadcast_to(values, shape)
    values = values.rechunk({i: places.chunks[0] if i == axis else x.chunks[i] for i in range(x.ndim)})
    labels = tuple(range(x.ndim))
    among = tuple(x.ndim if label == axis else label for label in labels)
    return da.blockwise(
        _put_block, labels,
        axis, None, x.shape[axis], None, BlockPlaces(x.chunks), labels, x, labels, places, (x.ndim,), values, among,
        token="put", concatenate=False, align_arrays=False, dtype=x.dtype, meta=x._meta,
    )  # fmt: skip
