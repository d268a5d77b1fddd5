"""What the compiled core is told of arrays and windows.

Its functions take contiguous arrays of float32 or float64, and a table of where windows lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions, warn_if_missing

from .geometry import Lengths

__all__ = ["core_function", "places_room", "windows_table"]


def core_function(name: str, *arrays: Any) -> Callable[..., Any] | None:
    """A function of the core for numbers like those of arrays, if there is one: none where their dtypes differ."""
    dtype = arrays[0].dtype
    if not dtype.isnative or any(other.dtype != dtype for other in arrays[1:]):
        return None
    warn_if_missing()
    return functions.get(f"{name}_{dtype.name}")


def windows_table(
    shape: Lengths, sizes: Lengths, starts: Lengths, strides: Lengths, dilation: Lengths, lengths: Lengths
) -> Any:
    """Where windows lie in images of some spatial shape: six numbers for each axis."""
    return np.asarray((shape, sizes, starts, strides, dilation, lengths), dtype=np.int64).T.copy()


def places_room(sizes: Lengths) -> Any:
    """Room for a number for each line of a window and for each of its elements."""
    return np.empty(math.prod(sizes[:-1]) * (1 + sizes[-1]), dtype=np.int64)
