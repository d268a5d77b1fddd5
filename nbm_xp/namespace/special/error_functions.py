"""The error function's family over `xp`: for libraries without functions of their own.

All come from ``exp(x**2) erfc(x)``, which is smooth and never leaves the range of numbers on the right; the inverses
come by Newton's method from rational starts (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23).
"""

from __future__ import annotations

import math
from typing import Any

from .coefficients import ERF, ERFCX, chebyshev
from .limits import first_of

__all__ = ["erf", "erfc", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

_ROOT_HALF = math.sqrt(0.5)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)


def _exp_of_square(xp: Any, x: Any, sign: float) -> Any:
    """``exp(sign * x**2)``, the square taken in two parts so that its rounding does not show."""
    x = xp.minimum(xp.abs(x), 40.0)
    coarse = xp.floor(16.0 * x) / 16.0
    return xp.exp(sign * coarse * coarse) * xp.exp(sign * (x - coarse) * (x + coarse))


def _right(xp: Any, x: Any) -> Any:
    """`erfcx` of numbers that are not negative."""
    return chebyshev(ERFCX, 1.0 - 7.5 / (x + 3.75)) / (1.0 + 2.0 * x)


def erfcx(xp: Any, x: Any) -> Any:
    """``exp(x**2) erfc(x)``."""
    size = _right(xp, xp.abs(x))
    return xp.where(x < 0, 2.0 * _exp_of_square(xp, xp.where(x < 0, x, 0.0), 1.0) - size, size)


def _near_erf(xp: Any, x: Any, near: Any) -> Any:
    s = xp.where(near, x, 0.0)
    return s * chebyshev(ERF, 2.0 * s * s - 1.0)


def erf(xp: Any, x: Any) -> Any:
    """The error function."""
    near = xp.abs(x) <= 1.0
    beyond = xp.sign(x) * (1.0 - _exp_of_square(xp, x, -1.0) * _right(xp, xp.abs(x)))
    return xp.where(near, _near_erf(xp, x, near), beyond)


def erfc(xp: Any, x: Any) -> Any:
    """One less the error function, relatively right in its right tail."""
    near = xp.abs(x) <= 0.5
    tail = _exp_of_square(xp, x, -1.0) * _right(xp, xp.abs(x))
    return xp.where(near, 1.0 - _near_erf(xp, x, near), xp.where(x < 0, 2.0 - tail, tail))


def ndtr(xp: Any, x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    return 0.5 * erfc(xp, -_ROOT_HALF * x)


def log_ndtr(xp: Any, x: Any) -> Any:
    """The logarithm of `ndtr`."""
    left = x < 0
    s = xp.where(left, x, 0.0)
    lower = xp.log(0.5 * _right(xp, -_ROOT_HALF * s)) - 0.5 * s * s
    upper = xp.log1p(-0.5 * erfc(xp, _ROOT_HALF * xp.where(left, 0.0, x)))
    return xp.where(left, lower, upper)


def _lower_quantile(xp: Any, p: Any) -> Any:
    """Where `ndtr` is `p`, which lies above 0 and not above 1/2: Newton on the logarithm, which is concave."""
    log = xp.log(p)
    t = xp.sqrt(-2.0 * log)
    numerator = 2.515517 + t * (0.802853 + t * 0.010328)
    x = numerator / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t
    for _ in range(4):
        ratio = _right(xp, -_ROOT_HALF * x)  # the same on the few starts above 0
        ratio = xp.where(x < 0, ratio, erfcx(xp, -_ROOT_HALF * xp.maximum(x, 0.0)))
        x = x - _ROOT_HALF_PI * ratio * (xp.log(0.5 * ratio) - 0.5 * x * x - log)
    return x


def _central_erfinv(xp: Any, y: Any) -> Any:
    """`erfinv` of numbers from -1/2 to 1/2: Newton on the function, which is nearly straight there."""
    x = 0.5 * math.sqrt(math.pi) * y * (1.0 + math.pi / 12.0 * y * y)
    for _ in range(4):
        slope = xp.exp(-x * x) / (0.5 * math.sqrt(math.pi))
        x = x - (x * chebyshev(ERF, 2.0 * x * x - 1.0) - y) / slope
    return x


def ndtri(xp: Any, p: Any) -> Any:
    """The inverse of `ndtr`."""
    central = xp.abs(p - 0.5) <= 0.25
    upper = p > 0.5
    q = xp.where(upper, 1.0 - p, p)
    inside = (q > 0) & ~central
    x = _lower_quantile(xp, xp.where(inside, q, 0.25))
    x = first_of(xp, x, (inside, x), (q == 0, -math.inf), otherwise=math.nan)
    middle = _central_erfinv(xp, 2.0 * (xp.where(central, p, 0.5) - 0.5)) / _ROOT_HALF
    return xp.where(central, middle, xp.where(upper, -x, x))


def erfinv(xp: Any, y: Any) -> Any:
    """The inverse of `erf`."""
    size = xp.abs(y)
    near = size < 0.5
    far = -_ROOT_HALF * xp.sign(y) * ndtri(xp, xp.where(near, 0.25, 0.5 * (1.0 - size)))
    return xp.where(near, _central_erfinv(xp, xp.where(near, y, 0.0)), far)
