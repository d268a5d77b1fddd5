"""Dask arrays from a function of the block's place, as a symbolic layer: `blockwise` over the blocks' places."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.layers import ArrayBlockwiseDep

from ..map_blocks import chunks_said, falling_into, made, split_alike
from .dask_names import da

__all__ = ["BlockPlaces", "at_places", "from_blocks"]


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
    """One block of x with what falls into it; the blocks of indices and values come in two lists."""
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
