"""Convolution of PyTorch tensors by PyTorch's own functions, which take up to three spatial axes."""

from __future__ import annotations

import importlib
from typing import Any

from nbm_xp.namespace.kernels import portably

from . import portable
from .geometry import Lengths, spans

__all__ = ["correlate", "correlate_outer"]


def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, channels, filters = kernel.shape
    extents = spans(sizes, strides, dilation, lengths)
    if not _suits(x, kernel, starts, extents, lengths):
        how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
        return portable.correlate_in_groups(x, kernel, **how)
    count = len(sizes)
    functional: Any = importlib.import_module("torch.nn.functional")
    weights = kernel.permute(count, count + 2, count + 1, *range(count)).reshape(groups * filters, channels, *sizes)
    given, padding = _padded(functional, x.movedim(-1, 1), starts, extents)
    convolve = getattr(functional, f"conv{count}d")
    return convolve(given, weights, None, strides, padding, dilation, groups).movedim(1, -1)


def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`."""
    count = len(lengths)
    extents = spans(lengths, strides, dilation, y.shape[1:-1])
    if not _suits(x, y, starts, extents, lengths):
        how: Any = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths, "groups": groups}
        return portably(portable.correlate_outer)(x, y, **how)
    functional: Any = importlib.import_module("torch.nn.functional")
    derive = getattr(importlib.import_module("torch.nn.grad"), f"conv{count}d_weight")
    channels, filters = x.shape[-1] // groups, y.shape[-1] // groups
    given, padding = _padded(functional, x.movedim(-1, 1), starts, extents)
    shape = (groups * filters, channels, *lengths)
    weights = derive(given, shape, y.movedim(-1, 1), strides, padding, dilation, groups)
    return weights.reshape(groups, filters, channels, *lengths).permute(*range(3, count + 3), 0, 2, 1)


def _suits(x: Any, other: Any, starts: Lengths, extents: Lengths, lengths: Lengths) -> bool:
    touched = all(
        start < length and start + extent > 0
        for start, extent, length in zip(starts, extents, x.shape[1:-1], strict=True)
    )
    floats = str(x.dtype) in ("torch.float32", "torch.float64")
    return floats and touched and len(lengths) <= 3 and 0 not in (*x.shape, *other.shape, *lengths)


def _padded(functional: Any, x: Any, starts: Lengths, extents: Lengths) -> tuple[Any, Lengths]:
    """The range that the windows touch, or the array and the padding where that is as wide on both sides."""
    sides = [(-s, s + e - n) for s, e, n in zip(starts, extents, x.shape[2:], strict=True)]
    if all(before == after >= 0 for before, after in sides):
        return x, tuple(before for before, _ in sides)
    return functional.pad(x, [side for pair in reversed(sides) for side in pair]), (0,) * len(sides)
