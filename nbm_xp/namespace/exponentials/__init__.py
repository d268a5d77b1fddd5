"""Exponentials and their sums along rows, where a library has them faster than its own functions one after the other.

A portable body makes several passes over memory. Large float32 arrays of NumPy are taken row by row instead, while a
row is in the first-level cache, with an exponential that the compiler turns into vector instructions. Sigmoid and
softplus of NumPy's float32 and float64 arrays take one pass. What a kernel along rows is not made for (another dtype,
axis or layout, a small array), it says by giving None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nbm_xp.namespace.kernels import kernel, register_core_kernels, register_kernel
from nbm_xp.namespace.lazy import is_lazy

__all__ = ["kernel", "sigmoid_for", "softplus_for"]

# where exp(x) is finite and exp(x) / (1 + exp(x)) rounds to 1: from 8.4 to 11 in float16, from 37.5 to 88 in the others
_SATURATED = {"float16": 10.0}
_SATURATED_ELSE = 40.0

_IN_ONE_PASS = ("float32", "float64")

register_core_kernels("exponentials", f"{__name__}.numpy_rows", ("log_softmax", "logsumexp", "softmax"))
register_core_kernels("exponentials", f"{__name__}.numpy_functions", ("sigmoid", "softplus"))
for name in ("sigmoid", "softplus"):
    register_kernel(f"exponentials.{name}", "dask", f"nbm_xp.namespace.compat.dask_special:{name}")


def _in_one_pass(name: str, xp: Any, dtype: str) -> Callable[[Any], Any] | None:
    """The library's own function of arrays of a dtype; a lazy library leaves it to its blocks which that is."""
    own = kernel(f"exponentials.{name}", xp)
    return own if dtype in _IN_ONE_PASS or is_lazy(xp) else None


@lru_cache(maxsize=64)
def sigmoid_for(xp: Any, dtype: str) -> Callable[[Any], Any]:
    """The sigmoid of arrays of one library and dtype, which has nothing left to look up."""
    own = _in_one_pass("sigmoid", xp, dtype)
    if own is not None:
        return own
    exp, minimum, saturated = xp.exp, xp.minimum, _SATURATED.get(dtype, _SATURATED_ELSE)

    def of(x: Any) -> Any:
        e = exp(minimum(x, saturated))
        return e / (1.0 + e)

    return of


@lru_cache(maxsize=64)
def softplus_for(xp: Any, dtype: str) -> Callable[[Any], Any]:
    """The softplus of arrays of one library and dtype, likewise."""
    own = _in_one_pass("softplus", xp, dtype)
    if own is not None:
        return own
    return lambda x: xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))
