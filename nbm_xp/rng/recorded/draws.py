"""The draws that a graph records: what each computes, and its shape and dtype.

Contract: an operation of the tape for each kind of draw, which takes the state of the streams and
gives the numbers and the state after them. Nothing flows back through a draw: it is constant almost everywhere.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name
from nbm_xp.namespace.compiling import as_rounded
from nbm_xp.tape import composite, operation
from nbm_xp.tape.dtypes import DType, as_dtype
from nbm_xp.tape.node import FLAT, Memory, Node, Shape, Spec
from nbm_xp.tape.stable import sigmoid

from .. import draws, transforms, trials
from . import blockwise

__all__ = ["binomial", "choice", "multinomial", "normal", "rounded_product", "uniform"]


def _numbers_and_state(state: Node, size: Shape, dtype: str) -> list[Spec]:
    return [(size, as_dtype(dtype)), (state.shape, DType("int32"))]


def _as_drawn(xp: Any, drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    """Numbers whose bits do not depend on what is computed with them, and the state after them."""
    return as_rounded(drawn[0], xp), drawn[1]


def _binomial_of_sigmoid(
    xp: Any, states: Any, x: Any, size: tuple[int, ...], n: int, dtype: str, precision: str
) -> tuple[Any, Any]:
    if n == 1 and dtype == dtype_name(x):
        return trials.bernoulli_of_sigmoid(xp, states, x, size, precision)
    return trials.binomial(xp, states, n, sigmoid(x), size, dtype, precision)


def _binomial_of_affine(
    xp: Any, states: Any, a: Any, b: Any, bias: Any, size: tuple[int, ...], n: int, dtype: str, precision: str
) -> tuple[Any, Any]:
    if n == 1 and dtype == dtype_name(a):
        return trials.bernoulli_of_affine(xp, states, a, b, bias, size, precision)
    return trials.binomial(xp, states, n, sigmoid(xp.matmul(a, b) + bias), size, dtype, precision)


uniform = operation(
    "random_uniform",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: _as_drawn(xp, draws.draw(xp, states, size, dtype)),
    gradient=FLAT,
    several=True,
    memory=Memory.OWN,
    split_rule=blockwise.drawn,
)

normal = operation(
    "random_normal",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: _as_drawn(xp, draws.normal(xp, states, size, dtype)),
    gradient=FLAT,
    several=True,
    memory=Memory.OWN,
    split_rule=blockwise.drawn,
)

binomial = operation(
    "random_binomial",
    infer=lambda state, p, size, n, dtype, precision: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, p, size, n, dtype, precision: trials.binomial(xp, states, n, p, size, dtype, precision),
    fused={(1, "sigmoid", "add", "matmul"): _binomial_of_affine, (1, "sigmoid"): _binomial_of_sigmoid},
    gradient=FLAT,
    several=True,
    memory=Memory.OWN,
    split_rule=blockwise.counted,
)


def _counts(p: Node, u: Any, n: Any, dtype: str) -> Spec:
    return p.shape, as_dtype(dtype)


multinomial = operation(
    "random_multinomial",
    infer=_counts,
    run=lambda xp, p, u, n, dtype: transforms.multinomial_counts(xp, p, u, n, dtype),
    gradient=FLAT,
    memory=Memory.OWN,
    split_rule=blockwise.of_rows,
)


def _choices(p: Node, u: Any, size: Any, dtype: str, replace: bool) -> Spec:
    return (*p.shape[:-1], size), as_dtype(dtype)


_CHOOSING = {True: transforms.with_replacement, False: transforms.without_replacement}

choice = operation(
    "random_choice",
    infer=_choices,
    run=lambda xp, p, u, size, dtype, replace: _CHOOSING[replace](xp, p, u, size, dtype),
    gradient=FLAT,
    memory=Memory.OWN,
    split_rule=blockwise.of_rows,
)


@composite(gradient=lambda g, out, x: g, elementwise=True, name="as_rounded", memory=Memory.FIRST)
def _settled(x: Any) -> Any:
    return as_rounded(x, array_namespace(x))


def rounded_product(x: Any, y: Any) -> Any:
    """A product that is rounded before anything is added to it."""
    return _settled(x * y)
