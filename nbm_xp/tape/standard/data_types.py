"""Data types: promotion, kinds, limits, casts, and conversion of arguments to a common dtype.

Arguments of different dtypes are cast to the dtype of NumPy's promotion, so that all libraries, including
array-api-strict, compute the same; Python scalars are weak.
"""

from __future__ import annotations

import builtins
from types import SimpleNamespace
from typing import Any

from nbm_xp.namespace import DTYPE_NAMES, default_namespace, dtype_name, floatx, host_namespace, is_lazy

from .. import dtypes as _dtypes
from ..dtypes import DType, as_dtype, common_dtype, float_of, weak_dtype
from ..graph import Node
from ..lengths import is_number, kind_of_number
from ..operations import Spec, declare
from ..tensor import Tensor, as_tensor, record

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the promoted dtype of arrays, dtypes and Python scalars; scalars and lengths are weak.

    Raises
    ------
    ValueError
        If all arguments are scalars.
    """
    scalars = [kind_of_number(item) for item in arrays_and_dtypes if is_number(item)]
    strong = [item for item in arrays_and_dtypes if not is_number(item)]
    if not strong:
        raise ValueError("result_type needs at least one array or dtype")
    return weak_dtype(common_dtype(*map(_dtype_of, strong)), *scalars)


def _dtype_of(item: Any) -> DType:
    return item.dtype if isinstance(item, Tensor) else as_dtype(item)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Return whether promotion casts a dtype to another."""
    wanted = _dtype_of(to)
    return builtins.bool(common_dtype(_dtype_of(from_), wanted) == wanted)


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Return whether a dtype is equal to, or of, the given dtype or kind, or any of several."""
    return builtins.bool(host_namespace().isdtype(as_dtype(dtype), kind))


def _limited(type: Any, kinds: str, what: str) -> DType:
    """Return the dtype of a dtype or array; raise if it is of another kind than `kinds`."""
    if is_number(type) or isinstance(type, complex):
        raise TypeError(f"type must be a dtype or an array, got {type!r}")
    dtype = _dtype_of(type)
    if dtype.kind not in kinds:
        raise TypeError(f"type must be {what}, got {dtype}")
    return dtype


def finfo(type: Any, /) -> SimpleNamespace:
    """Return the limits of a floating dtype or an array's dtype; for a complex dtype, those of its real part.

    Raises
    ------
    TypeError
        If `type` is neither a floating dtype nor an array with one.
    """
    dtype = real_of(_limited(type, "fc", "floating"))
    found = host_namespace().finfo(dtype)
    numbers = {key: float(getattr(found, key)) for key in ("eps", "max", "min", "smallest_normal")}
    return SimpleNamespace(bits=int(found.bits), dtype=dtype, **numbers)


def iinfo(type: Any, /) -> SimpleNamespace:
    """Return the limits of an integer dtype or an array's dtype.

    Raises
    ------
    TypeError
        If `type` is neither an integer dtype nor an array with one.
    """
    dtype = _limited(type, "iu", "integer")
    found = host_namespace().iinfo(dtype)
    return SimpleNamespace(bits=int(found.bits), dtype=dtype, max=int(found.max), min=int(found.min))


# The only device of Tensors; the device of their values is determined when they are computed.
DEVICE = "recorded"


def check_device(device: Any) -> None:
    """Raise if a device is neither None nor `DEVICE`."""
    if device not in (None, DEVICE):
        raise ValueError(f"device must be None or {DEVICE!r} for a Tensor, got {device!r}")


class Info:
    """The result of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities; data-dependent shapes need known values, so lazy libraries do not support them."""
        eager = not is_lazy(default_namespace())
        return {"boolean indexing": eager, "data-dependent shapes": eager, "max dimensions": 64}

    def default_device(self) -> str:
        """Return the device of new Tensors."""
        return DEVICE

    def devices(self) -> tuple[str, ...]:
        """Return all devices."""
        return (DEVICE,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the default dtypes of creation functions; the floating ones follow ``floatx``."""
        check_device(device)
        real = as_dtype(floatx())
        integers = {"integral": _dtypes.int64, "indexing": _dtypes.int64}
        return {"real floating": real, "complex floating": complex_of(real), **integers}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """Return the standard's dtypes by name, of one or several kinds."""
        check_device(device)
        found = {name: as_dtype(name) for name in DTYPE_NAMES if name != "float16"}
        return {name: dtype for name, dtype in found.items() if kind is None or isdtype(dtype, kind)}


_ASTYPE = declare(
    "astype",
    lambda x, dtype: (x.shape, dtype),
    (lambda g, out, x, dtype: g,),  # the reverse pass casts gradients to the dtype of their input
    run=lambda xp, x, dtype: x if x.dtype == dtype else xp.astype(x, dtype),
    may_overlap=True,
)


def astype(x: Any, dtype: Any, /, *, copy: builtins.bool = True, device: Any = None) -> Tensor:
    """Cast an array to another dtype; no gradient flows through an integer dtype.

    Raises
    ------
    TypeError
        If a complex array would be cast to a real dtype; use `real`, `imag` or `abs`.
    """
    check_device(device)
    x, wanted = as_tensor(x), as_dtype(dtype)
    if x.dtype.kind == "c" != wanted.kind:
        raise TypeError(f"an array of {x.dtype} does not become one of {wanted}: take its real, imag or abs")
    return x if not copy and x.dtype == wanted else record(_ASTYPE, x, wanted)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """Cast a Tensor to a dtype; return it unchanged if it has the dtype."""
    return x if x.node.dtype == dtype else astype(x, dtype)


_SCALAR = declare(
    "scalar", lambda value, *, dtype: ((), dtype), (), run=lambda xp, value, *, dtype: xp.asarray(value, dtype=dtype)
)


def scalar(number: Any, dtype: DType) -> Tensor:
    """Convert a number or a length to a Tensor.

    Raises
    ------
    OverflowError
        If an integer is out of range of the dtype.
    """
    if dtype.kind in "iu" and type(number) is int:
        limits = host_namespace().iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{dtype} holds {limits.min} to {limits.max}, not {number}")
    return record(_SCALAR, number, dtype=dtype)


def is_complex(x: Any) -> builtins.bool:
    """Return whether a Tensor, an array or a Python number is complex."""
    return isinstance(x, complex) if is_number(x) else dtype_name(x)[0] == "c"


_REAL_OF = {_dtypes.complex64: _dtypes.float32, _dtypes.complex128: _dtypes.float64}


def real_of(dtype: DType) -> DType:
    """Return the dtype of the real part of a complex dtype; other dtypes unchanged."""
    return _REAL_OF.get(dtype, dtype)


def to_real(x: Node) -> Spec:
    """Return the shape of `x` and the real dtype of its dtype: the `infer` rule of functions with real results."""
    return x.shape, real_of(x.dtype)


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype of the same precision; complex64 for float16."""
    return common_dtype(dtype, _dtypes.complex64)


def refuse_complex(name: str, **arguments: Any) -> None:
    """Raise if an argument of a function of real numbers is complex.

    Raises
    ------
    TypeError
        If an argument is complex.
    """
    for key, value in arguments.items():
        if value is not None and is_complex(value):
            kind = "a complex number" if is_number(value) else value.dtype
            raise TypeError(f"{name} is a function of real numbers, {key} is {kind}: take its real, imag or abs first")


def together(*values: Any) -> tuple[Any, ...]:
    """Cast arguments to their common dtype; Python scalars stay weak unless all arguments are scalars."""
    if all(map(is_number, values)):
        return tuple(map(as_tensor, values))
    tensors = [value if is_number(value) else as_tensor(value) for value in values]
    numbers = (kind_of_number(value) for value in tensors if not isinstance(value, Tensor))
    dtype = weak_dtype(common_dtype(*(t.node.dtype for t in tensors if isinstance(t, Tensor))), *numbers)
    several = any(isinstance(t, Tensor) and plain_number(t) is None for t in tensors)
    return tuple(_cast_or_number(t, dtype, several) if isinstance(t, Tensor) else t for t in tensors)


def _cast_or_number(x: Tensor, dtype: DType, several: builtins.bool) -> Any:
    """Cast an argument; if another argument is an array, replace a recorded scalar of that dtype by its number."""
    number = plain_number(x) if several and x.dtype == dtype else None
    return cast(x, dtype) if number is None else number


def floating(x: Any) -> Tensor:
    """Convert to a floating Tensor: bool and integers of 8 and 16 bits become ``floatx``, wider integers float64."""
    tensor = x if isinstance(x, Tensor) else as_tensor(x)
    dtype = tensor.node.dtype
    return tensor if dtype.kind in "fc" else cast(tensor, float_of(dtype))


def divisible(x: Tensor) -> Tensor:
    """Cast integers to ``floatx``, the dtype of their quotient."""
    return x if x.node.dtype.kind in "fc" else cast(x, as_dtype(floatx()))


def plain_number(value: Any) -> float | None:
    """Return the number of a Python number or a recorded floating scalar; None for other values."""
    if isinstance(value, Tensor):
        node = value.node
        held = node.args[0] if node.op is _SCALAR and node.dtype.kind == "f" else None
        return held if isinstance(held, (int, float)) else None
    return value if isinstance(value, (int, float)) else None


def both_tensors(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Convert a Python number among two arguments to a Tensor of the other's dtype."""
    dtype = (x1 if isinstance(x1, Tensor) else x2).dtype
    return tuple(x if isinstance(x, Tensor) else scalar(x, dtype) for x in (x1, x2))  # type: ignore[return-value]
