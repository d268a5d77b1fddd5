"""NumPy: elementary functions of the compiled core as ufuncs, for dtypes in which NumPy's own are slow.

Below AVX-512 NumPy computes some of these one number at a time, each by a call of the C library. These have the same
bits on every processor, errors no larger than NumPy's, its special values, and tell of overflow and the like as its do.
Ufuncs are pickled by their names, under which they are found here; where there is no core, NumPy's own.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from nbm_xp.namespace import core

__all__ = ["exp", "expm1", "functions", "log1p", "ufunc"]

_DTYPES = {"exp": ("float32",), "expm1": ("float32",), "log1p": ("float32", "float64")}


def ufunc(name: str, level: str) -> Any:
    """A function of the core, of one level of vector instructions, as a ufunc."""
    if level not in core.levels:
        return getattr(np, name)
    table = core.compiled.functions(level)
    makes_ufuncs = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    made = core.compiled.ufunc(makes_ufuncs, name, tuple(table[f"{name}_{dtype}"] for dtype in _DTYPES[name]))
    with suppress(AttributeError):  # of older versions of NumPy: then pickle looks for it in all modules
        made.__module__ = __name__
    return made


exp, expm1, log1p = (ufunc(name, core.level()) for name in _DTYPES)
_FUNCTIONS = {(own.__name__, dtype): own for own in (exp, expm1, log1p) for dtype in _DTYPES[own.__name__]}


def functions() -> Mapping[tuple[str, str], Any]:
    """The functions by name and dtype, where there is a core; of any other dtype they give no right answer."""
    return _FUNCTIONS
