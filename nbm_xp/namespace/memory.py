"""Shared memory of arrays: views and assignment in place, for libraries whose arrays are mutable.

NumPy, CuPy and PyTorch write in place, and some of their slices and transpositions are views of the original memory.
The other libraries create new arrays instead; `writes_in_place` distinguishes the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from . import dispatch, dtypes
from .kernels import kernel

_UNCHANGING = frozenset({"dask", "jax"})
# How two arrays of a type are compared, and whether those of its library never change.
_OVERLAPS: dict[type, tuple[Any, bool]] = dispatch.kept_by_type()


def writes_in_place(xp: Any) -> bool:
    """Whether arrays of a namespace can be written to, and slices are views.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> writes_in_place(host_namespace())
    True
    """
    return kernel("memory.reshaped_view", xp) is not None


def size_in_bytes(x: Any) -> Any:
    """Size of an array in bytes, nan if a length is unknown; Dask's expression arrays have no ``nbytes``."""
    return math.prod(x.shape) * x.dtype.itemsize


def _own(name: str, x: Any) -> Any:
    return kernel(f"memory.{name}", dispatch.library_of(x) or "")


def joined(xp: Any, length: int, dtype: str, parts: Iterable[Any]) -> Any:
    """Concatenate vectors, each of which is cast and copied before the next is created.

    Parameters
    ----------
    xp : namespace
        Namespace of a library that writes in place.
    length : int
        Total number of elements.
    dtype : str
        Dtype of the result.
    parts : iterable of arrays

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> joined(host_namespace(), 3, "int64", [np.asarray([1.0, 2.0]), np.asarray([3.0])]).tolist()
    [1, 2, 3]
    """
    out, begin = xp.empty((length,), dtype=dtypes.dtype_of(xp, dtype)), 0
    for part in parts:
        out[begin : begin + part.shape[0]] = part
        begin += part.shape[0]
    return out


def reshaped_view(x: Any, shape: tuple[int, ...]) -> Any:
    """Return an array in another shape that shares its memory; None if a copy would be needed.

    Parameters
    ----------
    x : array of a library that writes in place
    shape : tuple of int
        With as many elements as `x` has.

    Examples
    --------
    >>> import numpy as np
    >>> reshaped_view(np.zeros((2, 3)), (6,)).shape
    (6,)
    >>> reshaped_view(np.zeros((2, 3)).T, (6,)) is None
    True
    """
    return _own("reshaped_view", x)(x, shape)


def may_overlap(x: Any, y: Any) -> bool:
    """Whether two arrays may share memory, so that writing to one may change the other.

    Parameters
    ----------
    x, y : array of the same library
        Arrays; those of a library that does not write in place never share memory.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((2, 3))
    >>> may_overlap(x, x[1:].T), may_overlap(x, np.zeros((2, 3)))
    (True, False)
    """
    own = _own("may_overlap", x)
    return own is not None and bool(own(x, y))


def unshared(x: Any, others: Iterable[Any]) -> Any:
    """Return an array, or a copy of it if it may share memory with others or is read-only.

    Parameters
    ----------
    x : array
        Array. It is returned unchanged if its library's arrays are immutable, and copied if the library is unlisted.
    others : iterable
        Arrays; those of another library do not share memory.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((2, 3))
    >>> unshared(x, [np.ones(3)]) is x, unshared(x[1:], [x]).base is None
    (True, True)
    """
    kind = type(x)
    try:
        overlap, unchanging = _OVERLAPS[kind]
    except KeyError:
        library = dispatch.library_of(x) or ""
        overlap, unchanging = _OVERLAPS[kind] = kernel("memory.may_overlap", library), library in _UNCHANGING
    if unchanging:
        return x
    strides = getattr(x, "strides", None) or getattr(x, "stride", tuple)()
    fixed = not getattr(getattr(x, "flags", None), "writeable", True) or 0 in strides
    if overlap is None or fixed:
        return dispatch.array_namespace(x).asarray(x, copy=True)
    for other in others:
        if other is x or (type(other) is kind and overlap(x, other)):
            return dispatch.array_namespace(x).asarray(x, copy=True)
    return x


def assign(target: Any, value: Any) -> None:
    """Write into the memory of an array.

    Parameters
    ----------
    target : array of a library that writes in place
        Written to; it may be a view.
    value : array of the same library, or Python scalar
        Value, cast to the dtype of `target` (floating point to integers by truncation) and broadcast to its shape. It
        may share memory with `target`: its elements before the assignment are written.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4.0)
    >>> assign(x[1:], x[:-1])
    >>> x
    array([0., 0., 1., 2.])
    """
    if dispatch.library_of(value) is not None and may_overlap(target, value):
        value = dispatch.array_namespace(value).asarray(value, copy=True)
    target[...] = value


def can_be_owned(x: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether an array without other references can be reused as memory of this shape and dtype.

    Immutable arrays always can. Other arrays must be writable and contiguous, so that they can be viewed in any
    shape.

    Examples
    --------
    >>> import numpy as np
    >>> can_be_owned(np.zeros((2, 3)), (2, 3), "float64"), can_be_owned(np.zeros((3, 2)).T, (2, 3), "float64")
    (True, False)
    """
    if tuple(x.shape) != shape or dtypes.dtype_name(x) != dtype:
        return False
    plain = _own("is_plain", x)
    return plain is None or plain(x)


def address(x: Any) -> int:
    """Return the address of the first element of an array in its device's memory.

    Parameters
    ----------
    x : array of a library that writes in place

    Raises
    ------
    TypeError
        If the array is of another library, whose arrays need not have one address.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((2, 3))
    >>> address(x[1:]) - address(x)
    24
    """
    own = _own("address", x)
    if own is None:
        raise TypeError(f"arrays of {dispatch.library_of(x)} have no address: {type(x).__name__}")
    return int(own(x))
