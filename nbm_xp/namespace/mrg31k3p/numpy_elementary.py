"""Logarithms, exponentials and normal quantiles of NumPy arrays, by the compiled core.

Contract: the bits of `nbm_xp.rng.elementary`, in one pass over memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions

__all__ = ["exp", "log", "normal_quantile", "sqrt"]

sqrt = np.sqrt
"""NumPy's root is the processor's, which IEEE 754 fixes."""


def log(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.log`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    functions["log"](out)
    return out.reshape(x.shape)


def exp(x: Any) -> Any:
    """See `nbm_xp.rng.elementary.exp`."""
    out = np.array(x, np.float64, order="C").reshape(-1)
    functions["exp"](out)
    return out.reshape(x.shape)


def normal_quantile(p: Any) -> Any:
    """See `nbm_xp.rng.elementary.normal_quantile`, of float64."""
    out = np.empty(p.shape)
    functions["normal_quantile"](np.require(p, np.float64, ("C", "A")), out)
    return out
