"""Copies of arrays with a part replaced, and sums into places that an index names, which the standard lacks.

`replaced` takes what slices and integers name, `put` the places that an integer array names along one axis.
``x[index] = x[index] + values`` loses all but one of the values that go to the same place; `scatter_add` adds them
all, which is what the gradient of every gather needs. Libraries that have such operations have a kernel for them; for
the others there are portable forms.
"""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any, TypeAlias

from . import blocks, conversion, dispatch, dtypes
from .kernels import kernel, or_kernel
from .libraries import is_lazy, maps_blocks
from .memory import writes_in_place

__all__ = [
    "add_along", "looked_up", "put", "replaced", "scatter_add", "scattered", "take_along_axis", "without_idle_step",
]  # fmt: skip


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
        return blocks.replaced(xp, x, index, values, replaced)
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
        return blocks.put(xp, x, places, values, axis, put)
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


Entry: TypeAlias = Any


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    """The elements of `x` at `indices` along an axis.

    Parameters
    ----------
    x : array
    indices : integer array
        Of as many dimensions as `x`; the others than `axis` broadcast against those of `x`.
    axis : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> take_along_axis(np.asarray([[3, 1, 2]]), np.asarray([[1, 2]]), axis=1)
    array([[1, 2]])
    """
    return dispatch.array_namespace(x, indices).take_along_axis(x, indices, axis=axis)


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """A new array: `x` with `values` added at ``x[index]``. Where an index names a place twice, both are added.

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
        If the index does not fit `x`. (Indices that are out of bounds are an error where that costs nothing: on Dask it
        comes with the computation, JAX leaves such values out, CuPy wraps the indices.)

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
        return _add_at_slices(xp, x, tuple(entries), news, values)
    return _add_at_arrays(xp, x, entries, news, values)


def scattered(xp: Any, shape: tuple[int, ...], index: Any, values: Any) -> Any:
    """Zeros with `values` added at ``[index]``: `scatter_add` to an array that need not be copied.

    Parameters
    ----------
    xp : namespace
        The library's.
    shape : tuple of int
        The shape of the result.
    index
        As `scatter_add` takes it.
    values : array
        Broadcast to the shape of what `index` names.

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
    """The index with one entry for each axis, and the places of None among its entries (counted with them)."""
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
    """A slice with a step that names a single place, without the step; any other entry of an index as it is.

    Dask (2026.8) keeps the empty blocks that such a slice reaches, and repeats the place in them where it broadcasts.

    Parameters
    ----------
    entry : slice or another entry of an index
    length : int
        Of the axis. Of any other type, where it is not known, the entry is left.

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


def _add_at_slices(xp: Any, x: Any, index: tuple[Any, ...], news: list[int], values: Any) -> Any:
    """Integers and slices name no place twice."""
    if news:
        values = xp.broadcast_to(values, _with_news(x[index].shape, index, news))
        values = xp.reshape(values, x[index].shape)
    return _replaced(xp, x, index, x[index] + values)


def _replaced(xp: Any, x: Any, index: tuple[Any, ...], part: Any) -> Any:
    """A copy of x with the part that slices name replaced; Dask refuses to replace a part that is empty."""
    return xp.asarray(x, copy=True) if 0 in part.shape else replaced(x, index, part)


def _with_news(shape: tuple[int, ...], index: tuple[Any, ...], news: list[int]) -> tuple[int, ...]:
    """The shape of ``x[index]`` once the axes that None makes are there; only integers and slices in `index`."""
    lengths = iter(shape)
    entries: list[Entry] = list(index)
    for place in news:
        entries.insert(place, None)
    return tuple(1 if entry is None else next(lengths) for entry in entries if not isinstance(entry, int))


def _add_at_arrays(xp: Any, x: Any, entries: list[Entry], news: list[int], values: Any) -> Any:
    """Bring the axes that arrays (and integers beside them) index to the front, as one; add along it; go back."""
    advanced = [axis for axis, entry in enumerate(entries) if not isinstance(entry, slice)]
    others = [axis for axis in range(x.ndim) if axis not in advanced]
    if len(advanced) == 1 and not news and all(entries[axis] == slice(None) for axis in others):
        axis = advanced[0]
        shape = (*x.shape[:axis], *entries[axis].shape, *x.shape[axis + 1 :])
        return _add_along_axis(xp, x, axis, entries[axis], xp.broadcast_to(values, shape))
    order = (*advanced, *others)
    lengths = [x.shape[axis] for axis in advanced]
    rest = tuple(x.shape[axis] for axis in others)
    merged = xp.reshape(xp.permute_dims(x, order), (_product(lengths), *rest))
    positions = _positions(xp, x, [entries[axis] for axis in advanced], lengths)
    slices = (slice(None), *(entries[axis] for axis in others))
    part = merged[slices]
    values = _values_first(xp, values, entries, news, positions.shape, part.shape[1:])
    part = _add_along_axis(xp, part, 0, positions, values)
    if any(entry != slice(None) for entry in slices):
        whole = _replaced(xp, merged, slices, part)
    else:
        whole = part
    back = tuple(order.index(axis) for axis in range(x.ndim))
    return xp.permute_dims(xp.reshape(whole, (*lengths, *rest)), back)


def _positions(xp: Any, x: Any, indices: list[Any], lengths: list[int]) -> Any:
    """One array of places in the merged axis, for the arrays and integers that index the axes merged."""
    positions: Any = 0
    for index, length in zip(indices, lengths, strict=True):
        if isinstance(index, int):
            if not -length <= index < length:
                raise IndexError(f"index {index} is out of bounds for an axis of length {length}")
            place: Any = index % length
        else:
            place = _to_library(xp, x, index)
            place = xp.where(place < 0, place + length, place)
        positions = positions * length + place
    return positions


def _to_library(xp: Any, x: Any, index: Any) -> Any:
    """An index array of the library itself, as int64 where it has that."""
    wide = dtypes.running_dtype(xp, "int64")
    if dispatch.array_namespace(index) is xp:
        return xp.astype(index, wide, copy=False)
    return xp.asarray(conversion.to_numpy(index, copy=True), dtype=wide, device=dispatch.device_argument(x))


def _values_first(
    xp: Any, values: Any, entries: list[Entry], news: list[int], shape: tuple[int, ...], rest: tuple[int, ...]
) -> Any:
    """The values with the axes that the arrays make in front, and those that None makes gone.

    NumPy's rule: the arrays' axes stand where the arrays do if these are neighbours, else in front.
    """
    full: list[Entry] = list(entries)
    for place in news:
        full.insert(place, None)
    places = [place for place, entry in enumerate(full) if entry is not None and not isinstance(entry, slice)]
    neighbours = places[-1] - places[0] + 1 == len(places)
    before = sum(entry is None or isinstance(entry, slice) for entry in full[: places[0]]) if neighbours else 0
    basic = [entry for entry in full if entry is None or isinstance(entry, slice)]
    lengths = iter(rest)
    basic_shape = [1 if entry is None else next(lengths) for entry in basic]
    values = xp.broadcast_to(values, (*basic_shape[:before], *shape, *basic_shape[before:]))
    count = len(shape)
    order = (
        *range(before, before + count),
        *range(before),
        *range(before + count, before + count + len(basic) - before),
    )
    return xp.reshape(xp.permute_dims(values, order), (*shape, *rest))


def _product(lengths: list[int]) -> int:
    total = 1
    for length in lengths:
        total *= length
    return total


def _add_along_axis(xp: Any, x: Any, axis: int, index: Any, values: Any) -> Any:
    """Add along one axis; the values have the index's axes in place of it."""
    index = _to_library(xp, x, index)
    flat = xp.reshape(index, (-1,))
    values = xp.reshape(values, (*x.shape[:axis], flat.shape[0], *x.shape[axis + 1 :]))
    own = kernel("add_along", xp)
    return add_along(xp, x, axis, flat, values) if own is None else own(x, axis, flat, values)


def add_along(xp: Any, x: Any, axis: int, index: Any, values: Any) -> Any:
    """The portable body: every element of the axis sums the values whose index names it.

    Time and memory grow with the axis' length times the number of values; libraries met in earnest have a kernel.
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
