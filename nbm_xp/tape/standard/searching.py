"""Searching, sorting and set functions.

The lengths of sets depend on data, which is looked at while recording; values are taken from the array at places found
now, so that a gradient flows to the first of equal elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.namespace import array_namespace, running_dtype
from nbm_xp.namespace.overlay import UniqueAll, UniqueCounts, UniqueInverse

from ..concrete import concrete
from ..dtypes import as_dtype, common_dtype, weak_dtype
from ..dtypes import bool as boolean
from ..lengths import is_number, kind_of_number
from ..node import Node, declare, same_as_first
from ..tensor import Tensor, as_tensor, record
from .creation import asarray
from .data_types import cast, together
from .indexing import take, take_along_axis
from .manipulation import reshape
from .shapes import along_axes, axis_of, published, reduced_shape
from .statistical import any_zero

__all__ = [
    "argmax", "argmin", "argsort", "isin", "nonzero", "searchsorted", "sort", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip

_INT64 = as_dtype("int64")


def _infer_position(x: Node, *, axis: int, keepdims: bool) -> Any:
    return reduced_shape(x.shape, (axis,), keepdims), _INT64


def _position(name: str) -> Callable[..., Tensor]:
    op = along_axes(
        name,
        _infer_position,
        (None,),
        run=lambda xp, x, *, axis, keepdims: xp.astype(
            getattr(xp, name)(x, axis=axis, keepdims=keepdims), running_dtype(xp, "int64")
        ),
    )

    def function(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
        x = as_tensor(x)
        if axis is None:
            flat: Tensor = function(reshape(x, (-1,)), axis=0)
            return reshape(flat, (1,) * x.ndim) if keepdims else flat
        place = axis_of(axis, x.ndim)
        if any_zero(x, (place,)):
            raise ValueError(f"{name} of no elements is not defined: x has shape {x.shape}")
        return record(op, x, axis=place, keepdims=keepdims)

    which = "largest" if name == "argmax" else "smallest"
    return published(name, function, f"The position of the {which} element along an axis; the first at a tie.")


argmax = _position("argmax")
argmin = _position("argmin")


def _unsorted(g: Tensor, out: Tensor, x: Tensor, *, axis: int, descending: bool, stable: bool) -> Tensor:
    order = argsort(x, axis=axis, descending=descending)
    return take_along_axis(g, argsort(order, axis=axis), axis=axis)


_SORT = along_axes("sort", same_as_first, (_unsorted,))
_ARGSORT = along_axes("argsort", lambda x, **attributes: (x.shape, _INT64), (None,))


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis."""
    x = as_tensor(x)
    return record(_SORT, x, axis=axis_of(axis, x.ndim), descending=descending, stable=stable)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions that would sort an array along an axis."""
    x = as_tensor(x)
    return record(_ARGSORT, x, axis=axis_of(axis, x.ndim), descending=descending, stable=stable)


_SEARCHSORTED = declare("searchsorted", lambda x1, x2, *, side: (x2.shape, _INT64), (None, None))


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values would go into a sorted array, or into one that `sorter` sorts."""
    x1, x2 = together(as_tensor(x1), x2)
    x1, x2 = as_tensor(x1), x2 if isinstance(x2, Tensor) else asarray(x2, dtype=x1.dtype)
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', got {side!r}")
    if x1.ndim != 1:
        raise ValueError(f"x1 must have one axis for searchsorted, got shape {x1.shape}")
    if sorter is not None:
        x1 = take(x1, sorter)
    return record(_SEARCHSORTED, x1, x2, side=side)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The places of the elements that are not zero, one array for each axis; looked at while recording."""
    x = as_tensor(x)
    if not x.ndim:
        raise ValueError("x must have one axis or more for nonzero, got an array without axes")
    array = concrete(x, "nonzero")
    return tuple(cast(as_tensor(places), _INT64) for places in array_namespace(array).nonzero(array))


def _found(x: Any, function: str) -> UniqueAll[Tensor]:
    x = as_tensor(x)
    array = concrete(x, function)
    places = [as_tensor(part) for part in array_namespace(array).unique_all(array)[1:]]
    indices, inverse, counts = (cast(part, as_dtype("int64")) for part in places)
    return UniqueAll(take(reshape(x, (-1,)), indices), indices, inverse, counts)


def unique_all(x: Any, /) -> UniqueAll[Tensor]:
    """The distinct elements, where each is first, which one each element is, and how often each is there."""
    return _found(x, "unique_all")


def unique_counts(x: Any, /) -> UniqueCounts[Tensor]:
    """The distinct elements, and how often each is there."""
    found = _found(x, "unique_counts")
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Any, /) -> UniqueInverse[Tensor]:
    """The distinct elements, and which of them each element is."""
    found = _found(x, "unique_inverse")
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Tensor:
    """The distinct elements; each NaN is one of its own."""
    return _found(x, "unique_values").values


def _run_isin(xp: Any, x1: Any, x2: Any, *, invert: bool) -> Any:
    inside = xp.isin(x1, x2)  # not every library heeds invert
    return xp.logical_not(inside) if invert else inside


def _infer_isin(x1: Node, x2: Node, *, invert: bool) -> Any:
    return x1.shape, boolean


_ISIN = declare("isin", _infer_isin, (None, None), run=_run_isin)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """For each element of the first array, whether it is anywhere in the second."""
    tensors = [as_tensor(x) for x in (x1, x2) if not is_number(x)] or [as_tensor(x1)]
    numbers = (kind_of_number(x) for x in (x1, x2) if is_number(x))
    dtype = weak_dtype(common_dtype(*(t.dtype for t in tensors)), *numbers)
    first, second = (asarray(x, dtype=dtype) if is_number(x) else cast(as_tensor(x), dtype) for x in (x1, x2))
    return record(_ISIN, first, second, invert=invert)
