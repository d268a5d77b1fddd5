"""Sigmoid and softplus: the two composites that the tape itself knows, because it records them for unstable forms.

``log(1 + exp(x))`` overflows for large `x` and, differentiated through its parts, gives NaN. It is recorded as
`softplus`, whose gradient is `sigmoid`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace

from .composite import composite, same_as_first
from .operators import FUNCTIONS

__all__ = ["sigmoid", "softplus"]


@composite(gradient=lambda g, out, x: g * (out * (1 - out)), infer=same_as_first)
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of a floating array, through the hyperbolic tangent: no overflow, and the fastest form."""
    xp = array_namespace(x)
    return xp.tanh(x * 0.5) * 0.5 + 0.5


@composite(gradient=lambda g, out, x: g * sigmoid(x), infer=same_as_first)
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` of a floating array, without overflow and exact in both tails."""
    xp = array_namespace(x)
    return xp.maximum(x, xp.zeros_like(x)) + xp.log1p(xp.exp(-xp.abs(x)))


FUNCTIONS.update(sigmoid=sigmoid, softplus=softplus)
