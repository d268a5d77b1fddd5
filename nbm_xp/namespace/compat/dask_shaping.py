"""Dask: creation, shaping, and indexing by arrays, lazily and for every chunking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask.utils import parse_bytes

from .dask_blocks import at_places, from_blocks
from .dask_names import copied, da, original

broadcast_shapes = np.broadcast_shapes


def block_limit() -> int:
    """How many bytes a block should have at most: Dask's own setting."""
    return int(parse_bytes(dask.config.get("array.chunk-size")))


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None, **kwargs: Any) -> Any:
    """As array-api-compat's, but a list of Dask arrays is stacked, not computed."""
    if isinstance(obj, (list, tuple)) and _has_dask(obj):
        if copy is False:
            raise ValueError("a list cannot become an array without a copy")
        stacked = da.stack([asarray(item) for item in obj])
        return stacked if dtype is None else stacked.astype(dtype)
    if copy and isinstance(obj, da.Array):
        return copied(original.asarray(obj, dtype=dtype))
    made = original.asarray(obj, dtype=dtype, device=device, copy=copy, **kwargs)
    return made if made is obj or isinstance(obj, da.Array) else as_configured(made)


def as_configured(x: Any) -> Any:
    """An array that was just created, its blocks of the library that Dask is configured to create arrays of."""
    backend = dask.config.get("array.backend", "numpy")
    return x if backend == "numpy" else x.to_backend(backend)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True, **kwargs: Any
) -> Any:
    """As array-api-compat's, which adds up rounding: the last of 104 numbers from 0 to 1 is below 1 there."""
    made = as_configured(original.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint, **kwargs))
    if endpoint and num > 1:
        made = da.where(da.arange(num, chunks=made.chunks) == num - 1, np.dtype(made.dtype).type(stop), made)
    return made


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """As array-api-compat's, which makes arrays of NumPy's of bounds that are numbers, also beside CuPy's blocks."""
    number = float if x.dtype.kind == "f" else int
    low, high = (
        number(bound) if _is_weak_bound(bound, x.dtype) else bound if bound is None else da.asarray(bound)
        for bound in (min, max)
    )  # fmt: skip
    result = x if low is None else original.maximum(x, low)
    return (result if high is None else original.minimum(result, high)).astype(x.dtype)


def _is_weak_bound(bound: Any, dtype: Any) -> bool:
    """Whether a bound is a number that takes the dtype of an array, and can."""
    if dtype.kind == "f":
        return type(bound) in (int, float)
    if dtype.kind not in "iu" or type(bound) is not int:
        return False
    limits = np.iinfo(dtype)
    return bool(limits.min <= bound <= limits.max)


def _has_dask(obj: Any) -> bool:
    if isinstance(obj, (list, tuple)):
        return any(_has_dask(item) for item in obj)
    return isinstance(obj, da.Array)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """The standard's `from_dlpack`, which Dask lacks."""
    if copy is False:
        raise ValueError("an array of another library cannot become one of Dask without a copy")
    return x if isinstance(x, da.Array) else original.asarray(np.from_dlpack(x))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """The standard's `concat`, never one of the arrays itself: what is assigned to the result must not change it."""
    joined = original.concat(arrays, axis=axis)
    return copied(joined) if any(joined is array for array in arrays) else joined


class _EyeBlocks:
    """The blocks of a matrix with ones on a diagonal."""

    def __init__(self, k: int, dtype: str) -> None:
        self.k, self.dtype = k, dtype

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...]) -> Any:
        return np.eye(shape[0], shape[1], k=self.k + offset[0] - offset[1], dtype=self.dtype)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("nbm_xp.eye", self.k, self.dtype)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None,
    chunks: Any = "auto",
) -> Any:  # fmt: skip
    """The standard's `eye`; Dask's own has square blocks only, and as many columns as rows without them."""
    name = str(np.dtype(np.float64 if dtype is None else dtype))
    shape = (int(n_rows), int(n_rows if n_cols is None else n_cols))
    return as_configured(from_blocks(_EyeBlocks(int(k), name), shape, name, chunks, (), "eye", None))


def reshape(x: Any, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Any:
    """The standard's `reshape`; where Dask cannot keep the chunks, they are changed by way of one dimension."""
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(length != length for length in (*x.shape, *wanted)):
        return original.reshape(x, wanted, copy=copy)
    lengths = _complete(wanted, x.size)
    if x.size == 0:
        return da.zeros_like(x, shape=lengths)
    try:
        result = da.reshape(x, lengths)
    except (ValueError, NotImplementedError):
        result = _from_flat(da.reshape(x, (x.size,)), lengths)
    return copied(result) if copy else result


def _complete(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape with its -1 replaced."""
    rest = math.prod(length for length in shape if length != -1)
    if shape.count(-1) > 1 or any(length < -1 for length in shape):
        raise ValueError(f"a shape may have one -1 and no other negative length, got {shape}")
    if -1 in shape and rest and size % rest == 0:
        shape = tuple(size // rest if length == -1 else length for length in shape)
    if math.prod(shape) != size or -1 in shape:
        raise ValueError(f"an array of {size} elements does not reshape to {shape}")
    return tuple(int(length) for length in shape)


def _from_flat(flat: Any, shape: tuple[int, ...]) -> Any:
    """A flat array in a shape, in blocks of whole rows; rows too large for a block are split further."""
    rows, width = shape[0], math.prod(shape[1:])
    if len(shape) > 1 and width * flat.dtype.itemsize > block_limit():
        return da.stack([_from_flat(flat[row * width : (row + 1) * width], shape[1:]) for row in range(rows)])
    per_block = max(1, max(flat.chunks[0]) // width)
    lengths = [per_block] * (rows // per_block) + ([rows % per_block] if rows % per_block else [])
    flat = flat.rechunk((tuple(length * width for length in lengths),))
    blocks = (tuple(lengths), *((length,) for length in shape[1:]))
    return flat.map_blocks(
        _reshape_block, new_axis=list(range(1, len(shape))), chunks=blocks, tail=shape[1:], dtype=flat.dtype,
        meta=da.utils.meta_from_array(flat._meta, ndim=len(shape)),
    )  # fmt: skip


def _reshape_block(block: Any, tail: tuple[int, ...]) -> Any:
    return block.reshape((-1, *tail))


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """The standard's `repeat`; Dask's own needs an axis, and takes no counts for the single elements."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if isinstance(repeats, da.Array):
        return _repeat_by_counts(x, repeats, axis % x.ndim)
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers, got {counts.dtype}")
    if counts.size == 1 and counts.ndim < 2:
        count = int(counts.reshape(()))
        if 0 in x.shape or count == 0:
            return da.zeros_like(x, shape=tuple(n * count if i == axis % x.ndim else n for i, n in enumerate(x.shape)))
        return da.repeat(x, count, axis=axis)
    return da.take(x, np.repeat(np.arange(x.shape[axis]), counts), axis=axis)


def _repeat_by_counts(x: Any, counts: Any, axis: int) -> Any:
    """Each element as often as a Dask array says, block by block; the length is known once it is computed."""
    if counts.dtype.kind not in "iu":
        raise TypeError(f"repeats must be integers, got {counts.dtype}")
    if counts.ndim > 1:
        raise ValueError(f"repeats must have one axis, got {counts.ndim}")
    if counts.size == 1:
        counts = da.broadcast_to(reshape(counts, (1,)), (x.shape[axis],))
    if counts.shape[0] != x.shape[axis]:
        raise ValueError(f"repeats must have {x.shape[axis]} entries, one for each along the axis, got {counts.size}")
    counts = counts.rechunk((x.chunks[axis],))
    labels = tuple(range(x.ndim))
    return da.blockwise(
        _repeat_block, labels, x, labels, counts, (axis,), axis=axis, dtype=x.dtype, meta=x._meta,
        adjust_chunks={axis: lambda length: math.nan}, align_arrays=False,
    )  # fmt: skip


def _repeat_block(x: Any, counts: Any, axis: int) -> Any:
    from nbm_xp.namespace import array_namespace

    return array_namespace(x).repeat(x, counts, axis=axis)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """The standard's `diff`; Dask's own computes what is put before or after."""
    parts = [part for part in (prepend, x, append) if part is not None]
    x = da.concatenate(parts, axis=axis) if len(parts) > 1 else x
    head = (slice(None),) * (axis % x.ndim)
    for _ in range(n):
        late, early = x[(*head, slice(1, None))], x[(*head, slice(None, -1))]
        x = late != early if x.dtype == bool else late - early
    return x


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """The standard's `roll`; Dask's own needs as many shifts as axes, and fails without elements."""
    if axis is None:
        return reshape(original.roll(reshape(x, (-1,)), shift), x.shape)
    shifts, axes = np.broadcast_arrays(shift, axis)
    for one, along in zip(shifts.reshape(-1).tolist(), axes.reshape(-1).tolist(), strict=True):
        x = original.roll(x, one, axis=along) if x.size else x
    return x


def _take_block(x: Any, indices: Any, axis: int) -> Any:
    from nbm_xp.namespace import array_namespace

    return array_namespace(x).take_along_axis(x, indices, axis=axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The standard's `take_along_axis`, which Dask lacks: `x` is one block along the axis, the others stay."""
    if not isinstance(indices, da.Array):
        indices = da.from_array(np.asarray(indices))
    if indices.ndim != x.ndim:
        raise ValueError(f"indices must have {x.ndim} dimensions as x has, got {indices.ndim}")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    axis %= x.ndim
    labels = tuple(range(x.ndim))
    own = tuple(x.ndim if label == axis else label for label in labels)
    return da.blockwise(
        _take_block, labels, x.rechunk({axis: -1}), own, indices, labels, axis=axis, dtype=x.dtype,
        meta=x._meta, concatenate=True,
    )  # fmt: skip


def _within(indices: Any, length: int) -> Any:
    """A block of indices as it is, unless one lies beyond the axis."""
    beyond = (indices < -length) | (indices >= length)
    if bool(beyond.any()):
        raise IndexError(f"index {int(indices[beyond][0])} is out of bounds for an axis of length {length}")
    return indices


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The standard's `take`, whose indices may have any number of axes; Dask's own takes one.

    Nor does Dask's own see that an index in a Dask array lies beyond the axis: it gives the first element for it.
    Indices on a device are taken as they are, since to check them would copy them to the host.
    """
    if axis is None and x.ndim != 1:
        raise ValueError(f"axis must be given to take for an array of {x.ndim} axes")
    place = (axis or 0) % x.ndim
    if isinstance(getattr(indices, "_meta", None), np.ndarray) and x.shape[place] == x.shape[place]:
        indices = indices.map_blocks(_within, x.shape[place], dtype=indices.dtype, meta=indices._meta)
    if getattr(indices, "ndim", 1) == 1:
        return original.take(x, indices, axis=place)
    flat = original.take(x, reshape(indices, (-1,)), axis=place)
    return reshape(flat, (*x.shape[:place], *indices.shape, *x.shape[place + 1 :]))


def _added(x: Any, places: Any, values: Any, axis: int) -> Any:
    from nbm_xp.namespace import scatter_add

    return scatter_add(x, (slice(None),) * axis + (places,), values)


def add_along(x: Any, axis: int, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.add_along`. Each block of x takes what falls into it, one block after another."""
    x, index, values = map(da.asarray, (x, index, values))
    return at_places("scatter-add", _added, x, index, values, axis)
