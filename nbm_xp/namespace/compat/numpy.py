"""NumPy: array-api-compat's namespace, with NumPy's own functions where they have become right.

array-api-compat wraps functions that versions of NumPy before 2.1 had wrong. The wrappers give the same and cost up
to 2 µs a call, ten times NumPy's own `sign` or `zeros`; the versions that serve here do not need them. Mended: what
does not take arrays of the other byte order. Beside it, a kernel for sums into repeated places.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import array_api_compat.numpy
import numpy as np

from ..overlay import overlay

__all__ = ["build", "scatter_add", "scattered"]

_OWN = (
    "arange asarray ceil empty empty_like eye floor full full_like linspace matmul "
    "matrix_transpose nonzero ones ones_like permute_dims sign std tensordot trunc var zeros zeros_like"
)
_OWN_LINALG = "cholesky diagonal svd trace"

_CUMULATIVE = {"cumulative_prod": np.multiply, "cumulative_sum": np.add}

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
    """A dtype in the machine's byte order, the only one in which ufuncs can be asked for it."""
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) and not dtype.isnative else dtype


def _cumulative(name: str, ufunc: np.ufunc) -> Any:
    own, accumulate = getattr(np, name), ufunc.accumulate

    def cumulate(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if include_initial or axis is None or not x.ndim:
            return own(x, axis=axis, dtype=_native(dtype), include_initial=include_initial)
        return accumulate(x, axis=axis, dtype=_native(dtype))  # where the function ends up after two microseconds

    return cumulate


def _clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """array-api-compat's clip, which asks the ufunc for the dtype of `x`."""
    original: Any = array_api_compat.numpy
    return original.clip(x.astype(_native(x.dtype), copy=False), min, max, **options)


def build() -> Any:
    """The namespace for NumPy arrays."""
    own = {name: getattr(np, name) for name in _OWN.split()}
    own |= {name: _cumulative(name, ufunc) for name, ufunc in _CUMULATIVE.items()}
    own |= {"clip": _clip, "reshape": _reshape}
    own |= {name: _reduction(name, ufunc) for name, ufunc in _REDUCING.items()}
    linalg = {name: getattr(np.linalg, name) for name in _OWN_LINALG.split()}
    mended = overlay(array_api_compat.numpy, "numpy", own, linalg=linalg)
    # A true module: the interpreter finds its functions 40 ns faster than those of any other object, a quarter of what
    # a whole call on a small array costs. Pickled, it comes back as the original, which computes the same.
    module = ModuleType(array_api_compat.numpy.__name__)
    vars(module).update(vars(mended))
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
