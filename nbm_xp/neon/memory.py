"""Memory shared by buffers, and the steps from a whole buffer to a view of it.

A step (a slice, reversed axes, permuted axes, another shape) reads an array, or is recorded for a Tensor; finds the
view's memory, if the library has views; and inserts the written values of the view into the whole. On libraries that
write in place, a view is an array in the memory of the whole, whose address no longer changes once a view exists:
reading or writing one time step of a long buffer costs one step. On the other libraries, a write replaces the whole
array by a new one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from nbm_xp.functions.shaping import saturate_cast
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    assign,
    can_be_owned,
    device_argument,
    dtype_name,
    dtype_of,
    host_namespace,
    is_array,
    is_integer,
    replaced,
    reshaped_view,
    writes_in_place,
)
from nbm_xp.tape import is_tensor


class Step(NamedTuple):
    """One step from a whole to a view: a function of the array API and its second argument.

    ``"getitem"`` takes a slice with a positive step for each axis, ``"flip"`` and ``"permute_dims"`` take axes, and
    ``"reshape"`` takes a shape. Reversal is a step of its own because not every library has negative slice steps.
    """

    function: Literal["getitem", "flip", "permute_dims", "reshape"]
    argument: tuple[Any, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """Return the view of an array, or of a Tensor if `xp` is the tape's namespace."""
        if self.function == "getitem":
            return whole[self.argument]
        if self.function == "flip":
            return xp.flip(whole, axis=self.argument)
        return getattr(xp, self.function)(whole, self.argument)

    def memory(self, xp: Any, whole: Any) -> Any:
        """Return the view as an array in the memory of `whole`; None if the library has to copy."""
        if self.function == "reshape":
            return reshaped_view(whole, self.argument)
        return None if self.function == "flip" else self.read(xp, whole)

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """Return a new array: `whole` with the view's elements replaced."""
        if self.function == "getitem":
            return replaced(whole, self.argument, view)
        if self.function == "permute_dims":
            return xp.permute_dims(view, tuple(map(self.argument.index, range(len(self.argument)))))
        return self.read(xp, view) if self.function == "flip" else xp.reshape(view, tuple(whole.shape))


def indexed(shape: tuple[int, ...], key: Any) -> tuple[list[Step], tuple[int, ...]]:
    """Return the steps to ``[key]`` of an array of a given shape, and the shape of the view.

    An integer index removes its axis, unless fewer than two axes would be left.

    Raises
    ------
    IndexError
        If there are more indices than axes, or an integer is out of bounds.
    TypeError
        If an index is not an integer, slice or Ellipsis.
    """
    items = _expanded(shape, key if isinstance(key, tuple) else (key,))
    slices, flipped, lengths, single = [], [], [], []
    for axis, (item, length) in enumerate(zip(items, shape, strict=True)):
        if isinstance(item, slice):
            places = range(*item.indices(length))
            if places.step < 0:
                places = places[::-1]
                flipped += [axis] if len(places) > 1 else []
            slices.append(slice(places.start, places[-1] + 1, places.step) if places else slice(0, 0, 1))
            lengths.append(len(places))
        else:
            place = _place(item, axis, length)
            slices.append(slice(place, place + 1, 1))
            single.append(axis)
            lengths.append(1)
    steps: list[Step] = []
    if any(part != slice(0, length, 1) for part, length in zip(slices, shape, strict=True)):
        steps.append(Step("getitem", tuple(slices)))
    if flipped:
        steps.append(Step("flip", tuple(flipped)))
    removed = single[: max(0, len(shape) - 2)]
    remaining = tuple(length for axis, length in enumerate(lengths) if axis not in removed)
    if removed:
        steps.append(Step("reshape", remaining))
    return steps, remaining


def list_in(shape: tuple[int, ...], items: tuple[Any, ...]) -> tuple[int, Any, tuple[Any, ...]] | None:
    """Split an index with one list, array or Tensor of indices: its axis, these indices, and the index without them.

    Returns None if there is none. An array without axes counts as an integer.
    """
    expanded = _expanded(shape, items)
    axes = [axis for axis, item in enumerate(expanded) if _holds_places(item)]
    if len(axes) != 1:
        return None
    (axis,) = axes
    return axis, expanded[axis], (*expanded[:axis], slice(None), *expanded[axis + 1 :])


def _holds_places(item: Any) -> bool:
    return isinstance(item, list) or is_tensor(item) or (is_array(item) and bool(item.ndim))


def _expanded(shape: tuple[int, ...], items: tuple[Any, ...]) -> list[Any]:
    """Return one index for each axis."""
    open_places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(open_places) > 1:
        raise IndexError("an index may hold Ellipsis once")
    missing = len(shape) - len(items) + len(open_places)
    if missing < 0:
        raise IndexError(f"an index for {len(items)} axes is too long for shape {shape}")
    place = open_places[0] if open_places else len(items)
    return [*items[:place], *[slice(None)] * missing, *items[place + 1 :]]


def _place(item: Any, axis: int, length: int) -> int:
    try:
        if isinstance(item, bool):
            raise TypeError
        place = operator.index(item)
    except TypeError:
        raise TypeError(
            f"an index must be made of integers and slices, or one list of integers, got {type(item).__name__}"
        ) from None
    if not -length <= place < length:
        raise IndexError(f"index {place} is out of bounds for axis {axis} of length {length}")
    return place % length


def lengths_of(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of at least two lengths.

    Raises
    ------
    TypeError
        If `shape` is neither an integer nor a sequence of integers.
    ValueError
        If a length is negative.
    """
    lengths = _integers(shape if isinstance(shape, (tuple, list)) else (shape,), shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"shape must not have negative lengths, got {lengths}")
    return _two_axes(lengths)


def _integers(lengths: Sequence[Any], given: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, lengths))
    except TypeError:
        raise TypeError(f"shape must be an integer or a sequence of integers, got {given!r}") from None


def _two_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with at least two axes; missing axes have length 1."""
    return shape + (1,) * (2 - len(shape))


def reshaped(shape: tuple[int, ...], new: Sequence[Any]) -> tuple[int, ...]:
    """Return a new shape of at least two axes with as many elements; one length may be -1.

    Raises
    ------
    TypeError
        If a length is not an integer.
    ValueError
        If the numbers of elements differ; the message names both shapes.
    """
    lengths = _integers(new, new)
    size = math.prod(shape)
    rest = math.prod(length for length in lengths if length != -1)
    if lengths.count(-1) == 1 and rest and size % rest == 0:
        lengths = tuple(size // rest if length == -1 else length for length in lengths)
    if any(length < 0 for length in lengths) or math.prod(lengths) != size:
        raise ValueError(f"shape must have {size} elements as {shape} has, got {tuple(new)}")
    return _two_axes(lengths)


class Storage:
    """An array that nothing else refers to; the tape uses it as a variable's value.

    Parameters
    ----------
    value : array
        Owned by the storage: of the right library and dtype, writable if the library writes in place.
    xp : namespace
        The library's namespace.
    """

    __slots__ = ("dtype", "has_views", "in_place", "integers", "owner", "shape", "value", "xp")
    is_state: ClassVar[bool] = False
    default_update: ClassVar[None] = None

    def __init__(self, value: Any, xp: Any) -> None:
        self.value = value
        self.xp = xp
        self.shape = tuple(value.shape)
        self.dtype = dtype_name(value)
        self.integers = is_integer(value)
        self.in_place = writes_in_place(xp)
        self.has_views = False
        self.owner: Any = None  # a weak reference to the buffer that covers all of this storage

    def view(self, memory: Any, steps: Sequence[Step]) -> Any:
        """Return the view after `steps` of an array in this memory, in the same memory; None if the library copies."""
        if not self.in_place:
            return None
        for step in steps:
            if memory is None:
                return None
            memory = step.memory(self.xp, memory)
        self.has_views = self.has_views or memory is not None
        return memory

    def read(self, steps: Sequence[Step], memory: Any = None) -> Any:
        """Return a view's values, without a copy if the library has views; `memory` is the result of `view`."""
        if memory is not None:
            return memory
        value = self.value
        for step in steps:
            value = step.read(self.xp, value)
        return value

    def write(self, steps: Sequence[Step], memory: Any, shape: tuple[int, ...], value: Any, *, fresh: bool) -> None:
        """Set a view's values.

        Parameters
        ----------
        steps : sequence of Step
            The steps to the view.
        memory : array or None
            The result of `view` for these steps.
        shape : tuple of int
            The view's shape.
        value : array or number
            A result of `converted`; broadcast to the shape, cast to the dtype.
        fresh : bool
            Whether nothing else refers to `value`, so that it may be used as the storage's array.
        """
        if memory is not None:
            assign(memory, value)
            return
        if steps or not self.in_place:
            value = _restored(self.xp, self.value, steps, self._like_view(shape, value))
        if not self.in_place or (fresh and not self.has_views and can_be_owned(value, self.shape, self.dtype)):
            self.value = value
        else:
            assign(self.value, value)

    def _like_view(self, shape: tuple[int, ...], value: Any) -> Any:
        """Return a value as an array of the view's shape and dtype."""
        xp, dtype = self.xp, dtype_of(self.xp, self.dtype)
        if not is_array(value):
            return xp.full(shape, value, dtype=dtype, device=device_argument(self.value))
        if value.dtype != dtype:
            value = xp.astype(value, dtype)
        return value if tuple(value.shape) == shape else xp.broadcast_to(value, shape)

    def converted(self, value: Any) -> Any:
        """Return a value that can be written: an array of this library, or a number, within an integer dtype's range.

        NumPy arrays are cast and moved; arrays of a third library raise an error.
        """
        limited = _within(value, self.dtype) if self.integers else value
        if not is_array(value):
            return limited.item() if self.integers else value
        return limited if array_namespace(limited) is self.xp else asarray(limited, self.xp, self.dtype)

    def __reduce__(self) -> Any:
        return _unpickled, (self.value,)


def _restored(xp: Any, whole: Any, steps: Sequence[Step], value: Any) -> Any:
    """Return a new array: `whole` with `value`, of the view's shape and dtype, at the view that the steps lead to."""
    if not steps:
        return value
    first, *rest = steps
    part = first.read(xp, whole) if rest else None
    return first.restored(xp, whole, _restored(xp, part, rest, value))


def _within(value: Any, dtype: str) -> Any:
    """Clip an array to the range of an integer dtype and cast it; numbers and nested lists become NumPy arrays."""
    return saturate_cast(value if is_array(value) else asarray(value, host_namespace()), dtype)


def _unpickled(value: Any) -> Storage:
    return Storage(value, array_namespace(value))


def filled(kind: str, shape: tuple[int, ...], dtype: str, xp: Any) -> Storage:
    """Create storage of zeros or ones, or uninitialised (``"empty"``)."""
    return Storage(getattr(xp, kind)(shape, dtype=dtype_of(xp, dtype)), xp)


def holding(value: Any, dtype: str, xp: Any) -> Storage:
    """Create storage with the values of an array, number or nested list, with at least two axes."""
    if is_integer(dtype_of(xp, dtype)):
        value = _within(value, dtype)
    array = asarray(value, xp, dtype)
    array = xp.reshape(array, _two_axes(tuple(array.shape)))
    if not writes_in_place(xp):
        return Storage(xp.asarray(array, copy=True), xp)
    made = Storage(xp.empty(tuple(array.shape), dtype=array.dtype, device=device_argument(array)), xp)
    assign(made.value, array)
    return made
