"""Exponentials and their sums along rows, where a library has them faster than its own functions one after the other.

A portable body makes several passes over memory. Large float32 arrays of NumPy are taken row by row instead, while a
row is in the first-level cache, with an exponential that the compiler turns into vector instructions. A sigmoid is
taken a stretch at a time, into memory that is made once, and a softplus in one pass. What a kernel is not made for
(another dtype, axis or layout, a small array), it says by giving None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nbm_xp.namespace import core
from nbm_xp.namespace.kernels import kernel, register_kernel

__all__ = ["kernel", "saturated_at", "sigmoid_for"]

# where exp(x) is finite and exp(x) / (1 + exp(x)) rounds to 1: from 8.4 to 11 in float16, from 37.5 to 88 in the others
_SATURATED = {"float16": 10.0}
_SATURATED_ELSE = 40.0

if core.functions:
    for name in ("log_softmax", "logsumexp", "softmax"):
        register_kernel(f"exponentials.{name}", "numpy", f"{__name__}.numpy_rows:{name}")
    register_kernel("exponentials.softplus", "numpy", f"{__name__}.numpy_stretches:softplus")
register_kernel("exponentials.sigmoid", "numpy", f"{__name__}.numpy_stretches:sigmoid")


def saturated_at(dtype: str) -> float:
    """Where the sigmoid of a dtype is 1 as far as it can tell, and the exponential is still finite."""
    return _SATURATED.get(dtype, _SATURATED_ELSE)


@lru_cache(maxsize=64)
def sigmoid_for(xp: Any, dtype: str) -> Callable[[Any], Any]:
    """The sigmoid of arrays of one library and dtype, which has nothing left to look up."""
    exp, minimum, saturated = xp.exp, xp.minimum, saturated_at(dtype)
    own = kernel("exponentials.sigmoid", xp)

    def of(x: Any) -> Any:
        found = None if own is None else own(x, saturated)
        if found is not None:
            return found
        e = exp(minimum(x, saturated))
        return e / (1.0 + e)

    return of
