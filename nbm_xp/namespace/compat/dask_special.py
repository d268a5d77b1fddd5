"""Special functions of Dask's arrays: each block by the function of its own library."""

from __future__ import annotations

import functools
from typing import Any

from ..dispatch import array_namespace
from ..special import special_of
from .dask_names import da

__all__ = ["dask_blocks"]


def dask_blocks(name: str, *arrays: Any, **options: Any) -> Any:
    """A function of Dask arrays of one dtype."""
    dtype = arrays[0].dtype
    xp = array_namespace(arrays[0]._meta)
    meta = xp.empty((0,) * max(x.ndim for x in arrays), dtype=dtype)
    return da.map_blocks(functools.partial(_on_block, name, **options), *arrays, dtype=dtype, meta=meta)


def _on_block(name: str, *blocks: Any, **options: Any) -> Any:
    return getattr(special_of(*blocks), name)(*blocks, **options)
