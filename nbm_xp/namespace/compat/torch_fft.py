"""PyTorch: transforms of arrays without elements, of which its library of transforms makes an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["transforms"]

_ONE_AXIS = ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
_SEVERAL_AXES = ("fftn", "ifftn", "irfftn", "rfftn")


def _with_nothing(function: Callable[..., Any], several: bool, xp: Any) -> Callable[..., Any]:
    """The transform, of nothing too where the axes to transform have a length."""

    @functools.wraps(function)
    def mended(x: Any, /, **options: Any) -> Any:
        if x.numel():
            return function(x, **options)
        empty = [axis for axis, length in enumerate(x.shape) if length == 0]
        if set(empty) & set(_axes(x.ndim, several, options)):
            return function(x, **options)
        # one row in the place of none shows the shape, and what is wrong with the arguments
        filled = xp.zeros(tuple(max(length, 1) for length in x.shape), dtype=x.dtype, device=x.device)
        return function(filled, **options)[
            tuple(slice(0, 0) if axis in empty else slice(None) for axis in range(x.ndim))
        ]

    return mended


def _axes(ndim: int, several: bool, options: dict[str, Any]) -> list[int]:
    """The axes to transform, as the arguments name them."""
    if several:
        axes = options.get("axes")
        count = ndim if options.get("s") is None else len(options["s"])
        return [axis % ndim for axis in (range(ndim - count, ndim) if axes is None else axes)]
    return [options.get("axis", -1) % ndim]


def transforms(xp: Any) -> dict[str, Callable[..., Any]]:
    """What stands over PyTorch's transforms, by name."""
    mended = {name: _with_nothing(getattr(xp.fft, name), False, xp) for name in _ONE_AXIS}
    return mended | {name: _with_nothing(getattr(xp.fft, name), True, xp) for name in _SEVERAL_AXES}
