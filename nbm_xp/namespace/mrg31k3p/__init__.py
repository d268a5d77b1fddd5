"""MRG31k3p for individual libraries: constants shared by all forms, and the registration of kernels.

Contract: nothing is imported before a library's arrays are drawn; without a kernel the portable
form of `nbm_xp.rng` serves, and gives the same bits. A sampler or an elementary function is no kernel of its own here:
`sampled` and `elementwise` take the name that it has in the core.
"""

from __future__ import annotations

from nbm_xp.namespace.kernels import kernel, register_core_kernels, register_kernel

__all__ = ["ON_DEVICES", "kernel"]

_BOTH = ("advance", "box_muller", "draw", "elementwise", "normals", "runs", "sampled")

# What CUDA devices have kernels for.
ON_DEVICES = (*_BOTH, "bernoulli")

register_core_kernels("rng", f"{__name__}.numpy_draws", (*_BOTH, "rows", "substreams", "whole_digits"))
register_core_kernels("rng", f"{__name__}.numpy_trials", ("bernoulli", "bernoulli_of_sigmoid"))
for name in ON_DEVICES:
    register_kernel(f"rng.{name}", "cupy", f"{__name__}.cuda_draws:{name}")
