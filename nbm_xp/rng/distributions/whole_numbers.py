"""Integers of equal probability, outcomes by their probabilities, and random orders.

Contract: exactness. Integers come from whole outputs of the recurrence, with those left over
refused; probabilities are rounded to multiples of 2**-52 once and added up as integers, whose sums are the same in
whatever order a library adds; orders come from 62-bit keys, sorted stably.

References
----------
.. [1] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.1, for the methods of
   rejection and of inversion.
.. [2] P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters
   97 (2006), 181-185, for an order by exponential numbers over probabilities.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Final

from nbm_xp.namespace import array_namespace, dtype_of
from nbm_xp.namespace.mrg31k3p.integers import M1

from ..elementary import log
from .element_uniforms import ElementUniforms, until_accepted
from .rejection import any_of, which_of

__all__ = [
    "ONE",
    "SPAN_OF_TWO",
    "hardly_refused",
    "integers",
    "levels",
    "order_keys",
    "outcomes",
    "random_order",
    "wide_integers",
]

ONE: Final = 2**52
"""What probability 1 is as an integer."""

_LEAST: Final = 2.0**-1000
"""The least probability, and those below it, wait for a time that is finite still."""

SPAN_OF_TWO: Final = M1 * M1
"""How many values two outputs of the recurrence have."""


def _integer(xp: Any, u: Any) -> Any:
    """The output of the recurrence behind a uniform, from 0 on."""
    return xp.astype(u * 2.0**31, dtype_of(xp, "int64")) - 1


def integers(uniforms: ElementUniforms, low: Any, span: Any) -> Any:
    """Integers from `low` on, `span` of them, all of the same probability.

    Parameters
    ----------
    uniforms : ElementUniforms
        Of the elements.
    low, span : array
        int64, of shape (count,) or (1,); spans from 1 to `SPAN_OF_TWO`.

    Notes
    -----
    An output of the recurrence, or a pair of them, is taken modulo the span, unless it is one of the last few, of which
    there are not as many as the span: then the next is tried.
    """
    xp = array_namespace(low, span)
    short = span <= M1
    some_short, some_not = which_of(xp, short, ~short)
    if not some_short:
        return _digits(uniforms, 2, low, span)
    if not some_not:
        return _digits(uniforms, 1, low, span)
    few = _digits(uniforms, 1, low, xp.where(short, span, 1))
    return xp.where(short, few, _digits(uniforms, 2, low, xp.where(short, 1, span)))


def hardly_refused(span: int, n: int) -> bool:
    """Whether of so many outputs hardly one would be refused as one of the last few.

    Examples
    --------
    >>> hardly_refused(6, 10**7), hardly_refused(10**6, 10**7)
    (True, False)
    """
    return span <= M1 and 20 * n * (M1 % span) <= M1


def _digits(uniforms: ElementUniforms, outputs: int, low: Any, span: Any) -> Any:
    """Integers from `low` on, of so many outputs of the recurrence each."""
    own = uniforms.own("digits")
    if own is not None:
        return own(outputs, low, span)
    xp, values = uniforms.xp, M1**outputs

    def attempt(*u_and_span: Any) -> tuple[Any, Any]:
        *u, span = u_and_span
        return _digit(reduce(lambda z, v: z * M1 + _integer(xp, v), u[1:], _integer(xp, u[0])), span, values)

    return low + until_accepted(uniforms, outputs, attempt, span)


def _digit(z: Any, span: Any, values: int) -> tuple[Any, Any]:
    return z % span, z < values - values % span


def wide_integers(uniforms: ElementUniforms, low: int, span: int) -> Any:
    """Integers as `integers` gives them, for one span over `SPAN_OF_TWO` and up to 2**64.

    Returns
    -------
    array
        int64, which stand for the integers modulo 2**64.

    Notes
    -----
    Three outputs give 22, 21 and 21 bits; each is refused where it is one of the last few.
    """
    xp = uniforms.xp
    start = (low + 2**63 + 2**63) % 2**64 - 2**63  # of the least value, -2**63, and wrapped around
    own = uniforms.own("wide_integers")
    if own is not None:
        return own(start, span - 2**63 - 1)

    def attempt(u: Any, v: Any, w: Any) -> tuple[Any, Any]:
        value, fits = xp.zeros_like(u, dtype=dtype_of(xp, "int64")), u > 0.0
        for uniform, bits in ((u, 22), (v, 21), (w, 21)):
            digit, right = _digit(_integer(xp, uniform), 2**bits, M1)
            value, fits = (value << bits) + digit, fits & right
        return value, fits if span == 2**64 else fits & (value < span - 2**63)

    return until_accepted(uniforms, 3, attempt) + start


def levels(p: Any) -> Any:
    """Running sums of probabilities along the last axis, in units of 2**-52.

    Parameters
    ----------
    p : array
        float64, from 0 to 1.

    Returns
    -------
    array
        int64.

    Examples
    --------
    >>> import numpy as np
    >>> (levels(np.asarray([0.25, 0.75])) / ONE).tolist()
    [0.25, 1.0]
    """
    xp = array_namespace(p)
    return xp.cumulative_sum(xp.astype(xp.round(p * float(ONE)), dtype_of(xp, "int64")), axis=-1)


def outcomes(uniforms: ElementUniforms, sums: Any) -> Any:
    """Outcomes by their probabilities.

    Parameters
    ----------
    uniforms : ElementUniforms
        Of the elements.
    sums : array
        `levels` of shape (outcomes,), the same for all elements, or (count, outcomes).

    Returns
    -------
    array
        int64, of shape (count,): the first outcome whose running sum exceeds a uniform of 53 bits.
    """
    xp = array_namespace(sums)
    u = uniforms.fine(0)
    total = sums[..., -1]
    level = xp.astype(u * xp.astype(total, u.dtype), sums.dtype)
    level = xp.minimum(level, total - 1)
    if sums.ndim == 1:
        return xp.astype(xp.searchsorted(sums, level, side="right"), sums.dtype)
    return xp.sum(xp.astype(sums <= level[:, None], sums.dtype), axis=-1)


def order_keys(uniforms: ElementUniforms) -> Any:
    """Keys of 62 bits, int64, which sorted make a random order."""
    return _integer(uniforms.xp, uniforms.uniform(0)) * M1 + _integer(uniforms.xp, uniforms.uniform(1))


def random_order(uniforms: ElementUniforms, p: Any = None) -> Any:
    """The elements in a random order.

    Parameters
    ----------
    uniforms : ElementUniforms
        Of the elements.
    p : array, optional
        Their probabilities: the order in which they are chosen one after the other, each by the probabilities of those
        that are left [2]_.

    Returns
    -------
    array
        int64, of shape (count,).
    """
    xp = uniforms.xp
    if p is None:
        key = order_keys(uniforms)
    else:
        some = p > 0.0
        waiting = -log(uniforms.fine(0))
        key = xp.where(some, waiting / xp.where(some, xp.maximum(p, _LEAST), 1.0), xp.inf)
    return xp.astype(_stable_order(xp, key), dtype_of(xp, "int64"))


def _stable_order(xp: Any, key: Any) -> Any:
    """The order of keys, hardly any two of which are equal: sorting stably takes several times as long."""
    order = xp.argsort(key, stable=False)
    ascending = xp.take(key, order, axis=0)
    return xp.argsort(key, stable=True) if any_of(xp, ascending[1:] == ascending[:-1]) else order
