"""Dask: a compiled plan as one task for each block of a batch, by Dask's public functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask
import numpy

from .dask_names import da

__all__ = ["block_namespace", "in_blocks"]


def block_namespace(arrays: Sequence[Any]) -> Any:
    """The namespace of the blocks: the one that is not the host's, if there is one; of no arrays, as configured."""
    from nbm_xp.namespace import array_namespace, get_namespace, host_namespace

    found = [array_namespace(array._meta) for array in arrays if isinstance(array, da.Array)]
    found = found or [get_namespace(dask.config.get("array.backend", "numpy"))]
    return next((xp for xp in found if xp is not host_namespace()), host_namespace())


class _Work:
    """A plan, called with arrays that are moved to its library first; its results, and the length of the block."""

    def __init__(self, plan: Callable[..., tuple[Any, ...]], library: str, place: int, axis: int) -> None:
        self.plan = plan
        self.library = library
        self.place = place
        self.axis = axis

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        from nbm_xp.namespace import array_namespace, convert, get_namespace

        xp = get_namespace(self.library)
        given = [a if array_namespace(a) is xp else convert(a, xp) for a in arrays]
        count = given[self.place].shape[self.axis]
        with numpy.errstate(all=None if count else "ignore"):  # means of no examples count for nothing
            results = self.plan(*given)
        return *(xp.asarray(result) for result in results), count


def _call(work: _Work, *arrays: Any) -> tuple[Any, ...]:
    return work(*arrays)


def in_blocks(
    plan: Callable[..., tuple[Any, ...]], arrays: Sequence[Any], axes: Mapping[int, int], results: Sequence[Any]
) -> list[Any]:
    """See `nbm_xp.namespace.batches.in_blocks`."""
    from nbm_xp.namespace import dtype_of, library_name

    xp = block_namespace(arrays)
    split, lengths = _in_step({number: arrays[number] for number in axes}, axes)
    place, axis = next(iter(axes.items()))
    work = dask.delayed(_Work(plan, library_name(xp), place, axis), traverse=False)  # type: ignore[attr-defined]
    given: list[Any] = [
        list(split[number].to_delayed(optimize_graph=False).ravel()) if number in split else _whole(array)
        for number, array in enumerate(arrays)
    ]
    kept = [block for block, length in enumerate(lengths) if length] or [0]
    call = dask.delayed(_call, pure=False)  # type: ignore[attr-defined]
    parts = [call(work, *(g[b] if n in split else g for n, g in enumerate(given))) for b in kept]
    counts = [lengths[block] for block in kept]
    if any(math.isnan(count) for count in counts):
        weights: list[Any] = [da.from_delayed(part[len(results)], shape=(), dtype="int64") for part in parts]
    else:
        weights = list(counts)
    total = sum(weights[1:], start=weights[0])
    found = []
    for index, result in enumerate(results):
        dtype = dtype_of(xp, result.dtype)
        items = [
            da.from_delayed(part[index], shape=result.shape(count), meta=xp.zeros((0,) * result.ndim, dtype=dtype))
            for part, count in zip(parts, counts, strict=True)
        ]
        if result.axis is not None:
            found.append(items[0] if len(items) == 1 else da.concatenate(items, axis=result.axis))
            continue
        if result.combine == "mean" and len(items) > 1:
            shares = zip(items, weights, strict=True)
            items = [da.where(weight > 0, item, 0) * (weight / total) for item, weight in shares]
        added = items[0] if len(items) == 1 else da.stack(items).sum(axis=0)
        found.append(added if added.dtype == dtype else added.astype(dtype))
    return found


def _whole(array: Any) -> Any:
    """The argument of a task for an array that every block takes whole."""
    if isinstance(array, da.Array):
        return array.rechunk(-1).to_delayed(optimize_graph=False).item()
    return dask.delayed(array, traverse=False)  # type: ignore[attr-defined]


def _in_step(arrays: Mapping[int, Any], axes: Mapping[int, int]) -> tuple[dict[int, Any], tuple[float, ...]]:
    """The split arrays in the same blocks along the batch, whole along other axes; and the lengths of the blocks."""
    chunks = {number: array.chunks[axes[number]] for number, array in arrays.items() if isinstance(array, da.Array)}
    known = {number: sizes for number, sizes in chunks.items() if not any(map(math.isnan, sizes))}
    totals = {array.shape[axes[number]] for number, array in arrays.items() if number in known or number not in chunks}
    if len(totals) > 1:
        raise ValueError(f"the split arrays must have as many examples, got {' and '.join(map(str, sorted(totals)))}")
    if len(known) < len(chunks):
        if known or len(chunks) < len(arrays) or len({len(sizes) for sizes in chunks.values()}) > 1:
            raise ValueError("the split arrays must have the same blocks where lengths of blocks are unknown")
        common: Any = next(iter(chunks.values()))
    else:
        finest = max(known.values(), key=lambda sizes: len([length for length in sizes if length]))
        common = tuple(length for length in finest if length) or (0,)
    stepped = {}
    for number, array in arrays.items():
        wanted = {i: common if i == axes[number] else -1 for i in range(array.ndim)}
        if not isinstance(array, da.Array):
            array = da.from_array(array, chunks=tuple(common if i == axes[number] else -1 for i in range(array.ndim)))
        elif number not in known:
            del wanted[axes[number]]
        stepped[number] = array.rechunk(wanted) if wanted else array
    return stepped, common
