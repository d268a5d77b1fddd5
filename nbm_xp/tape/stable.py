"""Sigmoid and softplus: the two composites that the tape itself knows, because it records them for unstable forms.

``log(1 + exp(x))`` overflows for large `x` and, differentiated through its parts, gives NaN. It is recorded as
`softplus`, whose gradient is `sigmoid`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name
from nbm_xp.namespace.exponentials import sigmoid_for, softplus_for
from nbm_xp.namespace.refusals import FAILURES, refuse

from .composite import composite
from .node import Memory

__all__ = ["sigmoid", "softplus"]


@composite(gradient=lambda g, out, x: g * (out * (1 - out)), elementwise=True, memory=Memory.OWN)
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` of a floating array, with a small relative error in both tails.

    One exponential, no overflow, no branch. Half of ``1 + tanh(x / 2)`` is faster, but all of its digits cancel below
    -17 in float32, and with them the logarithm of the result and the gradient.
    """
    try:
        return sigmoid_for(array_namespace(x), dtype_name(x))(x)
    except FAILURES as error:
        refuse(error)


@composite(gradient=lambda g, out, x: g * sigmoid(x), elementwise=True, memory=Memory.OWN)
def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` of a floating array, without overflow and exact in both tails."""
    try:
        return softplus_for(array_namespace(x), dtype_name(x))(x)
    except FAILURES as error:
        refuse(error)
