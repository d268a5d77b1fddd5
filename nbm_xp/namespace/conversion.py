"""Explicit conversion of arrays between libraries.

NumPy arrays can be converted to any library; arrays of other libraries only to NumPy, by `to_numpy`. Only functions
whose names say so move data from a device to the host, or compute a Dask array.
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


def to_numpy(x: Any, *, copy: bool = False) -> Any:
    """Convert an array of any library to NumPy: arrays on a device are copied to the host, Dask arrays are computed.

    Parameters
    ----------
    x : array, scalar or nested list of scalars
    copy : bool, optional
        Whether the result must own its memory. Otherwise the memory may be shared with `x`, and may be read-only.

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
    """Convert an array of a library without its own conversion: by NumPy's protocol (lazy arrays compute) or DLPack."""
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
    """Convert a NumPy array to the library of `xp`, with memory of its own."""
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    own = None if library is None else kernel("from_numpy", library)
    return xp.asarray(np.array(value)) if own is None else own(value)


def asarray(value: Any, xp: Any, dtype: Any = None) -> Any:
    """Create an array of a library from a scalar, a nested list or a NumPy array.

    Parameters
    ----------
    value : scalar, nested list of scalars, NumPy array, or array of the same library
        Value to convert. An array of the same library is returned unchanged, or cast; a NumPy array is copied.
    xp : namespace
        The library's.
    dtype : optional
        Name or dtype object of any library. Defaults to the array's dtype; for Python values, to NumPy's default
        (float64 and int64), or 32 bits in JAX without 64-bit types.

    Raises
    ------
    TypeError
        If `value` is an array of a third library, the library lacks the dtype, or `value` is complex and `dtype` not.

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
        dtypes.dtype_name(host)  # raises an error for text, objects etc.
    return host if library == "numpy" else _numpy_to_library(host, xp, library)


def _refuse_masks(value: Any) -> None:
    """Raise an error for masked arrays in a nested list: NumPy would drop their masks."""
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
    """Raise an error for casts that would silently drop imaginary parts."""
    if dtypes.dtype_name(wanted)[0] != "c" and dtypes.is_complex(value):
        raise TypeError(f"complex numbers cannot become {dtypes.dtype_name(wanted)}: take their real part first")


def convert(x: Any, xp: Any) -> Any:
    """Convert a NumPy array to another library; arrays of the same library are returned unchanged.

    Raises
    ------
    TypeError
        If the array would move between two libraries other than NumPy, or to NumPy; the message names the explicit way.

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
    """Convert an array for use with `xp`: host arrays are cast to a dtype that the library has (`running_dtype`).

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
    """Compute a lazy array, in the library of its blocks; return any other array unchanged.

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
    """Return the device of an array, as named by its library.

    Examples
    --------
    >>> import numpy as np
    >>> device_of(np.ones(2))
    'cpu'
    """
    return array_api_compat.device(x)


def concrete_int(x: Any) -> int:
    """Return a scalar integer array as a Python int. Arrays on a device are copied to the host.

    Raises
    ------
    TypeError
        If the value is unknown (Dask, a traced function of JAX), or not an integer.

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
            f"the value of {title} is not known before it is computed, and is never computed implicitly: "
            "pass an int, or int(x.compute())"
        )
    return int(x)


def in_one_library(values: Sequence[Any]) -> list[Any]:
    """Return the values; host arrays are converted if there is a lazy array of a library that does not accept them.

    Lists and tuples are searched.

    Raises
    ------
    TypeError
        If the lazy array is on another device than the converted host arrays.

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
    """The lazy arrays whose libraries do not accept host arrays."""
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
    """Cast arrays to one dtype by NumPy's promotion; Python scalars are weak and not converted.

    Host arrays are converted if there is an array of a lazy library that does not accept them.

    See `nbm_xp.namespace.dtypes.weak_dtype` for the effect of scalars. A Python bool beside numbers becomes an int.

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
