"""Dask: what its namespace lacks or has wrong, each mended in one of the chapters beside this one.

Everything stays lazy: nothing here computes an array. Missing: `broadcast_shapes`, `from_dlpack`, `take_along_axis`,
`linalg.cross det eig eigh eigvals eigvalsh matrix_power pinv slogdet`, `repeat` by counts. Wrong: `asarray` of a list
of Dask arrays and `diff` with something before or after (computed), `eye` with more columns or fewer than rows,
`matmul`, `tensordot` and `vecdot` of integers (widened), `mean` of float16 (overflows), `tensordot` over the last axis
named -1, `tril` and `triu` of complex numbers, `unique_*` of NaNs (taken for one), `linalg.cholesky` (the upper
factor), `linalg.inv` (float32 becomes float64), `linalg.matrix_rank`, `linalg.svdvals`. Only for some chunkings or
shapes: `concat`, `max`, `min`, `nonzero`, `repeat`, `reshape`, `roll`, `searchsorted`, `take`, `unique_*`,
`linalg.matrix_norm qr solve svd`, the functions of `fft`.
"""

from __future__ import annotations

from typing import Any

from . import dask_indexing, dask_sets, dask_shaping
from .dask_fft import FFT
from .dask_linalg import LINALG, matmul, tensordot, tril, triu, vecdot
from .dask_names import original
from .dask_reductions import EXTREMA, mean
from .dask_searching import searchsorted
from .overlay import overlay

__all__ = ["build"]


def build() -> Any:
    """The namespace for Dask arrays."""
    mends = {
        "asarray": dask_shaping.asarray,
        "broadcast_shapes": dask_shaping.broadcast_shapes,
        "concat": dask_shaping.concat,
        "eye": dask_shaping.eye,
        "from_dlpack": dask_shaping.from_dlpack,
        "matmul": matmul,
        "mean": mean,
        "diff": dask_shaping.diff,
        "nonzero": dask_sets.nonzero,
        "repeat": dask_shaping.repeat,
        "reshape": dask_shaping.reshape,
        "roll": dask_shaping.roll,
        "unique_all": dask_sets.unique_all,
        "unique_counts": dask_sets.unique_counts,
        "unique_inverse": dask_sets.unique_inverse,
        "unique_values": dask_sets.unique_values,
        "searchsorted": searchsorted,
        "take": dask_indexing.take,
        "take_along_axis": dask_indexing.take_along_axis,
        "tensordot": tensordot,
        "tril": tril,
        "triu": triu,
        "vecdot": vecdot,
    }
    return overlay(original, "dask", mends | EXTREMA, linalg=LINALG, fft=FFT)
