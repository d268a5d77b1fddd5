"""Cotangents that `where` has put zeros into: what a rule multiplies them with may be infinite or NaN there.

`where(x > 0, log(x), 0.0)` computes the logarithm of zero and leaves it out. Its cotangent is zero there, the
derivative of the logarithm infinite, and their product NaN. So an element-wise rule is applied to the cotangent as it
was before, and the zeros are put into what comes of it: as many calls, and what is left out stays out, along a whole
chain of element-wise functions.
"""

from __future__ import annotations

from typing import Any

from .node import Node
from .standard.choices import where
from .standard.creation import zeros_like
from .tensor import Tensor

__all__ = ["as_before", "left_out"]

_Zeros = tuple[tuple[Node, bool], ...]
"""Conditions and, for each, whether zeros are where it holds; the outermost first."""


def as_before(cotangent: Any) -> tuple[Any, _Zeros]:
    """A cotangent before `where` put zeros into it, and where they are."""
    zeros: list[tuple[Node, bool]] = []
    node = cotangent.node if isinstance(cotangent, Tensor) else None
    while node is not None and node.op.name == "where":
        condition, first, second = node.args
        if not isinstance(condition, Node) or not (_is_zeros(first) or _is_zeros(second)):
            break
        zeros.append((condition, _is_zeros(first)))
        node = second if zeros[-1][1] else first
        if not isinstance(node, Node):
            return cotangent, ()
    return (Tensor(node), tuple(zeros)) if zeros and node is not None else (cotangent, ())


def _is_zeros(value: Any) -> bool:
    return isinstance(value, Node) and value.op.name == "zeros"


def left_out(gradient: Tensor, zeros: _Zeros) -> Tensor:
    """What a rule gave of a cotangent as it was before, with the zeros where they were."""
    for condition, where_true in reversed(zeros):
        zero = zeros_like(gradient)
        sides = (zero, gradient) if where_true else (gradient, zero)
        gradient = where(Tensor(condition), *sides)
    return gradient
