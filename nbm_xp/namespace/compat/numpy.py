"""NumPy: its own functions where they are right, those of array-api-compat where they are not, and the compiled core's.

array-api-compat wraps functions that versions of NumPy before 2.1 had wrong. The wrappers give the same and cost up
to 2 µs a call, ten times NumPy's own `sign` or `zeros`; the versions that serve here do not need them. Corrected: what
does not take arrays of the other byte order. Beside it, a kernel for sums into repeated places.
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from nbm_xp.namespace.exponentials import FUNCTIONS
from nbm_xp.namespace.overlay import Namespace

__all__ = ["address", "build", "is_plain", "may_overlap", "reshaped_view", "scatter_add", "scattered", "to_numpy"]

_NAME = "array_api_compat.numpy"
# Functions that array-api-compat corrects. It is imported when the first of these is used: with it come all parts of
# NumPy (f2py, testing, ma and others), which take as long as NumPy itself.
_FROM_COMPAT = frozenset({
    "argsort", "count_nonzero", "fft", "finfo", "iinfo", "linalg", "sort", "take_along_axis", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
})  # fmt: skip

to_numpy = np.asarray

_LARGEST_KEPT = 2**25 - 2**14  # bytes

_OWN_LINALG = "cholesky diagonal svd trace"

_CUMULATIVE = {"cumulative_prod": np.multiply, "cumulative_sum": np.add}
# Elements of a slice across the axis, and of a run of them in memory, from which on slices are accumulated whole.
_WIDE, _RUN = 1024, 32

_REDUCING = {
    "all": np.logical_and,
    "any": np.logical_or,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "sum": np.add,
}


def _reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """The standard's reshape by the array's own method, which is where `numpy.reshape` ends up."""
    return x.reshape(shape) if copy is None else np.reshape(x, shape, copy=copy)


def _reduction(name: str, ufunc: np.ufunc) -> Any:
    """The standard's reduction by NumPy's ufunc, as `numpy.sum` and its like end up doing after half a microsecond."""
    reduce = ufunc.reduce
    if name in ("sum", "prod"):

        def accumulate(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
            return reduce(x, axis=axis, dtype=dtype, keepdims=keepdims)

        return accumulate

    def select(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return reduce(x, axis=axis, keepdims=keepdims)

    return select


def _native(dtype: Any) -> Any:
    """A dtype in the machine's byte order, the only one that ufuncs take as `dtype`."""
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) and not dtype.isnative else dtype


def _cumulative(name: str, ufunc: np.ufunc) -> Any:
    own, accumulate = getattr(np, name), ufunc.accumulate

    def cumulate(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if include_initial or axis is None or not x.ndim:
            return own(x, axis=axis, dtype=_native(dtype), include_initial=include_initial)
        if x.size >= _WIDE and dtype in (None, x.dtype) and _is_wide(x, axis):
            out = np.empty_like(x)
            given, found = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
            found[0] = given[0]
            for before, value, after in zip(found[:-1], given[1:], found[1:], strict=True):
                ufunc(before, value, out=after)  # the same sums, ten times faster than those of one element at a time
            return out
        return accumulate(x, axis=axis, dtype=_native(dtype))  # where the function ends up after two microseconds

    return cumulate


def _is_wide(x: Any, axis: int) -> bool:
    """Whether the slices of floating-point numbers across an axis are large, and not scattered in memory."""
    shape, ndim, dtype = x.shape, x.ndim, x.dtype
    if dtype.char not in "fd" or not dtype.isnative or not -ndim <= axis < ndim or not x.flags.c_contiguous:
        return False
    return bool(0 < _WIDE * shape[axis] <= x.size) and math.prod(shape[axis % ndim + 1 :]) >= _RUN


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The standard's astype, which also takes NumPy's scalars."""
    return x.astype(dtype, copy=copy)


def _clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """array-api-compat's clip, which asks the ufunc for the dtype of `x`."""
    return _from_compat("clip")(x.astype(_native(x.dtype), copy=False), min, max, **options)


@cache
def _from_compat(name: str) -> Any:
    """A function or an extension as array-api-compat has it."""
    found = getattr(importlib.import_module(_NAME), name)
    if name == "linalg":
        return Namespace(found, {own: getattr(np.linalg, own) for own in _OWN_LINALG.split()}, "numpy", name)
    return found


def build() -> Any:
    """The namespace for NumPy arrays."""
    # A true module: the interpreter finds its functions 40 ns faster than those of any other object, a quarter of what
    # a whole call on a small array costs. Pickled, it comes back as array-api-compat's, which computes the same.
    module = ModuleType(_NAME)
    # The GNU C library returns freed memory to the system, and each array needs new pages, until a program has freed a
    # block of almost 32 MiB: then it keeps 64 MiB. Here that is done at once: steps of training take up to 12 % less.
    np.empty(_LARGEST_KEPT, dtype=np.uint8)
    own = {name: _cumulative(name, ufunc) for name, ufunc in _CUMULATIVE.items()}
    own |= {name: _reduction(name, ufunc) for name, ufunc in _REDUCING.items()}
    own |= {"astype": _astype, "clip": _clip, "reshape": _reshape, **FUNCTIONS}
    found = {name: value for name, value in vars(np).items() if name[0] != "_" and name not in _FROM_COMPAT}
    found |= {name: getattr(np, name) for name in ("__array_api_version__", "__array_namespace_info__")}

    def look_up(name: str) -> Any:
        if name not in _FROM_COMPAT:
            raise AttributeError(f"module {_NAME!r} has no attribute {name!r}", name=name, obj=module)
        value = vars(module)[name] = _from_compat(name)
        return value

    vars(module).update(found | own, __getattr__=look_up, __dir__=lambda: sorted({*vars(module), *_FROM_COMPAT}))
    return module


def scatter_add(x: Any, index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.scatter_add`."""
    out = np.array(x, order="C")
    if _is_basic(index):  # names each place once: ten times faster than add.at
        out[index] = out[index] + values
    else:
        _add(out, index, values)
    return out


def scattered(shape: tuple[int, ...], index: Any, values: Any) -> Any:
    """See `nbm_xp.namespace.scattered`."""
    out = np.zeros(shape, dtype=values.dtype)
    if _is_basic(index):
        out[index] = values
    else:
        _add(out, index, values)
    return out


def _add(out: Any, index: Any, values: Any) -> None:
    axis = _sole_axis(index) if out.ndim > 1 else None
    if axis is None or axis >= out.ndim:
        np.add.at(out, index, values)
    else:
        _add_at_places(out, axis, index[axis] if isinstance(index, tuple) else index, values)


def _is_basic(index: Any) -> bool:
    """Whether an index has integers and slices alone."""
    entries = index if isinstance(index, tuple) else (index,)
    return all(entry is None or entry is ... or isinstance(entry, (int, slice)) for entry in entries)


def _sole_axis(index: Any) -> int | None:
    """The axis that an integer array indexes, if there is but one and nothing else than full slices before it."""
    entries = index if isinstance(index, tuple) else (index,)
    *before, last = entries or (None,)
    sole = isinstance(last, np.ndarray) and last.dtype.kind in "iu"
    if sole and all(isinstance(entry, slice) and entry == slice(None) for entry in before):
        return len(before)
    return None


def _add_at_places(out: Any, axis: int, index: Any, values: Any) -> None:
    """Add element by element to the flat array, for which NumPy has a loop ten times faster than that for rows."""
    before, length, after = out.shape[:axis], out.shape[axis], out.shape[axis + 1 :]
    if index.size and (index.min() < -length or index.max() >= length):
        raise IndexError(f"an index is out of bounds for an axis of length {length}")
    places = np.where(index < 0, index + length, index).astype(np.intp).reshape(-1, 1)
    width = math.prod(after)
    starts = np.arange(math.prod(before)).reshape(-1, 1, 1) * (length * width)
    flat = starts + places * width + np.arange(width)
    added = np.broadcast_to(values, (*before, *index.shape, *after))
    np.add.at(out.reshape(-1), flat.reshape(-1), added.reshape(-1))


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """See `nbm_xp.namespace.memory.reshaped_view`."""
    if not x.size:
        return x.reshape(shape)
    try:
        return np.reshape(x, shape, copy=False)
    except ValueError:
        return None


def may_overlap(x: Any, y: Any) -> bool:
    """Whether the stretches of memory that two arrays span overlap."""
    here, there = x if x.base is None else x.base, y if y.base is None else y.base
    if here is not there and type(here) is type(there) is np.ndarray and here.base is None is there.base:
        return False  # each owner has memory of its own
    return bool(np.may_share_memory(x, y))


def is_plain(x: Any) -> bool:
    """Whether an array is writable and its elements lie one after another."""
    flags = x.flags
    return bool(flags.c_contiguous and flags.writeable)


def address(x: Any) -> int:
    """Where the first element of an array lies."""
    return int(x.ctypes.data)
