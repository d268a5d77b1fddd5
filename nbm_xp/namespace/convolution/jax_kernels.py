"""Convolution of JAX arrays by XLA's own operation, which takes any padding, strides and dilation."""

from __future__ import annotations

import importlib
from typing import Any

from nbm_xp.namespace import dtypes
from nbm_xp.namespace.kernels import portably

from . import portable
from .geometry import Lengths, spans

__all__ = ["correlate", "correlate_back", "correlate_outer"]


def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, channels, filters = kernel.shape
    if 0 in (*x.shape, *kernel.shape, *lengths) or not dtypes.is_floating(x):
        how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
        return portable.correlate_in_groups(x, kernel, **how)
    count = len(sizes)
    weights = kernel.transpose(*range(count), count + 1, count, count + 2).reshape(*sizes, channels, groups * filters)
    axes = tuple(range(1, count + 1))
    lax, dimensions = _lax((0, count + 1, *axes), (count + 1, count, *range(count)), (0, count + 1, *axes))
    return lax.conv_general_dilated(
        x, weights, strides, _sides(x, starts, spans(sizes, strides, dilation, lengths)), rhs_dilation=dilation,
        dimension_numbers=dimensions, feature_group_count=groups, precision=lax.Precision.HIGHEST,
    )  # fmt: skip


def correlate_back(
    y: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_back`: results spread by the strides, and the kernel turned round."""
    *sizes, groups, channels, filters = kernel.shape
    count = len(sizes)
    if 0 in (*y.shape, *kernel.shape, *lengths) or not dtypes.is_floating(y):
        how: dict[str, Any] = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths}
        return portably(portable.correlate_back)(y, kernel, **how)
    axes = tuple(range(1, count + 1))
    weights = kernel[(slice(None, None, -1),) * count].transpose(*range(count), count + 2, count, count + 1)
    lax, dimensions = _lax((0, count + 1, *axes), (count + 1, count, *range(count)), (0, count + 1, *axes))
    sides = []
    for size, start, stride, step, given, length in zip(
        sizes, starts, strides, dilation, y.shape[1:-1], lengths, strict=True
    ):
        before = start + (size - 1) * step
        sides.append((before, length + (size - 1) * step - before - (given - 1) * stride - 1))
    return lax.conv_general_dilated(
        y, weights.reshape(*sizes, filters, groups * channels), (1,) * count, sides, lhs_dilation=strides,
        rhs_dilation=dilation, dimension_numbers=dimensions, feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )  # fmt: skip


def correlate_outer(
    x: Any, y: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths, groups: int
) -> Any:
    """See `nbm_xp.namespace.convolution.correlate_outer`: images take the part of channels, y that of the kernel."""
    if groups > 1 or 0 in (*x.shape, *y.shape, *lengths) or not dtypes.is_floating(x):
        how: Any = {"starts": starts, "strides": strides, "dilation": dilation, "lengths": lengths, "groups": groups}
        return portably(portable.correlate_outer)(x, y, **how)
    count = len(lengths)
    axes = tuple(range(1, count + 1))
    lax, dimensions = _lax((count + 1, 0, *axes), (count + 1, 0, *axes), (count, count + 1, *range(count)))
    weights = lax.conv_general_dilated(
        x, y, dilation, _sides(x, starts, spans(lengths, strides, dilation, y.shape[1:-1])), rhs_dilation=strides,
        dimension_numbers=dimensions, precision=lax.Precision.HIGHEST,
    )  # fmt: skip
    return weights[(slice(None),) * count + (None,)]


def _lax(lhs: Lengths, rhs: Lengths, out: Lengths) -> tuple[Any, Any]:
    lax: Any = importlib.import_module("jax.lax")
    return lax, lax.ConvDimensionNumbers(lhs, rhs, out)


def _sides(x: Any, starts: Lengths, extents: Lengths) -> list[tuple[int, int]]:
    """How much is added, or taken away, before and after each spatial axis."""
    return [(-s, s + e - n) for s, e, n in zip(starts, extents, x.shape[1:-1], strict=True)]
