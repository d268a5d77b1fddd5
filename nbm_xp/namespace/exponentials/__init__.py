"""Exponentials and their sums along rows, where a library has them faster than its own functions one after the other.

A portable body makes several passes over memory. Large float32 arrays of NumPy are taken row by row instead, while a
row is in the first-level cache, with an exponential that the compiler turns into vector instructions. A sigmoid is
taken a stretch at a time, into memory that is made once. What a kernel is not made for (another dtype, axis or layout,
a small array), it says by giving None.
"""

from __future__ import annotations

from nbm_xp.namespace import core
from nbm_xp.namespace.kernels import kernel, register_kernel

__all__ = ["kernel"]

if core.functions:
    for name in ("log_softmax", "logsumexp", "softmax"):
        register_kernel(f"exponentials.{name}", "numpy", f"{__name__}.numpy_rows:{name}")
register_kernel("exponentials.sigmoid", "numpy", f"{__name__}.numpy_stretches:sigmoid")
