"""Of cubed, what gives wrong values; all else is as it is.

`concat` cuts what it reads by the blocks of its result: an array in one block longer than the blocks of another gives
wrong elements, or an error inside a task. `stack` takes all arrays to be split as the first is. Here they get arrays
with equal blocks. `all` and `any` of an array without elements are without axes, whatever was given.
"""

from __future__ import annotations

import operator
from typing import Any

from nbm_xp.namespace.overlay import overlay

__all__ = ["build"]


def build() -> Any:
    """The namespace for arrays of cubed."""
    import cubed

    return overlay(cubed, "cubed", {"all": all_, "any": any_, "concat": concat, "stack": stack})


def concat(arrays: Any, /, *, axis: int | None = 0, chunks: Any = None) -> Any:
    """The standard's, of arrays in any blocks; those of the result are the longest there are of an array in several."""
    import cubed

    arrays = list(arrays)
    if axis is None:
        arrays, axis = [cubed.reshape(array, (-1,)) for array in arrays], 0
    if not arrays or len({array.ndim for array in arrays}) > 1:
        return cubed.concat(arrays, axis=axis, chunks=chunks)  # which says what is wrong
    axis = operator.index(axis)
    axis += arrays[0].ndim if -arrays[0].ndim <= axis < 0 else 0
    if 0 <= axis < arrays[0].ndim:
        length = max((array.chunksize[axis] for array in arrays if array.numblocks[axis] > 1), default=0)
        arrays = [_split(array, axis, length) if length else array for array in arrays]
    return cubed.concat(arrays, axis=axis, chunks=chunks)


def _split(x: Any, axis: int, length: int) -> Any:
    """An array whose blocks along an axis have a length; one that is shorter stays."""
    if x.chunksize[axis] == length or x.shape[axis] <= length:
        return x
    return x.rechunk((*x.chunksize[:axis], length, *x.chunksize[axis + 1 :]))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """The standard's, of arrays in any blocks; those of the result are the first array's."""
    import cubed

    first, *others = arrays
    if all(other.shape == first.shape for other in others):
        others = [other.rechunk(first.chunksize) for other in others]
    return cubed.stack([first, *others], axis=axis)


def all_(x: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The standard's, also for arrays without elements."""
    import cubed

    return cubed.all(x, axis=axis, keepdims=keepdims, **options) if x.size else _of_none(x, axis, keepdims, True)


def any_(x: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The standard's, also for arrays without elements."""
    import cubed

    return cubed.any(x, axis=axis, keepdims=keepdims, **options) if x.size else _of_none(x, axis, keepdims, False)


def _of_none(x: Any, axis: Any, keepdims: bool, truth: bool) -> Any:
    """What a reduction of an array without elements is, where it is the same everywhere."""
    import cubed

    like = cubed.sum(cubed.astype(x, cubed.int64), axis=axis, keepdims=keepdims)  # which checks the axes
    return cubed.full(like.shape, truth, dtype=cubed.bool)
