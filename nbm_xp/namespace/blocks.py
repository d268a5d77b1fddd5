"""Arrays built block by block, from a function of the block's place and shape.

For Dask, every block is one task that holds only its place and its shape; building the graph takes time that does not
grow with the number of blocks, computes nothing, and gives the same names for the same request.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import conversion, dispatch, dtypes, libraries
from .conversion import concrete_int
from .kernels import kernel
from .libraries import maps_blocks

__all__ = [
    "chunks_said", "falling_into", "from_blocks", "made", "put", "replaced", "split_alike", "stepped",
]  # fmt: skip


def from_blocks(
    xp: Any,
    function: Callable[..., Any],
    shape: int | Sequence[int],
    dtype: Any,
    chunks: Any = "auto",
    *,
    args: Sequence[Any] = (),
    blocks: Sequence[Any] = (),
    name: str = "from-blocks",
    meta: Any = None,
) -> Any:
    """An array whose blocks a function makes.

    Parameters
    ----------
    xp : namespace
        The library's. On any but Dask's, the whole array is one block, made at once.
    function : callable
        ``function(offset, shape, *args)`` gives the block of this shape that starts at this offset: tuples of int.
        It must be a pure function, for Dask one that can be sent to another process.
    shape : int or sequence of int
        The shape of the whole.
    dtype
        The dtype of the whole: a name or a dtype object.
    chunks : optional
        How Dask splits it: whatever Dask takes (``'auto'``, an int, -1, tuples). Other libraries ignore it.
    args : sequence, optional
        Further arguments for each call; Dask arrays among them are handed over whole.
    blocks : sequence of arrays, optional
        Arrays of the library that broadcast to `shape`, of which each call is handed the part for its block, before
        `args`.
    name : str, optional
        How the tasks' names begin.
    meta : array, optional
        An empty array of the library of the blocks; NumPy's by default.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> def rows(offset, shape):
    ...     return np.arange(offset[0], offset[0] + shape[0])
    >>> from_blocks(get_namespace("numpy"), rows, 4, "int64")
    array([0, 1, 2, 3])
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    for length in lengths:
        if not hasattr(length, "__index__") or length < 0:
            raise ValueError(f"from_blocks needs known lengths that are not negative, got shape {lengths}")
    lengths = tuple(int(length) for length in lengths)
    known = dtypes.dtype_name(dtype)
    own = kernel("from_blocks", xp)
    if own is not None:
        return own(function, lengths, known, chunks, tuple(args), name, meta, tuple(blocks))
    if maps_blocks(xp):
        return mapped_from_blocks(xp, function, lengths, known, chunks, tuple(args), tuple(blocks))
    block = function((0,) * len(lengths), lengths, *blocks, *args)
    if tuple(block.shape) != lengths:
        raise ValueError(f"the function gave a block of shape {tuple(block.shape)} for {lengths}")
    here = dispatch.library_name(block) == dispatch.library_name(xp)
    return conversion.asarray(block, xp) if here else conversion.convert(block, xp)


@dataclass(frozen=True, slots=True)
class _Block:
    """One block, as a task: it takes the empty block, the parts of split arrays, and whole arrays laid flat."""

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
    """What a function gives for a block, whose shape and dtype are checked."""
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


def mapped_from_blocks(
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
    """See `nbm_xp.namespace.indexing.replaced`, which is `within`. Each block of x takes what falls into it."""
    spans = [range(length)[entry] for entry, length in zip(index, x.shape, strict=False)]
    whole = tuple(slice(s.start, s.stop, s.step) if isinstance(s, range) else s for s in spans)
    shape = (*(len(s) for s in spans if isinstance(s, range)), *x.shape[len(index) :])
    if 0 in shape:
        return x
    if hasattr(values, "shape"):
        values = xp.broadcast_to(values, shape)
    else:
        values = xp.full((), values, dtype=x.dtype)
    return mapped_from_blocks(xp, _Replaced(whole, within), x.shape, dtypes.dtype_name(x), x.chunks, (values,), (x,))


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
    """See `nbm_xp.namespace.indexing.put`, which is `within`. Each block of x takes what falls into it."""
    values = values if hasattr(values, "shape") else xp.full((), values, dtype=x.dtype)
    values = xp.broadcast_to(values, (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :]))
    task = _Put(axis, x.shape[axis], within)
    return mapped_from_blocks(xp, task, x.shape, dtypes.dtype_name(x), x.chunks, (places, values), (x,))


def _chunked(x: Any, chunks: Any) -> Any:
    sizes = tuple((size,) if isinstance(size, int) else tuple(size) for size in chunks)
    return x if tuple(x.chunks) == sizes else x.rechunk(chunks)


def stepped(
    work: Any,
    blocks: Mapping[tuple[int, ...], Any],
    neighbours: Mapping[tuple[int, ...], Sequence[tuple[int, ...]]],
    steps: Sequence[Any],
    chunks: tuple[tuple[int, ...], ...],
    sums: Sequence[tuple[int, ...]],
    start: Any,
    name: str,
    observed: Sequence[int] = (),
) -> tuple[Any, Any, list[Any]]:
    """Lay the steps out as tasks of Dask's, which computes nothing.

    Parameters
    ----------
    work : object
        What is done with each block, whose array has the dtype ``work.dtype``.
    blocks : mapping
        Of each place along all axes but the first an object that can be sent to other processes.
        ``block.begin(work, array)``, the array being one to begin with or None, gives what is kept of a block and a
        mapping: what it shows each of its neighbours. ``block.step(work, kept, shown, step)`` gives the next two and
        what was measured; and ``block.array(work, kept)`` the block's array.
    neighbours : mapping
        Of each block, the others that show it something.
    steps : sequence
        What is to be done in each step.
    chunks : tuple of tuples of ints
        Of the array; the first axis has one block.
    sums : sequence of tuples of ints
        The shape of what each step measures, float64, of two axes; (0, n) where it measures nothing.
    start : array or None
        What to begin with: one of Dask's arrays, or NumPy's.
    name : str
        How the tasks' names begin.
    observed : sequence of ints, optional
        After which steps the array is wanted, too.

    Returns
    -------
    array, array or None, list of arrays
        The array after all steps; the sums over all blocks of what they measured, one step after the other; and the
        arrays of `observed`.
    """
    libraries.get_namespace("dask")  # says what to install where it is not there
    own = kernel("stepped", "dask")
    return own(work, blocks, neighbours, steps, chunks, sums, start, name, observed)  # type: ignore[misc, no-any-return]
