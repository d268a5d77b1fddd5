"""Data type functions: promotion, kinds and limits of dtypes; and what the namespace says of itself."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import default_namespace, dtype_name, floatx, host_namespace, is_array, is_lazy, promote_types

from .. import dtypes as _dtypes
from ..dtypes import DType, as_dtype, weak_dtype
from ..operators import is_number, kind_of_number
from ..tensor import Tensor

__all__ = [
    "DEVICE", "FloatLimits", "Info", "IntegerLimits", "can_cast", "check_device", "finfo", "iinfo", "isdtype",
    "result_type",
]  # fmt: skip

_SCALARS = (builtins.bool, int, float, complex)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that a computation on these arrays, dtypes and Python scalars has; scalars and lengths are weak.

    Raises
    ------
    ValueError
        If there are nothing but scalars.
    """
    scalars = [kind_of_number(item) for item in arrays_and_dtypes if is_number(item)]
    strong = [item for item in arrays_and_dtypes if not is_number(item)]
    if not strong:
        raise ValueError("result_type needs at least one array or dtype")
    return weak_dtype(as_dtype(promote_types(*map(dtype_name, strong))), *scalars)


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether a dtype casts to another by promotion."""
    return promote_types(dtype_name(from_), dtype_name(to)) == dtype_name(to)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is one, or of a kind, that is named."""
    name = as_dtype(dtype)
    for item in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(item, tuple):
            raise TypeError(f"kind must be a dtype, a str or a tuple of these, got {kind!r}")
        if isinstance(item, str):
            if item not in _KINDS:
                raise ValueError(f"kind must be a dtype or one of {sorted(_KINDS)}, got {item!r}")
            if name.kind in _KINDS[item]:
                return True
        elif as_dtype(item) == name:
            return True
    return False


@dataclass(frozen=True, eq=False)
class FloatLimits:
    """The limits of a floating dtype; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, eq=False)
class IntegerLimits:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


_PARTS = {"complex64": "float32", "complex128": "float64"}


def _only_dtypes(type: Any, function: str) -> DType:
    if isinstance(type, _SCALARS) and not is_array(type):
        raise TypeError(f"type must be a dtype or an array for {function}, got {type!r}")
    return type.dtype if isinstance(type, Tensor) else as_dtype(type)


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating dtype, or of that of an array.

    Raises
    ------
    TypeError
        If `type` is no floating dtype, nor an array of one.
    """
    dtype = _only_dtypes(type, "finfo")
    name = _PARTS.get(dtype.name, dtype.name)
    if name[0] != "f":
        raise TypeError(f"type must be floating for finfo, got {dtype}")
    host = host_namespace()
    found = host.finfo(getattr(host, str(name)))
    numbers = {key: float(getattr(found, key)) for key in ("eps", "max", "min", "smallest_normal")}
    return FloatLimits(bits=int(found.bits), dtype=as_dtype(name), **numbers)


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of that of an array.

    Raises
    ------
    TypeError
        If `type` is no integer dtype, nor an array of one.
    """
    dtype = _only_dtypes(type, "iinfo")
    if dtype[0] not in "iu":
        raise TypeError(f"type must be integer for iinfo, got {dtype}")
    bits = int(dtype.name.partition("int")[2])
    lowest = -(2 ** (bits - 1)) if dtype[0] == "i" else 0
    return IntegerLimits(bits, lowest + 2**bits - 1, lowest, dtype)


DEVICE = "recorded"
"""The one device of Tensors: where their values will lie is decided when they run."""

_EVERY = (
    _dtypes.bool, _dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.int64, _dtypes.uint8, _dtypes.uint16,
    _dtypes.uint32, _dtypes.uint64, _dtypes.float32, _dtypes.float64, _dtypes.complex64, _dtypes.complex128,
)  # fmt: skip


def check_device(device: Any) -> None:
    """Refuse any device but the one there is."""
    if device not in (None, DEVICE):
        raise ValueError(f"device must be None or {DEVICE!r} for a Tensor, got {device!r}")


class Devices(tuple[str, ...]):
    """The devices: a tuple since the standard's version 2025.12, which adds to lists as the list of before does."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else super().__add__(other)

    def __radd__(self, other: Any) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented


class Info:
    """What ``__array_namespace_info__()`` gives."""

    def capabilities(self) -> dict[str, Any]:
        """What can be done: shapes that depend on data need values that can be looked at, which lazy arrays lack."""
        eager = not is_lazy(default_namespace())
        return {"boolean indexing": eager, "data-dependent shapes": eager, "max dimensions": 64}

    def default_device(self) -> str:
        """Where new Tensors are."""
        return DEVICE

    def devices(self) -> Devices:
        """All devices there are."""
        return Devices((DEVICE,))

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes that creation functions take unless told another: that of the configured precision."""
        check_device(device)
        real = as_dtype(floatx())
        return {
            "real floating": real,
            "complex floating": _dtypes.complex128 if real == "float64" else _dtypes.complex64,
            "integral": _dtypes.int64,
            "indexing": _dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The standard's dtypes by name, of a kind or of one of several."""
        check_device(device)
        return {dtype.name: dtype for dtype in _EVERY if kind is None or isdtype(dtype, kind)}
