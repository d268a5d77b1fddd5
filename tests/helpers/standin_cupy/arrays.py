"""`cupy.ndarray` over NumPy: memory that NumPy cannot see, results that never leave it, and CuPy's own rules of mixing.

What differs from NumPy and is modelled here: an array is never converted to NumPy's unasked and never mixes with one;
a result without dimensions is an array still; indices out of bounds wrap; where several values are written to one
place, which of them stays is not the last; numbers out of an integer type's range saturate; new memory holds rubbish;
nothing warns of a division by zero. Whatever NumPy's array can do and is not on CuPy's list, this one cannot.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .device import Device, MemoryPointer, memory_of
from .names import RECORD, checked
from .transfers import transfer

__all__ = ["Flags", "cast", "host_of", "lengths", "ndarray", "refuse_dtype", "rubbish", "unwrapped", "wrapped"]

SCATTERED = {
    "add": "int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128",
    "subtract": "int32 uint32",
    "maximum": "int32 uint32 int64 uint64 float32 float64",
    "minimum": "int32 uint32 int64 uint64 float32 float64",
}


class Flags:
    """What is known of an array's memory: there is no `writeable` in CuPy."""

    def __init__(self, c: bool, f: bool, own: bool) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = c, f, own
        self.fnc, self.forc = f and not c, f or c


def refuse_dtype(dtype: Any) -> Any:
    """A dtype of NumPy's, once it is certain that CuPy has it."""
    found = np.dtype(dtype)
    if found.fields:
        return found
    if (
        found.kind not in "biufc"
        or found.name not in (*np.sctypeDict, "bool")
        or found.itemsize > 8 * (1 + (found.kind == "c"))
    ):
        raise ValueError(f"Unsupported dtype {found}")
    return found.newbyteorder("=")


def cast(host: Any, dtype: Any) -> Any:
    """Numbers of NumPy's as a device casts them: to integers, what is out of range saturates."""
    if dtype.kind in "iu" and host.dtype.kind == "f" and host.size:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        whole = np.trunc(host.astype(np.float64))
        # what is no number becomes 0 in 32 bits and less, the lowest number of all in 64
        nothing = least if dtype.itemsize == 8 and dtype.kind == "i" else 0
        inside = np.where((whole >= -(2.0**63)) & (whole < (2.0**63 if dtype.kind == "i" else 2.0**64)), whole, 0)
        result = np.clip(inside.astype(dtype if dtype.itemsize == 8 else np.int64), least, most).astype(dtype)
        result = np.where(whole >= float(most), most, np.where(whole <= float(least), least, result))
        return np.where(np.isnan(whole), nothing, result).astype(dtype)
    return host.astype(dtype)


def rubbish(shape: Any, dtype: Any, order: str = "C") -> Any:
    """Memory as it is found: every byte 0xA5; no element is zero, and none is likely."""
    host = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    flat = host.reshape(-1, order="A")
    (flat if flat.dtype.kind == "b" else flat.view(np.uint8))[...] = 0xA5
    return host


def host_of(x: Any) -> Any:
    """The NumPy array that stands for an array's memory."""
    return x._ndarray__host


def wrapped(value: Any) -> Any:
    """Results of NumPy's as results of CuPy's: whatever is an array or an element of one is an array of the device."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray._of(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(wrapped, value))
    return value


def unwrapped(value: Any) -> Any:
    """Arguments of CuPy's as arguments of NumPy's; an array of NumPy's is none."""
    if isinstance(value, ndarray):
        return host_of(value)
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(map(unwrapped, value))
    return value


def quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What NumPy gives, without the warnings that a device has no means of giving."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return function(*arguments, **options)


class ndarray:  # noqa: N801 - its name in CuPy
    """See the module."""

    __slots__ = ("__base", "__host", "__weakref__")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is not None or strides is not None:
            raise NotImplementedError("not modelled: an array in memory that is given")
        self.__host = rubbish(lengths(shape), refuse_dtype(dtype), order)
        self.__base = None

    @classmethod
    def _of(cls, host: Any, base: Any = None) -> Any:
        refuse_dtype(host.dtype)
        made = object.__new__(ndarray)
        made.__host, made.__base = host, base
        return made

    def _view(self, host: Any) -> Any:
        """A part of this array, or all of it in another form: in the same memory where NumPy found that it can be."""
        shared = host is self.__host or np.may_share_memory(host, self.__host)
        return ndarray._of(host, (self if self.__base is None else self.__base) if shared else None)

    # what it is

    shape = property(lambda self: self.__host.shape, lambda self, to: setattr(self.__host, "shape", to))
    dtype = property(lambda self: self.__host.dtype)
    ndim = property(lambda self: self.__host.ndim)
    size = property(lambda self: self.__host.size)
    strides = property(lambda self: self.__host.strides)
    itemsize = property(lambda self: self.__host.itemsize)
    nbytes = property(lambda self: self.__host.nbytes)
    base = property(lambda self: self.__base)
    device = property(lambda self: Device(0))
    data = property(lambda self: MemoryPointer(memory_of(self.__host), self.__host.ctypes.data))
    T = property(lambda self: self._view(self.__host.T))
    mT = property(lambda self: self._view(self.__host.mT))  # noqa: N815 - its name in CuPy
    imag = property(
        lambda self: self._view(self.__host.imag) if self.dtype.kind == "c" else wrapped(np.zeros_like(self.__host)),
        lambda self, to: self.imag.__setitem__(..., to),
    )
    real = property(
        lambda self: self._view(self.__host.real) if self.dtype.kind == "c" else self,
        lambda self, to: self.real.__setitem__(..., to),
    )

    @property
    def flags(self) -> Flags:
        flags = self.__host.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self.__base is None)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        plain = self.__host.flags.c_contiguous
        place = {"shape": self.shape, "typestr": self.dtype.str, "descr": self.dtype.descr, "version": 3}
        return {**place, "data": (self.data.ptr, False), "strides": None if plain else self.strides, "stream": 1}

    # to the host, and back

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        transfer("get()")
        if out is None:
            return np.array(self.__host, order=order)  # type: ignore[call-overload]
        if not isinstance(out, np.ndarray):
            raise TypeError("Only numpy.ndarray can be obtained fromcupy.ndarray")
        if out.dtype != self.dtype:
            raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
        if out.shape != self.shape:
            raise ValueError(f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
        out[...] = self.__host
        return out

    def set(self, arr: Any, stream: Any = None) -> None:
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        self.__host[...] = arr

    def item(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        transfer("item()")
        return self.__host.item()

    def _out(self, how: str, function: Callable[[Any], Any]) -> Any:
        transfer(how)
        return function(self.__host)

    def tolist(self) -> Any:
        return self._out("tolist()", lambda host: host.tolist())

    def tobytes(self, order: Any = "C") -> bytes:
        return self._out("tobytes()", lambda host: host.tobytes(order))  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __int__(self) -> int:
        return self._out("int()", int)  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self._out("float()", float)  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self._out("complex()", complex)  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        if self.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        if not self.size:
            warnings.warn("The truth value of an empty array is ambiguous.", DeprecationWarning, stacklevel=2)
            return False
        return bool(self._out("bool()", lambda host: host.reshape(-1)[0]))

    def __repr__(self) -> str:
        return self._out("repr()", repr)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self._out("str()", str)  # type: ignore[no-any-return]

    def __format__(self, format_spec: str) -> str:
        return self._out("format()", lambda host: format(host[()] if not host.ndim else host, format_spec))  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        import cupy

        return cupy.array, (self.get(order="A"),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if dl_device is None or tuple(dl_device) == self.__dlpack_device__():
            raise NotImplementedError("not modelled: a capsule of a device's memory")
        transfer("__dlpack__ for another device")
        return np.array(self.__host).__dlpack__(max_version=max_version)

    # indexing

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.__host.shape[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def _places(self, slices: Any) -> tuple[tuple[Any, ...], bool]:
        """An index for NumPy, with integers that are out of bounds wrapped; and whether it holds arrays."""
        entries = [_entry(entry) for entry in (slices if isinstance(slices, tuple) else (slices,))]
        taken = sum(entry.ndim if _is_mask(entry) else entry is not None and entry is not ... for entry in entries)
        if not any(entry is ... for entry in entries):
            entries.append(...)
        axis, places = 0, []
        for entry in entries:
            if entry is ...:
                axis += self.ndim - taken
            elif _is_mask(entry):
                axis += entry.ndim
            elif entry is not None:
                if isinstance(entry, np.ndarray) and axis < self.ndim and self.shape[axis]:
                    entry = entry % self.shape[axis]
                axis += 1
            places.append(entry)
        return tuple(places), any(isinstance(entry, np.ndarray) for entry in places)

    def __getitem__(self, slices: Any) -> Any:
        if self.dtype.fields and isinstance(slices, str):
            return self._view(self.__host[slices])
        places, _ = self._places(slices)
        return self._view(np.asarray(self.__host[places]))

    def __setitem__(self, slices: Any, value: Any) -> None:
        if self.dtype.fields and isinstance(slices, str):
            self[slices][...] = value
            return
        places, advanced = self._places(slices)
        if not advanced:
            target = self.__host[places]
            if isinstance(value, ndarray):
                target[...] = quietly(cast, host_of(value), self.dtype)
            elif np.ndim(value):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
            else:
                target[...] = quietly(np.asarray, value, self.dtype)
            return
        order = np.arange(self.size).reshape(self.shape)[places]
        given = quietly(cast, _uploaded(value), self.dtype)
        written = np.broadcast_to(given, order.shape)
        flat = self.__host.reshape(-1) if self.__host.flags.c_contiguous else self.__host.flatten()
        flat[order.reshape(-1)[::-1]] = written.reshape(-1)[::-1]  # of several values for a place, the first stays
        if not self.__host.flags.c_contiguous:
            self.__host[...] = flat.reshape(self.shape)

    def _scatter(self, name: str, slices: Any, value: Any) -> None:
        if self.dtype.name not in SCATTERED[name].split():
            raise TypeError(f"cupy.{name}.at only supports {SCATTERED[name]} as data type")
        places, _ = self._places(slices)
        quietly(getattr(np, name).at, self.__host, places, quietly(cast, _uploaded(value), self.dtype))

    def scatter_add(self, slices: Any, value: Any) -> None:
        self._scatter("add", slices, value)

    def scatter_max(self, slices: Any, value: Any) -> None:
        self._scatter("maximum", slices, value)

    def scatter_min(self, slices: Any, value: Any) -> None:
        self._scatter("minimum", slices, value)

    # NumPy's functions, given these arrays

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        import cupy

        operands = inputs
        if "out" in kwargs:
            if len(kwargs["out"]) != 1:
                raise ValueError("The 'out' parameter must have exactly one array value")
            operands += kwargs["out"]
            kwargs["out"] = kwargs["out"][0]
        if method not in ("__call__", "outer", "at", "reduce", "accumulate", "reduceat"):
            return NotImplemented
        function = getattr(cupy, ufunc.__name__, None)
        function = function if method == "__call__" else getattr(function, method, None)
        if function is None:
            return NotImplemented
        for x in operands:
            if not isinstance(x, (bool, int, float, complex, np.generic, np.ndarray, ndarray)):
                return NotImplemented
        return function(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        import cupy

        module: Any = cupy
        for name in (*func.__module__.split(".")[1:], func.__name__):
            module = getattr(module, name, None)
        if module is None or module is func:
            return NotImplemented
        if not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        return module(*args, **kwargs)

    # methods with rules of their own

    def astype(self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if casting is not None:
            raise TypeError("casting is not supported yet")
        if subok is not None:
            raise TypeError("subok is not supported yet")
        wanted = refuse_dtype(dtype)
        if wanted == self.dtype and not copy:
            return self
        kept = np.array(self.__host, order=order)
        return wrapped(kept if wanted == self.dtype else np.array(quietly(cast, kept, wanted), order=order))

    def copy(self, order: Any = "C") -> Any:
        return wrapped(np.array(self.__host, order=order))

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if type is not None and type is not ndarray:
            raise NotImplementedError("not modelled: views as arrays of another class")
        return self._view(self.__host.view() if dtype is None else self.__host.view(refuse_dtype(dtype)))

    def fill(self, value: Any) -> None:
        if isinstance(value, ndarray):
            if value.shape:
                raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
            self.__host[...] = quietly(cast, host_of(value), self.dtype)
        else:
            if np.ndim(value):
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
            self.__host[...] = quietly(np.asarray, value, self.dtype)

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        return self._view(self.__host.reshape(*map(lengths, shape), order=order, copy=copy))

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        _check_sort(kind)
        self.__host.sort(axis, kind="stable")

    def argsort(self, axis: Any = -1, kind: Any = None) -> Any:
        _check_sort(kind)
        return wrapped(self.__host.argsort(axis, kind="stable"))

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise NotImplementedError("not modelled: take with out")
        whole = self.__host.reshape(-1) if axis is None else self.__host
        along = 0 if axis is None else axis
        if isinstance(indices, (int, np.integer)):
            return wrapped(np.take(whole, indices, along))
        places = _uploaded(indices).astype(np.int64, copy=False)
        if places.size and not whole.shape[along]:
            raise IndexError("cannot do a non-empty take from an empty axes.")
        return wrapped(np.take(whole, places, along, mode="wrap"))

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        if isinstance(repeats, np.ndarray):
            raise TypeError("'repeats' does not accept numpy.ndarray; convert with cupy.array() first")
        return wrapped(np.repeat(self.__host, unwrapped(repeats), axis))

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        if not isinstance(v, (ndarray, int, float, complex)):
            raise NotImplementedError("Only python scalars or ndarrays are supported for v")
        return wrapped(np.searchsorted(self.__host, unwrapped(v), side, unwrapped(sorter)))  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        if min is None and max is None:
            raise ValueError("array_clip: must set either max or min")
        return _into(out, quietly(np.clip, self.__host, unwrapped(min), unwrapped(max)))


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, np.ndarray) and entry.dtype == bool


def _entry(entry: Any) -> Any:
    """One entry of an index: lists and arrays of NumPy's are taken to the device, as CuPy takes them."""
    if isinstance(entry, ndarray):
        return host_of(entry)
    if isinstance(entry, (bool, np.bool_)):
        return np.asarray(entry)
    if isinstance(entry, (list, tuple, np.ndarray)):
        made = _uploaded(entry)
        return made.astype(np.int32) if isinstance(entry, (list, tuple)) and not made.size else made
    return entry


def _uploaded(value: Any) -> Any:
    import cupy

    return host_of(cupy.array(value))


def lengths(shape: Any) -> Any:
    """A shape, or a length of one: arrays of CuPy's are neither."""
    if isinstance(shape, ndarray) or (isinstance(shape, (tuple, list)) and any(isinstance(x, ndarray) for x in shape)):
        raise TypeError("'cupy.ndarray' object cannot be interpreted as an integer")
    return shape


def _check_sort(kind: Any) -> None:
    if kind not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")


def _into(out: Any, result: Any) -> Any:
    """A result of NumPy's, in the array that was given for it."""
    if out is None:
        return wrapped(result)
    out[...] = wrapped(np.asarray(result))
    return out


def _delegated(name: str, entry: str) -> Callable[..., Any]:
    """A method that does what NumPy's does, with the parameters that CuPy's has."""
    signature = checked(entry)
    assert signature is not None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        signature.bind(self, *args, **kwargs)
        if name in VIEWS:
            return self._view(getattr(host_of(self), name)(*args, **kwargs))
        import cupy

        function = getattr(cupy, name, None)
        if function is None:
            raise NotImplementedError(f"not modelled: cupy.ndarray.{name}")
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


VIEWS = frozenset(("diagonal", "ravel", "squeeze", "swapaxes", "transpose", "flatten"))
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul", "divmod": "divmod",
}  # fmt: skip
COMPARED = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _defers(x: Any, y: Any) -> bool:
    """Whether the other operand is to have its way."""
    nothing = object()
    own = getattr(y, "__array_ufunc__", nothing)
    if own is not nothing:
        return own is None
    return getattr(x, "__array_priority__", 0) < getattr(y, "__array_priority__", 0)


def _operators(name: str) -> tuple[Callable[..., Any], ...]:
    def forward(x: Any, y: Any, *modulo: Any) -> Any:
        import cupy

        if isinstance(y, ndarray):
            return getattr(cupy, name)(x, y)
        return NotImplemented if _defers(x, y) else getattr(np, name)(x, y)

    def backward(x: Any, y: Any, *modulo: Any) -> Any:
        return NotImplemented if _defers(x, y) else getattr(np, name)(y, x)

    def in_place(x: Any, y: Any) -> Any:
        import cupy

        if name == "matmul":
            x[...] = cupy.matmul(x, y)
            return x
        return getattr(cupy, name)(x, y, out=x)

    return forward, backward, in_place


def _comparison(name: str) -> Callable[..., Any]:
    def compare(x: Any, y: Any) -> Any:
        import cupy

        if isinstance(y, np.ndarray) and not y.ndim:
            y = y.item()
        if isinstance(y, ndarray):
            return getattr(cupy, name)(x, y)
        if name in ("equal", "not_equal") and (y is None or type(y).__eq__ is object.__eq__):
            return cupy.full(x.shape, name == "not_equal", dtype=bool)
        return NotImplemented if _defers(x, y) else getattr(np, name)(x, y)

    return compare


def _unary(name: str) -> Callable[[Any], Any]:
    def operate(x: Any) -> Any:
        import cupy

        return getattr(cupy, name)(x)

    return operate


def _missing(name: str) -> property:
    def refuse(self: Any) -> Any:
        raise NotImplementedError(f"not modelled: cupy.ndarray.{name}")

    return property(refuse)


def _complete() -> None:
    """Give the class the operators, and every further name on CuPy's list: delegated, or known not to be modelled."""
    for name, function in BINARY.items():
        forms = dict(zip(("__{}__", "__r{}__", "__i{}__"), _operators(function), strict=True))
        for form, operator in forms.items():
            if form.format(name) in RECORD["ndarray"]:
                setattr(ndarray, form.format(name), operator)
    for name, function in COMPARED.items():
        setattr(ndarray, f"__{name}__", _comparison(function))
    for name, function in UNARY.items():
        setattr(ndarray, f"__{name}__", _unary(function))
    for name, entry in RECORD["ndarray"].items():
        if not name.startswith("_") and name not in vars(ndarray):
            setattr(ndarray, name, _delegated(name, entry) if entry.startswith("(") else _missing(name))


_complete()
ndarray.__module__, ndarray.__qualname__ = "cupy", "ndarray"
