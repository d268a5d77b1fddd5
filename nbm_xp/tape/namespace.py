"""The array API standard on Tensors: a namespace whose functions record calls instead of computing them.

``array_namespace(x)`` gives this module for a Tensor, so that code written for the standard runs on Tensors unchanged.
Each module of `standard` lists its functions in its `__all__`.
"""

# ruff: noqa: F401, F403
from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import DTYPE_NAMES, host_namespace
from nbm_xp.namespace.errors import name_errors as _name_errors

from . import linear_algebra as linalg
from .einsum import einsum as _einsum
from .evaluation import concrete, evaluate, is_lasting, lasting_number, look

# assign, share and updated are called by methods of Tensors and functions of the standard
from .linear_algebra import vecdot
from .standard import creation as _creation
from .standard import data_types as _data_types
from .standard import elementwise as _elementwise
from .standard import fft, special
from .standard import indexing as _indexing
from .standard import manipulation as _manipulation
from .standard import statistical as _statistical
from .standard import sums as _sums
from .standard.assignment import assign, share, updated
from .standard.creation import *
from .standard.data_types import *
from .standard.data_types import Info
from .standard.elementwise import *
from .standard.indexing import *
from .standard.indexing import getitem
from .standard.manipulation import *
from .standard.statistical import *
from .standard.sums import *
from .tensor import API_VERSIONS, Tensor
from .tensor import as_tensor as _as_tensor

__all__ = ["__array_api_version__", "__array_namespace_info__", "e", "einsum", "fft", "inf", "linalg", "nan", "newaxis",
           "pi", "special", "vecdot"]  # fmt: skip
__all__ += [*DTYPE_NAMES, *_creation.__all__, *_data_types.__all__, *_elementwise.__all__, *_indexing.__all__]
__all__ += _manipulation.__all__ + _sums.__all__ + _statistical.__all__

__array_api_version__ = API_VERSIONS[-1]
__array_namespace_info__ = Info

# scalar types, as in NumPy: equal to the dtypes only, while dtypes are also equal to None
(
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128,
) = (getattr(host_namespace(), name) for name in DTYPE_NAMES)  # fmt: skip

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi


def einsum(*operands: Any) -> Tensor:
    """Call `nbm_xp.tape.einsum`; not in the standard, but xarray and others expect it in every namespace."""
    return _as_tensor(_einsum(*operands))


for _chapter in (globals(), vars(fft), vars(linalg), vars(special)):
    _name_errors(_chapter)
