"""Dask: transforms, lazily: the axes to transform become one block each, the others keep theirs.

Each block is transformed by the function of its own library. Dask's transforms refuse an axis in several blocks, and
blocks of CuPy's need functions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .dask_names import da

__all__ = ["FFT"]

_FROM_REAL = ("ihfft", "rfft", "rfftn")
_TO_REAL = ("hfft", "irfft", "irfftn")


def _run(block: Any, name: str, **options: Any) -> Any:
    """The function of the block's own library."""
    from nbm_xp.namespace import array_namespace

    return getattr(array_namespace(block).fft, name)(block, **options)


def _dtype(name: str, dtype: Any) -> Any:
    wide = np.result_type(dtype, np.complex64)
    return np.empty(0, wide).real.dtype if name in _TO_REAL else wide


def _mapped(name: str, x: Any, whole: Sequence[int], lengths: Sequence[int], /, **options: Any) -> Any:
    """Map a transform that makes the axes `whole` as long as `lengths` over blocks that are whole along them."""
    x = x.rechunk(dict.fromkeys(whole, -1))
    chunks = list(x.chunks)
    for axis, length in zip(whole, lengths, strict=True):
        chunks[axis] = (length,)
    dtype = _dtype(name, x.dtype)
    meta = np.empty_like(x._meta, shape=(0,) * x.ndim, dtype=dtype)
    return da.map_blocks(partial(_run, name=name, **options), x, chunks=tuple(chunks), dtype=dtype, meta=meta)


def _one_axis(name: str) -> Callable[..., Any]:
    def transform(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        place = _axis(axis, x.ndim)
        if n is None:
            n = 2 * (x.shape[place] - 1) if name in _TO_REAL else x.shape[place]
        length = n // 2 + 1 if name in _FROM_REAL else n
        return _mapped(name, x, [place], [length], n=n, axis=place, norm=norm)

    transform.__name__ = transform.__qualname__ = name
    return transform


def _several_axes(name: str) -> Callable[..., Any]:
    def transform(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        if axes is None:
            axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
        places = [_axis(axis, x.ndim) for axis in axes]
        if s is None:
            s = [x.shape[place] for place in places]
            if name in _TO_REAL:
                s[-1] = 2 * (s[-1] - 1)
        lengths = [x.shape[place] if n == -1 else n for n, place in zip(s, places, strict=True)]
        results = [*lengths[:-1], lengths[-1] // 2 + 1] if name in _FROM_REAL else lengths
        return _mapped(name, x, places, results, s=tuple(lengths), axes=tuple(places), norm=norm)

    transform.__name__ = transform.__qualname__ = name
    return transform


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1} for an array of {ndim} dimensions, got {axis}")
    return axis % ndim


FFT: dict[str, Callable[..., Any]] = {
    **{name: _one_axis(name) for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")},
    **{name: _several_axes(name) for name in ("fftn", "ifftn", "irfftn", "rfftn")},
}
"""What stands over Dask's transforms, by name."""
