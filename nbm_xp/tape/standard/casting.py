"""Values in another dtype, and numbers as arrays without axes: what all other chapters are built on."""

from __future__ import annotations

from typing import Any

from nbm_xp.tape.dtypes import DType, as_dtype
from nbm_xp.tape.node import Memory
from nbm_xp.tape.registry import declare
from nbm_xp.tape.tensor import Tensor, as_tensor, record

from .data_types import iinfo
from .inspection import check_device

__all__ = ["astype", "cast", "scalar"]

_ASTYPE = declare(
    "astype",
    lambda x, dtype: (x.shape, dtype),
    (lambda g, out, x, dtype: g,),  # the driver brings a gradient to the dtype of its input
    run=lambda xp, x, dtype: x if x.dtype == dtype else xp.astype(x, dtype),
    memory=Memory.FIRST,
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
    memory=Memory.OWN,
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
