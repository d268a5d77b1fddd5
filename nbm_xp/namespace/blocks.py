"""Arrays built block by block, from a function of the block's offset and shape.

For Dask, every block is one task that stores only its offset and shape. Building the graph computes nothing, takes time
independent of the number of blocks, and gives the same names for the same arguments.
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
from .memory import size_in_bytes


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
    """Create an array from a function that computes its blocks.

    Parameters
    ----------
    xp : namespace
        Namespace of the library. With libraries other than Dask, the whole array is one block, computed immediately.
    function : callable
        ``function(offset, shape, *args)`` returns the block of the given shape at the given offset, both tuples of int.
        It must be a pure function, and for Dask picklable.
    shape : int or sequence of int
        Shape of the array.
    dtype
        Dtype of the array: a name or a dtype object.
    chunks : optional
        Chunks of a Dask array, in any form that Dask accepts (``'auto'``, an int, -1, tuples). Ignored by other
        libraries.
    args : sequence, optional
        Further arguments for each call; Dask arrays among them are passed whole.
    blocks : sequence of arrays, optional
        Arrays of the library that broadcast to `shape`. Each call gets their parts for its block, before `args`.
    name : str, optional
        Prefix of the tasks' names.
    meta : array, optional
        Empty array of the library of the blocks. Defaults to NumPy.

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
    """Task for one block, with the empty block, the parts of split arrays, and flattened whole arrays as arguments."""

    function: Callable[..., Any]
    dtype: str
    starts: tuple[tuple[int, ...], ...]
    split: int
    args: tuple[Any, ...]
    # The places of the whole arrays among `args`, and their shapes.
    wholes: tuple[tuple[int, tuple[int, ...]], ...]

    # How many axes the wished-for array has.
    axes: int

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
    """Call the function for a block, and check the shape and dtype of its result."""
    block = function(offset, shape, *args)
    if tuple(block.shape) != shape or dtypes.dtype_name(block) != dtype:
        found = f"a block of shape {tuple(block.shape)} and dtype {block.dtype}"
        raise ValueError(f"the function gave {found} for {shape} and {dtype}")
    return block


@contextmanager
def chunks_said(title: str, shape: tuple[int, ...], chunks: Any) -> Iterator[None]:
    """Make the error of a library that cannot split an array in these chunks name the chunks."""
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
    laid = shape or (1,)  # a flat array needs an array with an axis beside it
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
    """Split an array in the same blocks as an array that it broadcasts to; axes of length 1 are not split."""
    last = chunks[len(chunks) - x.ndim :]
    return _chunked(x, tuple((1,) if length == 1 else sizes for length, sizes in zip(x.shape, last, strict=True)))


@dataclass(frozen=True, slots=True)
class _Replaced:
    """Task that replaces a part of a block: `index` refers to the whole array; `within` assigns."""

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
    """See `nbm_xp.namespace.indexing.replaced`, which is `within`. A block of x gets the values that fall into it."""
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
    """Return which places along an axis lie in a block, and their positions in the block.

    Raises
    ------
    IndexError
        If a place is out of bounds.
    """
    if concrete_int(xp.count_nonzero((places < -length) | (places >= length))):
        raise IndexError(f"an index is out of bounds for axis {axis} of length {length}")
    local = xp.where(places < 0, places + length, places) - start
    (chosen,) = xp.nonzero((local >= 0) & (local < extent))
    return chosen, xp.take(local, chosen)


@dataclass(frozen=True, slots=True)
class _Put:
    """Task that replaces elements of a block at integer places along an axis; `length` is that of the whole axis."""

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
    """See `nbm_xp.namespace.indexing.put`, which is `within`. Each block of x receives the values that fall into it."""
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
    """Build a Dask graph of steps of communicating blocks; nothing is computed.

    Parameters
    ----------
    work : object
        Work to do with each block; the arrays have the dtype ``work.dtype``.
    blocks : mapping
        Picklable object for each position of a block along all axes except the first.
        ``block.begin(work, array)``, with an initial array or None, returns the block's state and a mapping from each
        neighbour to the values sent to it. ``block.step(work, state, received, step)`` returns the next two and the
        measurements, and ``block.array(state)`` the block's array.
    neighbours : mapping
        For each block, the blocks that send values to it.
    steps : sequence
        Description of each step.
    chunks : tuple of tuples of ints
        Chunks of the array; the first axis has one block.
    sums : sequence of tuples of ints
        Shape of each step's measurements, float64, with two axes; (0, n) for a step without measurements.
    start : array or None
        Initial array, of Dask or NumPy.
    name : str
        Prefix of the tasks' names.
    observed : sequence of ints, optional
        Steps after which to return the array, too.

    Returns
    -------
    array, array or None, list of arrays
        The array after all steps; the measurements summed over all blocks, one step after another; and the arrays of
        `observed`.
    """
    libraries.get_namespace("dask")  # raises an error with the installation command if missing
    own = kernel("stepped", "dask")
    return own(work, blocks, neighbours, steps, chunks, sums, start, name, observed)  # type: ignore[misc, no-any-return]


# A compiled plan as one task for each block of lazy arrays


@dataclass(frozen=True)
class BatchResult:
    """Description of a plan's result for one block.

    Parameters
    ----------
    ndim, dtype
        Number of axes, and name of the dtype.
    shape
        Function of the length of a block that returns the shape of its result; nan for unknown lengths.
    axis
        Axis along which blocks are joined; None for results that are combined.
    combine
        ``"sum"``, or ``"mean"``, weighted by the lengths of the blocks.
    """

    ndim: int
    dtype: str
    shape: Callable[[Any], tuple[Any, ...]]
    axis: int | None
    combine: str | None


def in_blocks(
    xp: Any,
    plan: Callable[..., tuple[Any, ...]],
    arrays: Sequence[Any],
    axes: Mapping[int, int],
    results: Sequence[BatchResult],
) -> list[Any]:
    """Return the results of a plan as lazy arrays; nothing is computed.

    Parameters
    ----------
    xp : namespace
        Namespace of the lazy library.
    plan : callable
        Function of one array for each of `arrays`; those in `axes` are blocks.
    arrays, axes
        The arrays, and a mapping from an array's position to the axis along which it is split.
    results
        Descriptions of the plan's results.
    """
    found = kernel("in_blocks", xp)
    if found is None:
        raise TypeError(f"arrays of {getattr(xp, '__name__', xp)} have no blocks")
    made: list[Any] = found(plan, arrays, axes, results)
    return made


def block_namespace(xp: Any, arrays: Sequence[Any]) -> Any:
    """The namespace of the blocks of lazy arrays."""
    found = kernel("block_namespace", xp)
    return xp if found is None else found(arrays)


def is_tiled(array: Any) -> bool:
    """Whether a lazy array has several blocks and is larger than one block should be."""
    limit = kernel("block_limit", dispatch.array_namespace(array))
    return any(len(sizes) > 1 for sizes in array.chunks) and (limit is None or size_in_bytes(array) > limit())
