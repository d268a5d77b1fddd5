"""Data types of the tape's namespace: the dtypes of the host library, which compare equal to their names.

A recorded dtype is converted to a library's dtype object when a plan for that library is compiled.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace import DTYPE_NAMES, dtype_name, dtype_of, dtypes, host_namespace

# A dtype of the host library, with a `name` and a `kind`: ``'b'``, ``'i'``, ``'u'``, ``'f'`` or ``'c'``.
DType: TypeAlias = Any


(
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128,
) = (dtype_of(host_namespace(), name) for name in DTYPE_NAMES)  # fmt: skip

# The classes of the host library's dtypes.
DTYPE_CLASSES = frozenset(type(dtype_of(host_namespace(), name)) for name in DTYPE_NAMES)


def as_dtype(dtype: object) -> DType:
    """Return the tape's dtype for a name, a library's dtype object or an array."""
    return dtype if type(dtype) in DTYPE_CLASSES else dtype_of(host_namespace(), dtype_name(dtype))


_COMMON: dict[tuple[DType, ...], DType] = {}


def common_dtype(*dtypes_: DType) -> DType:
    """Return the common dtype by NumPy's promotion rules."""
    try:
        return _COMMON[dtypes_]
    except KeyError:
        return _COMMON.setdefault(dtypes_, as_dtype(dtypes.promote_types(*dtypes_)))


def float_of(dtype: DType) -> DType:
    """Return the floating dtype to which a dtype is converted; see `nbm_xp.namespace.dtypes.floating_dtype`."""
    return as_dtype(dtypes.floating_dtype(dtype))


def weak_dtype(dtype: DType, *scalars: type) -> DType:
    """Return the common dtype of an array and Python scalars; see `nbm_xp.namespace.dtypes.weak_dtype`."""
    if not scalars or (dtype.kind in "fc" and complex not in scalars):
        return dtype
    return as_dtype(dtypes.weak_dtype(dtype_name(dtype), *scalars))
