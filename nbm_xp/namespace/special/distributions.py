"""Distribution functions of Student's t and of chi-squared over `xp`, and the quantiles of Student's t.

Both are incomplete functions of other arguments, which are chosen so that neither a small tail nor the neighbourhood of
the centre loses digits.
"""

from __future__ import annotations

import math
from typing import Any

from .error_functions import ndtr, ndtri
from .gamma_family import betaln
from .incomplete import betainc, gammainc, gammaincc
from .limits import first_of

__all__ = ["chdtr", "chdtrc", "stdtr", "stdtrit"]

_STEPS = 16


def chdtr(xp: Any, v: Any, x: Any) -> Any:
    """The distribution function of chi-squared."""
    return gammainc(xp, 0.5 * v, 0.5 * x)


def chdtrc(xp: Any, v: Any, x: Any) -> Any:
    """What the distribution function of chi-squared leaves to 1."""
    return gammaincc(xp, 0.5 * v, 0.5 * x)


def _tail(xp: Any, df: Any, t: Any) -> Any:
    """The probability of more than `t`, which is not below 0."""
    square = t * t
    far = square > df
    share = xp.where(far, df / (df + square), 1.0 / (1.0 + df / xp.where(far, 1.0, square)))
    half_df, half = 0.5 * df, xp.full_like(df, 0.5)
    part = betainc(xp, xp.where(far, half_df, half), xp.where(far, half, half_df), share)
    return 0.5 * xp.where(far, part, _rest(xp, half, half_df, share, part))


def _rest(xp: Any, a: Any, b: Any, x: Any, part: Any) -> Any:
    """What an incomplete beta function leaves to 1, by its other side where that is the small one."""
    return xp.where(part < 0.5, 1.0 - part, betainc(xp, b, a, 1.0 - x))


def stdtr(xp: Any, df: Any, t: Any) -> Any:
    """The distribution function of Student's t."""
    inside = (df > 0) & ~xp.isinf(df) & ~xp.isnan(t)
    tail = _tail(xp, xp.where(inside, df, 1.0), xp.where(inside, xp.abs(t), 1.0))
    value = xp.where(t < 0, tail, 1.0 - tail)
    return first_of(xp, value, (inside, value), (df > 0, ndtr(xp, t)), otherwise=math.nan)


def stdtrit(xp: Any, df: Any, p: Any) -> Any:
    """The quantiles of Student's t.

    With ``t = sqrt(df) * sinh(u)`` the logarithm of the tail is a concave function of `u`, on which Newton's method
    goes to the root from one side, beginning with the normal distribution's quantile.
    """
    inside = (df > 0) & ~xp.isinf(df) & (p > 0) & (p < 1)
    df_, p_ = xp.where(inside, df, 1.0), xp.where(inside, p, 0.25)
    small = xp.minimum(p_, 1.0 - p_)
    root, log_small, log_norm = xp.sqrt(df_), xp.log(small), -betaln(xp, 0.5 * df_, xp.full_like(df_, 0.5))
    u = xp.asinh(xp.abs(ndtri(xp, small)) / root)
    for _ in range(_STEPS):
        tail = _tail(xp, df_, root * xp.sinh(u))
        log_cosh = u + xp.log1p(xp.exp(-2.0 * u)) - math.log(2.0)
        slope = xp.exp(log_norm - df_ * log_cosh - xp.log(tail))
        u = u + (xp.log(tail) - log_small) / slope
    t = root * xp.sinh(u)
    value = xp.where(p_ < 0.5, -t, t)
    ends = first_of(xp, value, (df > 0, ndtri(xp, p)), otherwise=math.nan)  # infinities, NaN, and the normal one
    return xp.where(inside, value, ends)
