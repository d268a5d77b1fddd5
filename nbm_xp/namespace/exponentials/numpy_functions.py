"""NumPy: elementary functions of the compiled core as ufuncs, for float32 and float64.

They have the same bits on every processor, errors of at most one unit in the last place (two to three in sigmoid,
softplus and tanh of float32), NumPy's special values, and its warnings of overflow and the like; sigmoid and softplus
give none. Below AVX-512 NumPy computes most of these one number at a time. Other dtypes are computed by NumPy's own
loops. Ufuncs are pickled by their names, under which they are found here; without a core, NumPy's own.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import Any

import numpy as np

from nbm_xp.namespace import core

__all__ = ["FUNCTIONS", "exp", "expm1", "log1p", "sigmoid", "softplus", "tanh", "ufunc"]


def ufunc(name: str, level: str) -> Any:
    """A function of the core, of one level of vector instructions, as a ufunc; without a core NumPy's own, or None."""
    theirs = getattr(np, name, None)
    if level not in core.levels:
        return theirs
    kernels = core.compiled.functions(level)
    own = tuple(kernels[key] for dtype in ("float32", "float64") if (key := f"{name}_{dtype}") in kernels)
    makes_ufuncs = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    made = core.compiled.ufunc(makes_ufuncs, theirs, name, own)
    with suppress(AttributeError):  # of older versions of NumPy: then pickle looks for it in all modules
        made.__module__ = __name__
    return made


exp, expm1, log1p, sigmoid, softplus, tanh = (
    ufunc(name, core.level()) for name in ("exp", "expm1", "log1p", "sigmoid", "softplus", "tanh")
)

FUNCTIONS = {"exp": exp, "expm1": expm1, "log1p": log1p, "tanh": tanh}
"""Those that the standard has, by its names."""
