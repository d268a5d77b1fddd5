"""Indexing functions: integers, slices, new axes, integer arrays and masks, `take`, `repeat` and `tile`.

An index is applied in two steps that every library supports: first integers, slices and new axes, then integer arrays.
Slices with a negative step become a flip, because not every library supports them. A mask is evaluated while recording
and becomes the positions of True in the flattened axes that it covers. Rules scatter gradients back.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    device_argument,
    host_namespace,
    is_array,
    recording_namespace,
    scattered,
)
from nbm_xp.namespace.indexing import without_idle_step

from ..dtypes import as_dtype
from ..graph import Node
from ..lengths import Length, Size, known, maximum_length, product, same_length
from ..operations import LINEAR_TAG, Operation, declare
from ..tensor import Tensor, as_tensor, record
from .data_types import cast
from .elementwise import where
from .manipulation import flip, moveaxis, reshape
from .shapes import along_axes, axis_of, broadcast, from_front, index_along, integer_length, sizes_of, slice_length
from .sums import broadcast_to

__all__ = ["repeat", "take", "take_along_axis", "tile"]


def infer_getitem(x: Node, index: tuple[Any, ...]) -> Any:
    """Return the shape and dtype of a part selected by integers, slices and new axes."""
    shape: list[Size] = []
    axis = 0
    for item in index:
        if item is None:
            shape.append(1)
            continue
        if isinstance(item, slice):
            shape.append(slice_length(x.shape[axis], item))
        axis += 1
    return (*shape, *x.shape[axis:]), x.dtype


GETITEM: Operation = declare(
    "getitem",
    infer_getitem,
    (lambda g, out, x, index: index_add(g, index, x.node.shape),),
    emit=lambda x, index: f"{x}[{index}]",
    tags=frozenset({LINEAR_TAG}),
    may_overlap=True,
    is_view=True,
)
_TAKE = declare(
    "take",
    lambda x, places, *, axis: ((*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :]), x.dtype),
    (lambda g, out, x, places, *, axis: index_add(g, index_along(axis, places), x.node.shape), None),
)
_INDEX_ADD = declare(
    "index_add",
    lambda values, index, shape: (shape, values.dtype),
    (lambda g, out, values, index, shape: getitem(g, index),),
    run=lambda xp, values, index, shape: scattered(xp, shape, index, values),
    tags=frozenset({LINEAR_TAG}),
)


def index_add(values: Any, index: Any, shape: Any) -> Tensor:
    """Add `values` to zeros of a shape at an index in normal form: integers and slices, or with one integer vector.

    Values at repeated positions are summed.
    """
    return record(_INDEX_ADD, as_tensor(values), index, shape)


def expanded(key: Any, ndim: int) -> list[Any]:
    """Return the index in normal form, with one entry for every axis, or for all axes that a mask covers.

    Entries are None, ints or Lengths, slices of these, integer Tensors and masks.
    """
    items = [_normal(item) for item in (key if isinstance(key, tuple) else (key,))]
    named = sum(_axes_named(item) for item in items)
    if named > ndim:
        raise IndexError(f"index {key} names {named} axes of an array that has {ndim}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index may hold one ellipsis")
    missing = [slice(None)] * (ndim - named)
    return items[: dots[0]] + missing + items[dots[0] + 1 :] if dots else items + missing


def _axes_named(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_mask(item) else 1


def is_mask(item: Any) -> bool:
    """Return whether an entry of an index in normal form is a mask."""
    return isinstance(item, Tensor) and item.dtype == "bool"


def _normal(item: Any) -> Any:
    """Convert one entry of an index to normal form."""
    if item is None or item is Ellipsis or (isinstance(item, (int, Length)) and not isinstance(item, bool)):
        return item
    if isinstance(item, slice):
        start, stop, step = (None if b is None else _bound(b) for b in (item.start, item.stop, item.step))
        if step is not None and known(step) == 0:
            raise ValueError("the step of a slice must not be zero")
        return slice(start, stop, step)
    if isinstance(item, bool):  # a 0-d mask, which is known on every library
        return as_tensor(asarray(item, host_namespace()))
    if isinstance(item, str) or (isinstance(item, float) and not is_array(item)):
        raise IndexError(f"an index must hold integers, slices, None, … or integer arrays, got {item!r}")
    if not isinstance(item, Tensor) and hasattr(item, "__index__") and not getattr(item, "ndim", 0):
        return item.__index__()
    tensor = as_tensor(item)
    if tensor.dtype.kind not in "iub":
        raise IndexError(f"an array in an index must be of integers or a mask, got {tensor.dtype}")
    if not tensor.ndim and tensor.dtype != "bool":
        place = recording_namespace().lasting_number(tensor.node)
        return tensor if place is None else place
    return tensor


def without_masks(x: Tensor, items: list[Any]) -> tuple[Tensor, list[Any]]:
    """Merge the axes that each mask covers, and replace the masks in the index by the positions of True."""
    plain: list[Any] = []
    axis = 0
    for item in items:
        if is_mask(item):
            shape, end = x.node.shape, axis + item.ndim
            for place, (length, own) in enumerate(zip(shape[axis:end], item.node.shape, strict=True)):
                if same_length(length, own) is False and known(own) != 0:
                    raise IndexError(
                        f"a mask must be as long as the axes it is for, got {own} for axis {axis + place} of {length}"
                    )
            x = reshape(x, (*shape[:axis], product(shape[axis:end]), *shape[end:]))
            mask = recording_namespace().concrete(item, "indexing by a mask")
            xp = array_namespace(mask)
            item = as_tensor(xp.nonzero(xp.reshape(mask, (-1,)))[0])
        plain.append(item)
        axis += item is not None
    return x, plain


def _bound(bound: Any) -> Any:
    bound = integer_length(bound)
    return bound if isinstance(bound, Length) else bound.__index__()


def _unflipped(part: slice, length: Size) -> slice:
    """Return the slice of the flipped axis that is equivalent to a slice with a negative step."""
    step = -part.step
    whole = known(length)
    if whole is not None and not isinstance(part.start, Length) and not isinstance(part.stop, Length):
        start, stop, _ = part.indices(whole)
        return slice(whole - 1 - start, whole - 1 - stop, step)

    def mirrored(bound: Any) -> Any:
        if bound is None:
            return None
        if isinstance(bound, int) and bound < 0:
            return -bound - 1
        return maximum_length((length - 1 - from_front(bound, length), 0))

    return slice(mirrored(part.start), mirrored(part.stop), step)


def _basic(x: Tensor, items: list[Any]) -> Tensor:
    """Apply integers, slices and new axes; arrays are replaced by full slices."""
    turned = []
    axis = 0
    basic: list[Any] = []
    for item in items:
        if item is None:
            basic.append(None)
            continue
        length = x.node.shape[axis]
        if isinstance(item, slice) and isinstance(item.step, int) and item.step < 0:
            turned.append(axis)
            item = _unflipped(item, length)
        if isinstance(item, int) and type(length) is int and not -length <= item < length:
            raise IndexError(f"index {item} is out of bounds for axis {axis} of length {length}")
        basic.append(slice(None) if isinstance(item, Tensor) else without_idle_step(item, length))
        axis += 1
    if turned:
        x = flip(x, axis=tuple(turned))
    if all(isinstance(item, slice) and item == slice(None) for item in basic):
        return x
    return record(GETITEM, x, tuple(basic))


def _whole(x: Tensor) -> Tensor:
    """Return a view of all of a Tensor: a new Tensor with the same node, through which can be written."""
    view = record(GETITEM, x, ())
    view.node = x.node
    return view


def getitem(x: Tensor, key: Any) -> Tensor:
    """Record ``x[key]``.

    Raises
    ------
    IndexError
        If the index has too many entries, an integer is out of bounds, or a mask has another shape.
    ValueError
        If a mask is not known while recording.
    """
    last = _last_of_loop(x, key)
    if last is not None:
        return last
    x, items = without_masks(x, expanded(key, x.ndim))
    arrays = [item for item in items if isinstance(item, Tensor)]
    result = _basic(x, items)
    if not arrays:
        return _whole(x) if result is x else result
    kept = [item for item in items if not isinstance(item, (int, Length)) or isinstance(item, bool)]
    places = [i for i, item in enumerate(kept) if isinstance(item, Tensor)]
    chosen = _with_arrays(result, places, arrays)
    advanced = [i for i, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    apart = advanced[-1] - advanced[0] + 1 != len(advanced)
    added = len(broadcast(*(array.node.shape for array in arrays)))
    if apart and places[0]:  # as in NumPy, axes of separated integers and arrays come first
        return moveaxis(chosen, tuple(range(places[0], places[0] + added)), tuple(range(added)))
    return chosen


def _with_arrays(x: Tensor, places: list[int], arrays: list[Tensor]) -> Tensor:
    """Index the axes `places` by integer arrays; the axes of the arrays are inserted at the first of these.

    Several arrays are combined into one array of positions in the merged axes, because `take` accepts only one array.
    """
    place, array = places[0], arrays[0]
    if len(arrays) > 1:
        x = moveaxis(x, tuple(places), tuple(range(place, place + len(places))))
        shape = x.node.shape
        lengths = shape[place : place + len(places)]
        array = _wrapped(array, lengths[0])
        for length, following in zip(lengths[1:], arrays[1:], strict=True):
            array = array * length + _wrapped(following, length)
        x = reshape(x, (*shape[:place], product(lengths), *shape[place + len(places) :]))
    picked: Tensor = record(_TAKE, x, array if array.ndim == 1 else reshape(array, (-1,)), axis=place)
    if array.ndim == 1:
        return picked
    shape = x.node.shape
    return reshape(picked, (*shape[:place], *array.node.shape, *shape[place + 1 :]))


def _wrapped(array: Tensor, length: Size) -> Tensor:
    """Convert positions to non-negative int64."""
    array = cast(array, as_dtype("int64"))
    return where(array < 0, array + length, array)


_last_entries: weakref.WeakKeyDictionary[Node, Node] = weakref.WeakKeyDictionary()


def stands_for_last(stacked: Node, final: Node) -> None:
    """Register a node as the last entry of an array, so that using it does not need the other entries."""
    _last_entries[stacked] = final


def _last_of_loop(x: Tensor, key: Any) -> Tensor | None:
    """Return ``outputs[-1]`` of a scan as the final state, so that earlier steps are not stored, or None."""
    first = key[0] if isinstance(key, tuple) and key else key
    if not (isinstance(first, int) and first == -1) or isinstance(first, bool):
        return None
    final = _last_entries.get(x.node)
    if final is None:
        return None
    rest = key[1:] if isinstance(key, tuple) else ()
    last = Tensor(final)
    last.viewed = record(GETITEM, x, (-1,)).viewed
    return last[rest] if rest else last


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """Return the elements at integer positions along an axis."""
    x, indices = as_tensor(x), as_tensor(indices)
    if indices.dtype.kind not in "iu":
        raise IndexError(f"indices must be integers, got {indices.dtype}")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis must be given to take for an array of {x.ndim} axes")
        axis = 0
    return getitem(x, index_along(axis_of(axis, x.ndim), indices))


def _infer_take_along(x: Node, indices: Node, *, axis: int) -> Any:
    shape = [indices.shape[i] if i == axis else n for i, n in enumerate(x.shape)]
    return tuple(shape), x.dtype


def _run_add_along(xp: Any, values: Any, indices: Any, length: int, *, axis: int) -> Any:
    """Add values at positions that differ between rows, by indexing all axes at once."""
    shape = [length if i == axis else n for i, n in enumerate(values.shape)]
    device = device_argument(indices)
    rows = (xp.reshape(xp.arange(n, device=device), (-1, *(1,) * (values.ndim - i - 1))) for i, n in enumerate(shape))
    return scattered(xp, tuple(shape), tuple(indices if i == axis else row for i, row in enumerate(rows)), values)


_TAKE_ALONG: Operation = along_axes(
    "take_along_axis",
    _infer_take_along,
    (lambda g, out, x, indices, *, axis: record(_ADD_ALONG, g, indices, x.node.shape[axis], axis=axis), None),
)
_ADD_ALONG: Operation = along_axes(
    "add_along_axis",
    lambda values, indices, length, *, axis: ((*values.shape[:axis], length, *values.shape[axis + 1 :]), values.dtype),
    (lambda g, out, values, indices, length, *, axis: take_along_axis(g, indices, axis=axis), None),
    run=_run_add_along,
)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    """Return the elements at positions that differ between rows; the other axes are broadcast."""
    x, indices = as_tensor(x), as_tensor(indices)
    if indices.ndim != x.ndim:
        raise ValueError(f"indices must have {x.ndim} axes as x has, got {indices.ndim}")
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, got {indices.dtype}")
    place = axis_of(axis, x.ndim)
    common = broadcast(*((*t.node.shape[:place], 1, *t.node.shape[place + 1 :]) for t in (x, indices)))
    x, indices = (broadcast_to(t, (*common[:place], t.node.shape[place], *common[place + 1 :])) for t in (x, indices))
    return record(_TAKE_ALONG, x, indices, axis=place)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    """Repeat the whole array along each axis."""
    x = as_tensor(x)
    counts = sizes_of(repetitions, "repetitions")
    ndim = max(x.ndim, len(counts))
    x = reshape(x, (1,) * (ndim - x.ndim) + x.node.shape)
    counts = (1,) * (ndim - len(counts)) + counts
    apart = reshape(x, [size for length in x.node.shape for size in (1, length)])
    paired = [size for pair in zip(counts, x.node.shape, strict=True) for size in pair]
    return _as_new(broadcast_to(apart, tuple(paired)), [n * r for n, r in zip(x.node.shape, counts, strict=True)])


def _as_new(x: Tensor, shape: Sequence[Size]) -> Tensor:
    """Reshape an array to a Tensor that is not a view and can be written to."""
    return Tensor(reshape(x, tuple(shape), copy=False).node)


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis; `repeats` is one count or an array of counts, evaluated while recording.

    Raises
    ------
    ValueError
        If an array of counts is unknown while recording or differs in length from the axis.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    place = axis_of(axis, x.ndim)
    if not isinstance(repeats, (int, Length)):
        repeats = as_tensor(repeats)
        if repeats.dtype.kind not in "iu":
            raise TypeError(f"repeats must be integers, got {repeats.dtype}")
        if repeats.ndim > 1:
            raise ValueError(f"repeats must have one axis at most, got shape {repeats.shape}")
        if repeats.ndim and same_length(repeats.node.shape[0], 1) is not True:
            return _repeated_each(x, repeats, place)
        repeats = reshape(repeats, ())
    (count,) = sizes_of(repeats, "repeats")
    shape = x.node.shape
    before, length, after = shape[:place], shape[place], shape[place + 1 :]
    apart = reshape(x, (*before, length, 1, *after))
    return _as_new(broadcast_to(apart, (*before, length, count, *after)), (*before, length * count, *after))


def _repeated_each(x: Tensor, repeats: Tensor, axis: int) -> Tensor:
    length = x.node.shape[axis]
    if same_length(length, repeats.node.shape[0]) is False:
        raise ValueError(f"repeats must be one count for each of {x.shape[axis]} elements, got {repeats.shape[0]}")
    counts = recording_namespace().concrete(repeats, "repeat with an array of counts")
    xp = array_namespace(counts)
    if bool(xp.any(counts < 0)):
        raise ValueError("repeats must be 0 or more")
    places = xp.repeat(xp.arange(counts.shape[0], device=device_argument(counts)), counts)
    return take(x, as_tensor(places), axis=axis)
