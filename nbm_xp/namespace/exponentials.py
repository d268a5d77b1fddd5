"""Elementary functions of the compiled core as NumPy ufuncs, for float32 and float64.

They give the same bits on every processor, with errors of at most one unit in the last place (two to three in sigmoid,
softplus and tanh of float32), NumPy's special values, and its warnings of overflow etc.; sigmoid and softplus do not
warn. Without AVX-512, NumPy computes most of these one number at a time. Other dtypes are computed by NumPy's own
loops. Ufuncs are pickled by their names in this module, which without a core are NumPy's own.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from . import core
from .core import functions
from .kernels import kernel, register_core_kernels
from .libraries import is_lazy


def ufunc(name: str, level: str) -> Any:
    """Return a function of the core, at a level of vector instructions, as a ufunc; without a core NumPy's, or None."""
    theirs = getattr(np, name, None)
    if level not in core.levels:
        return theirs
    kernels = core.compiled.functions(level)
    own = tuple(kernels[key] for dtype in ("float32", "float64") if (key := f"{name}_{dtype}") in kernels)
    makes_ufuncs = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    made = core.compiled.ufunc(makes_ufuncs, theirs, name, own)
    with suppress(AttributeError):  # older versions of NumPy: pickle then searches all modules
        made.__module__ = __name__
    return made


exp, expm1, log1p, sigmoid, softplus, tanh = (
    ufunc(name, core.level()) for name in ("exp", "expm1", "log1p", "sigmoid", "softplus", "tanh")
)

# The functions that the array API standard has, by name.
FUNCTIONS = {"exp": exp, "expm1": expm1, "log1p": log1p, "tanh": tanh}


# Number of elements above which it is worth checking whether the core's loops support an array.
_LARGE = 1 << 12


def _rows(x: Any, axis: Any) -> Any:
    """The array as a matrix whose rows lie along the axis; None if the loops do not support it."""
    if isinstance(axis, tuple):
        axis = axis[0] if len(axis) == 1 else None
    last = axis in (-1, x.ndim - 1) and x.ndim > 0
    if not last or x.size < _LARGE or x.dtype != np.float32 or not x.flags.c_contiguous or x.shape[-1] < 8:
        return None
    return x.reshape(-1, x.shape[-1])


def _of_rows(name: str) -> Callable[[Any, Any], Any]:
    """A function of the rows along an axis, which returns None for arrays that the core's loops do not support."""

    def function(x: Any, axis: Any) -> Any:
        rows = _rows(x, axis)
        if rows is None:
            return None
        out = np.empty(x.shape[:-1] if name == "logsumexp" else x.shape, x.dtype)
        functions[name](rows, rows.shape[1], out)
        return out

    function.__name__ = function.__qualname__ = name
    return function


softmax, log_softmax, logsumexp = map(_of_rows, ("softmax", "log_softmax", "logsumexp"))


def softmax_states(inputs: Any, uniforms: Any, axis: int) -> Any:
    """See `nbm_xp.machines.units.discrete.softmax_states`."""
    states, after, dtype = inputs.shape[axis], math.prod(inputs.shape[axis + 1 :]), inputs.dtype
    if dtype.name not in _IN_ONE_PASS or uniforms.dtype != dtype or states * dtype.itemsize > core.ROOM:
        return NotImplemented
    inputs, uniforms = np.ascontiguousarray(inputs), np.ascontiguousarray(uniforms)
    out = np.empty_like(inputs)
    functions[f"softmax_states_{dtype.name}"](inputs, uniforms, states, after, out)
    return out


# where exp(x) is finite and exp(x) / (1 + exp(x)) rounds to 1: from 8.4 to 11 in float16, from 37.5 to 88 in the others
_SATURATED = {"float16": 10.0}
_SATURATED_ELSE = 40.0

_IN_ONE_PASS = ("float32", "float64")

_NAMES = ("log_softmax", "logsumexp", "sigmoid", "softmax", "softmax_states", "softplus")
register_core_kernels("exponentials", __name__, _NAMES)


def _in_one_pass(name: str, xp: Any, dtype: str) -> Callable[[Any], Any] | None:
    """The library's own function of arrays of a dtype; a lazy library selects it for each block."""
    own = kernel(f"exponentials.{name}", xp)
    return own if dtype in _IN_ONE_PASS or is_lazy(xp) else None


@lru_cache(maxsize=64)
def sigmoid_for(xp: Any, dtype: str) -> Callable[[Any], Any]:
    """Return the sigmoid function for arrays of one library and dtype."""
    own = _in_one_pass("sigmoid", xp, dtype)
    if own is not None:
        return own
    exp, minimum, saturated = xp.exp, xp.minimum, _SATURATED.get(dtype, _SATURATED_ELSE)

    def of(x: Any) -> Any:
        e = exp(minimum(x, saturated))
        return e / (1.0 + e)

    return of


@lru_cache(maxsize=64)
def softplus_for(xp: Any, dtype: str) -> Callable[[Any], Any]:
    """Return the softplus function for arrays of one library and dtype."""
    own = _in_one_pass("softplus", xp, dtype)
    if own is not None:
        return own
    return lambda x: xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))
