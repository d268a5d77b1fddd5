"""MRG31k3p for single libraries: what every form of it shares, and which libraries have a kernel of their own, where.

What this chapter must satisfy: nothing is imported before a library's arrays are drawn; without a kernel the portable
form of `nbm_xp.rng` serves, and gives the same bits.
"""

from __future__ import annotations

from nbm_xp.namespace.kernels import kernel, register_kernel

__all__ = ["kernel"]

for name in ("advance", "draw", "normals", "rows", "runs", "substreams"):
    register_kernel(f"rng.{name}", "numpy", f"{__name__}.compiled:{name}", requires="numba")
for name in ("bernoulli", "bernoulli_of_sigmoid", "bernoulli_of_sum"):
    register_kernel(f"rng.{name}", "numpy", f"{__name__}.compiled_trials:{name}", requires="numba")
for name in ("exp", "log", "normal_quantile", "sqrt"):
    register_kernel(f"rng.{name}", "numpy", f"{__name__}.compiled_elementary:{name}", requires="numba")
for name in ("binomial", "binomial_search", "log_gamma", "poisson", "poisson_search"):
    register_kernel(f"rng.{name}", "numpy", f"{__name__}.compiled_rejection:{name}", requires="numba")
for name in ("digits", "wide_integers"):
    register_kernel(f"rng.{name}", "numpy", f"{__name__}.compiled_integers:{name}", requires="numba")
for name in ("bernoulli", "draw", "normals", "runs"):
    register_kernel(f"rng.{name}", "cupy", f"{__name__}.cuda:{name}")
