"""The gamma function's family over `xp`: for libraries without functions of their own.

Stirling's and Euler and Maclaurin's series, at arguments moved to 10 or beyond (Abramowitz and Stegun, Handbook of
Mathematical Functions, 6.1.40, 6.3.18 and 23.1.30), and reflection for negative ones. Relative errors are of the order
of 1e-15, absolute ones of 1e-16 near zeros. All take floating arrays that have been cast to one dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .coefficients import LOG_GAMMA, chebyshev
from .limits import first_of

__all__ = [
    "beta", "betaln", "binet", "digamma", "gamma", "gammaln", "hurwitz_zeta", "polygamma_of",
    "reflected_polygamma", "riemann_zeta", "zeta_moment",
]  # fmt: skip

_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_ROOT_TAU = math.sqrt(2.0 * math.pi)
_BINET = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_PSI = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138,
)  # fmt: skip
_FAR = 10.0


def _series(coefficients: tuple[float, ...], z: Any) -> Any:
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * z + coefficient
    return total


def _far_binet(x: Any) -> Any:
    return _series(_BINET, 1.0 / (x * x)) / x


def _sine_of_pi(xp: Any, x: Any) -> Any:
    """``sin(pi x)`` with its sign, exactly 0 at whole numbers."""
    whole = xp.round(x)
    sine = xp.sin(math.pi * (x - whole))
    return xp.where(whole == 2.0 * xp.floor(0.5 * whole), sine, -sine)


def _cotangent_of_pi(xp: Any, x: Any) -> Any:
    """``1 / tan(pi x)`` for x from -1/2 to 1/2, exactly 0 at both ends; of sines alone, which more libraries have."""
    return xp.sin(math.pi * (0.5 - xp.abs(x))) / xp.sin(math.pi * x)


def _positive_gammaln(xp: Any, x: Any) -> Any:
    below_one = x < 1.0
    q = xp.where(below_one, x + 1.0, x)
    near = q <= 3.0
    s = xp.where(near, q, 2.0)
    close = (s - 1.0) * (s - 2.0) * chebyshev(LOG_GAMMA, s - 2.0)
    middle = q < _FAR
    product: Any = 1.0
    for step in range(7):
        product = product * xp.where(middle, q + step, 1.0)
    r = xp.where(near, 20.0, xp.where(middle, q + 7.0, q))
    far = (r - 0.5) * xp.log(r) - r + _HALF_LOG_TAU + _far_binet(r) - xp.log(product)
    return xp.where(near, close, far) - xp.where(below_one, xp.log(xp.where(below_one, x, 1.0)), 0.0)


def gammaln(xp: Any, x: Any) -> Any:
    """The logarithm of the size of the gamma function."""
    negative = x < 0
    size = _positive_gammaln(xp, xp.where(xp.isinf(x), 1.0, xp.where(negative, 1.0 - x, x)))
    sine = xp.abs(_sine_of_pi(xp, xp.where(negative & ~xp.isinf(x), x, 0.5)))
    return xp.where(xp.isinf(x), math.inf, xp.where(negative, xp.log(math.pi / sine) - size, size))


def gamma(xp: Any, x: Any) -> Any:
    """The gamma function; NaN at negative whole numbers."""
    reflected = x < 0.5
    p = xp.minimum(xp.where(reflected, 1.0 - x, x), 250.0)
    middle = p < 12.0
    product: Any = 1.0
    for step in range(10):
        product = product * xp.where(middle, p + step, 1.0)
    r = xp.where(middle, p + 10.0, p)
    half = r ** (0.5 * r - 0.25)
    size = _ROOT_TAU * half * xp.exp(-r) * half * xp.exp(_far_binet(r)) / product
    sine = _sine_of_pi(xp, xp.where(reflected & ~xp.isinf(x), x, 0.5))
    left = xp.where((sine == 0) & (x < 0), math.nan, math.pi / (sine * size))
    return xp.where(x == -math.inf, math.nan, xp.where(reflected, left, size))


def digamma(xp: Any, x: Any) -> Any:
    """The logarithmic derivative of the gamma function; NaN at negative whole numbers."""
    negative = x < 0
    p = xp.where(negative, 1.0 - x, x)
    middle = p < _FAR
    total: Any = 0.0
    for step in range(10):
        total = total + xp.where(middle, 1.0 / xp.where(middle, p + step, 1.0), 0.0)
    r = xp.where(middle, p + 10.0, p)
    z = 1.0 / (r * r)
    size = xp.log(r) - 0.5 / r + z * _series(_PSI, z) - total
    part = xp.where(negative, x - xp.round(x), 0.5)
    turned = size - math.pi * _cotangent_of_pi(xp, part)
    return xp.where(negative, xp.where(part == 0, math.nan, turned), size)


def binet(xp: Any, x: Any) -> Any:
    """What Stirling's formula leaves over: ``gammaln(x) - (x - 1/2) log(x) + x - log(2 pi) / 2``, of positive `x`."""
    near = x < _FAR
    s = xp.where(near, x, 1.0)
    close = _positive_gammaln(xp, s) - (s - 0.5) * xp.log(s) + s - _HALF_LOG_TAU
    return xp.where(near, close, _far_binet(xp.where(near, _FAR, x)))


def betaln(xp: Any, a: Any, b: Any) -> Any:
    """The logarithm of the size of the beta function."""
    positive = (a > 0) & (b > 0)
    p, q = (xp.where(positive, z, 1.0) for z in (a, b))
    least, most = xp.minimum(p, q), xp.maximum(p, q)
    # what large terms would lose between them, taken together first
    far = (least - 0.5) * xp.log(least / (least + most)) - most * xp.log1p(least / most) - 0.5 * xp.log(most)
    by_parts = far + _HALF_LOG_TAU + binet(xp, least) + binet(xp, most) - binet(xp, least + most)
    small = least + most < _FAR
    s, t = (xp.where(small, z, 1.0) for z in (least, most))
    direct = _positive_gammaln(xp, s) - (_positive_gammaln(xp, s + t) - _positive_gammaln(xp, t))
    other = gammaln(xp, a) + gammaln(xp, b) - gammaln(xp, a + b)
    return xp.where(positive, xp.where(small, direct, by_parts), other)


def beta(xp: Any, a: Any, b: Any) -> Any:
    """The beta function."""
    size = xp.exp(betaln(xp, a, b))
    positive = (a > 0) & (b > 0)
    signs = [xp.where(z > 0, 1.0, xp.sign(_sine_of_pi(xp, xp.where(z > 0, 0.5, z)))) for z in (a, b, a + b)]
    return xp.where(positive, size, size * signs[0] * signs[1] * signs[2])


def zeta_moment(xp: Any, x: Any, q: Any, *, k: int) -> Any:
    """The sum over n of ``(-log(q + n))**k (q + n)**-x``, the k-th derivative of Hurwitz's zeta function in `x`.

    By Euler and Maclaurin from the tenth term on. It continues analytically to x < 1.
    """

    def term(u: Any) -> Any:
        return u**-x * (-xp.log(u)) ** k if k else u**-x

    total: Any = 0.0
    for n in range(10):
        total = total + term(q + n)
    w = q + 10.0
    log = xp.log(w)
    integral = w ** (1.0 - x) / (x - 1.0)
    for power in range(1, k + 1):
        integral = w ** (1.0 - x) * (-log) ** power / (x - 1.0) - power / (x - 1.0) * integral
    # derivatives are u**-(x + m) times a polynomial in log(u)
    zero = 0.0 * x + 0.0 * w
    polynomial = [*[zero] * k, zero + (-1.0) ** k]
    corrections: Any = 0.0
    m = 0
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        while m < 2 * j - 1:
            up = [(power + 1) * polynomial[power + 1] for power in range(k)] + [zero]
            polynomial = [-(x + m) * c + d for c, d in zip(polynomial, up, strict=True)]
            polynomial = [c / w for c in polynomial]
            m += 1
        value: Any = 0.0
        for c in reversed(polynomial):
            value = value * log + c
        corrections = corrections + bernoulli / math.factorial(2 * j) * value
    return total + integral + 0.5 * term(w) - w**-x * corrections


def hurwitz_zeta(xp: Any, x: Any, q: Any) -> Any:
    """Hurwitz's zeta function, for x > 1; infinite at the whole numbers below 1, NaN elsewhere below 0."""
    inside = (x > 1.0) & (q > 0)
    inner = zeta_moment(xp, xp.where(inside & ~xp.isinf(x), x, 2.0), xp.where(inside, q, 1.0), k=0)
    pole = (x == 1.0) | ((x > 1.0) & (q <= 0) & (q == xp.floor(q)))
    endless = first_of(xp, inner, (q > 1.0, 0.0), (q == 1.0, 1.0), otherwise=math.inf)
    return first_of(
        xp, inner, (inside & xp.isinf(x), endless), (inside, inner), (pole & ~xp.isnan(q), math.inf), otherwise=math.nan
    )


def riemann_zeta(xp: Any, x: Any) -> Any:
    """Riemann's zeta function of real numbers; by its functional equation below 0."""
    turned = x < 0
    s = xp.where(turned, 1.0 - x, x)
    one = xp.ones_like(x)
    value = zeta_moment(xp, xp.where((s == 1.0) | (s > 60.0), 2.0, s), one, k=0)
    value = xp.where(s == 1.0, math.inf, xp.where(s > 60.0, 1.0, value))
    sine = _sine_of_pi(xp, xp.where(turned, 0.5 * x, 0.5))
    t = xp.where(turned, x, -1.0)
    left = 2.0 * (2.0 * math.pi) ** (t - 1.0) * sine * gamma(xp, 1.0 - t) * value
    return xp.where(turned, left, value)


def polygamma_of(xp: Any, x: Any, *, n: int) -> Any:
    """The n-th derivative of `digamma`."""
    if n == 0:
        return digamma(xp, x)
    sign = (-1.0) ** (n + 1) * math.factorial(n)
    return reflected_polygamma(xp, x, n, lambda p: sign * hurwitz_zeta(xp, xp.full_like(p, n + 1.0), p))


def reflected_polygamma(xp: Any, x: Any, n: int, positive: Callable[[Any], Any]) -> Any:
    """The n-th derivative of `digamma`, by reflection from that of positive numbers and its poles."""
    part = x - xp.round(x)
    turned = (x < 0) & (part != 0)
    size = positive(xp.where(turned, 1.0 - x, x))
    slope = _derivative_of_cotangent(xp, xp.where(turned, part, 0.5), n)
    return xp.where(x == math.inf, 0.0, xp.where(turned, (-1.0) ** n * size - slope, size))


def _derivative_of_cotangent(xp: Any, x: Any, n: int) -> Any:
    """The n-th derivative of ``pi / tan(pi x)``: a polynomial in the cotangent, with coefficients of one sign."""
    cotangent = _cotangent_of_pi(xp, x)
    polynomial = [0, 1]
    for _ in range(n):
        slopes = [power * coefficient for power, coefficient in enumerate(polynomial)][1:]
        polynomial = [-(a + b) for a, b in zip([*slopes, 0, 0], [0, 0, *slopes], strict=True)]
    total: Any = 0.0
    for coefficient in reversed(polynomial):
        total = total * cotangent + math.pi ** (n + 1) * coefficient
    return total
