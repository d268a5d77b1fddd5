"""Dask: what its namespace lacks or has wrong, each mended in one of the chapters beside this one.

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

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..exponentials.numpy_functions import FUNCTIONS
from ..overlay import overlay
from . import dask_indexing, dask_sets, dask_shaping
from .dask_fft import FFT
from .dask_linalg import LINALG, matmul, tensordot, tril, triu, vecdot
from .dask_names import da, original
from .dask_reductions import EXTREMA, mean
from .dask_searching import searchsorted

__all__ = ["Taking", "build"]

_HOST = (np.ndarray, np.generic)


_OF_NO_ARRAY = frozenset(
    (
        *("arange", "asarray", "asanyarray", "array", "broadcast_shapes", "can_cast", "empty", "eye", "fftfreq"),
        *("finfo", "from_array", "from_delayed", "from_dlpack", "from_npy_stack", "from_zarr", "fromfunction", "full"),
        *("get_xp", "iinfo", "indices", "isdtype", "linspace", "ones", "result_type", "rfftfreq", "tri", "zeros"),
    )
)


class Taking:
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


_MENDS: dict[str, Any] = {
    "broadcast_shapes": dask_shaping.broadcast_shapes,
    **{
        function.__name__: function
        for function in (
            dask_indexing.take, dask_indexing.take_along_axis, dask_sets.nonzero, dask_sets.unique_all,
            dask_sets.unique_counts, dask_sets.unique_inverse, dask_sets.unique_values, dask_shaping.asarray,
            dask_shaping.clip, dask_shaping.concat, dask_shaping.diff, dask_shaping.eye, dask_shaping.from_dlpack,
            dask_shaping.linspace, dask_shaping.repeat, dask_shaping.reshape, dask_shaping.roll, matmul, mean,
            searchsorted, tensordot, tril, triu, vecdot,
        )
    },
}  # fmt: skip
"""What stands over Dask's functions, by name."""


def build() -> Any:
    """The namespace for Dask arrays."""
    own = {**vars(original), **_MENDS, **EXTREMA, **{name: type(da.exp)(own) for name, own in FUNCTIONS.items()}}
    parts = {"linalg": {**vars(original.linalg), **LINALG}, "fft": {**vars(original.fft), **FFT}}
    taking = {
        part: {name: Taking(part, name, functions[name]) for name in _functions(functions)}
        for part, functions in parts.items()
    }
    return overlay(original, "dask", own | {name: Taking("", name, own[name]) for name in _functions(own)}, **taking)


def _functions(names: Mapping[str, Any]) -> list[str]:
    """The names of functions of arrays."""
    return [
        name
        for name, function in names.items()
        if callable(function) and not isinstance(function, type) and name[0] != "_" and name not in _OF_NO_ARRAY
    ]
