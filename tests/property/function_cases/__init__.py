"""Cases of the documented functions: a call on the surface, and what NumPy says to it.

Each case is held to NumPy on every library, given arrays, Variables and placeholders, and its gradient to finite
differences; see test_functions_values.py and test_functions_gradients.py.
"""

from __future__ import annotations

from . import compound, elementwise, layers, optrees, reductions, shaping, theano, windows
from .case import FunctionCase

__all__ = ["CASES", "FunctionCase"]

CASES: list[FunctionCase] = [
    *elementwise.cases(),
    *reductions.cases(),
    *shaping.cases(),
    *layers.cases(),
    *windows.cases(),
    *theano.cases(),
    *compound.cases(),
    *optrees.cases(),
]
