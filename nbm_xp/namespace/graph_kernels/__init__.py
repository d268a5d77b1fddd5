"""Machines on graphs for single libraries: which of them have loops of their own, and for what.

Contract: without a kernel the portable forms of `nbm_xp.graphs` serve, and give the same bits.
"""

from __future__ import annotations

from nbm_xp.namespace.kernels import kernel, register_core_kernels

__all__ = ["kernel"]

register_core_kernels(
    "graphs",
    f"{__name__}.numpy_graphs",
    ("colours", "energies", "reordered", "roots", "rows", "sweeps", "words"),
)
register_core_kernels("graphs", f"{__name__}.numpy_bricks", ("brick",))
register_core_kernels("graphs", f"{__name__}.numpy_parts", ("breadth", "part"))
