"""The dtypes of the tape's namespace: the standard's names as strings.

A recorded dtype is a `str`, so that it compares equal to its name, and is turned into a library's own object only when
a plan for that library is made.
"""

from __future__ import annotations

from nbm_xp.namespace import dtype_name, promote_types

__all__ = [
    "DType", "as_dtype", "bool", "common_dtype", "complex64", "complex128", "float16", "float32", "float64", "int8",
    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip


class DType(str):
    """A dtype of the tape: its name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name, as the dtype objects of array libraries have it."""
        return str(self)

    @property
    def kind(self) -> str:
        """One of ``'b'``, ``'i'``, ``'u'``, ``'f'``, ``'c'``."""
        return self[0]

    def __repr__(self) -> str:
        return f"nbm_xp.tape.{self}"


bool = DType("bool")
int8, int16, int32, int64 = map(DType, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(DType, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(DType, ("float16", "float32", "float64"))
complex64, complex128 = map(DType, ("complex64", "complex128"))

_BY_NAME = {
    name: name
    for name in (
        bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64,
        complex128,
    )
}  # fmt: skip


def as_dtype(dtype: object) -> DType:
    """The tape's dtype for a name, a library's dtype object or an array."""
    if type(dtype) is DType:
        return dtype
    return _BY_NAME[DType(dtype_name(dtype))]


_COMMON: dict[tuple[DType, ...], DType] = {}


def common_dtype(*dtypes: DType) -> DType:
    """The dtype that NumPy's promotion gives for arrays of these dtypes."""
    try:
        return _COMMON[dtypes]
    except KeyError:
        return _COMMON.setdefault(dtypes, as_dtype(promote_types(*dtypes)))
