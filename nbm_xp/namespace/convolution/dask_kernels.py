"""Sliding windows over Dask arrays: a task for each block of images, which holds all of their positions and channels.

Everything stays lazy. What is summed over the images is summed block by block and then as a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.namespace.compat.dask_names import da

from .geometry import Lengths

__all__ = [
    "correlate", "correlate_back", "correlate_outer", "gather_windows", "maxima", "mean_windows", "pick_maxima",
    "place_maxima", "scatter_windows", "spread_means", "spread_windows", "sum_windows",
]  # fmt: skip


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
                chunks[0] = batches  # of unknown lengths, as many blocks are taken to be alike
        own = (*((0,) if shared else ()), *range(free, free + array.ndim - shared))
        free += array.ndim - shared
        inputs += [array.rechunk(chunks), own]
    summed = name == "correlate_outer"
    return da.blockwise(
        _block, labels, name, None, *inputs, new_axes=dict(zip(labels[1:], tail, strict=True)),
        adjust_chunks={0: (1,) * len(batches)} if summed else None, concatenate=True, align_arrays=False,
        dtype=images[0].dtype, meta=da.utils.meta_from_array(images[0]._meta, ndim=len(labels)), **how,
    )  # fmt: skip


def correlate(x: Any, kernel: Any, *, lengths: Lengths, **how: Any) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    tail = (*lengths, kernel.shape[-3] * kernel.shape[-1])
    return _each("correlate", [x], [kernel], tail, {"lengths": lengths, **how})


def correlate_back(y: Any, kernel: Any, *, lengths: Lengths, **how: Any) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`."""
    tail = (*lengths, kernel.shape[-3] * kernel.shape[-2])
    return _each("correlate_back", [y], [kernel], tail, {"lengths": lengths, **how})


def correlate_outer(x: Any, y: Any, *, lengths: Lengths, groups: int, **how: Any) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    tail = (*lengths, groups, x.shape[-1] // groups, y.shape[-1] // groups)
    blocks = _each("correlate_outer", [x, y], [], tail, {"lengths": lengths, "groups": groups, **how})
    return blocks.sum(axis=0, dtype=blocks.dtype)


def gather_windows(x: Any, *, sizes: Lengths, lengths: Lengths, **how: Any) -> Any:
    """See `nbm_xp.namespace.convolution.gather_windows`."""
    tail = (*lengths, math.prod(sizes), x.shape[-1])
    return _each("gather_windows", [x], [], tail, {"sizes": sizes, "lengths": lengths, **how})


def _of_windows(name: str, count: int, tail: Callable[[Any, Lengths], Lengths]) -> Callable[..., Any]:
    def function(*images: Any, lengths: Lengths, **how: Any) -> Any:
        return _each(name, images[:count], [], tail(images, lengths), {"lengths": lengths, **how})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See `nbm_xp.namespace.convolution.{name}`."
    return function


def _windows(images: Any, lengths: Lengths) -> Lengths:
    return (*lengths, images[0].shape[-1])


maxima = _of_windows("maxima", 1, _windows)
sum_windows = _of_windows("sum_windows", 1, _windows)
spread_windows = _of_windows("spread_windows", 1, _windows)
mean_windows = _of_windows("mean_windows", 1, _windows)
spread_means = _of_windows("spread_means", 1, _windows)
scatter_windows = _of_windows("scatter_windows", 1, _windows)
pick_maxima = _of_windows("pick_maxima", 3, _windows)
place_maxima = _of_windows("place_maxima", 3, lambda images, lengths: tuple(images[1].shape[1:]))
