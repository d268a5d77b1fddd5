"""Of cubed, what gives wrong values; all else is as it is.

`concat` takes no negative axis, and cuts what it reads by the blocks of its result: an array in one block longer than
the blocks of another gives wrong elements, or an error inside a task. `stack` takes all arrays to be split as the first
is. Here they get arrays with equal blocks. `all` and `any` of an array without elements are without axes, whatever was
given.
"""

from __future__ import annotations

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
    if len({array.ndim for array in arrays}) == 1 and -arrays[0].ndim <= axis < arrays[0].ndim:
        axis %= arrays[0].ndim
        length = max((array.chunksize[axis] for array in arrays if array.numblocks[axis] > 1), default=0)
        arrays = [_split(array, axis, length) if 0 < length < array.shape[axis] else array for array in arrays]
    return cubed.concat(arrays, axis=axis, chunks=chunks)


def _split(x: Any, axis: int, length: int) -> Any:
    """An array whose blocks along an axis have a length."""
    sizes = list(x.chunksize)
    sizes[axis] = length
    return x.rechunk(tuple(sizes))


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """The standard's, of arrays in any blocks; those of the result are the first array's."""
    import cubed

    first, *others = arrays
    if all(other.shape == first.shape for other in others):
        others = [other.rechunk(first.chunksize) for other in others]
    return cubed.stack([first, *others], axis=axis)


def all_(x: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The standard's, as a count, which is right of no elements too."""
    import cubed

    untrue = cubed.logical_not(cubed.astype(x, cubed.bool))
    return cubed.sum(cubed.astype(untrue, cubed.int64), axis=axis, keepdims=keepdims, **options) == 0


def any_(x: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The standard's, as a count, which is right of no elements too."""
    import cubed

    true = cubed.astype(x, cubed.bool)
    return cubed.sum(cubed.astype(true, cubed.int64), axis=axis, keepdims=keepdims, **options) > 0
