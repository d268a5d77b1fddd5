"""Dask: copies with a part replaced, lazily; it assigns nothing by integer arrays, nor to no elements."""

from __future__ import annotations

from typing import Any

from .dask_blocks import at_places
from .dask_names import da, lifted

__all__ = ["put", "replaced"]


def _replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    out = x.copy()
    if 0 not in x[index].shape:
        out[index] = values
    return out


replaced = lifted(_replaced)
"""See `nbm_xp.namespace.assignment.replaced`."""


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.assignment.put`. Each block of x takes what falls into it, one block after another."""
    from nbm_xp.namespace.assignment import put as put_in

    x, places = da.asarray(x), da.asarray(places)
    shape = (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :])
    if not isinstance(values, da.Array):
        values = da.full_like(x, values, shape=shape)
    values = da.broadcast_to(values, shape)
    return at_places("put", put_in, x, places, values, axis)
