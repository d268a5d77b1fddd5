"""The draws that a graph records: what each computes, and its shape and dtype.

What this chapter must satisfy: an operation of the tape for each kind of draw, which takes the state of the streams and
gives the numbers and the state after them. Nothing flows back through a draw: it is constant almost everywhere.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.tape import operation
from nbm_xp.tape.dtypes import DType, as_dtype
from nbm_xp.tape.node import FLAT, Node, Shape, Spec

from . import blockwise_draws, draws, transforms  # noqa: F401  (draws in blocks: it enters their rules)

__all__ = ["binomial", "choice", "multinomial", "normal", "uniform"]


def _numbers_and_state(state: Node, size: Shape, dtype: str) -> list[Spec]:
    return [(size, as_dtype(dtype)), (state.shape, DType("int32"))]


uniform = operation(
    "random_uniform",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: draws.draw(xp, states, size, dtype),
    gradient=FLAT,
    several=True,
)

normal = operation(
    "random_normal",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: draws.normal(xp, states, size, dtype),
    gradient=FLAT,
    several=True,
)

binomial = operation(
    "random_binomial",
    infer=lambda state, p, size, n, dtype, precision: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, p, size, n, dtype, precision: draws.binomial(xp, states, n, p, size, dtype, precision),
    gradient=FLAT,
    several=True,
)


def _counts(p: Node, u: Any, n: Any, dtype: str) -> Spec:
    return p.shape, as_dtype(dtype)


multinomial = operation(
    "random_multinomial",
    infer=_counts,
    run=lambda xp, p, u, n, dtype: transforms.multinomial_counts(xp, p, u, n, dtype),
    gradient=FLAT,
)


def _choices(p: Node, u: Any, size: Any, dtype: str) -> Spec:
    return (*p.shape[:-1], size), as_dtype(dtype)


choice = operation(
    "random_choice",
    infer=_choices,
    run=lambda xp, p, u, size, dtype: transforms.without_replacement(xp, p, u, size, dtype),
    gradient=FLAT,
)
