"""The memory that buffers share, and the steps from that memory to a view of it.

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

__all__ = ["Step", "Storage", "filled", "holding", "indexed", "lengths_of", "list_in", "reshaped"]


class Step(NamedTuple):
    """One step from a whole to a view of it: a function of the array API, and its argument beside the array.

    ``"getitem"`` takes a slice with a positive step for each axis, ``"flip"`` and ``"permute_dims"`` axes, and
    ``"reshape"`` a shape. Not every library can index with negative steps.
    """

    function: Literal["getitem", "flip", "permute_dims", "reshape"]
    argument: tuple[Any, ...]

    def read(self, xp: Any, whole: Any) -> Any:
        """The view of an array, or of a Tensor where `xp` is the tape's namespace."""
        if self.function == "getitem":
            return whole[self.argument]
        if self.function == "flip":
            return xp.flip(whole, axis=self.argument)
        return getattr(xp, self.function)(whole, self.argument)

    def memory(self, xp: Any, whole: Any) -> Any:
        """The view as an array in the memory of `whole`; None where a library has to copy."""
        if self.function == "reshape":
            return reshaped_view(whole, self.argument)
        return None if self.function == "flip" else self.read(xp, whole)

    def restored(self, xp: Any, whole: Any, view: Any) -> Any:
        """A new array: `whole` with another view."""
        if self.function == "getitem":
            return replaced(whole, self.argument, view)
        if self.function == "permute_dims":
            return xp.permute_dims(view, tuple(map(self.argument.index, range(len(self.argument)))))
        return self.read(xp, view) if self.function == "flip" else xp.reshape(view, tuple(whole.shape))


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
        steps.append(Step("getitem", tuple(slices)))
    if flipped:
        steps.append(Step("flip", tuple(flipped)))
    removed = single[: max(0, len(shape) - 2)]
    remaining = tuple(length for axis, length in enumerate(lengths) if axis not in removed)
    if removed:
        steps.append(Step("reshape", remaining))
    return steps, remaining


def list_in(shape: tuple[int, ...], items: tuple[Any, ...]) -> tuple[int, Any, tuple[Any, ...]] | None:
    """For an index with one list, array or Tensor of places: its axis, the places, and the index without them.

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
    return _two_axes(lengths)


def _integers(lengths: Sequence[Any], given: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, lengths))
    except TypeError:
        raise TypeError(f"shape must be an integer or a sequence of integers, got {given!r}") from None


def _two_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with as many axes as a buffer has at least, those that were missing of length 1."""
    return shape + (1,) * (2 - len(shape))


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
    return _two_axes(lengths)


class Storage:
    """An array that nothing else refers to; what the tape knows as a variable's value.

    Parameters
    ----------
    value : array
        Taken over: of the right library and dtype, writable where the library writes in place.
    xp : namespace
        The library's.
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
        self.owner: Any = None  # a weak reference to the buffer that this is all of

    def view(self, memory: Any, steps: Sequence[Step]) -> Any:
        """What steps from an array in this memory show, as an array in this memory; None where the library copies."""
        if not self.in_place:
            return None
        for step in steps:
            if memory is None:
                return None
            memory = step.memory(self.xp, memory)
        self.has_views = self.has_views or memory is not None
        return memory

    def read(self, steps: Sequence[Step], memory: Any = None) -> Any:
        """What a view shows now, without a copy where the library has views; `memory` is what `view` gave for it."""
        if memory is not None:
            return memory
        value = self.value
        for step in steps:
            value = step.read(self.xp, value)
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
            Whether nothing else refers to `value`, so that it may become the storage's own.
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
        """A value as an array of the view's shape and dtype."""
        xp, dtype = self.xp, dtype_of(self.xp, self.dtype)
        if not is_array(value):
            return xp.full(shape, value, dtype=dtype, device=device_argument(self.value))
        if value.dtype != dtype:
            value = xp.astype(value, dtype)
        return value if tuple(value.shape) == shape else xp.broadcast_to(value, shape)

    def converted(self, value: Any) -> Any:
        """What can be written: an array of this library, or a number, within the range of an integer dtype.

        NumPy's arrays are cast and moved; those of a third library raise an error.
        """
        limited = _within(value, self.dtype) if self.integers else value
        if not is_array(value):
            return limited.item() if self.integers else value
        return limited if array_namespace(limited) is self.xp else asarray(limited, self.xp, self.dtype)

    def __reduce__(self) -> Any:
        return _unpickled, (self.value,)


def _restored(xp: Any, whole: Any, steps: Sequence[Step], value: Any) -> Any:
    """A new array: `whole` with `value`, of the view's shape and dtype, for what the steps lead to."""
    if not steps:
        return value
    first, *rest = steps
    part = first.read(xp, whole) if rest else None
    return first.restored(xp, whole, _restored(xp, part, rest, value))


def _within(value: Any, dtype: str) -> Any:
    """An array limited to the range of an integer dtype, in that dtype; of numbers and nested lists, NumPy's."""
    return saturate_cast(value if is_array(value) else asarray(value, host_namespace()), dtype)


def _unpickled(value: Any) -> Storage:
    return Storage(value, array_namespace(value))


def filled(kind: str, shape: tuple[int, ...], dtype: str, xp: Any) -> Storage:
    """Storage of zeros or ones, or of any values (``"empty"``)."""
    return Storage(getattr(xp, kind)(shape, dtype=dtype_of(xp, dtype)), xp)


def holding(value: Any, dtype: str, xp: Any) -> Storage:
    """Storage with the values of an array, number or nested list, which has two axes or more."""
    if is_integer(dtype_of(xp, dtype)):
        value = _within(value, dtype)
    array = asarray(value, xp, dtype)
    array = xp.reshape(array, _two_axes(tuple(array.shape)))
    if not writes_in_place(xp):
        return Storage(xp.asarray(array, copy=True), xp)
    made = Storage(xp.empty(tuple(array.shape), dtype=array.dtype, device=device_argument(array)), xp)
    assign(made.value, array)
    return made
