"""Logistic functions and products with logarithms over `xp`, with the values of their limits where a factor is 0."""

from __future__ import annotations

import math
from typing import Any

from .limits import first_of

__all__ = ["entr", "expit", "kl_div", "log_expit", "logit", "rel_entr", "xlog1py", "xlogy"]


def expit(xp: Any, x: Any) -> Any:
    """The logistic function, relatively right in both tails."""
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small, 1.0) / (1.0 + small)


def log_expit(xp: Any, x: Any) -> Any:
    """The logarithm of `expit`."""
    return xp.minimum(x, 0.0) - xp.log1p(xp.exp(-xp.abs(x)))


def logit(xp: Any, p: Any) -> Any:
    """The inverse of `expit`; near 1/2 by ``log1p``, which loses nothing there."""
    middle = (p > 0.3) & (p < 0.65)
    s = 2.0 * (xp.where(middle, p, 0.5) - 0.5)
    q = xp.where(middle, 0.5, p)
    return xp.where(middle, xp.log1p(s) - xp.log1p(-s), xp.log(q / (1.0 - q)))


def xlogy(xp: Any, x: Any, y: Any) -> Any:
    """``x log(y)``, 0 where `x` is."""
    none = (x == 0) & ~xp.isnan(y)
    return xp.where(none, 0.0, x * xp.log(xp.where(none, 1.0, y)))


def xlog1py(xp: Any, x: Any, y: Any) -> Any:
    """``x log(1 + y)``, 0 where `x` is."""
    none = (x == 0) & ~xp.isnan(y)
    return xp.where(none, 0.0, x * xp.log1p(xp.where(none, 0.0, y)))


def entr(xp: Any, x: Any) -> Any:
    """``-x log(x)``; 0 at 0, minus infinity below it."""
    positive = ~(x <= 0)
    inner = xp.where(positive, x, 1.0)
    return first_of(xp, x, (positive, -inner * xp.log(inner)), (x < 0, -math.inf), otherwise=0.0)


def rel_entr(xp: Any, x: Any, y: Any) -> Any:
    """``x log(x / y)``; 0 at 0, infinity where it has no meaning."""
    a, b = (xp.where((x > 0) & (y > 0), z, 1.0) for z in (x, y))
    ratio = a / b
    whole = (ratio > 0) & ~xp.isinf(ratio)  # else the quotient left the range of numbers, its logarithm did not
    inner = a * xp.where(whole, xp.log(xp.where(whole, ratio, 1.0)), xp.log(a) - xp.log(b))
    unknown = xp.isnan(x) | xp.isnan(y)
    none = (x == 0) & (y >= 0)
    return first_of(xp, inner, (unknown, math.nan), (none, 0.0), ((x > 0) & (y > 0), inner), otherwise=math.inf)


def kl_div(xp: Any, x: Any, y: Any) -> Any:
    """``x log(x / y) - x + y``; y at x = 0, infinity where it has no meaning."""
    taken = rel_entr(xp, x, y)
    endless = xp.isinf(taken)
    return xp.where(endless, taken, taken - xp.where(endless, 0.0, x) + xp.where(endless, 0.0, y))
