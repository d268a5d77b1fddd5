"""Which libraries have kernels of their own for the generator, and where.

What this chapter must satisfy: it is the one place of this floor, beside the kernels themselves, that knows libraries
by name; nothing is imported before a library's arrays are drawn; without a kernel the portable form serves.
"""

from __future__ import annotations

from nbm_xp.namespace import kernel, register_kernel

__all__ = ["kernel"]

for name in ("advance", "bernoulli", "draw", "runs", "substreams"):
    register_kernel(f"rng.{name}", "numpy", f"nbm_xp.rng.compiled:{name}", requires="numba")
for name in ("bernoulli", "draw"):
    register_kernel(f"rng.{name}", "cupy", f"nbm_xp.rng.cuda:{name}")
