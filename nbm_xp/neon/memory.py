"""The memory that buffers share, and what lies between a buffer and the memory it is a view of.

A step between (a part, reversed axes, another order, another shape) reads an array (or records that of a Tensor), says
where its memory is, if a library has it as a view, and puts what was written into the view back into the whole. On
libraries that write in place, a view is an array in the memory of the whole, which stays where it is from then on: it
is read and written there, so that one time step of a long buffer costs one step. On the others the whole array is
replaced by one with another part.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

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

__all__ = [
    "Flipped", "Part", "Permuted", "Reshaped", "Step", "Storage", "filled", "holding", "indexed", "lengths_of",
    "list_in", "reshaped", "stored", "two_axes",
]  # fmt: skip


class Step:
    """One step from a whole to a view of it."""

    __slots__ = ()

    def read(self, xp: Any, whole: Any) -> Any:
        """The view of an array, or of a Tensor where `xp` is the tape's namespace."""
        raise NotImplementedError

    def memory(self, xp: Any, whole: Any) -> Any:
        """The view as an array in the memory of `whole`; None where a library has to copy."""
        return self.read(xp, whole)

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """A new array: `whole` with another view."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Part(Step):
    """Slices with positive steps, one for each axis."""

    index: tuple[slice, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """See `Step`."""
        return whole[self.index]

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """See `Step`."""
        return replaced(whole, self.index, view)


@dataclass(frozen=True, slots=True)
class Flipped(Step):
    """Axes in reverse, which not every library can index."""

    axes: tuple[int, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """See `Step`."""
        return xp.flip(whole, axis=self.axes)

    def memory(self, xp: Any, whole: Any) -> None:
        """See `Step`."""

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """See `Step`."""
        return xp.flip(view, axis=self.axes)


@dataclass(frozen=True, slots=True)
class Permuted(Step):
    """Axes in another order."""

    axes: tuple[int, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """See `Step`."""
        return xp.permute_dims(whole, self.axes)

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """See `Step`."""
        return xp.permute_dims(view, tuple(map(self.axes.index, range(len(self.axes)))))


@dataclass(frozen=True, slots=True)
class Reshaped(Step):
    """The same elements in another shape."""

    shape: tuple[int, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """See `Step`."""
        return xp.reshape(whole, self.shape)

    def memory(self, xp: Any, whole: Any) -> Any:
        """See `Step`."""
        return reshaped_view(whole, self.shape)

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """See `Step`."""
        return xp.reshape(view, tuple(whole.shape))


def indexed(shape: tuple[int, ...], key: Any) -> tuple[list[Step], tuple[int, ...]]:
    """The steps to what ``[key]`` names in an array of a shape, and the shape of that.

    An integer names one place of its axis. The axis is left out, unless that would leave fewer than two.

    Raises
    ------
    IndexError
        If there are more indices than axes, or an integer is out of bounds.
    TypeError
        If an index is none of integer, slice and Ellipsis.
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
        steps.append(Part(tuple(slices)))
    if flipped:
        steps.append(Flipped(tuple(flipped)))
    left_out = set(single[: max(0, len(shape) - 2)])
    kept = tuple(length for axis, length in enumerate(lengths) if axis not in left_out)
    if left_out:
        steps.append(Reshaped(kept))
    return steps, kept


def list_in(shape: tuple[int, ...], items: tuple[Any, ...]) -> tuple[int, Any, tuple[Any, ...]] | None:
    """What an index holds one list, array or Tensor of places for: the axis, the places, and the index without them.

    None if there is none. An array without axes is an integer.
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
    """One index for each axis."""
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


def two_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with as many axes as a buffer has at least, those that were missing of length 1."""
    return shape + (1,) * (2 - len(shape))


def lengths_of(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of lengths, two or more.

    Raises
    ------
    TypeError
        If it is neither an integer nor a sequence of integers.
    ValueError
        If a length is negative.
    """
    lengths = _integers(shape if isinstance(shape, (tuple, list)) else (shape,), shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"shape must not have negative lengths, got {lengths}")
    return two_axes(lengths)


def _integers(lengths: Sequence[Any], given: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, lengths))
    except TypeError:
        raise TypeError(f"shape must be an integer or a sequence of integers, got {given!r}") from None


def reshaped(shape: tuple[int, ...], new: Sequence[Any]) -> tuple[int, ...]:
    """A shape of two axes or more with as many elements, in which one length may be given as -1.

    Raises
    ------
    TypeError
        If a length is no integer.
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
    return two_axes(lengths)


def stored(xp: Any, whole: Any, steps: Sequence[Step], value: Any) -> Any:
    """A new array: `whole` with `value`, of the view's shape and dtype, for what the steps lead to."""
    if not steps:
        return value
    first, *rest = steps
    part = first.read(xp, whole) if rest else None
    return first.restored(xp, whole, stored(xp, part, rest, value))


class Storage:
    """An array that nobody else holds; what the tape knows as a variable's value.

    Parameters
    ----------
    value : array
        Taken over: of the right library and dtype, writable where the library writes in place.
    xp : namespace
        The library's.
    """

    __slots__ = ("dtype", "in_place", "integers", "owner", "shape", "stays", "value", "xp")
    is_state: ClassVar[bool] = False
    default_update: ClassVar[None] = None

    def __init__(self, value: Any, xp: Any) -> None:
        self.value = value
        self.xp = xp
        self.shape = tuple(value.shape)
        self.dtype = dtype_name(value)
        self.integers = is_integer(value)
        self.in_place = writes_in_place(xp)
        self.stays = False
        self.owner: Any = None  # a weak reference to the buffer that this is all of

    def view(self, memory: Any, steps: Sequence[Step]) -> Any:
        """What steps from an array in this memory show, as an array in this memory; None where the library copies."""
        if not self.in_place:
            return None
        for step in steps:
            if memory is None:
                return None
            memory = step.memory(self.xp, memory)
        self.stays = self.stays or memory is not None
        return memory

    def read(self, steps: Sequence[Step], memory: Any = None) -> Any:
        """What a view shows now, without a copy where the library has views; `memory` is what `view` gave for it."""
        if memory is not None:
            return memory
        value, xp = self.value, self.xp
        for step in steps:
            value = step.read(xp, value)
        return value

    def write(self, steps: Sequence[Step], memory: Any, shape: tuple[int, ...], value: Any, *, fresh: bool) -> None:
        """Set what a view shows.

        Parameters
        ----------
        steps : sequence of Step
            The way to the view.
        memory : array or None
            What `view` gave for it.
        shape : tuple of int
            The view's.
        value : array or number
            As `converted` gives it; broadcast to the shape, cast to the dtype.
        fresh : bool
            Whether nobody else holds `value`, so that it may become the storage's own.
        """
        if memory is not None:
            assign(memory, value)
            return
        if is_array(value) and not steps and not self.stays and (fresh or not self.in_place):
            if not self.in_place and tuple(value.shape) == shape and dtype_name(value) == self.dtype:
                self.value = value
                return
            if can_be_owned(value, self.shape, self.dtype):
                self.value = value
                return
        if self.in_place:
            self._write_in_place(steps, shape, value)
        else:
            self.value = stored(self.xp, self.value, steps, self._like_view(shape, value))

    def _write_in_place(self, steps: Sequence[Step], shape: tuple[int, ...], value: Any) -> None:
        target, xp = self.value, self.xp
        for position, step in enumerate(steps):
            memory = step.memory(xp, target)
            if memory is None:  # the library copies here, so the rest is set in a copy
                value = stored(xp, target, steps[position:], self._like_view(shape, value))
                break
            target = memory
        assign(target, value)

    def _like_view(self, shape: tuple[int, ...], value: Any) -> Any:
        """A value as an array of the view's shape and dtype."""
        xp, dtype = self.xp, dtype_of(self.xp, self.dtype)
        if not is_array(value):
            return xp.full(shape, value, dtype=dtype, device=device_argument(self.value))
        if value.dtype != dtype:
            value = xp.astype(value, dtype)
        return value if tuple(value.shape) == shape else xp.broadcast_to(value, shape)

    def converted(self, value: Any) -> Any:
        """What can be written: an array of this library, or a number; an integer dtype has room for its elements.

        NumPy's arrays are cast and moved, those of a third library refused.
        """
        held = _within(value, self.dtype) if self.integers else value
        if not is_array(value):
            return held.item() if self.integers else value
        return held if array_namespace(held) is self.xp else asarray(held, self.xp, self.dtype)

    def __reduce__(self) -> Any:
        return _restored, (self.value,)


def _within(value: Any, dtype: str) -> Any:
    """An array of an integer dtype, whose range ends what is stored; of numbers and nested lists, NumPy's."""
    return saturate_cast(value if is_array(value) else asarray(value, host_namespace()), dtype)


def _restored(value: Any) -> Storage:
    return Storage(value, array_namespace(value))


def filled(kind: str, shape: tuple[int, ...], dtype: str, xp: Any) -> Storage:
    """Storage of zeros or ones, or of any values (``"empty"``)."""
    return Storage(getattr(xp, kind)(shape, dtype=dtype_of(xp, dtype)), xp)


def holding(value: Any, dtype: str, xp: Any) -> Storage:
    """Storage with the values of an array, number or nested list, which has two axes or more."""
    if is_integer(dtype_of(xp, dtype)):
        value = _within(value, dtype)
    array = asarray(value, xp, dtype)
    if array is value or writes_in_place(xp):
        array = xp.asarray(array, copy=True)
    array = xp.reshape(array, two_axes(tuple(array.shape)))
    if writes_in_place(xp) and not can_be_owned(array, tuple(array.shape), dtype):
        whole = xp.empty(tuple(array.shape), dtype=array.dtype, device=device_argument(array))
        assign(whole, array)
        array = whole
    return Storage(array, xp)
