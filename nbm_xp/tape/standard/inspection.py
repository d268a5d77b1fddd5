"""Inspection: what the tape's namespace tells of itself."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import default_namespace, floatx, is_lazy
from nbm_xp.tape import dtypes as _dtypes
from nbm_xp.tape.dtypes import DType, as_dtype

from .data_types import isdtype

__all__ = ["DEVICE", "Info", "check_device"]

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
