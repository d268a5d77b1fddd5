"""CuPy: some versions lose infinities in `max`, `min`, `argmax` and `argmin`; `linalg` has gaps of its own.

Where all elements are infinite, CUB's reductions give the largest finite number, and a place outside the array
(cupy issues 7424 and 8180). Whether the installed version does so is tried when the namespace is made, on a
handful of elements, and only then are the functions replaced. float64 may
become float16 by way of float32, rounded twice, which is tried too. Of values assigned to one place any may stay.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from nbm_xp.namespace.libraries import get_namespace
from nbm_xp.namespace.overlay import EigResult, overlay

from . import TWICE_ROUNDED, ranked, to_odd

__all__ = [
    "address", "astype_once", "build", "complex_eigvals", "from_numpy", "infinite",
    "is_plain", "may_overlap", "named_eig", "put", "reshaped_view", "scatter_add", "stacked_solve",
    "to_numpy",
]  # fmt: skip

_DIRECT = frozenset({"int32", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"})


def infinite(xp: Any, function: Callable[..., Any], lowest: float, result: float) -> Callable[..., Any]:
    """A reduction of `xp` that gives `result` where every element is `lowest` (-inf for max, inf for min)."""

    def corrected(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        found = function(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "f" or x.size == 0:
            return found
        return xp.where(xp.all(x == lowest, axis=axis, keepdims=keepdims), xp.asarray(result, dtype=found.dtype), found)

    return corrected


def astype_once(xp: Any) -> Callable[..., Any]:
    """`astype` of `xp`, from float64 to float16 in one rounding."""

    def astype(x: Any, dtype: Any, /, **options: Any) -> Any:
        if dtype == xp.float16 and x.dtype == xp.float64:
            x = to_odd(xp.ascontiguousarray(x).view(xp.int64)).view(xp.float64).reshape(x.shape)
        return xp.astype(x, dtype, **options)

    return astype


def build() -> Any:
    """The namespace for CuPy arrays."""
    xp: Any = importlib.import_module("array_api_compat.cupy")
    replacements: dict[str, Any] = {}
    if float(xp.astype(xp.full((), TWICE_ROUNDED, dtype=xp.float64), xp.float16)) == 1.0:
        replacements["astype"] = astype_once(xp)
    for name, lowest, result in (
        ("max", -math.inf, -math.inf), ("min", math.inf, math.inf), ("argmax", -math.inf, 0), ("argmin", math.inf, 0),
    ):  # fmt: skip
        own = getattr(xp, name)
        probes = (xp.full((2, 3), lowest, dtype=dtype) for dtype in (xp.float32, xp.float64))
        if any(bool(xp.any(own(probe, axis=axis) != result)) for probe in probes for axis in (None, 0, 1)):
            replacements[name] = infinite(xp, own, lowest, result)
    linalg = {"solve": stacked_solve(xp, xp.linalg.solve), "matrix_rank": ranked(xp, xp.linalg.svdvals)}
    if hasattr(xp.linalg, "eig"):  # CuPy has it from version 14 on
        linalg |= {"eig": named_eig(xp.linalg.eig), "eigvals": complex_eigvals(xp.linalg.eigvals)}
    return overlay(xp, "cupy", replacements, linalg=linalg)


def to_numpy(x: Any) -> Any:
    """See `nbm_xp.namespace.to_numpy`."""
    return x.get()


def from_numpy(value: Any) -> Any:
    """A NumPy array on the device."""
    return get_namespace("cupy").asarray(value)


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.scatter_add`. CuPy's own lacks int64, which adds as uint64 does, and narrow integers."""
    import cupy

    places = tuple(_place(cupy, entry) for entry in index) if isinstance(index, tuple) else _place(cupy, index)
    values = cupy.asarray(values, dtype=x.dtype)
    name = str(x.dtype)
    if name in _DIRECT:
        out = x.copy()
        cupy.add.at(out, places, values)
        return out
    if name == "int64":
        out = x.copy()
        cupy.add.at(out.view("uint64"), places, values.astype("uint64"))
        return out
    out = x.astype("int32")
    cupy.add.at(out, places, values.astype("int32"))
    return out.astype(x.dtype)


def put(x: Any, places: Any, values: Any, axis: int) -> Any:
    """See `nbm_xp.namespace.put`. In CuPy's own assignment, any of the values for one place may stay: here the last."""
    import cupy

    length, count = x.shape[axis], places.shape[0]
    if not (length and count):
        return x.copy()
    last = cupy.full((length,), -1, dtype=cupy.int32)
    order = cupy.arange(count, dtype=cupy.int32)
    cupy.maximum.at(last, places % length, order)
    named = (last >= 0).reshape(length, *(1,) * (x.ndim - axis - 1))
    if not hasattr(values, "dtype"):
        return cupy.where(named, cupy.asarray(values, dtype=x.dtype), x)
    values = cupy.broadcast_to(values, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    return cupy.where(named, cupy.take(values, cupy.maximum(last, 0), axis=axis), x)


def _place(cupy: Any, entry: Any) -> Any:
    return cupy.asarray(entry) if hasattr(entry, "dtype") else entry


def _complex(x: Any) -> Any:
    """An array of complex numbers from one that may be real."""
    return x if x.dtype.kind == "c" else x.astype("complex64" if x.dtype.itemsize == 4 else "complex128")


def named_eig(eig: Callable[..., Any]) -> Callable[..., EigResult[Any]]:
    """`eig` with names for its two results, which are always complex."""
    return lambda x, /: EigResult(*map(_complex, eig(x)))


def complex_eigvals(eigvals: Callable[..., Any]) -> Callable[..., Any]:
    """`eigvals` whose results are always complex."""
    return lambda x, /: _complex(eigvals(x))


def stacked_solve(xp: Any, solve: Callable[..., Any]) -> Callable[..., Any]:
    """`solve` of `xp`, which wants stacks of one shape, for all that broadcast; one axis on the right is a vector."""

    def corrected(x1: Any, x2: Any, /) -> Any:
        if x1.ndim == 2 and x2.ndim <= 2 and x1.size and x2.size:
            return solve(x1, x2)
        vector = x2.ndim == 1
        right = x2[:, None] if vector else x2
        batch = xp.broadcast_shapes(x1.shape[:-2], right.shape[:-2])
        shape = (*batch, *right.shape[-2:])
        if math.prod(shape) == 0:
            result = xp.zeros(shape, dtype=xp.result_type(x1, x2))
        else:
            left = xp.broadcast_to(x1, (*batch, *x1.shape[-2:]))
            result = solve(left, xp.broadcast_to(right, shape))
        return result[..., 0] if vector else result

    return corrected


def _block(x: Any) -> int:
    """The start of the allocation that an array lies in."""
    return int(x.data.mem.ptr)


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    seen = x.reshape(shape)
    return seen if not x.size or _block(seen) == _block(x) else None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether two arrays may overlap: they do not, in two allocations."""
    return _block(x) == _block(y)


def is_plain(x: Any) -> bool:
    """Whether the elements of an array lie one after another."""
    return bool(x.flags.c_contiguous)


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.data.ptr)
