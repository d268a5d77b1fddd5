"""Copies of arrays with a part replaced, which the standard knows only as an assignment in place.

`replaced` takes what slices and integers name, `put` the places that an integer array names along one axis. Libraries
that cannot assign so have a kernel, or the portable body, which looks every place up.
"""

from __future__ import annotations

from typing import Any

from . import dispatch, map_blocks
from .kernels import or_kernel, register_kernel
from .lazy import is_lazy, maps_blocks
from .memory import writes_in_place

__all__ = ["looked_up", "put", "replaced"]

register_kernel("replaced", "dask", "nbm_xp.namespace.compat.dask_assignment:replaced")
register_kernel("replaced", "jax", "nbm_xp.namespace.compat.jax:replaced")
register_kernel("put", "cupy", "nbm_xp.namespace.compat.cupy:put")
register_kernel("put", "dask", "nbm_xp.namespace.compat.dask_assignment:put")
register_kernel("put", "jax", "nbm_xp.namespace.compat.jax:put")


@or_kernel("replaced")
def replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    """A new array: `x` with ``x[index]`` set to `values`.

    Parameters
    ----------
    x : array
    index : tuple
        Integers and slices with positive steps, one for each axis at most.
    values : array of the dtype of `x`, or Python scalar
        Broadcast to the shape of ``x[index]``.

    Examples
    --------
    >>> import numpy as np
    >>> replaced(np.zeros(4), (slice(1, 3),), 5.0)
    array([0., 5., 5., 0.])
    """
    xp = dispatch.array_namespace(x)
    if maps_blocks(xp):
        return map_blocks.replaced(xp, x, index, values, replaced)
    if not hasattr(type(x), "__setitem__"):
        return _by_places(xp, x, index, values)
    out = xp.asarray(x, copy=True)
    out[(*index, ...)] = values
    return out


@or_kernel("put")
def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """A new array: `x` with what lies at `places` along an axis set to `values`.

    Parameters
    ----------
    x : array
    places : integer array of one dimension
        Where a place is named twice, one of its values is taken: the last, where the library does not say otherwise.
    values : array of the dtype of `x`, or Python scalar
        Broadcast to the shape of `x` with the number of places in the place of the axis' length.
    axis : int
        Counted from the front.

    Raises
    ------
    IndexError
        If a place is out of bounds. (On Dask this comes with the computation; JAX leaves such values out, CuPy wraps
        the places.)

    Examples
    --------
    >>> import numpy as np
    >>> put(np.zeros((2, 3)), np.asarray([2, 0]), np.asarray([7.0, 8.0]), axis=1)
    array([[8., 0., 7.],
           [8., 0., 7.]])
    """
    xp = dispatch.array_namespace(x)
    if maps_blocks(xp):
        return map_blocks.put(xp, x, places, values, axis, put)
    if not writes_in_place(xp):  # an assignment by integers is not in the standard
        return looked_up(xp, x, places, values, axis)
    out = xp.asarray(x, copy=True)
    out[(slice(None),) * axis + (places,)] = values
    return out


def _by_places(xp: Any, x: Any, index: tuple[Any, ...], values: Any, axis: int = 0) -> Any:
    """The portable body of `replaced` for arrays that cannot be written to: one axis after the other."""
    if axis == len(index):
        values = values if hasattr(values, "dtype") else xp.full((), values, dtype=x.dtype)
        single = tuple(place for place, entry in enumerate(index) if not isinstance(entry, slice))
        values = xp.broadcast_to(values, tuple(n for place, n in enumerate(x.shape) if place not in single))
        return xp.reshape(values, x.shape)
    entry = index[axis]
    span = range(x.shape[axis])[entry] if isinstance(entry, slice) else range(entry % x.shape[axis], x.shape[axis])[:1]
    if not span:
        return x
    part = x[(slice(None),) * axis + (slice(span.start, span.stop, span.step),)]
    places = xp.arange(span.start, span.stop, span.step, device=dispatch.device_argument(x))
    return looked_up(xp, x, places, _by_places(xp, part, index, values, axis + 1), axis)


def looked_up(xp: Any, x: Any, places: Any, values: Any, axis: int) -> Any:
    """The portable body of `put`: every place of the axis finds the last value that names it, if any does."""
    length, count = x.shape[axis], places.shape[0]
    if not is_lazy(xp) and bool(xp.any((places < -length) | (places >= length))):
        raise IndexError(f"an index is out of bounds for axis {axis} of length {length}")
    if count == 0:
        return x
    device = dispatch.device_argument(x)
    places = xp.where(places < 0, places + length, places)
    slots = xp.arange(length, dtype=places.dtype, device=device)
    order = xp.arange(count, dtype=places.dtype, device=device)
    nobody = xp.asarray(-1, dtype=places.dtype, device=device)
    last = xp.max(xp.where(slots[:, None] == places[None, :], order[None, :], nobody), axis=1)
    if not hasattr(values, "dtype"):
        values = xp.asarray(values, dtype=x.dtype, device=device)
    values = xp.broadcast_to(values, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    chosen = xp.take(values, xp.where(last < 0, xp.zeros_like(last), last), axis=axis)
    named = xp.reshape(last >= 0, (length, *(1,) * (x.ndim - axis - 1)))
    return xp.where(named, chosen, x)
