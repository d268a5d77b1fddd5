"""MRG31k3p for single libraries: what every form of it shares, and which libraries have a kernel of their own, where.

Contract: nothing is imported before a library's arrays are drawn; without a kernel the portable
form of `nbm_xp.rng` serves, and gives the same bits.
"""

from __future__ import annotations

from nbm_xp.namespace.kernels import kernel, register_core_kernels, register_kernel

__all__ = ["kernel"]

_COMPILED = {
    "numpy_draws": (
        "advance", "box_muller", "draw", "draw_wide", "normals", "rows", "runs", "runs_wide", "substreams",
    ),
    "numpy_trials": ("bernoulli", "bernoulli_of_sigmoid", "bernoulli_of_sum"),
    "numpy_samplers": (
        "binomial", "binomial_search", "digits", "exp", "log", "log_gamma", "normal_quantile", "poisson",
        "poisson_search", "sqrt", "truncated_normals", "whole_digits", "wide_integers",
    ),
}  # fmt: skip
_CUDA = {
    "cuda_draws": ("advance", "bernoulli", "box_muller", "draw", "draw_wide", "normals", "runs", "runs_wide"),
    "cuda_samplers": (
        "binomial", "binomial_search", "digits", "exp", "log", "log_gamma", "normal_quantile", "poisson",
        "poisson_search", "sqrt", "truncated_normals", "wide_integers",
    ),
}  # fmt: skip

for module, names in _COMPILED.items():
    register_core_kernels("rng", f"{__name__}.{module}", names)
for module, names in _CUDA.items():
    for name in names:
        register_kernel(f"rng.{name}", "cupy", f"{__name__}.{module}:{name}")
