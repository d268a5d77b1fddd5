"""Dask: what its namespace lacks or has wrong, each mended in one of the chapters beside this one.

Everything stays lazy: nothing here computes an array. Missing: `broadcast_shapes`, `from_dlpack`, `take_along_axis`,
`linalg.cross det eig eigh eigvals eigvalsh matrix_power pinv slogdet`. Wrong: `asarray` of a list of Dask arrays
(computes), `eye` with more columns or fewer than rows, `matmul` and `tensordot` of integers (widened),
`linalg.cholesky` (the upper factor), `linalg.inv` (float32 becomes float64), `linalg.matrix_rank`, `linalg.svdvals`.
Only for some chunkings or shapes: `max`, `min`, `reshape`, `repeat`, `linalg.qr solve svd`, the functions of `fft`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import dask_indexing, dask_shaping
from .dask_linalg import LINALG, matmul, tensordot
from .dask_names import original
from .dask_reductions import EXTREMA
from .overlay import Namespace, overlay

__all__ = ["build"]

_FFT_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_FFT_MANY = ("fftn", "ifftn", "rfftn", "irfftn")


def _whole_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transform along one axis, which becomes one block first."""

    @functools.wraps(function)
    def mended(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return function(x.rechunk({axis % x.ndim: -1}), n=n, axis=axis, norm=norm)

    return mended


def _whole_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transform along several axes, each of which becomes one block first."""

    @functools.wraps(function)
    def mended(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        if axes is None:
            axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
        return function(x.rechunk({axis % x.ndim: -1 for axis in axes}), s=s, axes=axes, norm=norm)

    return mended


def build() -> Any:
    """The namespace for Dask arrays."""
    fft = {name: _whole_axis(getattr(original.fft, name)) for name in _FFT_ONE}
    fft |= {name: _whole_axes(getattr(original.fft, name)) for name in _FFT_MANY}
    mends = {
        "asarray": dask_shaping.asarray,
        "broadcast_shapes": dask_shaping.broadcast_shapes,
        "eye": dask_shaping.eye,
        "fft": Namespace(original.fft, fft, "dask", "fft"),
        "from_dlpack": dask_shaping.from_dlpack,
        "matmul": matmul,
        "repeat": dask_shaping.repeat,
        "reshape": dask_shaping.reshape,
        "take_along_axis": dask_indexing.take_along_axis,
        "tensordot": tensordot,
    }
    return overlay(original, "dask", mends | EXTREMA, linalg=LINALG)
