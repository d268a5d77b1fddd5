"""CuPy's functions over NumPy's: with CuPy's parameters, on CuPy's arrays alone, the results CuPy's arrays again.

Most are NumPy's function of the same name behind that. Those whose meaning differs, or that take what others refuse,
are written out here. A function of CuPy's that NumPy has not, and nothing here models, says so when it is called.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import cast, host_of, lengths, ndarray, quietly, refuse_dtype, rubbish, unwrapped, wrapped
from .names import checked
from .transfers import transfer
from .ufuncs import ufunc

__all__ = ["OWN", "delegated", "linalg_function"]

FREE = """
    arange eye full identity indices linspace logspace tri tril_indices triu_indices diag_indices empty ones zeros
    concatenate concat stack vstack hstack dstack column_stack row_stack block broadcast_arrays meshgrid ix_
    einsum result_type can_cast broadcast_shapes isscalar iscomplexobj isrealobj ndim shape size lexsort select
    atleast_1d atleast_2d atleast_3d tile common_type fftfreq rfftfreq isdtype unravel_index ravel_multi_index
"""
"""Functions that need no array as their first argument, or take a sequence of them."""

PYTHON = """
    result_type can_cast broadcast_shapes isscalar iscomplexobj isrealobj ndim shape size common_type isdtype
    may_share_memory shares_memory isfortran typename mintypecode
"""
"""Functions whose results are Python's."""

FREE_NAMES, PYTHON_NAMES = frozenset(FREE.split()), frozenset(PYTHON.split())


def delegated(name: str, entry: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function with CuPy's parameters that does what NumPy's does."""
    signature = checked(entry)

    def call(*args: Any, **kwargs: Any) -> Any:
        if function is None:
            raise NotImplementedError(f"not modelled: cupy's {name}")
        if signature is not None:
            signature.bind(*args, **kwargs)
        if name not in FREE_NAMES and not isinstance(first := next(iter((*args, *kwargs.values())), None), ndarray):
            raise TypeError(f"{name}: expected cupy.ndarray, got {type(first)}")
        out = kwargs.pop("out", None)
        if "dtype" in kwargs and kwargs["dtype"] is not None:
            kwargs["dtype"] = refuse_dtype(kwargs["dtype"])
        given = {key: unwrapped(value) for key, value in kwargs.items() if key not in ("blocking",)}
        result = quietly(function, *map(unwrapped, args), **given)
        if name in PYTHON_NAMES:
            return result
        if isinstance(result, (bool, np.bool_)):
            result = np.asarray(result)
        if out is None:
            made = wrapped(result)
            return _sharing(made, args)
        out[...] = wrapped(np.asarray(result))
        return out

    call.__name__ = call.__qualname__ = name
    call.__module__ = "cupy"
    if signature is not None:
        call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _sharing(made: Any, args: tuple[Any, ...]) -> Any:
    """Views know whose memory they are in."""
    if args and isinstance(args[0], ndarray) and isinstance(made, ndarray):
        return args[0]._view(host_of(made))
    return made


def linalg_function(name: str, entry: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function of linear algebra: no float16; where a matrix is singular, results are no numbers, and no error."""
    inner = delegated(name, entry, RULES.get(name) or (function and _unfailing(function)))

    @functools.wraps(inner)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, ndarray) and x.dtype == np.float16 for x in args) and name not in MOVES:
            raise TypeError("float16 is unsupported in linalg")
        return inner(*args, **kwargs)

    return call


def _eig(x: Any) -> Any:
    """Complex, but for matrices without elements."""
    values, vectors = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64) if x.size else values.dtype
    return values.astype(kind), vectors.astype(kind)


def _solve(a: Any, b: Any) -> Any:
    """Stacks do not broadcast; one dimension on the right is a vector."""
    if not b.ndim:
        raise ValueError("b must have at least one dimension")
    if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    if b.ndim == 1:
        return _unfailing(np.linalg.solve)(a, np.broadcast_to(b, a.shape[:-1])[..., None])[..., 0]
    return _unfailing(np.linalg.solve)(a, b)


RULES: dict[str, Callable[..., Any]] = {"eig": _eig, "eigvals": lambda x: _eig(x)[0], "solve": _solve}
MOVES = frozenset(("matmul", "matrix_transpose", "cross", "matrix_power", "norm"))


def _unfailing(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError as error:
            if "Singular" not in str(error) and "positive definite" not in str(error):
                raise
        harmless = [np.broadcast_to(np.eye(args[0].shape[-1], dtype=args[0].dtype), args[0].shape), *args[1:]]
        result = np.array(function(*harmless, **kwargs))
        flat = result.reshape(-1, *result.shape[args[0].ndim - 2 :]) if args[0].ndim > 2 else result[None]
        for i, matrix in enumerate(args[0].reshape(-1, *args[0].shape[-2:])):
            try:
                flat[i] = function(matrix, *(_nth(x, i, args[0].ndim) for x in args[1:]), **kwargs)
            except np.linalg.LinAlgError:
                flat[i] = np.nan
        return flat.reshape(result.shape)

    return call


def _nth(x: Any, i: int, ndim: int) -> Any:
    return x.reshape(-1, *x.shape[-2:])[i] if ndim > 2 and np.ndim(x) > 2 else x


# --- transfers that say so


def array(
    obj: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> Any:  # fmt: skip
    """An array of the device from anything: of the host's memory a copy, always."""
    wanted = None if dtype is None else refuse_dtype(dtype)
    if isinstance(obj, ndarray):
        if copy is not True and (wanted is None or wanted == obj.dtype) and obj.ndim >= ndmin and order in ("K", None):
            return obj
        host = host_of(obj)
        made = np.array(host if wanted is None else quietly(cast, host, wanted), order=order or "K", ndmin=ndmin)
        if copy is False and not (made.dtype == obj.dtype and made.shape == obj.shape):
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return wrapped(made)
    if isinstance(obj, (list, tuple)) and _holds_arrays(obj):
        return _nested(obj, wanted)
    host = np.array(obj, order=order or "K", ndmin=ndmin)
    refuse_dtype(host.dtype)
    return wrapped(np.array(host.astype(host.dtype.newbyteorder("=") if wanted is None else wanted)))


def _holds_arrays(obj: Any) -> bool:
    return any(isinstance(x, ndarray) or (isinstance(x, (list, tuple)) and _holds_arrays(x)) for x in obj)


def _nested(obj: Any, dtype: Any) -> Any:
    def bare(x: Any) -> Any:
        if isinstance(x, ndarray):
            return host_of(x)
        if isinstance(x, (list, tuple)):
            return [bare(item) for item in x]
        raise ValueError(f"Nested array: Unsupported type {type(x)}")

    made = np.array(bare(obj))
    return wrapped(made if dtype is None else cast(made, dtype))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> Any:
    """An array of the device from anything, itself where it is one."""
    return array(a, dtype, copy, order or "K", blocking=blocking)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """An array whose elements lie one after another."""
    made = asarray(a, dtype)
    made = made if made.ndim else made.reshape(1)
    return made if made.flags.c_contiguous else made.copy()


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """An array of NumPy's from anything."""
    return a.get(stream, order, out, blocking) if isinstance(a, ndarray) else np.asarray(a, order=order)  # type: ignore[call-overload]


def from_dlpack(array: Any, *, device: Any = None, copy: Any = None) -> Any:
    """An array of the device's from another library's there; memory of the host is none of its."""
    if isinstance(array, ndarray):
        return array if not copy else array.copy()
    raise BufferError(f"{type(array)} is in the host's memory")


# --- new arrays


def _new(fill: Any) -> Callable[..., Any]:
    def make(shape: Any, dtype: Any = float, order: str = "C") -> Any:
        host = rubbish(lengths(shape), refuse_dtype(dtype), order)
        if fill is not None:
            host[...] = fill
        return wrapped(host)

    return make


def _like(fill: Any) -> Callable[..., Any]:
    def make(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
        if subok is not None:
            raise TypeError("subok is not supported yet")
        model = unwrapped(a)
        found = np.empty_like(model, refuse_dtype(dtype or model.dtype), order, shape=lengths(shape))
        found[...] = rubbish((), found.dtype) if fill is None else fill
        return wrapped(found)

    return make


def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """New memory of an array's shape, with rubbish in it."""
    return _like(None)(prototype, dtype, order, subok, shape)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    """An array of one value."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, ndarray) else np.array(fill_value).dtype
    made = wrapped(rubbish(lengths(shape), refuse_dtype(dtype), order))
    made.fill(fill_value)
    return made


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> Any:
    """An array of one value, of another's shape."""
    made = _like(None)(a, dtype, order, subok, shape)
    made.fill(fill_value)
    return made


# --- the meaning differs


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """One of two values, by a condition; with the condition alone, where it holds."""
    if not isinstance(condition, ndarray):
        raise AttributeError(f"{type(condition)} object has no attribute 'astype'")
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return condition.nonzero()
    return SELECT(condition.astype(bool, copy=False), x, y)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    """Elements at places; those out of bounds wrap."""
    return a.take(indices, axis, out)


def take_along_axis(a: Any, indices: Any, axis: Any) -> Any:
    """Elements at places along an axis; those out of bounds wrap."""
    host, places = unwrapped(a), unwrapped(indices)
    if places.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    length = host.size if axis is None else host.shape[axis]
    return wrapped(np.take_along_axis(host, places % length if length else places, axis))


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Values within bounds."""
    return a.clip(a_min, a_max, out=out)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Elements several times."""
    return a.repeat(repeats, axis)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values belong in order."""
    if not isinstance(a, ndarray):
        raise NotImplementedError("Only int or ndarray are supported for a")
    return a.searchsorted(v, side, sorter)


def sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    """In order, a copy."""
    made = a.flatten() if axis is None else a.copy()
    made.sort(-1 if axis is None else axis, kind)
    return made


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    """The places in order."""
    return a.argsort(axis, kind)


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    """In another dtype."""
    return x.astype(dtype, copy=copy)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Write into an array."""
    source = unwrapped(src)
    if isinstance(src, ndarray) and not np.can_cast(source.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast {source.dtype} to {dst.dtype} in {casting} casting mode")
    np.copyto(host_of(dst), source, casting="unsafe", where=True if where is None else unwrapped(where))


def get_array_module(*args: Any) -> types.ModuleType:
    """CuPy where there is an array of its, else NumPy."""
    import cupy

    return cupy if any(isinstance(x, ndarray) for x in args) else np  # type: ignore[no-any-return]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that all go together in."""
    return np.result_type(*map(unwrapped, arrays_and_dtypes))


def min_scalar_type(a: Any) -> Any:
    """The smallest dtype that holds a scalar, or an array's own."""
    return a.dtype if isinstance(a, ndarray) and a.ndim else np.min_scalar_type(unwrapped(a))


def array_repr(arr: Any, *args: Any, **kwargs: Any) -> str:
    """As text."""
    transfer("array_repr()")
    return np.array_repr(unwrapped(arr), *args, **kwargs)


SELECT = ufunc("where", [(f"?{kind}{kind}", kind) for kind in "?bBhHiIlLqQefdFD"], np.where)
OWN: dict[str, Callable[..., Any]] = {
    "array": array,
    "asarray": asarray,
    "asanyarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "asnumpy": asnumpy,
    "from_dlpack": from_dlpack,
    "get_array_module": get_array_module,
    "empty": _new(None),
    "zeros": _new(0),
    "ones": _new(1),
    "full": full,
    "empty_like": empty_like,
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "full_like": full_like,
    "where": where,
    "take": take,
    "take_along_axis": take_along_axis,
    "clip": clip,
    "repeat": repeat,
    "searchsorted": searchsorted,
    "sort": sort,
    "argsort": argsort,
    "astype": astype,
    "copyto": copyto,
    "result_type": result_type,
    "min_scalar_type": min_scalar_type,
    "array_repr": array_repr,
}
"""What is not NumPy's function of that name."""
