"""Roots, logarithms, exponentials and normal quantiles of CuPy arrays, each in one launch.

Contract: the bits of `nbm_xp.rng.elementary`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace.dispatch import array_namespace

from .cuda_launching import consecutive, launch, on_device_of, source

__all__ = ["exp", "log", "normal_quantile", "sqrt", "truncated_normal"]


def _each(name: str, x: Any) -> Any:
    """What a kernel makes of each element, as float64."""
    xp = array_namespace(x)
    with on_device_of(x):
        x = consecutive(x, "float64").reshape(x.shape)
        out = xp.empty_like(x)
        if x.size:
            launch(xp, source("elementary"), name, x.size, x, x.size, out)
    return out


def sqrt(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.sqrt`."""
    return _each("roots", x)


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    return _each("logs", x)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    return _each("exponentials", x)


def normal_quantile(p: Any) -> Any:
    """See `nbm_xp.rng.elementary.normal_quantile`, of float64."""
    return _each("normal_quantiles", p)


def truncated_normal(u: Any) -> Any:
    """See `nbm_xp.rng.elementary.truncated_normal`, of float64."""
    return _each("truncated_normals", u)
