"""Arrays built block by block in a lazy library that is not listed, by its own ``map_blocks``.

Dask and those that follow it hand a function the blocks of some arrays and, as ``block_id``, which block this is. An
empty array of the wished-for shape tells how the library splits it; it is what the first block comes from.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import dispatch, dtypes
from .conversion import concrete_int

__all__ = ["chunks_said", "falling_into", "from_blocks", "made", "put", "replaced", "split_alike"]


@dataclass(frozen=True, slots=True)
class _Block:
    """One block, as a task: it is told the empty block, the parts of split arrays, and whole arrays laid flat."""

    function: Callable[..., Any]
    dtype: str
    starts: tuple[tuple[int, ...], ...]
    split: int
    args: tuple[Any, ...]
    wholes: tuple[tuple[int, tuple[int, ...]], ...]
    """The places of the whole arrays among `args`, and their shapes."""

    axes: int
    """How many axes the wished-for array has."""

    def __call__(self, empty: Any, *arrays: Any, block_id: Any = None) -> Any:
        offset = tuple(starts[i] for starts, i in zip(self.starts, block_id, strict=True))[: self.axes]
        args = list(self.args)
        for (place, shape), flat in zip(self.wholes, arrays[self.split :], strict=True):
            args[place] = dispatch.array_namespace(flat).reshape(flat, shape)
        parts = arrays[: self.split]
        shape = tuple(empty.shape)[: self.axes]
        block = made(self.function, self.dtype, offset, shape, *parts, *args)
        return block if self.axes else dispatch.array_namespace(block).reshape(block, (1,))


def made(function: Callable[..., Any], dtype: str, offset: tuple[int, ...], shape: tuple[int, ...], *args: Any) -> Any:
    """What a function gives for a block, held to what it is to be."""
    block = function(offset, shape, *args)
    if tuple(block.shape) != shape or dtypes.dtype_name(block) != dtype:
        found = f"a block of shape {tuple(block.shape)} and dtype {block.dtype}"
        raise ValueError(f"the function gave {found} for {shape} and {dtype}")
    return block


@contextmanager
def chunks_said(title: str, shape: tuple[int, ...], chunks: Any) -> Iterator[None]:
    """Have a library that cannot split an array so say what it was given."""
    try:
        yield
    except (ArithmeticError, TypeError, ValueError) as error:
        wanted = f"chunks must say how {title} is to split an array of shape {shape}"
        raise ValueError(f"{wanted}, got {chunks!r}: {error}") from error


def from_blocks(
    xp: Any,
    function: Callable[..., Any],
    shape: tuple[int, ...],
    dtype: str,
    chunks: Any,
    args: tuple[Any, ...],
    blocks: tuple[Any, ...],
) -> Any:
    """See `nbm_xp.namespace.from_blocks`."""
    own = dtypes.dtype_of(xp, dtype)
    laid = shape or (1,)  # a flat array can only stand beside one with an axis
    with chunks_said(getattr(xp, "__name__", str(xp)), shape, chunks):
        empty = xp.empty(laid, dtype=own, **({} if chunks == "auto" or not shape else {"chunks": chunks}))
    starts = tuple(tuple(itertools.accumulate((0, *sizes)))[:-1] for sizes in empty.chunks)
    split = [split_alike(block, empty.chunks) for block in blocks]
    wholes = tuple(
        (place, tuple(arg.shape))
        for place, arg in enumerate(args)
        if dispatch.is_array(arg) and dispatch.library_of(arg) == dispatch.library_of(empty)
    )
    flat = [xp.reshape(_chunked(args[place], args[place].shape), (-1,)) for place, _ in wholes]
    kept = tuple(None if place in dict(wholes) else arg for place, arg in enumerate(args))
    task = _Block(function, dtype, starts, len(split), kept, wholes, len(shape))
    found = xp.map_blocks(task, empty, *split, *flat, dtype=own)
    return found if shape else xp.reshape(found, ())


def split_alike(x: Any, chunks: Any) -> Any:
    """An array that broadcasts to another, split as that is; an axis of length 1 stays as it is."""
    last = chunks[len(chunks) - x.ndim :]
    return _chunked(x, tuple((1,) if length == 1 else sizes for length, sizes in zip(x.shape, last, strict=True)))


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A block with a part replaced, as a task: `index` names what is set in the whole array; `within` sets it."""

    index: tuple[Any, ...]
    within: Callable[..., Any]

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], x: Any, values: Any) -> Any:
        index, part = [], []
        for entry, first, length in zip(self.index, offset, shape, strict=False):
            if not isinstance(entry, slice):
                if not first <= entry < first + length:
                    return x
                index.append(entry - first)
                continue
            skipped = max(0, -((entry.start - first) // entry.step))  # places before this block
            begin = entry.start + skipped * entry.step - first
            count = len(range(begin, min(entry.stop - first, length), entry.step))
            if not count:
                return x
            index.append(slice(begin, begin + (count - 1) * entry.step + 1, entry.step))
            part.append(slice(skipped, skipped + count))
        rest = zip(offset[len(self.index) :], shape[len(self.index) :], strict=True)
        part += [slice(first, first + length) for first, length in rest]
        return self.within(x, tuple(index), values[tuple(part)] if values.ndim else values)


def replaced(xp: Any, x: Any, index: tuple[Any, ...], values: Any, within: Callable[..., Any]) -> Any:
    """See `nbm_xp.namespace.assignment.replaced`, which is `within`. Each block of x takes what falls into it."""
    spans = [range(length)[entry] for entry, length in zip(index, x.shape, strict=False)]
    whole = tuple(slice(s.start, s.stop, s.step) if isinstance(s, range) else s for s in spans)
    shape = (*(len(s) for s in spans if isinstance(s, range)), *x.shape[len(index) :])
    if 0 in shape:
        return x
    if hasattr(values, "shape"):
        values = xp.broadcast_to(values, shape)
    else:
        values = xp.full((), values, dtype=x.dtype)
    return from_blocks(xp, _Replaced(whole, within), x.shape, dtypes.dtype_name(x), x.chunks, (values,), (x,))


def falling_into(xp: Any, places: Any, axis: int, length: int, start: int, extent: int) -> tuple[Any, Any]:
    """Which places along an axis of some length lie in a block of it, and where in the block.

    Raises
    ------
    IndexError
        If one lies beyond the axis.
    """
    if concrete_int(xp.count_nonzero((places < -length) | (places >= length))):
        raise IndexError(f"an index is out of bounds for axis {axis} of length {length}")
    local = xp.where(places < 0, places + length, places) - start
    (chosen,) = xp.nonzero((local >= 0) & (local < extent))
    return chosen, xp.take(local, chosen)


@dataclass(frozen=True, slots=True)
class _Put:
    """A block with what integers name along an axis replaced, as a task; `length` is the whole axis'."""

    axis: int
    length: int
    within: Callable[..., Any]

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], x: Any, places: Any, values: Any) -> Any:
        xp = dispatch.array_namespace(x)
        chosen, local = falling_into(xp, places, self.axis, self.length, offset[self.axis], shape[self.axis])
        if not chosen.shape[0]:
            return x
        spans = [slice(begin, begin + length) for begin, length in zip(offset, shape, strict=True)]
        spans[self.axis] = slice(None)
        return self.within(x, local, xp.take(values[tuple(spans)], chosen, axis=self.axis), self.axis)


def put(xp: Any, x: Any, places: Any, values: Any, axis: int, within: Callable[..., Any]) -> Any:
    """See `nbm_xp.namespace.assignment.put`, which is `within`. Each block of x takes what falls into it."""
    values = values if hasattr(values, "shape") else xp.full((), values, dtype=x.dtype)
    values = xp.broadcast_to(values, (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :]))
    task = _Put(axis, x.shape[axis], within)
    return from_blocks(xp, task, x.shape, dtypes.dtype_name(x), x.chunks, (places, values), (x,))


def _chunked(x: Any, chunks: Any) -> Any:
    sizes = tuple((size,) if isinstance(size, int) else tuple(size) for size in chunks)
    return x if tuple(x.chunks) == sizes else x.rechunk(chunks)
