"""Dask: its namespace with what it lacks or has wrong corrected, here and in the modules beside this one.

Everything stays lazy: nothing here computes an array. Missing: `broadcast_shapes`, `from_dlpack`, `take_along_axis`,
`linalg.cross det eig eigh eigvals eigvalsh matrix_power pinv slogdet`, `repeat` by counts. Wrong: `asarray` of a list
of Dask arrays and `diff` with something before or after (computed), `eye` with more columns or fewer than rows,
`matmul`, `tensordot` and `vecdot` of integers (widened), `mean` of float16 (overflows), `tensordot` over the last axis
named -1, `tril` and `triu` of complex numbers, `unique_*` of NaNs (taken for one), `linalg.cholesky` (the upper
factor), `linalg.inv` (float32 becomes float64), `linalg.matrix_rank`, `linalg.svdvals`. Only for some chunkings or
shapes: `concat`, `max`, `min`, `nonzero`, `repeat`, `reshape`, `roll`, `searchsorted`, `take`, `unique_*`,
`linalg.matrix_norm qr solve svd`, the functions of `fft`. Of NumPy's blocks, whatever Dask is configured to create:
`asarray`, `eye`, `linspace`, the bounds of `clip`. With the bits of those of NumPy's arrays: `exp`, `expm1`, `log1p`,
`tanh`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nbm_xp.namespace import conversion
from nbm_xp.namespace.dispatch import array_namespace
from nbm_xp.namespace.exponentials import FUNCTIONS
from nbm_xp.namespace.overlay import UniqueAll, UniqueCounts, UniqueInverse, overlay

from . import dask_shaping
from .dask_blocks import from_blocks, put, replaced, special_blocks
from .dask_extensions import FFT, LINALG, matmul, tensordot, tril, triu, vecdot
from .dask_names import da, original
from .dask_shaping import add_along, block_limit, reshape
from .dask_tasks import block_namespace, in_blocks, stepped

__all__ = [
    "EXTREMA", "OfHostArrays", "add_along", "block_limit", "block_namespace", "build", "from_blocks", "in_blocks",
    "mean", "nonzero", "put", "replaced", "searchsorted", "special_blocks", "stepped", "to_numpy", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def to_numpy(x: Any) -> Any:
    """See `nbm_xp.namespace.to_numpy`."""
    return conversion.to_numpy(x.compute())


def _extremum(name: str) -> Callable[..., Any]:
    function = getattr(original, name)

    def corrected(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 not in x.shape:
            found = function(x, axis=axis, keepdims=keepdims)
            return found if found.dtype == x.dtype else found.astype(x.dtype)  # Dask's expressions say it was a sum's
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        reduced = [a % x.ndim for a in axes]
        if 0 in [x.shape[a] for a in reduced]:
            raise ValueError(f"{name} of no elements is not defined: x has shape {x.shape}, axis is {axis}")
        shape = tuple(1 if i in reduced else n for i, n in enumerate(x.shape) if keepdims or i not in reduced)
        return da.zeros(shape, dtype=x.dtype, chunks=-1)

    corrected.__name__ = corrected.__qualname__ = name
    return corrected


# By name.
EXTREMA = {name: _extremum(name) for name in ("max", "min")}


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean, of float16 by way of float32, as NumPy has it."""
    if x.dtype != "float16":
        return original.mean(x, axis=axis, keepdims=keepdims)
    return original.mean(x.astype("float32"), axis=axis, keepdims=keepdims).astype(x.dtype)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """The standard's `searchsorted`."""
    if sorter is not None:
        x1 = da.take(x1, sorter, axis=0)
    if getattr(x2, "ndim", 0):
        return original.searchsorted(x1, da.asarray(x2), side=side)
    return original.searchsorted(x1, da.asarray(x2, dtype=x1.dtype)[None], side=side)[0]


def _distinct(block: Any) -> Any:
    return array_namespace(block).unique_counts(block).values  # in order, which NumPy's unique_values is not


def _distinct_of_all(blocks: list[Any]) -> tuple[Any, ...]:
    xp = array_namespace(blocks[0])
    return tuple(xp.unique_all(xp.concat(blocks)))


def unique_all(x: Any, /) -> UniqueAll[Any]:
    """The standard's `unique_all`; all elements are read in one task."""
    flat, xp, index = reshape(x, (-1,)), array_namespace(x._meta), np.dtype(np.int64)
    meta = np.empty((), dtype=object)
    whole = da.blockwise(_distinct_of_all, (), flat, (0,), concatenate=False, dtype=object, meta=meta)
    specs = (math.nan, x.dtype), (math.nan, index), (flat.shape[0], index), (math.nan, index)
    values, indices, inverse, counts = (
        da.blockwise(
            operator.getitem, (0,), whole, (), place, None, new_axes={0: length}, dtype=dtype,
            meta=xp.zeros((0,), dtype=dtype),
        )
        for place, (length, dtype) in enumerate(specs)
    )  # fmt: skip
    return UniqueAll(values, indices, inverse if x.ndim == 1 else reshape(inverse, x.shape), counts)


def unique_counts(x: Any, /) -> UniqueCounts[Any]:
    """The standard's `unique_counts`."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse[Any]:
    """The standard's `unique_inverse`."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The standard's `unique_values`: of each block, then of what these give."""
    flat = reshape(x, (-1,))
    chunks = ((math.nan,) * flat.numblocks[0],)
    return unique_all(flat.map_blocks(_distinct, chunks=chunks, dtype=x.dtype, meta=flat._meta)).values


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The standard's `nonzero`; Dask's own fails on arrays without elements."""
    if x.size == 0:
        return tuple(da.zeros((0,), dtype=np.int64) for _ in range(x.ndim))
    found: tuple[Any, ...] = original.nonzero(x)
    return found


_HOST = (np.ndarray, np.generic)


_OF_NO_ARRAY = frozenset(
    (
        *("arange", "asarray", "asanyarray", "array", "broadcast_shapes", "can_cast", "empty", "eye", "fftfreq"),
        *("finfo", "from_array", "from_delayed", "from_dlpack", "from_npy_stack", "from_zarr", "fromfunction", "full"),
        *("get_xp", "iinfo", "indices", "isdtype", "linspace", "ones", "result_type", "rfftfreq", "tri", "zeros"),
    )
)


class OfHostArrays:
    """A function of which an array of NumPy's that comes first is made Dask's, as Dask's operators make it.

    Parameters
    ----------
    part, name : str
        Where the namespace has it.
    function : callable
        What it calls.
    """

    def __init__(self, part: str, name: str, function: Callable[..., Any]) -> None:
        self.part, self.name, self.function = part, name, function
        self.__name__ = self.__qualname__ = name
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        if args and isinstance(args[0], _HOST):
            args = (da.asanyarray(args[0]), *args[1:])
        return self.function(*args, **kwargs)

    def __reduce__(self) -> Any:
        return _found, (self.part, self.name)


def _found(part: str, name: str) -> Any:
    from nbm_xp.namespace import get_namespace

    xp = get_namespace("dask")
    return getattr(getattr(xp, part) if part else xp, name)


# What stands over Dask's functions, by name.
_REPLACEMENTS: dict[str, Any] = {
    "broadcast_shapes": dask_shaping.broadcast_shapes,
    **{
        function.__name__: function
        for function in (
            dask_shaping.take, dask_shaping.take_along_axis, nonzero, unique_all,
            unique_counts, unique_inverse, unique_values, dask_shaping.asarray,
            dask_shaping.clip, dask_shaping.concat, dask_shaping.diff, dask_shaping.eye, dask_shaping.from_dlpack,
            dask_shaping.linspace, dask_shaping.repeat, dask_shaping.reshape, dask_shaping.roll, matmul, mean,
            searchsorted, tensordot, tril, triu, vecdot,
        )
    },
}  # fmt: skip


def build() -> Any:
    """The namespace for Dask arrays."""
    own = {**vars(original), **_REPLACEMENTS, **EXTREMA, **{name: type(da.exp)(own) for name, own in FUNCTIONS.items()}}
    parts = {"linalg": {**vars(original.linalg), **LINALG}, "fft": {**vars(original.fft), **FFT}}
    converting = {
        part: {name: OfHostArrays(part, name, functions[name]) for name in _functions(functions)}
        for part, functions in parts.items()
    }
    return overlay(
        original, "dask", own | {name: OfHostArrays("", name, own[name]) for name in _functions(own)}, **converting
    )


def _functions(names: Mapping[str, Any]) -> list[str]:
    """The names of functions of arrays."""
    return [
        name
        for name, function in names.items()
        if callable(function) and not isinstance(function, type) and name[0] != "_" and name not in _OF_NO_ARRAY
    ]
