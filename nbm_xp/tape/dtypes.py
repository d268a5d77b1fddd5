"""The dtypes of the tape's namespace: objects that are equal to their names.

A recorded dtype is turned into a library's own object only when a plan for that library is made. It is no `str`: code
written for the standard tells by that whether it was given a dtype or the name of a kind of dtypes.
"""

from __future__ import annotations

from typing import Any, ClassVar

from nbm_xp.namespace import dtype_name, dtype_of, dtypes, host_namespace, promote_types

__all__ = [
    "DType", "as_dtype", "bool", "common_dtype", "complex64", "complex128", "float16", "float32", "float64", "int8",
    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float_of", "weak_dtype",
]  # fmt: skip


class DType:
    """A dtype of the tape: equal to its name, and to what other libraries call so. There is one object of each name."""

    __slots__ = ("_name",)
    _name: str
    _made: ClassVar[dict[str, DType]] = {}

    def __new__(cls, name: str) -> DType:
        """The dtype of this name."""
        found = cls._made.get(name)
        if found is None:
            found = super().__new__(cls)
            found._name = str(name)
            found = cls._made.setdefault(found._name, found)
        return found

    @property
    def name(self) -> str:
        """The name, as the dtype objects of array libraries have it."""
        return self._name

    @property
    def kind(self) -> str:
        """One of ``'b'``, ``'i'``, ``'u'``, ``'f'``, ``'c'``."""
        return self._name[0]

    @property
    def dtype(self) -> Any:
        """The host library's dtype, which makes this one an argument of its functions."""
        return dtype_of(host_namespace(), self._name)

    def __getitem__(self, index: Any) -> str:
        return self._name[index]

    def __eq__(self, other: object) -> Any:
        if self is other:
            return True
        if isinstance(other, str):
            return self._name == other
        if isinstance(other, type):  # such as numpy.float32
            try:
                return self._name == dtype_name(other)
            except TypeError:
                return False
        return False if isinstance(other, DType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._name)

    def __str__(self) -> str:
        return self._name

    def __format__(self, spec: str) -> str:
        return format(self._name, spec)

    def __repr__(self) -> str:
        return f"nbm_xp.tape.{self._name}"

    def __reduce__(self) -> Any:
        return DType, (self._name,)


bool = DType("bool")
int8, int16, int32, int64 = map(DType, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(DType, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(DType, ("float16", "float32", "float64"))
complex64, complex128 = map(DType, ("complex64", "complex128"))

_BY_NAME: dict[Any, DType] = {
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
    return _BY_NAME[dtype_name(dtype)]


_COMMON: dict[tuple[DType, ...], DType] = {}


def common_dtype(*dtypes: DType) -> DType:
    """The dtype that NumPy's promotion gives for arrays of these dtypes."""
    try:
        return _COMMON[dtypes]
    except KeyError:
        return _COMMON.setdefault(dtypes, as_dtype(promote_types(*dtypes)))


def float_of(dtype: DType) -> DType:
    """The floating dtype that integers become: see `nbm_xp.namespace.dtypes.floating_dtype`."""
    return as_dtype(dtypes.floating_dtype(dtype))


def weak_dtype(dtype: DType, *scalars: type) -> DType:
    """The dtype that an array and Python scalars of these types have: see `nbm_xp.namespace.dtypes.weak_dtype`."""
    return as_dtype(dtypes.weak_dtype(dtype, *scalars)) if scalars else dtype
