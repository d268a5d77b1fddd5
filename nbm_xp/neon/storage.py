"""The memory that buffers share: one array, and writing what a view of it shows.

On libraries that write in place, a view is an array in the memory of the whole, which stays where it is from then on:
it is read and written there, so that one time step of a long buffer costs one step. On the others the whole array is
replaced by one with another part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from nbm_xp.functions.conversion import saturate_cast
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
    writes_in_place,
)

from .views import Step, stored, two_axes

__all__ = ["Storage", "filled", "holding"]


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
