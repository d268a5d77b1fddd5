"""Casts: values in another dtype, numbers as arrays without axes, and arguments brought to a common dtype.

Arguments of different dtypes are cast to what NumPy's promotion gives, so that every library, the strict one included,
computes the same; Python scalars are weak.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import floatx

from ..dtypes import DType, as_dtype, common_dtype, float_of, weak_dtype
from ..node import declare
from ..operators import is_number, kind_of_number
from ..tensor import Tensor, as_tensor, record
from .data_types import check_device, iinfo

__all__ = [
    "astype", "both_tensors", "cast", "complex_of", "divisible", "floating", "is_complex", "plain_number", "real_of",
    "refuse_complex", "scalar", "together",
]  # fmt: skip

_ASTYPE = declare(
    "astype",
    lambda x, dtype: (x.shape, dtype),
    (lambda g, out, x, dtype: g,),  # the driver brings a gradient to the dtype of its input
    run=lambda xp, x, dtype: x if x.dtype == dtype else xp.astype(x, dtype),
    may_overlap=True,
)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The same values in another dtype; through an integer dtype no gradient flows.

    Raises
    ------
    TypeError
        If complex numbers were to become real ones: take `real`, `imag` or `abs`.
    """
    check_device(device)
    x, wanted = as_tensor(x), as_dtype(dtype)
    if x.dtype[0] == "c" != wanted[0]:
        raise TypeError(f"an array of {x.dtype} does not become one of {wanted}: take its real, imag or abs")
    return x if not copy and x.dtype == wanted else record(_ASTYPE, x, wanted)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The Tensor with another dtype; itself where it has it."""
    return x if x.node.dtype == dtype else astype(x, dtype)


_SCALAR = declare(
    "scalar",
    lambda value, *, dtype: ((), dtype),
    (),
    run=lambda xp, value, *, dtype: xp.asarray(value, dtype=dtype),
)


def scalar(number: Any, dtype: DType) -> Tensor:
    """A number or a length as a Tensor.

    Raises
    ------
    OverflowError
        If the dtype cannot hold an integer.
    """
    _check_holds(dtype, number)
    return record(_SCALAR, number, dtype=dtype)


def _check_holds(dtype: DType, value: Any) -> None:
    if dtype[0] in "iu" and type(value) is int:
        limits = iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"{dtype} holds {limits.min} to {limits.max}, not {value}")


_REAL_OF = {as_dtype("complex64"): as_dtype("float32"), as_dtype("complex128"): as_dtype("float64")}


def is_complex(x: Any) -> bool:
    """Whether a Tensor, an array or a Python number is complex."""
    return isinstance(x, complex) if is_number(x) else as_dtype(x.dtype)[0] == "c"


def real_of(dtype: DType) -> DType:
    """The dtype of the real part of numbers of a floating dtype."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype of the same precision; float16 has none and takes the next."""
    return common_dtype(dtype, as_dtype("complex64"))


def refuse_complex(name: str, **arguments: Any) -> None:
    """Raise for a complex argument of a function of real numbers.

    Raises
    ------
    TypeError
        If there is one.
    """
    for key, value in arguments.items():
        if value is not None and is_complex(value):
            kind = "a complex number" if is_number(value) else value.dtype
            raise TypeError(f"{name} is a function of real numbers, {key} is {kind}: take its real, imag or abs first")


def together(*values: Any) -> tuple[Any, ...]:
    """Arguments cast to their common dtype, Python scalars left weak; at least one becomes a Tensor."""
    if all(map(is_number, values)):
        return tuple(map(as_tensor, values))
    tensors = [value if is_number(value) else as_tensor(value) for value in values]
    numbers = (kind_of_number(value) for value in tensors if not isinstance(value, Tensor))
    dtype = weak_dtype(common_dtype(*(t.node.dtype for t in tensors if isinstance(t, Tensor))), *numbers)
    several = any(isinstance(t, Tensor) and plain_number(t) is None for t in tensors)
    result = tuple(_cast_or_number(t, dtype, several) if isinstance(t, Tensor) else t for t in tensors)
    if all(map(is_number, result)):
        return tuple(cast(t, dtype) if isinstance(t, Tensor) else t for t in tensors)
    return result


def _cast_or_number(x: Tensor, dtype: DType, several: bool) -> Any:
    """An argument cast; beside another array, a recorded scalar of that dtype is as good as its number."""
    number = plain_number(x) if several and x.dtype == dtype else None
    return cast(x, dtype) if number is None else number


def floating(x: Any) -> Tensor:
    """A Tensor of a floating dtype: integers of 8 and 16 bits and bool become ``floatx``, wider ones float64."""
    tensor = as_tensor(x)
    if tensor.dtype[0] in "fc":
        return tensor
    return cast(tensor, float_of(tensor.dtype))


def divisible(x: Tensor) -> Tensor:
    """Integers as ``floatx``, which is what their quotient is of."""
    return x if x.node.dtype[0] in "fc" else cast(x, as_dtype(floatx()))


def plain_number(value: Any) -> float | None:
    """The number that a value is, or that a floating scalar was recorded as; None for anything else."""
    if isinstance(value, Tensor):
        node = value.node
        held = node.args[0] if node.op.name == "scalar" and node.dtype[0] == "f" else None
        return held if isinstance(held, (int, float)) else None
    return value if isinstance(value, (int, float)) else None


def both_tensors(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two arguments, of which a Python number becomes a Tensor of the other's dtype."""
    dtype = (x1 if isinstance(x1, Tensor) else x2).dtype
    return tuple(x if isinstance(x, Tensor) else scalar(x, dtype) for x in (x1, x2))  # type: ignore[return-value]
