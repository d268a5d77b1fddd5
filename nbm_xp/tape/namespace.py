"""The array API standard on Tensors: a namespace whose functions record instead of computing.

``array_namespace(x)`` gives this module for a Tensor, so that code written for the standard runs on Tensors unchanged.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace.errors import name_errors as _name_errors

from . import linear_algebra as linalg
from .concrete import is_lasting  # noqa: F401  (what the methods of Tensors call beside the standard's functions)
from .dtypes import (
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
from .einsum import einsum as _einsum
from .evaluation import evaluate, look  # noqa: F401
from .standard import elementwise as _elementwise
from .standard import fft, special
from .standard.assignment import assign, share, updated  # noqa: F401
from .standard.creation import (
    arange,
    asarray,
    conj,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    imag,
    linspace,
    meshgrid,
    ones,
    ones_like,
    real,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .standard.data_types import Info, astype, can_cast, finfo, iinfo, isdtype, result_type
from .standard.elementwise import *  # noqa: F403  (all that the chapter has)
from .standard.elementwise import clip, where
from .standard.indexing import (
    getitem,  # noqa: F401
    repeat,
    take,
    take_along_axis,
    tile,
)
from .standard.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    reshape,
    roll,
    squeeze,
    stack,
    sum,
    unstack,
)
from .standard.products import matmul, tensordot, vecdot
from .standard.searching import (
    argmax,
    argmin,
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
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
    var,
)
from .tensor import API_VERSIONS, Tensor
from .tensor import as_tensor as _as_tensor

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "all", "any", "arange", "argmax", "argmin", "argsort",
    "asarray", "astype", "bool", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "clip",
    "complex128", "complex64", "concat", "conj", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "e",
    "einsum", "empty", "empty_like", "expand_dims", "eye", "fft", "finfo", "flip", "float16", "float32", "float64",
    "from_dlpack", "full", "full_like", "iinfo", "imag", "inf", "int16", "int32", "int64", "int8", "isdtype",
    "isin", "linalg", "linspace", "matmul", "matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis", "nan",
    "newaxis", "nonzero", "ones", "ones_like", "permute_dims", "pi", "prod", "real", "repeat", "reshape",
    "result_type", "roll", "searchsorted", "sort", "special", "squeeze", "stack", "std", "sum", "take",
    "take_along_axis", "tensordot", "tile", "tril", "triu", "uint16", "uint32", "uint64", "uint8", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip
__all__ += _elementwise.__all__

__array_api_version__ = API_VERSIONS[-1]
__array_namespace_info__ = Info


e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi


def einsum(*operands: Any) -> Tensor:
    """What `nbm_xp.tape.einsum` gives: not in the standard, and yet looked for in every namespace, as by xarray."""
    return _as_tensor(_einsum(*operands))


for _chapter in (globals(), vars(fft), vars(linalg), vars(special)):
    _name_errors(_chapter)
