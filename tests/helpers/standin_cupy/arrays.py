"""`cupy.ndarray` over NumPy, and CuPy's functions on it: memory that NumPy cannot see, and results that never leave it.

An array is never converted to NumPy's implicitly and never mixes with one; a result without dimensions is an array
still; of several values for one place, the first stays; nothing warns of a division by zero. Functions are NumPy's
of the same name with CuPy's parameters.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .device import Device, memory_of, transfer
from .record import FILE

__all__ = ["FUNCTIONS", "RECORD", "function", "host_of", "ndarray", "ufunc"]

RECORD: dict[str, Any] = json.loads(FILE.read_text())
"""What CuPy has: its names, and what its functions take."""

SCATTERED = {
    "add": "int32 uint32 uint64 float16 float32 float64 complex64 complex128",
    "maximum": "int32 uint32 int64 uint64 float32 float64",
    "minimum": "int32 uint32 int64 uint64 float32 float64",
}
"""The dtypes of which devices add and compare at places that may be named twice."""

_OPERANDS = (bool, int, float, complex, np.generic, np.ndarray)


def host_of(x: Any) -> Any:
    """The NumPy array that stands for an array's memory."""
    return x._ndarray__host


def wrapped(value: Any) -> Any:
    """Results of NumPy's as results of CuPy's: whatever is an array or an element of one is an array of the device."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    return type(value)(map(wrapped, value)) if isinstance(value, (tuple, list)) else value


def unwrapped(value: Any) -> Any:
    """Arguments of CuPy's as arguments of NumPy's; an array of NumPy's is none."""
    if isinstance(value, ndarray):
        return host_of(value)
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return type(value)(map(unwrapped, value)) if type(value) in (tuple, list) else value


def called(numpys: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What NumPy gives, on the device, without the warnings that a device has no means of giving."""
    given = {key: unwrapped(value) for key, value in kwargs.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        result = numpys(*map(unwrapped, args), **given)
    return wrapped(result) if kwargs.get("out") is None else kwargs["out"]


@functools.cache
def _signature(entry: str) -> inspect.Signature | None:
    """The parameters that an entry of the record names; None where it names none."""
    place: dict[str, Any] = {}
    if entry.startswith("("):
        exec(f"def function{entry}: ...", place)
    return inspect.signature(place["function"]) if place else None


def function(name: str, entry: str, numpys: Any) -> Callable[..., Any]:
    """A function or method with CuPy's parameters that does what NumPy's does; without one, it says so."""
    signature = _signature(entry)

    def call(*args: Any, **kwargs: Any) -> Any:
        if numpys is None:
            raise NotImplementedError(f"not modelled: cupy's {name}")
        if signature is not None:
            shape = signature.bind(*args, **kwargs).arguments.get("shape")
            if any(isinstance(length, ndarray) for length in (shape if isinstance(shape, tuple) else (shape,))):
                raise TypeError("'cupy.ndarray' object cannot be interpreted as an integer")
        kwargs.pop("blocking", None)
        if name in ("argsort", "sort"):
            kwargs.setdefault("kind", "stable")
        result = called(numpys, *args, **kwargs)
        return ndarray(result) if name in ("allclose", "array_equal") else result

    call.__name__ = call.__qualname__ = name
    call.__module__ = "cupy"
    if signature is not None:
        call.__signature__ = signature  # type: ignore[attr-defined]
    return call


class ufunc:  # noqa: N801 - its name in CuPy
    """One of CuPy's, by NumPy's."""

    def __init__(self, numpys: np.ufunc) -> None:
        self._numpys, self.__name__, self.name = numpys, numpys.__name__, f"cupy_{numpys.__name__}"

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> Any:
        if not all(isinstance(x, (ndarray, *_OPERANDS)) for x in args):
            raise TypeError(f"Unsupported types {list(map(type, args))}")
        return called(self._numpys, *args, out=out, dtype=dtype, casting=casting)

    def outer(self, a: Any, b: Any, **options: Any) -> Any:
        """Apply to all pairs."""
        return called(self._numpys.outer, a, b, **options)

    def at(self, a: Any, indices: Any, b: Any) -> None:
        """Apply in place at places that may be named twice."""
        if str(a.dtype) not in SCATTERED.get(self.__name__, "").split():
            raise TypeError(f"{self.name}.at does not support {a.dtype}")
        called(self._numpys.at, a, indices, b)


class ndarray:  # noqa: N801 - its name in CuPy
    """See the module."""

    __slots__ = ("__host", "__weakref__")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, host: Any) -> None:
        self.__host = np.asarray(host)
        if self.__host.dtype.kind not in "biufcV" or self.__host.dtype.name in ("longdouble", "clongdouble"):
            raise ValueError(f"Unsupported dtype {self.__host.dtype}")

    device = property(lambda self: Device(0))
    data = property(lambda self: types.SimpleNamespace(ptr=self.__host.ctypes.data, mem=memory_of(self.__host)))

    @property
    def flags(self) -> Any:
        """There is no `writeable` in CuPy."""
        known = ("c_contiguous", "f_contiguous", "owndata")
        return types.SimpleNamespace(**{name: getattr(self.__host.flags, name) for name in known})

    # to the host

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        host = _out("get()", np.array)(self)
        if out is None:
            return host
        out[...] = host
        return out

    def __array__(self, dtype: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __reduce__(self) -> Any:
        return sys.modules["cupy"].array, (self.get(),)

    def __deepcopy__(self, memo: Any) -> Any:
        return ndarray(self.__host.copy())

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if dl_device is None or tuple(dl_device) == self.__dlpack_device__():
            raise NotImplementedError("not modelled: a capsule of a device's memory")
        return _out("__dlpack__ for another device", np.array)(self).__dlpack__(max_version=max_version)

    # indexing

    def __len__(self) -> int:
        return len(self.__host)

    def __iter__(self) -> Any:
        return map(wrapped, iter(self.__host))

    def __getitem__(self, slices: Any) -> Any:
        return wrapped(self.__host[_index(slices)])

    def __setitem__(self, slices: Any, value: Any) -> None:
        index = _index(slices)
        written = np.broadcast_to(unwrapped(value), self.__host[index].shape)
        if not any(isinstance(entry, np.ndarray) for entry in (index if isinstance(index, tuple) else (index,))):
            self.__host[index] = written
            return
        places = np.arange(self.__host.size).reshape(self.__host.shape)[index]
        self.__host.flat[places.reshape(-1)[::-1]] = written.reshape(-1)[::-1]

    # NumPy's functions, given these arrays

    def __array_ufunc__(self, numpys: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = getattr(sys.modules["cupy"], numpys.__name__, None)
        own = own if method == "__call__" else getattr(own, method, None)
        if own is None or not all(isinstance(x, (ndarray, *_OPERANDS)) for x in inputs):
            return NotImplemented
        if "out" in kwargs:
            (kwargs["out"],) = kwargs["out"]
        return own(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        module: Any = sys.modules["cupy"]
        for name in (*func.__module__.split(".")[1:], func.__name__):
            module = getattr(module, name, None)
        return NotImplemented if module is None else module(*args, **kwargs)


def _index(slices: Any) -> Any:
    """An index for NumPy; arrays of NumPy's are taken to the device."""
    if isinstance(slices, tuple):
        return tuple(map(_index, slices))
    return host_of(slices) if isinstance(slices, ndarray) else slices


def _out(how: str, convert: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method that copies to the host, and says so."""

    def method(self: Any, *args: Any) -> Any:
        transfer(how)
        return convert(host_of(self), *args)

    return method


def _operator(name: str) -> Callable[..., Any]:
    """What NumPy's operator does, where the other operand is an array or a number."""

    def operate(self: Any, *others: Any) -> Any:
        if not all(isinstance(x, (ndarray, *_OPERANDS)) for x in others):
            return NotImplemented
        result = called(getattr(np.ndarray, name), self, *others)
        return self if name.startswith("__i") and name != "__invert__" else result

    return operate


def _complete() -> None:
    """Give the class every further name on CuPy's list: NumPy's, or known not to be modelled."""
    for name in ("int", "float", "complex", "bool", "repr", "str", "format"):
        method = _out(f"{name}()", getattr(np.ndarray, f"__{name}__", None) or complex)
        setattr(ndarray, f"__{name}__", method)
    for name in ("item", "tolist", "tobytes"):
        setattr(ndarray, name, _out(f"{name}()", getattr(np.ndarray, name)))
    lacking = ("__getstate__", "__reduce_ex__", "__setattr__", "__delattr__", "__class_getitem__", "__copy__")
    for name, entry in RECORD["ndarray"].items():
        numpys = getattr(np.ndarray, name, None)
        if name in vars(ndarray) or (name.startswith("__") and (name in vars(object) or name in lacking)):
            if name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
                setattr(ndarray, name, _operator(name))
        elif name.startswith("__") and callable(numpys):
            setattr(ndarray, name, _operator(name))
        elif entry.startswith("("):
            setattr(ndarray, name, function(name, entry, numpys))
        elif not name.startswith("__"):
            setattr(ndarray, name, _attribute(name))


def _attribute(name: str) -> property:
    def read(self: Any) -> Any:
        if not hasattr(np.ndarray, name):
            raise NotImplementedError(f"not modelled: cupy.ndarray.{name}")
        return wrapped(getattr(host_of(self), name))

    return property(read, lambda self, value: setattr(host_of(self), name, unwrapped(value)))


_complete()
ndarray.__module__, ndarray.__qualname__ = "cupy", "ndarray"


def array(
    obj: Any, dtype: Any = None, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> Any:  # fmt: skip
    """An array of the device from anything: of the host's memory a copy, always."""
    if isinstance(obj, ndarray):
        return called(np.array, obj, dtype=dtype, copy=None if copy is False else copy, order=order, ndmin=ndmin)
    given = unwrapped(obj) if isinstance(obj, (list, tuple)) else obj
    made = np.array(given, dtype=dtype, order=order or "K", ndmin=ndmin)
    return ndarray(made.astype(made.dtype.newbyteorder("=")))


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> Any:
    """An array of the device from anything, itself where it is one."""
    same = isinstance(a, ndarray) and (dtype is None or np.dtype(dtype) == host_of(a).dtype)
    return a if same and not copy and order is None else array(a, dtype, copy, order)


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """An array of NumPy's from anything."""
    return a.get(out=out) if isinstance(a, ndarray) else np.asarray(a)


def from_dlpack(array: Any, *, device: Any = None, copy: Any = None) -> Any:
    """An array of the device's from another library's there; memory of the host is none of its."""
    if not isinstance(array, ndarray):
        raise BufferError(f"{type(array)} is in the host's memory")
    return array.copy() if copy else array


FUNCTIONS: dict[str, Any] = {
    "ndarray": ndarray, "ufunc": ufunc, "array": array, "asarray": asarray, "asanyarray": asarray,
    "ascontiguousarray": lambda a, dtype=None: called(np.ascontiguousarray, asarray(a, dtype)), "asnumpy": asnumpy,
    "from_dlpack": from_dlpack,
    "get_array_module": lambda *args: sys.modules["cupy"] if any(isinstance(x, ndarray) for x in args) else np,
}  # fmt: skip
"""What is not NumPy's function of that name."""
