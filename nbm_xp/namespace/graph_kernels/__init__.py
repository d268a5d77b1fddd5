"""Machines on graphs for single libraries: which of them have loops of their own, and for what.

Contract: without a kernel the portable forms of `nbm_xp.graphs` serve, and give the same bits.
"""

from __future__ import annotations

from nbm_xp.namespace import core
from nbm_xp.namespace.kernels import kernel, register_kernel

__all__ = ["kernel"]

if core.functions:
    for name in ("colours", "energies", "reordered", "roots", "rows", "sweeps", "words"):
        register_kernel(f"graphs.{name}", "numpy", f"{__name__}.numpy_graphs:{name}")
    register_kernel("graphs.brick", "numpy", f"{__name__}.numpy_bricks:brick")
    for name in ("breadth", "part"):
        register_kernel(f"graphs.{name}", "numpy", f"{__name__}.numpy_parts:{name}")
