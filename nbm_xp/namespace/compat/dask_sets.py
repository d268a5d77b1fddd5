"""Dask: sets, and what else has a length that data decide: lazily, with chunks of unknown length.

Dask's own `unique` takes all NaNs for one, where the standard keeps them apart, and fails on arrays without elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..results import UniqueAll, UniqueCounts, UniqueInverse
from .dask_names import da, original
from .dask_shaping import reshape

__all__ = ["nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


def _results(
    x: Any, task: Callable[..., tuple[Any, ...]], blocks: Any, specs: list[tuple[tuple[Any, ...], Any]], *args: Any
) -> list[Any]:
    """Arrays of one block each, all made by one task from the blocks of a flat array."""
    whole = da.blockwise(
        task, (), blocks, (0,), args, None, token=task.__name__.strip("_"), concatenate=False, dtype=object,
        meta=np.empty((), dtype=object),
    )  # fmt: skip
    found = []
    for place, (shape, dtype) in enumerate(specs):
        labels = tuple(range(len(shape)))
        meta = _namespace(x._meta).zeros((0,) * len(shape), dtype=dtype)
        axes = dict(zip(labels, shape, strict=True))
        found.append(da.blockwise(_picked, labels, whole, (), place, None, new_axes=axes, dtype=dtype, meta=meta))
    return found


def _picked(values: tuple[Any, ...], place: int) -> Any:
    return values[place]


def _namespace(block: Any) -> Any:
    from nbm_xp.namespace import array_namespace

    return array_namespace(block)


def _distinct(block: Any) -> Any:
    return _namespace(block).unique_counts(block).values  # in order, which NumPy's unique_values is not


def _merged_values(blocks: list[Any], _: tuple[()]) -> tuple[Any]:
    xp = _namespace(blocks[0])
    return (_distinct(xp.concat(blocks)),)


def _merged_counts(blocks: list[Any], _: tuple[()]) -> tuple[Any, Any]:
    """The counts of the blocks' distinct elements, added up."""
    from nbm_xp.namespace import scatter_add

    xp = _namespace(blocks[0])
    found = [xp.unique_counts(block) for block in blocks]
    values, places = xp.unique_inverse(xp.concat([one.values for one in found]))
    counts = xp.concat([one.counts for one in found])
    return values, scatter_add(xp.zeros(values.shape, dtype=counts.dtype), places, counts)


def _all_at_once(blocks: list[Any], args: tuple[tuple[int, ...]]) -> tuple[Any, ...]:
    (shape,) = args
    xp = _namespace(blocks[0])
    values, indices, inverse, counts = xp.unique_all(xp.concat(blocks))
    return values, indices, xp.reshape(inverse, shape), counts


_UNKNOWN = (math.nan,)


def unique_values(x: Any, /) -> Any:
    """The standard's `unique_values`: of each block, then of what these give."""
    flat = reshape(x, (-1,))
    blocks = flat.map_blocks(_distinct, chunks=((math.nan,) * flat.numblocks[0],), dtype=x.dtype, meta=flat._meta)
    return _results(x, _merged_values, blocks, [(_UNKNOWN, x.dtype)])[0]


def unique_counts(x: Any, /) -> UniqueCounts[Any]:
    """The standard's `unique_counts`: of each block, then added up."""
    specs = [(_UNKNOWN, x.dtype), (_UNKNOWN, np.dtype(np.int64))]
    return UniqueCounts(*_results(x, _merged_counts, reshape(x, (-1,)), specs))


def unique_all(x: Any, /) -> UniqueAll[Any]:
    """The standard's `unique_all`; all elements are looked at in one task."""
    index = np.dtype(np.int64)
    specs = [(_UNKNOWN, x.dtype), (_UNKNOWN, index), (x.shape, index), (_UNKNOWN, index)]
    return UniqueAll(*_results(x, _all_at_once, reshape(x, (-1,)), specs, x.shape))


def unique_inverse(x: Any, /) -> UniqueInverse[Any]:
    """The standard's `unique_inverse`; all elements are looked at in one task."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The standard's `nonzero`; Dask's own fails on arrays without elements."""
    if x.size == 0:
        return tuple(da.zeros((0,), dtype=np.int64) for _ in range(x.ndim))
    found: tuple[Any, ...] = original.nonzero(x)
    return found
