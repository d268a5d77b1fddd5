"""The draws that a graph records: what each computes, and its shape and dtype.

Contract: an operation of the tape for each kind of draw, which takes the state of the streams and
gives the numbers and the state after them. Nothing flows back through a draw: it is constant almost everywhere.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of
from nbm_xp.namespace.compiling import as_rounded
from nbm_xp.tape import composite, operation
from nbm_xp.tape.composite import sigmoid
from nbm_xp.tape.dtypes import as_dtype, int32
from nbm_xp.tape.node import FLAT, Node, Shape, Spec

from .. import draws

__all__ = ["binomial", "choice", "multinomial", "normal", "rounded_product", "uniform"]


_AT_ONCE: Final = 2**15  # probabilities that are compared with uniforms in one go


def _crossed(xp: Any, p: Any, u: Any) -> Any:
    """Mark the first outcome at which the running sum of probabilities, in double precision, exceeds a uniform."""
    sums = xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    past = xp.astype(sums > xp.astype(u, sums.dtype)[..., None], dtype_of(xp, "int32"))
    return xp.cumulative_sum(past, axis=-1) * past == 1


def multinomial_counts(xp: Any, p: Any, u: Any, n: int, dtype: str) -> Any:
    """Count the outcomes of `n` draws from each row of probabilities.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.98, 0.01, 0.01], [0.01, 0.49, 0.5]]), xp.asarray([0.3, 0.8, 0.2, 0.4])
    >>> multinomial_counts(xp, p, u, 2, "int64").tolist()
    [[2, 0, 0], [0, 1, 1]]
    """
    draws, index = xp.reshape(u, (n, *p.shape[:-1])), dtype_of(xp, "int64")
    counts, together = xp.zeros_like(p, dtype=index), max(1, _AT_ONCE // max(1, math.prod(p.shape)))
    for first in range(0, n, together):
        crossed = _crossed(xp, p, draws[first : min(n, first + together), ...])
        counts = counts + xp.sum(xp.astype(crossed, index), axis=0)
    return xp.astype(counts, dtype_of(xp, dtype))


def with_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` outcomes from each row of probabilities, any of them as often as it comes.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> with_replacement(xp, xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.6, 0.7]), 2, "int64").tolist()
    [[1, 1]]
    """
    outcomes, sums = p.shape[-1], xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    last = xp.max(xp.where(p > 0, xp.arange(outcomes, dtype=dtype_of(xp, "int64")), 0), axis=-1)
    draws = xp.reshape(xp.astype(u, sums.dtype), (size, *p.shape[:-1]))
    if p.ndim == 1:
        passed = xp.searchsorted(sums, draws, side="right")
    else:
        passed = outcomes - xp.sum(xp.astype(sums > draws[..., None], dtype_of(xp, "int64")), axis=-1)
    chosen = xp.where(passed < outcomes, passed, last)
    return xp.astype(xp.moveaxis(chosen, 0, -1), dtype_of(xp, dtype))


def without_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` different outcomes from each row of probabilities.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.1, 0.6])
    >>> without_replacement(xp, p, u, 2, "int64").tolist()
    [[0, 2]]
    """
    outcomes = p.shape[-1]
    if size > outcomes:
        raise ValueError(f"size must be at most {outcomes}, the number of outcomes, got {size}")
    index = dtype_of(xp, "int64")
    places = xp.arange(outcomes, dtype=index)
    draws = xp.reshape(u, (size, *p.shape[:-1]))
    free = xp.ones_like(p, dtype=dtype_of(xp, "bool"))
    chosen = []
    for draw in range(size):
        crossed = xp.max(xp.where(_crossed(xp, p, draws[draw, ...]), places, -1), axis=-1)
        last = xp.max(xp.where(free, xp.where(p > 0, places + outcomes, places), -1), axis=-1) % outcomes
        choice = xp.where(crossed < 0, last, crossed)
        chosen.append(xp.astype(choice, dtype_of(xp, dtype)))
        free = free & (places != choice[..., None])
        p = xp.where(free, p, xp.zeros_like(p))
        total = xp.sum(p, axis=-1, keepdims=True)
        p = p / xp.where(total == 0, xp.ones_like(total), total)
    return xp.stack(chosen, axis=-1)


def _numbers_and_state(state: Node, size: Shape, dtype: str) -> list[Spec]:
    return [(size, as_dtype(dtype)), (state.shape, int32)]


def _as_drawn(xp: Any, drawn: tuple[Any, Any]) -> tuple[Any, Any]:
    """Numbers whose bits do not depend on what is computed with them, and the state after them."""
    return as_rounded(drawn[0], xp), drawn[1]


def _binomial_of_sigmoid(
    xp: Any, states: Any, x: Any, size: tuple[int, ...], n: int, dtype: str, precision: str
) -> tuple[Any, Any]:
    if n == 1 and dtype == dtype_name(x):
        return draws.bernoulli_of_sigmoid(xp, states, x, size, precision)
    return draws.binomial(xp, states, n, sigmoid(x), size, dtype, precision)


def _binomial_of_affine(
    xp: Any, states: Any, a: Any, b: Any, bias: Any, size: tuple[int, ...], n: int, dtype: str, precision: str
) -> tuple[Any, Any]:
    if n == 1 and dtype == dtype_name(a):
        return draws.bernoulli_of_affine(xp, states, a, b, bias, size, precision)
    return draws.binomial(xp, states, n, sigmoid(xp.matmul(a, b) + bias), size, dtype, precision)


uniform = operation(
    "random_uniform",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: _as_drawn(xp, draws.draw(xp, states, size, dtype)),
    gradient=FLAT,
    several=True,
    may_overlap=False,
)

normal = operation(
    "random_normal",
    infer=lambda state, size, dtype: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, size, dtype: _as_drawn(xp, draws.normal(xp, states, size, dtype)),
    gradient=FLAT,
    several=True,
    may_overlap=False,
)

binomial = operation(
    "random_binomial",
    infer=lambda state, p, size, n, dtype, precision: _numbers_and_state(state, size, dtype),
    run=lambda xp, states, p, size, n, dtype, precision: draws.binomial(xp, states, n, p, size, dtype, precision),
    fused={(1, "sigmoid", "add", "matmul"): _binomial_of_affine, (1, "sigmoid"): _binomial_of_sigmoid},
    gradient=FLAT,
    several=True,
    may_overlap=False,
)


def _counts(p: Node, u: Any, n: Any, dtype: str) -> Spec:
    return p.shape, as_dtype(dtype)


multinomial = operation(
    "random_multinomial",
    infer=_counts,
    run=lambda xp, p, u, n, dtype: multinomial_counts(xp, p, u, n, dtype),
    gradient=FLAT,
    may_overlap=False,
)


def _choices(p: Node, u: Any, size: Any, dtype: str, replace: bool) -> Spec:
    return (*p.shape[:-1], size), as_dtype(dtype)


_CHOOSING = {True: with_replacement, False: without_replacement}

choice = operation(
    "random_choice",
    infer=_choices,
    run=lambda xp, p, u, size, dtype, replace: _CHOOSING[replace](xp, p, u, size, dtype),
    gradient=FLAT,
    may_overlap=False,
)


@composite(gradient=lambda g, out, x: g, elementwise=True, name="as_rounded")
def _settled(x: Any) -> Any:
    return as_rounded(x, array_namespace(x))


def rounded_product(x: Any, y: Any) -> Any:
    """A product that is rounded before anything is added to it."""
    return _settled(x * y)
