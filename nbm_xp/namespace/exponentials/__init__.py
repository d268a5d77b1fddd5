"""Exponentials and their sums along rows, where a library has them faster than its own functions one after the other.

A portable body makes several passes over memory. Large float32 arrays of NumPy are taken row by row instead, while a
row is in the first-level cache, with an exponential that the compiler turns into vector instructions. A sigmoid is
taken a stretch at a time, into memory that is made once, a softplus in one pass. Elementary functions in which a
library is slow it may give anew, for plans, which know dtypes beforehand. What a kernel is not made for (another dtype,
axis or layout, a small array), it says by giving None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from nbm_xp.namespace import core
from nbm_xp.namespace.kernels import kernel, register_core_kernels, register_kernel

__all__ = ["function_for", "kernel", "own_functions", "saturated_at", "sigmoid_for"]

# where exp(x) is finite and exp(x) / (1 + exp(x)) rounds to 1: from 8.4 to 11 in float16, from 37.5 to 88 in the others
_SATURATED = {"float16": 10.0}
_SATURATED_ELSE = 40.0

register_core_kernels("exponentials", f"{__name__}.numpy_rows", ("log_softmax", "logsumexp", "softmax"))
register_core_kernels("exponentials", f"{__name__}.numpy_stretches", ("softplus",))
if core.functions:  # each plan looks these up, and those without them are a little slower
    register_kernel("exponentials.functions", "numpy", f"{__name__}.numpy_functions:functions")
register_kernel("exponentials.sigmoid", "numpy", f"{__name__}.numpy_stretches:sigmoid")


def saturated_at(dtype: str) -> float:
    """Where the sigmoid of a dtype is 1 as far as it can tell, and the exponential is still finite."""
    return _SATURATED.get(dtype, _SATURATED_ELSE)


def own_functions(xp: Any) -> Mapping[tuple[str, str], Callable[[Any], Any]]:
    """Elementary functions to be called in the place of the namespace's, by name and the dtype that they are for.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import host_namespace
    >>> log1p = own_functions(host_namespace()).get(("log1p", "float32"), np.log1p)
    >>> log1p(np.asarray([0.0, 0.5], "float32")).round(4)
    array([0.    , 0.4055], dtype=float32)
    """
    found = kernel("exponentials.functions", xp)
    return {} if found is None else found()


def function_for(xp: Any, name: str, dtype: str) -> Callable[..., Any]:
    """A function of the standard, for results of a dtype: the namespace's, or what is called in its place.

    Examples
    --------
    >>> from nbm_xp.namespace import host_namespace
    >>> xp = host_namespace()
    >>> function_for(xp, "linalg.inv", "float64") is xp.linalg.inv
    True
    """
    found: Any = own_functions(xp).get((name, dtype))
    if found is None:
        found = xp
        for step in name.split("."):
            found = getattr(found, step)
    return found  # type: ignore[no-any-return]


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
