"""Dask: arrays from a function of the block's place, assignments and functions mapped over blocks, all lazily.

The layers are symbolic: `blockwise` over the blocks' places.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.layers import ArrayBlockwiseDep

from nbm_xp.namespace.blocks import chunks_said, falling_into, made, split_alike
from nbm_xp.namespace.convolution.portable import Lengths
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.dtypes import dtype_name
from nbm_xp.namespace.exponentials import sigmoid_for, softplus_for
from nbm_xp.namespace.special import special_of

from .dask_names import da, on_expressions

__all__ = [
    "BlockPlaces", "at_places", "correlate", "correlate_back", "correlate_outer", "from_blocks",
    "gather_windows", "maxima", "pick_maxima", "place_maxima", "put", "replaced", "scatter_windows",
    "sigmoid", "softplus", "special_blocks", "spread_windows", "sum_windows",
]  # fmt: skip


class BlockPlaces(ArrayBlockwiseDep):
    """For each block, its offset and its shape, found when its task is made."""

    def __init__(self, chunks: tuple[tuple[int, ...], ...]) -> None:
        super().__init__(chunks)
        self.starts = tuple(tuple(itertools.accumulate((0, *sizes))) for sizes in chunks)

    def __getitem__(self, index: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        offset = tuple(starts[i] for starts, i in zip(self.starts, index, strict=True))
        shape = tuple(sizes[i] for sizes, i in zip(self.chunks, index, strict=True))
        return offset, shape

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("nbm_xp.places", self.chunks)


def _make(function: Callable[..., Any], dtype: str, place: Any, *args: Any) -> Any:
    """One block: the task's work."""
    offset, shape = place
    return made(function, dtype, tuple(offset), tuple(shape), *args)


def from_blocks(
    function: Callable[..., Any],
    shape: tuple[int, ...],
    dtype: str,
    chunks: Any,
    args: tuple[Any, ...],
    name: str,
    meta: Any,
    blocks: tuple[Any, ...] = (),
) -> Any:
    """See `nbm_xp.namespace.from_blocks`."""
    with chunks_said("Dask", shape, chunks):
        normal = da.core.normalize_chunks(chunks, shape, dtype=np.dtype(dtype))
    if any(length != length for sizes in normal for length in sizes):
        raise ValueError(f"chunks must be known, got {chunks!r}")
    whole = [arg.rechunk(-1) if isinstance(arg, da.Array) else arg for arg in args]
    split = [split_alike(block, normal) for block in blocks]
    indices = tuple(range(len(shape)))
    inputs: list[Any] = [function, None, dtype, None, BlockPlaces(normal), indices]
    for block in split:
        inputs += [block, indices[len(indices) - block.ndim :]]
    free = len(shape)
    for arg in whole:
        own = tuple(range(free, free + arg.ndim)) if isinstance(arg, da.Array) else None
        free += len(own or ())
        inputs += [arg, own]
    empty = np.empty((0,) * len(shape), dtype=dtype) if meta is None else meta
    return da.blockwise(
        _make, indices, *inputs, token=name, concatenate=True, align_arrays=False, dtype=dtype, meta=empty
    )


def _at_places(work_in: Any, axis: int, length: int, place: Any, x: Any, indices: Any, values: Any) -> Any:
    """One block of x with the values that fall into it; the blocks of indices and values are two lists."""
    from nbm_xp.namespace import array_namespace

    xp = array_namespace(x)
    for index, value in zip(indices, values, strict=True):
        chosen, local = falling_into(xp, index, axis, length, place[0][axis], x.shape[axis])
        if chosen.size:
            x = work_in(x, local, xp.take(value, chosen, axis=axis), axis)
    return x


def at_places(token: str, work_in: Callable[..., Any], x: Any, places: Any, values: Any, axis: int) -> Any:
    """An array with values at places along an axis, block by block.

    Parameters
    ----------
    token : str
        How the tasks' names begin.
    work_in : callable
        ``work_in(x, places, values, axis)`` gives a block with values worked in.
    x, places, values : dask.array.Array
        The values have the places' axis in the stead of `axis`.
    axis : int
    """
    values = values.rechunk({i: places.chunks[0] if i == axis else x.chunks[i] for i in range(x.ndim)})
    labels = tuple(range(x.ndim))
    among = tuple(x.ndim if label == axis else label for label in labels)
    return da.blockwise(
        _at_places, labels, work_in, None,
        axis, None, x.shape[axis], None, BlockPlaces(x.chunks), labels, x, labels, places, (x.ndim,), values, among,
        token=token, concatenate=False, align_arrays=False, dtype=x.dtype, meta=x._meta,
    )  # fmt: skip


def _replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    out = x.copy()
    if 0 not in x[index].shape:
        out[index] = values
    return out


# See `nbm_xp.namespace.indexing.replaced`.
replaced = on_expressions(_replaced)


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.indexing.put`. Each block of x takes what falls into it, one block after another."""
    from nbm_xp.namespace.indexing import put as put_in

    x, places = da.asarray(x), da.asarray(places)
    shape = (*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :])
    if not isinstance(values, da.Array):
        values = da.full_like(x, values, shape=shape)
    values = da.broadcast_to(values, shape)
    return at_places("put", put_in, x, places, values, axis)


def special_blocks(name: str, *arrays: Any, **options: Any) -> Any:
    """A function of Dask arrays of one dtype."""
    return _each_block(functools.partial(_special_on_block, name, **options), *arrays)


def _special_on_block(name: str, *blocks: Any, **options: Any) -> Any:
    return getattr(special_of(*blocks), name)(*blocks, **options)


def sigmoid(x: Any) -> Any:
    """The sigmoid of a Dask array."""
    return _each_block(functools.partial(_of_dtype, sigmoid_for), x)


def softplus(x: Any) -> Any:
    """The softplus of a Dask array."""
    return _each_block(functools.partial(_of_dtype, softplus_for), x)


def _of_dtype(function_for: Any, block: Any) -> Any:
    return function_for(array_namespace(block), dtype_name(block))(block)


def _each_block(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of blocks of one dtype, which gives as many elements as they have."""
    dtype, ndim = arrays[0].dtype, max(x.ndim for x in arrays)
    meta = array_namespace(arrays[0]._meta).empty((0,) * ndim, dtype=dtype)
    return da.map_blocks(function, *arrays, dtype=dtype, meta=meta)


def _block(name: str, *arrays: Any, **how: Any) -> Any:
    """One task: the function of that name on blocks; a sum over images gets an axis for the blocks."""
    from nbm_xp.namespace import convolution

    result = getattr(convolution, name)(*arrays, **how)
    return result[None, ...] if name == "correlate_outer" else result


def _each(name: str, images: Sequence[Any], others: Sequence[Any], tail: Sequence[int], how: dict[str, Any]) -> Any:
    """The function of blocks of `images` and of all of `others`; its results, with axes of lengths `tail`, in a row."""
    images, others = list(map(da.asarray, images)), list(map(da.asarray, others))
    batches = images[0].chunks[0]
    labels = tuple(range(len(tail) + 1))
    free = len(labels)
    inputs: list[Any] = []
    for place, array in enumerate((*images, *others)):
        shared = place < len(images)
        chunks: dict[int, Any] = dict.fromkeys(range(array.ndim), -1)
        if shared:
            del chunks[0]
            if array.numblocks[0] != len(batches) or not any(n != n for n in (*batches, *array.chunks[0])):
                chunks[0] = batches  # of unknown lengths, as many blocks are taken to be equal
        own = (*((0,) if shared else ()), *range(free, free + array.ndim - shared))
        free += array.ndim - shared
        inputs += [array.rechunk(chunks), own]
    summed = name == "correlate_outer"
    return da.blockwise(
        _block, labels, name, None, *inputs, new_axes=dict(zip(labels[1:], tail, strict=True)),
        adjust_chunks={0: (1,) * len(batches)} if summed else None, concatenate=True, align_arrays=False,
        dtype=images[0].dtype, meta=da.utils.meta_from_array(images[0]._meta, ndim=len(labels)), **how,
    )  # fmt: skip


def _over_images(name: str, images: int, tail: Callable[[Any, Lengths, Any], Sequence[int]]) -> Callable[..., Any]:
    """A function of sliding windows, whose first arrays are split by images."""

    def function(*arrays: Any, lengths: Lengths, **how: Any) -> Any:
        found = _each(name, arrays[:images], arrays[images:], tail(arrays, lengths, how), {"lengths": lengths, **how})
        return found.sum(axis=0, dtype=found.dtype) if name == "correlate_outer" else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See `nbm_xp.namespace.convolution.{name}`."
    return function


def _windows(arrays: Any, lengths: Lengths, how: Any) -> Lengths:
    return (*lengths, arrays[0].shape[-1])


def _filters(arrays: Any, lengths: Lengths, how: Any) -> Lengths:
    return (*lengths, arrays[1].shape[-3] * arrays[1].shape[-1])


def _channels(arrays: Any, lengths: Lengths, how: Any) -> Lengths:
    return (*lengths, arrays[1].shape[-3] * arrays[1].shape[-2])


def _kernel(arrays: Any, lengths: Lengths, how: Any) -> Lengths:
    return (*lengths, how["groups"], *(x.shape[-1] // how["groups"] for x in arrays))


correlate = _over_images("correlate", 1, _filters)
correlate_back = _over_images("correlate_back", 1, _channels)
correlate_outer = _over_images("correlate_outer", 2, _kernel)
gather_windows = _over_images(
    "gather_windows", 1, lambda arrays, lengths, how: (*lengths, math.prod(how["sizes"]), arrays[0].shape[-1])
)
maxima, sum_windows, spread_windows, scatter_windows = (
    _over_images(name, 1, _windows) for name in ("maxima", "sum_windows", "spread_windows", "scatter_windows")
)
pick_maxima = _over_images("pick_maxima", 3, _windows)
place_maxima = _over_images("place_maxima", 3, lambda arrays, lengths, how: tuple(arrays[1].shape[1:]))
