"""The array API standard on Tensors: a namespace whose functions record instead of computing.

``array_namespace(x)`` gives this module for a Tensor, so that code written for the standard runs on Tensors unchanged.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from nbm_xp.namespace import dtype_name, floatx, host_namespace, promote_types

from .dtypes import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .operators import FUNCTIONS
from .standard import linalg
from .standard.broadcasting import broadcast_arrays, broadcast_to
from .standard.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .standard.elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
    where,
)
from .standard.indexing import take, take_along_axis
from .standard.linalg import matmul, tensordot, vecdot
from .standard.manipulation import (
    astype,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .standard.searching import argmax, argmin, argsort, searchsorted, sort
from .standard.statistical import (
    all,
    any,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all", "any", "arange",
    "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "bool", "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "clip", "complex128", "complex64", "concat",
    "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "divide", "e",
    "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "finfo", "flip", "float16", "float32",
    "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot",
    "iinfo", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isinf", "isnan", "less",
    "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean",
    "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter",
    "not_equal", "ones", "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "reciprocal",
    "remainder", "repeat", "reshape", "result_type", "roll", "round", "searchsorted", "sign", "signbit", "sin",
    "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis",
    "tan", "tanh", "tensordot", "tile", "tril", "triu", "trunc", "uint16", "uint32", "uint64", "uint8",
    "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip

__array_api_version__ = "2024.12"


e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that a computation on these arrays, dtypes and scalars has."""
    strong = [
        dtype_name(item) for item in arrays_and_dtypes if not isinstance(item, (builtins.bool, int, float, complex))
    ]
    weak = {type(item): item for item in arrays_and_dtypes if isinstance(item, (builtins.bool, int, float, complex))}
    if not strong:
        raise ValueError("result_type needs at least one array or dtype")
    dtype = as_dtype(promote_types(*strong))
    if complex in weak and dtype[0] != "c":
        return as_dtype(promote_types(dtype, "complex64"))
    if float in weak and dtype[0] in "biu":
        return as_dtype(promote_types(dtype, floatx()))
    return dtype


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether a dtype casts to another by promotion."""
    return promote_types(dtype_name(from_), dtype_name(to)) == dtype_name(to)


_KINDS = {
    "bool": ("b",),
    "signed integer": ("i",),
    "unsigned integer": ("u",),
    "integral": ("i", "u"),
    "real floating": ("f",),
    "complex floating": ("c",),
    "numeric": ("i", "u", "f", "c"),
}


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is one, or of a kind, that is named."""
    name = as_dtype(dtype)
    for item in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(item, str) and not isinstance(item, DType):
            if item not in _KINDS:
                raise ValueError(f"kind must be a dtype or one of {sorted(_KINDS)}, got {item!r}")
            if name.kind in _KINDS[item]:
                return True
        elif as_dtype(item) == name:
            return True
    return False


def finfo(type: Any, /) -> Any:
    """The limits of a floating dtype."""
    host = host_namespace()
    return host.finfo(getattr(host, dtype_name(type)))


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype."""
    host = host_namespace()
    return host.iinfo(getattr(host, dtype_name(type)))


class _Info:
    """What `__array_namespace_info__` tells."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> str:
        return "recorded"

    def devices(self) -> list[str]:
        return ["recorded"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        real = as_dtype(floatx())
        return {
            "real floating": real,
            "complex floating": complex128 if real == "float64" else complex64,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        every = (
            bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128,
        )  # fmt: skip
        return {dtype.name: dtype for dtype in every if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    return _Info()


FUNCTIONS.update({name: value for name, value in globals().items() if name in __all__ and callable(value)})
