"""JAX: its namespace is ``jax.numpy``.

Wrong there: without 64-bit types, a request for one is narrowed with no more than a warning; products along an axis
keep narrow integers; the places that `searchsorted` gives are int32; `linalg.matrix_rank` compares singular values with
`rtol` itself, not with its multiple of the largest; float64 becomes float16 by way of float32, rounded twice. The first
is refused here, since numbers would differ from every other library's; the others are cast or computed anew.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.namespace import dtypes
from nbm_xp.namespace.compiling import register_waiting
from nbm_xp.namespace.convolution.portable import Lengths, spans
from nbm_xp.namespace.dtypes import dtype_name
from nbm_xp.namespace.overlay import overlay

from . import ranked, to_odd

__all__ = ["build", "correlate", "correlate_back", "correlate_outer", "put", "replaced", "scatter_add", "to_numpy"]

to_numpy = np.asarray

_WIDE = frozenset({"int64", "uint64", "float64", "complex128"})
_WITH_DTYPE = (
    "arange asarray cumulative_prod cumulative_sum empty empty_like eye full full_like linspace ones ones_like prod "
    "sum zeros zeros_like"
)


def _is_wide(dtype: Any) -> bool:
    try:
        return dtype_name(dtype) in _WIDE
    except TypeError:
        return False


def _refuse_narrowing(function: Callable[..., Any], position: int | None = None) -> Callable[..., Any]:
    """The function, except that a 64-bit dtype that JAX would narrow is an error."""
    config: Any = importlib.import_module("jax").config

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not config.jax_enable_x64:
            dtype = kwargs.get("dtype")
            if position is not None and len(args) > position:
                dtype = args[position]
            if dtype is None and function.__name__ in ("asarray", "array") and args:
                dtype = getattr(args[0], "dtype", None)
            if dtype is not None and _is_wide(dtype):
                raise TypeError(
                    f"JAX has no {dtype_name(dtype)} while its 64-bit types are off: set the environment variable "
                    "JAX_ENABLE_X64=1 or jax.config.update('jax_enable_x64', True), or ask for a narrower dtype"
                )
        return function(*args, **kwargs)

    return checked


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.scatter_add`."""
    return x.at[index].add(values)


def replaced(x: Any, index: tuple[Any, ...], values: Any) -> Any:
    """See `nbm_xp.namespace.indexing.replaced`; arrays of JAX are immutable."""
    return x.at[index].set(values)


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.indexing.put`."""
    return x.at[(slice(None),) * axis + (places,)].set(values)


def _astype(jnp: Any) -> Callable[..., Any]:
    jax: Any = importlib.import_module("jax")

    def rounded_once(x: Any) -> Any:
        bits = jax.lax.bitcast_convert_type(x, jnp.int64)
        return jax.lax.bitcast_convert_type(to_odd(bits), jnp.float64).astype(jnp.float16)

    narrowed = jax.custom_jvp(rounded_once)
    narrowed.defjvp(lambda at, along: (narrowed(*at), along[0].astype(jnp.float16)))

    @functools.wraps(jnp.astype)
    def astype(x: Any, dtype: Any, /, **options: Any) -> Any:
        if dtype == jnp.float16 and getattr(x, "dtype", None) == jnp.float64 and not options.get("device"):
            return narrowed(x)
        return jnp.astype(x, dtype, **options)

    return astype


def build() -> Any:
    """The namespace for JAX arrays."""
    jnp: Any = importlib.import_module("jax.numpy")
    register_waiting()

    def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if dtype is None and jnp.issubdtype(x.dtype, jnp.integer):
            dtype = jnp.prod(x[:0] if x.ndim else x).dtype
        return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)

    def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
        places = jnp.searchsorted(x1, x2, side=side, sorter=sorter)
        return places.astype(jnp.argmax(jnp.zeros(1)).dtype)

    replacements: dict[str, Any] = {"cumulative_prod": cumulative_prod, "searchsorted": searchsorted}
    for name in _WITH_DTYPE.split():
        replacements[name] = _refuse_narrowing(replacements.get(name, getattr(jnp, name)))
    replacements["astype"] = _refuse_narrowing(_astype(jnp), position=1)
    replacements["full"] = _refuse_narrowing(jnp.full, position=2)
    return overlay(jnp, "jax", replacements, linalg={"matrix_rank": ranked(jnp, jnp.linalg.svdvals)})


def correlate(x: Any, kernel: Any, *, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths) -> Any:
    """See `nbm_xp.namespace.convolution.correlate`."""
    *sizes, groups, channels, filters = kernel.shape
    if 0 in (*x.shape, *kernel.shape, *lengths) or not dtypes.is_floating(x):
        return NotImplemented
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
        return NotImplemented
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
        return NotImplemented
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
