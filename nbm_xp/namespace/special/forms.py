"""Special functions over `xp` that libraries lack; arguments are the namespace, the library's functions, and arrays.

Incomplete gamma and beta functions and their derivatives in the parameters, to any order, are integrals of the
logarithm of a gamma or beta variable, whose density is log-concave on the whole line: times powers of what
differentiating in a parameter brings down, from minus infinity to where the argument says. Gauss and Legendre's rule is
laid over what of it counts, from the argument outward on the smaller side, in the inverse hyperbolic sine of the
distance from the bulk, which evens out tails that fall off at very different rates. The smaller side is relatively
right to about 1e-12, for parameters from 1e-3 to 1e6. Zeta's derivatives come by Euler and Maclaurin's series
(Abramowitz and Stegun, Handbook of Mathematical Functions, 23.1.30), Stirling's remainder by 6.1.40 there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "beta", "beta_moment", "betainc", "betaln", "chdtr", "chdtrc", "first_of", "gamma", "gamma_moment",
    "kl_div", "legendre", "log_expit", "reflected_polygamma", "rel_entr", "riemann_zeta", "stdtr", "stdtrit",
    "zeta_moment",
]  # fmt: skip

_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_BINET = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138,
)  # fmt: skip
_FAR = 10.0
_NEGLIGIBLE = 60.0
_NODES = 96
_NEWTON_STEPS = 16


def first_of(xp: Any, like: Any, *cases: tuple[Any, Any], otherwise: float) -> Any:
    """For each element, the value of the first case whose condition holds; a case is a condition and a number or array.

    Examples
    --------
    >>> x = np.asarray([-1.0, 0.0, 2.0])
    >>> first_of(np, x, (x < 0, -5.0), (x == 0, 7.0), otherwise=1.0).tolist()
    [-5.0, 7.0, 1.0]
    """
    value = xp.full_like(like, otherwise)
    for condition, chosen in reversed(cases):
        value = xp.where(condition, chosen, value)
    return value


def log_expit(xp: Any, special: Any, x: Any) -> Any:
    """The logarithm of the logistic function."""
    return xp.minimum(x, 0.0) - xp.log1p(xp.exp(-xp.abs(x)))


def rel_entr(xp: Any, special: Any, x: Any, y: Any) -> Any:
    """``x log(x / y)``; 0 at x = 0, infinity outside the domain."""
    a, b = (xp.where((x > 0) & (y > 0), z, 1.0) for z in (x, y))
    ratio = a / b
    whole = (ratio > 0) & ~xp.isinf(ratio)  # else the quotient left the range of numbers, its logarithm did not
    inner = a * xp.where(whole, xp.log(xp.where(whole, ratio, 1.0)), xp.log(a) - xp.log(b))
    unknown = xp.isnan(x) | xp.isnan(y)
    none = (x == 0) & (y >= 0)
    return first_of(xp, inner, (unknown, math.nan), (none, 0.0), ((x > 0) & (y > 0), inner), otherwise=math.inf)


def kl_div(xp: Any, special: Any, x: Any, y: Any) -> Any:
    """``x log(x / y) - x + y``; y at x = 0, infinity outside the domain."""
    value = rel_entr(xp, special, x, y)
    return xp.where(xp.isinf(value), value, value - x + y)


def _sine_of_pi(xp: Any, x: Any) -> Any:
    """``sin(pi x)`` with its sign, exactly 0 at integers."""
    whole = xp.round(x)
    sine = xp.sin(math.pi * (x - whole))
    return xp.where(whole == 2.0 * xp.floor(0.5 * whole), sine, -sine)


def _sign_of_gamma(xp: Any, x: Any) -> Any:
    return xp.where(x > 0, 1.0, xp.sign(_sine_of_pi(xp, xp.where(x > 0, 0.5, x))))


def gamma(xp: Any, special: Any, x: Any) -> Any:
    """The gamma function; NaN at negative integers."""
    sign = _sign_of_gamma(xp, x)
    return xp.where((sign == 0) & (x < 0), math.nan, xp.where(x == 0, 1.0 / x, sign * xp.exp(special.gammaln(x))))


def _far_binet(x: Any) -> Any:
    z, total = 1.0 / (x * x), _BINET[-1]
    for coefficient in reversed(_BINET[:-1]):
        total = total * z + coefficient
    return total / x


def _binet(xp: Any, special: Any, x: Any) -> Any:
    """Remainder of Stirling's formula, ``gammaln(x) - (x - 1/2) log(x) + x - log(2 pi) / 2``, for positive `x`."""
    near = x < _FAR
    s = xp.where(near, x, 1.0)
    close = special.gammaln(s) - (s - 0.5) * xp.log(s) + s - _HALF_LOG_TAU
    return xp.where(near, close, _far_binet(xp.where(near, _FAR, x)))


def betaln(xp: Any, special: Any, a: Any, b: Any) -> Any:
    """The logarithm of the absolute value of the beta function."""
    positive = (a > 0) & (b > 0)
    p, q = (xp.where(positive, z, 1.0) for z in (a, b))
    least, most = xp.minimum(p, q), xp.maximum(p, q)
    # what large terms would lose between them, taken together first
    far = (least - 0.5) * xp.log(least / (least + most)) - most * xp.log1p(least / most) - 0.5 * xp.log(most)
    binet = functools.partial(_binet, xp, special)
    by_parts = far + _HALF_LOG_TAU + binet(least) + binet(most) - binet(least + most)
    small = (least + most < _FAR) | ~positive
    s, t = (xp.where(small, z, 1.0) for z in (a, b))
    direct = special.gammaln(s) + special.gammaln(t) - special.gammaln(s + t)
    return xp.where(small, direct, by_parts)


def beta(xp: Any, special: Any, a: Any, b: Any) -> Any:
    """The beta function."""
    signs = [_sign_of_gamma(xp, z) for z in (a, b, a + b)]
    return xp.exp(betaln(xp, special, a, b)) * signs[0] * signs[1] * signs[2]


def zeta_moment(xp: Any, special: Any, x: Any, q: Any, *, k: int) -> Any:
    """The sum over n of ``(-log(q + n))**k (q + n)**-x``, the k-th derivative of Hurwitz's zeta function in `x`.

    By the Euler-Maclaurin formula from the tenth term on; analytically continued to x < 1.
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
            polynomial = [(d - (x + m) * c) / w for c, d in zip(polynomial, up, strict=True)]
            m += 1
        value: Any = 0.0
        for c in reversed(polynomial):
            value = value * log + c
        corrections = corrections + bernoulli / math.factorial(2 * j) * value
    return total + integral + 0.5 * term(w) - w**-x * corrections


def riemann_zeta(xp: Any, special: Any, x: Any) -> Any:
    """Riemann's zeta function of real numbers; by its functional equation below 0."""
    turned = x < 0
    s = xp.where(turned, 1.0 - x, x)
    value = zeta_moment(xp, special, xp.where((s == 1.0) | (s > 60.0), 2.0, s), xp.ones_like(x), k=0)
    value = xp.where(s == 1.0, math.inf, xp.where(s > 60.0, 1.0, value))
    t = xp.where(turned, x, -1.0)
    left = 2.0 * (2.0 * math.pi) ** (t - 1.0) * _sine_of_pi(xp, 0.5 * t) * special.gamma(1.0 - t) * value
    return xp.where(turned, left, value)


def reflected_polygamma(xp: Any, x: Any, n: int, positive: Callable[[Any], Any]) -> Any:
    """The n-th derivative of `digamma`, by reflection from that of positive numbers and its poles."""
    part = x - xp.round(x)
    turned = (x < 0) & (part != 0)
    size = positive(xp.where(turned, 1.0 - x, x))
    slope = _derivative_of_cotangent(xp, xp.where(turned, part, 0.5), n)
    return xp.where(x == math.inf, 0.0, xp.where(turned, (-1.0) ** n * size - slope, size))


def _derivative_of_cotangent(xp: Any, x: Any, n: int) -> Any:
    """The n-th derivative of ``pi / tan(pi x)``: a polynomial in the cotangent, with coefficients of one sign."""
    cotangent = xp.sin(math.pi * (0.5 - xp.abs(x))) / xp.sin(math.pi * x)  # exactly 0 at both ends
    polynomial = [0, 1]
    for _ in range(n):
        slopes = [power * coefficient for power, coefficient in enumerate(polynomial)][1:]
        polynomial = [-(a + b) for a, b in zip([*slopes, 0, 0], [0, 0, *slopes], strict=True)]
    total: Any = 0.0
    for coefficient in reversed(polynomial):
        total = total * cotangent + math.pi ** (n + 1) * coefficient
    return total


@functools.cache
def legendre(count: int) -> list[tuple[float, float]]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return list(zip(nodes.tolist(), weights.tolist(), strict=True))


def _integral(xp: Any, f: Callable[[Any], Any], low: Any, high: Any, centre: Any, scale: Any) -> Any:
    """The integral of `f` from low to high, with nodes concentrated around a centre."""
    first, last = xp.asinh((low - centre) / scale), xp.asinh((high - centre) / scale)
    middle, half = 0.5 * (last + first), 0.5 * (last - first)
    total: Any = 0.0
    for node, weight in legendre(_NODES):
        w = middle + node * half
        total = total + weight * f(centre + scale * xp.sinh(w)) * xp.cosh(w)
    return total * half * scale


def _gamma_side(xp: Any, special: Any, a: Any, x: Any, k: int) -> tuple[Any, Any]:
    """Whether `x` lies on the lower side, and the integral over the side on which it lies."""
    lower = x < a * xp.exp(-math.log(2.0) / (3.0 * a))
    end = xp.log(x)
    reach = (_NEGLIGIBLE + x) / a
    reach = xp.minimum(reach, xp.where(a > 600.0, 12.0 / xp.sqrt(a), reach))
    reach = xp.minimum(reach, _NEGLIGIBLE / xp.where(lower & (a > x), a - x, 1e-9))
    beyond = _NEGLIGIBLE + 10.0 * xp.sqrt(x)
    beyond = xp.minimum(beyond, _NEGLIGIBLE / xp.where(x > a, 1.0 - a / x, 1e-9))
    low = xp.where(lower, end - reach, end)
    high = xp.where(lower, end, xp.log(x + beyond))
    log_a, psi = xp.log(a), special.digamma(a)
    norm = _HALF_LOG_TAU - 0.5 * log_a + _binet(xp, special, a)

    def f(v: Any) -> Any:
        d = v - log_a
        return xp.exp(a * (d - xp.expm1(d)) - norm) * (v - psi) ** k

    return lower, _integral(xp, f, low, high, xp.log(a + 1.0), 1.0 / xp.sqrt(1.0 + a))


def gamma_moment(xp: Any, special: Any, a: Any, x: Any, *, k: int) -> Any:
    """The integral from 0 to x of ``(log(t) - digamma(a))**k`` times the density of the gamma distribution."""
    inside = (a > 0) & (x > 0) & ~xp.isinf(a) & ~xp.isinf(x)
    p, s = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    lower, side = _gamma_side(xp, special, p, s, k)
    cumulants = [None, 0.0, *(special.polygamma_of(p, n=order - 1) for order in range(2, k + 1))]
    moments: list[Any] = [1.0]
    for n in range(k):
        parts = [math.comb(n, j) * cumulants[j + 1] * moments[n - j] for j in range(1, n + 1)]
        moments.append(sum(parts, start=0.0))
    value = xp.where(lower, side, moments[k] - side)
    everything = (a > 0) & xp.isinf(x) & (x > 0)
    whole = moments[k] + 0.0 * p
    return first_of(xp, value, (inside, value), (everything, whole), ((a > 0) & (x == 0), 0.0), otherwise=math.nan)


def chdtr(xp: Any, special: Any, v: Any, x: Any) -> Any:
    """The distribution function of the chi-squared distribution."""
    return special.gammainc(0.5 * v, 0.5 * x)


def chdtrc(xp: Any, special: Any, v: Any, x: Any) -> Any:
    """The survival function of the chi-squared distribution."""
    return special.gammaincc(0.5 * v, 0.5 * x)


def _beta_side(xp: Any, special: Any, a: Any, b: Any, x: Any, j: int, k: int) -> tuple[Any, Any]:
    """As for the gamma distribution; the upper side is the lower side of the reflected distribution."""
    lower = x * (a + b) < a
    p, q = xp.where(lower, a, b), xp.where(lower, b, a)
    t, rest = xp.where(lower, x, 1.0 - x), xp.where(lower, 1.0 - x, x)
    end = xp.log(t) - xp.log(rest)
    slope = p * rest - q * t
    reach = 1.0 + xp.maximum(end, 0.0) + (_NEGLIGIBLE - q * xp.log(rest)) / p
    width = xp.sqrt(1.0 / p + 1.0 / q)
    reach = xp.minimum(reach, xp.where(width < 0.05, 12.0 * width, reach))
    reach = xp.minimum(reach, _NEGLIGIBLE / xp.where(slope > 0, slope, 1e-9) + xp.where(end > 0, reach, 0.0))
    log_p, log_q = -xp.log1p(q / p), -xp.log1p(p / q)
    binet = functools.partial(_binet, xp, special)
    norm = _HALF_LOG_TAU - 0.5 * (log_p + xp.log(q)) + binet(p) + binet(q) - binet(p + q)
    both = special.digamma(a + b) if j or k else None
    mean_a, mean_b = (special.digamma(z) - both for z in (a, b)) if j or k else (0.0, 0.0)

    def f(v: Any) -> Any:
        left, right = log_expit(xp, special, v), log_expit(xp, special, -v)
        value = xp.exp(p * (left - log_p) + q * (right - log_q) - norm)
        if j:
            value = value * (xp.where(lower, left, right) - mean_a) ** j
        if k:
            value = value * (xp.where(lower, right, left) - mean_b) ** k
        return value

    centre = xp.log((p + 0.5) / (q + 0.5))
    return lower, _integral(xp, f, end - reach, end, centre, xp.sqrt(1.0 / (p + 1.0) + 1.0 / (q + 1.0)))


def beta_moment(xp: Any, special: Any, a: Any, b: Any, x: Any, *, j: int, k: int) -> Any:
    """The integral from 0 to x of powers of the deviations of log(t) and log(1 - t) from their means.

    `j` and `k` are the powers; the weight is the density of the beta distribution.
    """
    proper = (a > 0) & (b > 0)
    inside = proper & (x > 0) & (x < 1) & ~xp.isinf(a) & ~xp.isinf(b)
    p, q, s = (xp.where(inside, z, safe) for z, safe in ((a, 1.0), (b, 1.0), (x, 0.5)))
    lower, side = _beta_side(xp, special, p, q, s, j, k)
    whole = _whole_beta_moment(special, p, q, j, k)
    value = xp.where(lower, side, whole - side)
    return first_of(
        xp, value, (inside, value), (proper & (x == 1), whole), (proper & (x == 0), 0.0), otherwise=math.nan
    )


def betainc(xp: Any, special: Any, a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function."""
    return beta_moment(xp, special, a, b, x, j=0, k=0)


def _whole_beta_moment(special: Any, a: Any, b: Any, j: int, k: int) -> Any:
    """The joint central moment, from the joint cumulants."""

    def cumulant(m: int, n: int) -> Any:
        if m + n == 1:
            return 0.0
        both = special.polygamma_of(a + b, n=m + n - 1)
        if m and n:
            return -both
        return special.polygamma_of(a if m else b, n=m + n - 1) - both

    @functools.cache
    def moment(m: int, n: int) -> Any:
        if m == n == 0:
            return 1.0
        if not m:
            return sum(math.comb(n - 1, s) * cumulant(0, s + 1) * moment(0, n - 1 - s) for s in range(n))
        return sum(
            math.comb(m - 1, r) * math.comb(n, s) * cumulant(r + 1, s) * moment(m - 1 - r, n - s)
            for r in range(m)
            for s in range(n + 1)
        )

    return moment(j, k) + 0.0 * a


def _tail(xp: Any, special: Any, df: Any, t: Any) -> Any:
    """The probability that Student's t exceeds `t`, which is 0 or more."""
    square = t * t
    far = square > df
    share = xp.where(far, df / (df + square), 1.0 / (1.0 + df / xp.where(far, 1.0, square)))
    half_df, half = 0.5 * df, xp.full_like(df, 0.5)
    part = special.betainc(xp.where(far, half_df, half), xp.where(far, half, half_df), share)
    # the complement, by the smaller side of the function
    rest = xp.where(part < 0.5, 1.0 - part, special.betainc(half_df, half, 1.0 - share))
    return 0.5 * xp.where(far, part, rest)


def stdtr(xp: Any, special: Any, df: Any, t: Any) -> Any:
    """The distribution function of Student's t."""
    inside = (df > 0) & ~xp.isinf(df) & ~xp.isnan(t)
    tail = _tail(xp, special, xp.where(inside, df, 1.0), xp.where(inside, xp.abs(t), 1.0))
    value = xp.where(t < 0, tail, 1.0 - tail)
    return first_of(xp, value, (inside, value), (df > 0, special.ndtr(t)), otherwise=math.nan)


def stdtrit(xp: Any, special: Any, df: Any, p: Any) -> Any:
    """The quantiles of Student's t.

    With ``t = sqrt(df) * sinh(u)`` the logarithm of the tail is a concave function of `u`, for which Newton's method
    converges from one side, starting at the normal distribution's quantile.
    """
    inside = (df > 0) & ~xp.isinf(df) & (p > 0) & (p < 1)
    df_, p_ = xp.where(inside, df, 1.0), xp.where(inside, p, 0.25)
    small = xp.minimum(p_, 1.0 - p_)
    root, log_small = xp.sqrt(df_), xp.log(small)
    log_norm = -betaln(xp, special, 0.5 * df_, xp.full_like(df_, 0.5))
    u = xp.asinh(xp.abs(special.ndtri(small)) / root)
    for _ in range(_NEWTON_STEPS):
        tail = _tail(xp, special, df_, root * xp.sinh(u))
        log_cosh = u + xp.log1p(xp.exp(-2.0 * u)) - math.log(2.0)
        slope = xp.exp(log_norm - df_ * log_cosh - xp.log(tail))
        u = u + (xp.log(tail) - log_small) / slope
    t = root * xp.sinh(u)
    value = xp.where(p_ < 0.5, -t, t)
    ends = first_of(xp, value, (df > 0, special.ndtri(p)), otherwise=math.nan)  # infinities, NaN, and the normal one
    return xp.where(inside, value, ends)
