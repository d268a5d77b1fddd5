"""Functional assignment and scatter-add, which the array API standard lacks.

`replaced` assigns to an index of slices and integers, `put` to the places in an integer array along one axis.
``x[index] = x[index] + values`` loses all but one of the values for the same place; `scatter_add` adds them all, which
the gradient of every gather needs. Libraries with such operations have kernels for them; for the others there are
portable forms.
"""

from __future__ import annotations

import math
import operator
from types import EllipsisType
from typing import Any, TypeAlias

from . import blocks, conversion, dispatch, dtypes
from .kernels import kernel, or_kernel
from .libraries import is_lazy, maps_blocks
from .memory import writes_in_place


@or_kernel("replaced")
def replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    """Return a copy of `x` with ``x[index]`` set to `values`.

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
        return blocks.replaced(xp, x, index, values, replaced)
    if not hasattr(type(x), "__setitem__"):
        return _by_places(xp, x, index, values)
    out = xp.asarray(x, copy=True)
    out[(*index, ...)] = values
    return out


@or_kernel("put")
def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """Return a copy of `x` with the elements at `places` along an axis set to `values`.

    Parameters
    ----------
    x : array
    places : integer array of one dimension
        If a place occurs several times, one of its values is used: the last, unless the library defines otherwise.
    values : array of the dtype of `x`, or Python scalar
        Broadcast to the shape of `x` with the axis' length replaced by the number of places.
    axis : int
        Non-negative number of the axis.

    Raises
    ------
    IndexError
        If a place is out of bounds. (In Dask, when the array is computed; JAX ignores such values, CuPy wraps the
        places.)

    Examples
    --------
    >>> import numpy as np
    >>> put(np.zeros((2, 3)), np.asarray([2, 0]), np.asarray([7.0, 8.0]), axis=1)
    array([[8., 0., 7.],
           [8., 0., 7.]])
    """
    xp = dispatch.array_namespace(x)
    if maps_blocks(xp):
        return blocks.put(xp, x, places, values, axis, put)
    if not writes_in_place(xp):  # an assignment by integers is not in the standard
        return looked_up(xp, x, places, values, axis)
    out = xp.asarray(x, copy=True)
    out[(slice(None),) * axis + (places,)] = values
    return out


def _by_places(xp: Any, x: Any, index: tuple[Any, ...], values: Any, axis: int = 0) -> Any:
    """The portable form of `replaced` for arrays that cannot be written to: one axis after another."""
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
    """The portable form of `put`: every place of the axis looks up the last value for it, if any."""
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


Entry: TypeAlias = Any


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    """Return the elements of `x` at `indices` along an axis.

    Parameters
    ----------
    x : array
    indices : integer array
        With as many dimensions as `x`; all except `axis` broadcast against those of `x`.
    axis : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> take_along_axis(np.asarray([[3, 1, 2]]), np.asarray([[1, 2]]), axis=1)
    array([[1, 2]])
    """
    return dispatch.array_namespace(x, indices).take_along_axis(x, indices, axis=axis)


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """Return a copy of `x` with `values` added at ``x[index]``. Several values for the same place are all added.

    Parameters
    ----------
    x : array
    index
        As in ``x[index]``: an integer, a slice, None, Ellipsis, an integer array (of the library or of NumPy), a bool
        array of the library, or a tuple of these.
    values : array or Python scalar
        Broadcast to the shape of ``x[index]`` and cast to the dtype of `x`.

    Returns
    -------
    array
        Of the shape and dtype of `x`.

    Raises
    ------
    IndexError
        If the index does not match `x`. (Indices out of bounds raise an error where that costs nothing: in Dask when
        the array is computed; JAX ignores such values, CuPy wraps the indices.)

    Examples
    --------
    >>> import numpy as np
    >>> scatter_add(np.zeros(3), np.asarray([0, 2, 0]), np.asarray([1.0, 5.0, 2.0]))
    array([3., 0., 5.])
    """
    xp = dispatch.array_namespace(x)
    if not isinstance(values, (bool, int, float, complex)):
        dispatch.array_namespace(x, values)
        if values.dtype != x.dtype:
            values = xp.astype(values, x.dtype)
    whole = kernel("scatter_add", xp)
    if whole is not None:
        return whole(x, index, values)
    entries, news = _entries(xp, index, x.ndim)
    entries = [without_idle_step(entry, length) for entry, length in zip(entries, x.shape, strict=True)]
    if not hasattr(values, "dtype"):
        values = xp.full((), values, dtype=x.dtype, device=dispatch.device_argument(x))
    if not any(_is_array(entry) for entry in entries):
        return _add_at_slices(xp, x, entries, news, values)
    return _add_at_arrays(xp, x, entries, news, values)


def scattered(xp: Any, shape: tuple[int, ...], index: Any, values: Any) -> Any:
    """Return zeros with `values` added at ``[index]``: `scatter_add` to zeros, without a copy.

    Parameters
    ----------
    xp : namespace
        The library's.
    shape : tuple of int
        The shape of the result.
    index
        See `scatter_add`.
    values : array
        Broadcast to the shape of the indexed elements.

    Returns
    -------
    array
        Of the dtype of `values`.

    Examples
    --------
    >>> import numpy as np
    >>> scattered(np, (4,), slice(1, 3), np.asarray([1.0, 2.0]))
    array([0., 1., 2., 0.])
    """
    whole = kernel("scattered", xp)
    if whole is not None:
        return whole(shape, index, values)
    return scatter_add(xp.zeros(shape, dtype=values.dtype, device=dispatch.device_argument(values)), index, values)


def _is_array(entry: Entry) -> bool:
    return hasattr(entry, "dtype")


def _entries(xp: Any, index: Any, ndim: int) -> tuple[list[Entry], list[int]]:
    """The index with one entry for each axis, and the positions of None among its entries."""
    given = list(index) if isinstance(index, tuple) else [index]
    expanded: list[Entry] = []
    for entry in given:
        if entry is None or entry is Ellipsis or isinstance(entry, slice):
            expanded.append(entry)
        elif _is_array(entry):
            if dtypes.is_bool(entry):
                if is_lazy(xp):
                    name = dispatch.library_name(xp)
                    raise TypeError(f"scatter_add on {name} takes no bool index: how many places it names is not known")
                expanded.extend(xp.nonzero(entry))
            elif dtypes.is_integer(entry):
                expanded.append(entry)
            else:
                raise IndexError(f"an index array must be integer or bool, got {dtypes.dtype_name(entry)}")
        else:
            expanded.append(operator.index(entry))
    used = sum(entry is not None and entry is not Ellipsis for entry in expanded)
    ellipses = sum(isinstance(entry, EllipsisType) for entry in expanded)
    if used > ndim or ellipses > 1:
        raise IndexError(f"the index {index!r} does not fit an array of {ndim} dimensions")
    if not ellipses:
        expanded.append(Ellipsis)
    full: list[Entry] = []
    for entry in expanded:
        full += [slice(None)] * (ndim - used) if entry is Ellipsis else [entry]
    news = [place for place, entry in enumerate(full) if entry is None]
    return [entry for entry in full if entry is not None], news


def without_idle_step(entry: Entry, length: Any) -> Entry:
    """Remove the step from a slice that selects a single place; return any other entry of an index unchanged.

    Dask (2026.8) keeps the empty blocks in the range of such a slice, and repeats the place in them on broadcasting.

    Parameters
    ----------
    entry : slice or another entry of an index
    length : int
        Length of the axis. If it is not an int (unknown), the entry is not changed.

    Examples
    --------
    >>> without_idle_step(slice(2, 4, 2), 5)
    slice(2, 3, None)
    >>> without_idle_step(slice(0, 4, 2), 5)
    slice(0, 4, 2)
    """
    if not isinstance(entry, slice) or entry.step in (None, 1) or type(length) is not int:
        return entry
    if any(type(bound) is not int for bound in (entry.start or 0, length if entry.stop is None else entry.stop)):
        return entry
    places = range(length)[entry]
    return slice(places[0], places[0] + 1) if len(places) == 1 else entry


def _with_new_axes(entries: list[Entry], news: list[int]) -> list[Entry]:
    full = list(entries)
    for place in news:
        full.insert(place, None)
    return full


def _add_at_slices(xp: Any, x: Any, entries: list[Entry], news: list[int], values: Any) -> Any:
    """Add at integers and slices, in which no place occurs twice."""
    index = tuple(entries)
    added = x[tuple(_with_new_axes(entries, news))] + values
    return replaced(x, index, xp.reshape(added, x[index].shape))


def _add_at_arrays(xp: Any, x: Any, entries: list[Entry], news: list[int], values: Any) -> Any:
    """Add along the axis that an array indexes if there is only one, else to elements of the flat array."""
    advanced = [axis for axis, entry in enumerate(entries) if not isinstance(entry, slice)]
    if len(advanced) == 1 and not news and all(entry == slice(None) for entry in entries if isinstance(entry, slice)):
        axis = advanced[0]
        shape = (*x.shape[:axis], *entries[axis].shape, *x.shape[axis + 1 :])
        return _add_along_axis(xp, x, axis, entries[axis], xp.broadcast_to(values, shape))
    places = _flat_places(xp, x, entries, news)
    flat = _add_along_axis(xp, xp.reshape(x, (-1,)), 0, places, xp.broadcast_to(values, places.shape))
    return xp.reshape(flat, x.shape)


def _flat_places(xp: Any, x: Any, entries: list[Entry], news: list[int]) -> Any:
    """Positions in the flat array of the elements that an index with arrays selects, in the index's shape.

    The axes of index arrays are at the arrays' position if these are adjacent, else in front.
    """
    wide, device = dtypes.running_dtype(xp, "int64"), dispatch.device_argument(x)
    axes, named = iter(range(x.ndim)), _with_new_axes(entries, news)
    parts: list[Any] = []  # an array for each entry that stays an axis
    by_arrays: Any = 0
    at: list[int] = []  # the arrays' places among all entries
    for place, entry in enumerate(named):
        axis = None if entry is None else next(axes)
        length, stride = (1, 0) if axis is None else (x.shape[axis], math.prod(x.shape[axis + 1 :]))
        if entry is None or isinstance(entry, slice):
            span = range(length)[entry or slice(None)]
            parts.append(xp.arange(span.start, span.stop, span.step, dtype=wide, device=device) * stride)
            continue
        if isinstance(entry, int):
            index: Any = range(length)[entry]
        else:
            index = _to_library(xp, x, entry)
            index = xp.where(index < 0, index + length, index)
        by_arrays = by_arrays + index * stride
        at.append(place)
    parts.insert(at[0] if at[-1] - at[0] + 1 == len(at) else 0, by_arrays)
    ndim = sum(part.ndim for part in parts)
    places, before = xp.zeros((), dtype=wide, device=device), 0
    for part in parts:
        shape = (*(1,) * before, *part.shape, *(1,) * (ndim - before - part.ndim))
        places, before = places + xp.reshape(part, shape), before + part.ndim
    return places


def _to_library(xp: Any, x: Any, index: Any) -> Any:
    """Convert an index to an array of the library, as int64 if available."""
    wide = dtypes.running_dtype(xp, "int64")
    if dispatch.array_namespace(index) is xp:
        return xp.astype(index, wide, copy=False)
    return xp.asarray(conversion.to_numpy(index, copy=True), dtype=wide, device=dispatch.device_argument(x))


def _add_along_axis(xp: Any, x: Any, axis: int, index: Any, values: Any) -> Any:
    """Add along one axis, which in the values is replaced by the index's axes."""
    index = _to_library(xp, x, index)
    flat = xp.reshape(index, (-1,))
    values = xp.reshape(values, (*x.shape[:axis], flat.shape[0], *x.shape[axis + 1 :]))
    own = kernel("add_along", xp)
    return add_along(xp, x, axis, flat, values) if own is None else own(x, axis, flat, values)


def add_along(xp: Any, x: Any, axis: int, index: Any, values: Any) -> Any:
    """The portable form: every element of the axis sums the values with its index.

    Time and memory grow with the axis' length times the number of values; the listed libraries have a kernel.
    """
    length = x.shape[axis]
    if not is_lazy(xp) and bool(xp.any((index < -length) | (index >= length))):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    index = xp.where(index < 0, index + length, index)
    places = xp.arange(length, dtype=index.dtype, device=dispatch.device_argument(x))
    named = places[:, None] == index[None, :]
    named = xp.reshape(named, (*named.shape, *(1,) * (x.ndim - 1)))
    first = xp.moveaxis(values, axis, 0)[None, ...]
    chosen = xp.where(named, first, xp.zeros_like(first))
    return x + xp.moveaxis(xp.sum(chosen, axis=1, dtype=x.dtype), 0, axis)
