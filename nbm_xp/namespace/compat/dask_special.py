"""Special functions of Dask's arrays: each block by the function of its own library."""

from __future__ import annotations

import functools
from typing import Any

from ..dispatch import array_namespace
from ..dtypes import dtype_name
from ..exponentials import sigmoid_for, softplus_for
from ..special import special_of
from .dask_names import da

__all__ = ["dask_blocks", "sigmoid", "softplus"]


def dask_blocks(name: str, *arrays: Any, **options: Any) -> Any:
    """A function of Dask arrays of one dtype."""
    dtype = arrays[0].dtype
    xp = array_namespace(arrays[0]._meta)
    meta = xp.empty((0,) * max(x.ndim for x in arrays), dtype=dtype)
    return da.map_blocks(functools.partial(_on_block, name, **options), *arrays, dtype=dtype, meta=meta)


def _on_block(name: str, *blocks: Any, **options: Any) -> Any:
    return getattr(special_of(*blocks), name)(*blocks, **options)


def sigmoid(x: Any) -> Any:
    """The sigmoid of a Dask array."""
    return _each_block(sigmoid_for, x)


def softplus(x: Any) -> Any:
    """The softplus of a Dask array."""
    return _each_block(softplus_for, x)


def _each_block(function_for: Any, x: Any) -> Any:
    return da.map_blocks(functools.partial(_of_dtype, function_for), x, dtype=x.dtype, meta=x._meta)


def _of_dtype(function_for: Any, block: Any) -> Any:
    return function_for(array_namespace(block), dtype_name(block))(block)
