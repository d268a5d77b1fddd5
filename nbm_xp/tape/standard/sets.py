"""Set functions: what is in an array, once each; their lengths depend on data, which is looked at while recording.

The values are taken from the array at places found now, so that a gradient flows to the first of equal elements.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.overlay import UniqueAll, UniqueCounts, UniqueInverse
from nbm_xp.tape.concrete import concrete
from nbm_xp.tape.dtypes import as_dtype, common_dtype, weak_dtype
from nbm_xp.tape.dtypes import bool as boolean
from nbm_xp.tape.node import Memory, Node
from nbm_xp.tape.operators import is_number, kind_of_number
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .casting import cast
from .creation import asarray
from .indexing import take
from .manipulation import reshape

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


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


_ISIN = declare("isin", _infer_isin, (None, None), run=_run_isin, memory=Memory.OWN)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """For each element of the first array, whether it is anywhere in the second."""
    tensors = [as_tensor(x) for x in (x1, x2) if not is_number(x)] or [as_tensor(x1)]
    numbers = (kind_of_number(x) for x in (x1, x2) if is_number(x))
    dtype = weak_dtype(common_dtype(*(t.dtype for t in tensors)), *numbers)
    first, second = (asarray(x, dtype=dtype) if is_number(x) else cast(as_tensor(x), dtype) for x in (x1, x2))
    return record(_ISIN, first, second, invert=invert)
