"""Counts: geometric, negative binomial, hypergeometric, logarithmic and Zipf's numbers.

Contract: what `rejection` promises, with tails as far out as `fine_uniforms` reach; no count is
over `MOST`. All parameters are float64 arrays of shape (count,) or (1,).

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, sections 10.1 to 10.6.
.. [2] E. Stadlober, "The ratio of uniforms approach for generating discrete random variates", Journal of Computational
   and Applied Mathematics 31 (1990), 181-189.
.. [3] A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables", Applied Statistics 30
   (1981), 249-253.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace

from ..elementary import exp, expm1, log, log1p, quotient, sqrt
from ..rules import LARGEST_MEAN
from ..transforms import two_draws
from .deviance import log_binomial_ratio
from .element_uniforms import ElementUniforms, until_accepted
from .fine_uniforms import exponential_number, fine
from .rejection import gamma, log_of_rest, poisson

__all__ = ["MOST", "geometric", "hypergeometric", "logarithmic", "negative_binomial", "zipf"]

MOST: Final = 2.0**63 - 1024.0
"""The largest double that 64 bits hold: counts that would be beyond it are this."""

_LEAST: Final = 2.0**-100
_STEEPEST: Final = 512.0  # of Zipf's numbers of such an exponent none is over 1
_HAT = 2.0 * math.sqrt(2.0 / math.e), 3.0 - 2.0 * math.sqrt(3.0 / math.e)


def geometric(uniforms: ElementUniforms, p: Any) -> Any:
    """How many trials the first success takes: exponential numbers, rounded up [1]_."""
    xp = array_namespace(p)
    surely = p == 1.0
    rate = xp.maximum(-log_of_rest(xp.where(surely, 0.5, p)), _LEAST)
    count = xp.maximum(xp.ceil(xp.minimum(quotient(exponential_number(uniforms), rate), MOST)), 1.0)
    return xp.where(surely, 1.0, count)


def negative_binomial(uniforms: ElementUniforms, n: Any, p: Any) -> Any:
    """How many failures come before so many successes: Poisson numbers of gamma means [1]_."""
    xp = array_namespace(n, p)
    means = gamma(uniforms.every(0, 2), n, (1.0 - p) / p)
    return poisson(uniforms.every(1, 2), xp.minimum(means, LARGEST_MEAN))


def hypergeometric(uniforms: ElementUniforms, ngood: Any, nbad: Any, nsample: Any) -> Any:
    """How many of a sample without replacement are good, by the ratio of uniforms [2]_.

    What is drawn is how many of the rarer kind are in the sample, or in what it leaves if that is less.
    """
    xp = array_namespace(ngood, nbad, nsample)
    total = ngood + nbad
    drawn, rare = xp.minimum(nsample, total - nsample), xp.minimum(ngood, nbad)
    none = (drawn == 0.0) | (rare == 0.0)
    n, s, good = xp.where(none, 2.0, total), xp.where(none, 1.0, drawn), xp.where(none, 1.0, rare)
    share = quotient(good, n)
    variance = quotient(n - s, n - 1.0) * s * share * (1.0 - share)
    width = _HAT[0] * sqrt(variance + 0.5) + _HAT[1]
    mode = xp.floor((s + 1.0) * quotient(good + 1.0, n + 2.0))
    mode = xp.minimum(mode, xp.minimum(s, good))

    def attempt(u: Any, v: Any, n: Any, s: Any, good: Any, width: Any, mode: Any) -> tuple[Any, Any]:
        part = quotient(s, n)
        x = good * part + 0.5 + width * (v - 0.5) / u
        k = xp.floor(x)
        possible = (k >= 0.0) & (k <= xp.minimum(s, good))
        k = xp.where(possible, k, mode)
        mass = log_binomial_ratio(good, good * part, mode, k)
        mass = mass + log_binomial_ratio(n - good, (n - good) * part, s - mode, s - k)
        return k, possible & (2.0 * log(u) <= mass)

    k = until_accepted(uniforms, 2, attempt, n, s, good, width, mode)
    k = xp.where(none, 0.0, k)
    k = xp.where(ngood > nbad, drawn - k, k)
    return xp.where(nsample > total - nsample, ngood - k, k)


def logarithmic(uniforms: ElementUniforms, p: Any) -> Any:
    """Numbers of the logarithmic series: geometric ones of a parameter that is drawn too [3]_."""
    xp = array_namespace(p)
    least = xp.maximum(p, _LEAST)
    x = log_of_rest(least) * fine(uniforms, 2)
    near = x > -math.log(2.0)
    log_q = xp.where(near, log(-expm1(xp.where(near, x, -0.5))), log1p(-exp(xp.where(near, -1.0, x))))
    count = 1.0 + xp.floor(xp.minimum(-quotient(exponential_number(uniforms), log_q), MOST))
    return xp.minimum(count, MOST)


def zipf(uniforms: ElementUniforms, a: Any) -> Any:
    """Zipf's numbers, by rejection from rounded Pareto numbers [1]_, up to `MOST`."""
    xp = array_namespace(a)
    steep = a > _STEEPEST
    slope = xp.where(steep, 2.0, a) - 1.0
    cut = -expm1(slope * -math.log(MOST))
    step = expm1(slope * math.log(2.0))

    def attempt(u: Any, v: Any, w: Any, slope: Any, cut: Any, step: Any) -> tuple[Any, Any]:
        u = two_draws(u, v)
        flat = slope < 0.01  # the logarithm is of a number near 1, else of one that may be near 0
        log_power = xp.where(flat, log1p(-cut * xp.where(flat, u, 0.5)), log(u + (1.0 - cut) * (1.0 - u)))
        x = xp.floor(exp(-quotient(log_power, slope)))
        x = xp.minimum(xp.maximum(x, 1.0), MOST)
        gain = expm1(slope * log1p(1.0 / x))
        return x, w * x * gain * (1.0 + step) <= step * (1.0 + gain)

    return xp.where(steep, 1.0, until_accepted(uniforms, 3, attempt, slope, cut, step))
