"""Openly from one library to another.

NumPy arrays go anywhere; an array of another library goes to NumPy when `to_numpy` says so, and nowhere else. Nothing
here moves data from a device to the host, or computes a Dask array, unless its name says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import methodcaller
from typing import Any

import array_api_compat
import numpy as np

from . import dispatch, dtypes, libraries
from .dispatch import stay_as_they_are
from .dtypes import INEXACT, KINDS, SCALAR_KINDS, WEAK_REALS, cast, dtype_name, promote_types, weak_dtype
from .kernels import kernel
from .libraries import is_lazy

__all__ = [
    "asarray", "brought", "compute", "concrete_int", "convert", "device_of", "in_one_library", "promote", "to_numpy",
]  # fmt: skip


def to_numpy(x: Any, *, copy: bool = False) -> Any:
    """An array of any library as a NumPy array: a device's is copied to the host, Dask's is computed.

    Parameters
    ----------
    x : array, scalar or nested list of scalars
    copy : bool, optional
        Whether the result must own its memory. Without it, the memory may be shared with `x`, and may be read-only.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> to_numpy([1.0, 2.0])
    array([1., 2.])
    """
    library = dispatch.library_of(x)
    if library is not None:
        result = (kernel("to_numpy", library) or _as_the_standard_says)(x)
    elif isinstance(x, (bool, int, float, complex, list, tuple)):
        _refuse_masks(x)
        result = np.asarray(x)
    elif hasattr(x, "__dlpack__") and not dispatch.is_registered(x):
        result = np.from_dlpack(x)
    else:
        raise TypeError(f"expected an array of a library, got {type(x).__name__}")
    return np.array(result) if copy else result


def _as_the_standard_says(x: Any) -> Any:
    """An array of a library that has no way of its own: by NumPy's protocol, by which lazy ones compute, or DLPack."""
    mask = getattr(x, "mask", None)
    if mask is not None and bool(np.any(to_numpy(mask))):
        raise TypeError(
            f"an array of {dispatch.library_of(x)} does not become one of numpy while elements are masked, for its "
            "mask would be lost: pass its data with these elements filled"
        )
    if hasattr(type(x), "__array__"):
        return np.asarray(x)
    exported = x.compute() if hasattr(x, "compute") else x
    if not hasattr(exported, "__dlpack__"):
        raise TypeError(
            f"an array of {dispatch.library_of(x)} has neither __array__ nor __dlpack__, by which it could become one "
            "of numpy: register_library takes a kernel 'to_numpy'"
        )
    return np.from_dlpack(exported)


def _numpy_to_library(value: Any, xp: Any, library: str | None) -> Any:
    """A NumPy array on the library of `xp`, with memory of its own."""
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    own = None if library is None else kernel("from_numpy", library)
    return xp.asarray(np.array(value)) if own is None else own(value)


def asarray(value: Any, xp: Any, dtype: Any = None) -> Any:
    """Make an array of a library from a scalar, a nested list or a NumPy array.

    Parameters
    ----------
    value : scalar, nested list of scalars, NumPy array, or array of the same library
        An array of the same library is returned as it is, or cast; a NumPy array is copied to another library.
    xp : namespace
        The library's.
    dtype : optional
        A name or a dtype object of any library. Without it: the array's own; for Python values, what NumPy makes of
        them (float64 and int64), except that JAX without 64-bit types has 32 bits.

    Raises
    ------
    TypeError
        If `value` is an array of a third library, or the library lacks the dtype; or of complex numbers, and `dtype` is
        none of theirs.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> asarray([1, 2], get_namespace("numpy"), dtype="float32")
    array([1., 2.], dtype=float32)
    """
    library = libraries.name_of_namespace(xp)
    source = dispatch.library_of(value)
    if source is not None and source not in (library, "numpy"):
        raise _cannot_convert(source, library or xp.__name__)
    wanted = None if dtype is None else dtypes.dtype_of(xp, dtype)
    if source is not None and source == library and not isinstance(value, np.generic):
        if wanted is None or value.dtype == wanted:
            return value
        _check_real(value, wanted)
        return xp.astype(value, wanted)
    if source is None and wanted is None and library == "jax":
        return xp.asarray(value)
    _refuse_masks(value)
    host = np.asarray(value)
    if wanted is not None:
        _check_real(host, wanted)
        host = host.astype(dtypes.dtype_name(wanted), copy=False)
    else:
        dtypes.dtype_name(host)  # refuses text, objects and the like
    return host if library == "numpy" else _numpy_to_library(host, xp, library)


def _refuse_masks(value: Any) -> None:
    """Refuse masked arrays in a nested list, where NumPy would drop their masks."""
    if isinstance(value, (list, tuple)):
        kinds = set(map(type, value))
        for kind in kinds:
            libraries.library_of_type(kind)
            if hasattr(kind, "_meta"):
                for item in value:
                    dispatch.has_blocks(item)
        if not kinds.isdisjoint((list, tuple)):
            for item in value:
                _refuse_masks(item)


def _check_real(value: Any, wanted: Any) -> None:
    """Refuse what would lose imaginary parts without a word."""
    if dtypes.dtype_name(wanted)[0] != "c" and dtypes.is_complex(value):
        raise TypeError(f"complex numbers cannot become {dtypes.dtype_name(wanted)}: take their real part first")


def convert(x: Any, xp: Any) -> Any:
    """An array on another library: the same library's as it is, NumPy's to any other.

    Raises
    ------
    TypeError
        If that would move an array between two libraries other than NumPy, or to NumPy: the message says how to.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> convert(np.ones(2), get_namespace("numpy"))
    array([1., 1.])
    """
    source, library = dispatch.library_name(x), dispatch.library_name(xp)
    if source not in (library, "numpy"):
        raise _cannot_convert(source, library)
    return x if source == library else asarray(x, xp)


def _cannot_convert(source: str, target: str) -> TypeError:
    how = "to_numpy(x)" if target == "numpy" else f"asarray(to_numpy(x), get_namespace({target!r}))"
    return TypeError(f"an array of {source} does not become one of {target} implicitly: nbm_xp.namespace has {how}")


def brought(x: Any, xp: Any, dtype: Any = None) -> Any:
    """An array of another library as what runs on `xp` takes it: the host's in a dtype that is there (`running_dtype`).

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> brought(np.ones(2), get_namespace("numpy"), "float32").dtype
    dtype('float32')
    """
    if dispatch.library_of(x) == "numpy":
        return asarray(x, xp, dtypes.running_dtype(xp, x.dtype if dtype is None else dtype))
    return convert(x, xp)


def compute(x: Any) -> Any:
    """A lazy array computed into the library of its blocks; any other array as it is.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> compute(get_namespace("dask").ones(2))
    array([1., 1.])
    """
    library = dispatch.library_of(x)
    if library is None or not is_lazy(dispatch.array_namespace(x)):
        return x
    return (kernel("compute", library) or methodcaller("compute"))(x)


def device_of(x: Any) -> Any:
    """The device an array lies on, as its library names it.

    Examples
    --------
    >>> import numpy as np
    >>> device_of(np.ones(2))
    'cpu'
    """
    return array_api_compat.device(x)


def concrete_int(x: Any) -> int:
    """The Python int that an integer array of no dimensions holds. A device's is copied to the host.

    Raises
    ------
    TypeError
        If the value is not known yet (Dask, a traced function of JAX), or is no integer.

    Examples
    --------
    >>> import numpy as np
    >>> concrete_int(np.asarray(3)), concrete_int(4)
    (3, 4)
    """
    if type(x) is int:
        return x
    if isinstance(x, int):
        return int(x)
    library = dispatch.library_of(x)
    if library is None or x.ndim != 0 or not dtypes.is_integer(x):
        shown = f"{dtypes.dtype_name(x)} array of shape {x.shape}" if library else repr(x)
        raise TypeError(f"expected an integer or an integer array of no dimensions, got {shown}")
    if is_lazy(dispatch.array_namespace(x)):
        title = "a Dask array" if library == "dask" else f"an array of {library}"
        raise TypeError(
            f"the value of {title} is not known before it is computed, and is never computed unasked: "
            "pass an int, or int(x.compute())"
        )
    return int(x)


def in_one_library(values: Sequence[Any]) -> list[Any]:
    """The values; with a lazy array that takes none of the host's among them, the host's arrays in its library.

    Lists and tuples are looked through.

    Raises
    ------
    TypeError
        If the lazy array does not lie where the host's arrays would.

    Examples
    --------
    >>> in_one_library([1.0, None])
    [1.0, None]
    """
    lazy = next(_apart(values), None)
    if lazy is None:
        return list(values)
    xp = dispatch.array_namespace(lazy)
    return [_there(value, lazy, xp) for value in values]


def _apart(values: Sequence[Any]) -> Iterator[Any]:
    """The lazy arrays that take none of the host's."""
    for value in values:
        kind = type(value)
        if kind in stay_as_they_are:
            continue
        if kind in (list, tuple):
            yield from _apart(value)
        elif (
            dispatch.library_of(value) is not None
            and not hasattr(kind, "__array_ufunc__")
            and is_lazy(dispatch.array_namespace(value))
        ):
            yield value
        else:
            stay_as_they_are[kind] = None


def _there(value: Any, lazy: Any, xp: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_there(item, lazy, xp) for item in value)
    if dispatch.library_of(value) != "numpy":
        return value
    place = device_of(lazy)
    if place != xp.__array_namespace_info__().default_device():
        title = dispatch.library_name(xp)
        raise TypeError(
            f"an array of numpy stands beside one of {title} that lies on {place}: convert one of them with "
            "nbm_xp.namespace.convert or to_numpy"
        )
    return asarray(value, xp)


def promote(*values: Any) -> tuple[Any, ...]:
    """Arrays cast to one dtype by NumPy's promotion; Python scalars are weak and stay as they are.

    The host's arrays beside those of a lazy library that takes none itself are brought to that library.

    What scalars make of arrays `nbm_xp.namespace.dtypes.weak_dtype` says. A Python bool that meets numbers becomes an
    int.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = promote(np.ones(2, dtype=np.int8), np.ones(2, dtype=np.float32), 1)
    >>> a.dtype, b.dtype, c
    (dtype('float32'), dtype('float32'), 1)
    """
    if len(values) == 2:
        a, b = values
        try:
            if type(b) in WEAK_REALS:
                if type(a.dtype) in INEXACT or KINDS[dtype_name(a)] in "fc":
                    return values
            elif type(a) in WEAK_REALS:
                if type(b.dtype) in INEXACT or KINDS[dtype_name(b)] in "fc":
                    return values
            elif a.dtype is b.dtype and (
                type(a) is type(b) or (type(a) in stay_as_they_are and type(b) in stay_as_they_are)
            ):
                return values
        except AttributeError:
            pass
    if not all(type(value) in stay_as_they_are for value in values):
        values = tuple(in_one_library(values))
    kinds = [type(value) for value in values]
    names = [dtype_name(value) for value in values if value is not None and type(value) not in SCALAR_KINDS]
    if not names:
        return values
    name = weak_dtype(promote_types(*names), *kinds)
    out = []
    for value in values:
        if type(value) is bool:
            out.append(value if name == "bool" else int(value))
        elif value is None or type(value) in SCALAR_KINDS or dtype_name(value) == name:
            out.append(value)
        else:
            out.append(cast(value, name))
    return tuple(out)
