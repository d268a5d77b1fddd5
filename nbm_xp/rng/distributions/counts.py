"""Counts: Poisson, binomial, geometric, hypergeometric, logarithmic series and Zipf numbers.

Contract: logarithms of probabilities of large counts are accurate to 1e-6 where logarithms of factorials would cancel;
no count is over `MOST`.

References
----------
.. [1] W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
   and Economics 12 (1993), 39-45: PTRS.
.. [2] W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46
   (1993), 101-110: BTRS.
.. [3] L. Devroye, "Non-uniform random variate generation", Springer, 1986, sections 10.1 to 10.6.
.. [4] E. Stadlober, "The ratio of uniforms approach for generating discrete random variates", Journal of Computational
   and Applied Mathematics 31 (1990), 181-189.
.. [5] A. W. Kemp, "Efficient generation of logarithmically distributed pseudo-random variables", Applied Statistics 30
   (1981), 249-253.
.. [6] C. Loader, "Fast and accurate computation of binomial probabilities", Bell Laboratories, 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.compiling import repeated
from nbm_xp.namespace.elementary import exp, expm1, log, log1p, log_factorial, quotient, series_in, sqrt, stirling_error
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.approximations import HALF_LOG_TWO_PI, MANY_EVENTS, large_poisson_deviance

from ..rules import ABOVE_ONE, BELOW_ONE, PROBABILITY, RATE, SOME_PROBABILITY, TRIALS, Rule
from ..tasks import ElementUniforms
from ..uniforms import two_draws
from .sampling import any_of, distribution, either, exponential_number, until_accepted

# Largest float64 integer that int64 holds; larger counts are clipped to it.
MOST: Final = 2.0**63 - 1024.0

_SEARCHED: Final = 10.0  # mean below which the distribution function is searched from 0 on
_NEAR: Final = 0.1
_SERIES: Final = tuple(1.0 / odd for odd in range(17, 1, -2))
_LEAST: Final = 2.0**-100
_STEEPEST: Final = 512.0  # with a larger exponent, all Zipf numbers are 1
_HAT = 2.0 * math.sqrt(2.0 / math.e), 3.0 - 2.0 * math.sqrt(3.0 / math.e)


def _searched(own: str, u: Any, first: Any, ratio: Callable[..., Any], *parameters: Any) -> Any:
    """Search a distribution function from 0 on for the first value that exceeds a uniform.

    ``ratio(k, *parameters)`` is the probability of `k` divided by that of ``k - 1``; `own` is the name of the kernel.
    """
    xp = array_namespace(u)
    search = kernel("rng.elementwise", xp)
    if search is not None:
        return search(own, u, first, *parameters)
    mass = xp.broadcast_to(first, u.shape)

    def step(k: Any, value: Any, mass: Any, total: Any, beyond: Any) -> tuple[Any, ...]:
        k = k + 1.0
        value = xp.where(beyond, k, value)
        mass = mass * ratio(k, *parameters)
        total = total + mass
        return k, value, mass, total, beyond & (u >= total) & (mass > 0.0)

    return repeated(lambda *carries: xp.any(carries[-1]), step, (0.0, xp.zeros_like(u), mass, mass, u >= mass), xp)[1]


@distribution((3.5,), "count", lam=RATE)
def poisson(uniforms: ElementUniforms, lam: Any) -> Any:
    """Return Poisson numbers: by search if the mean is below 10, else by PTRS [1]_."""
    xp = array_namespace(lam)
    small = lam < _SEARCHED

    def few() -> Any:
        mean = xp.where(small, lam, 1.0)
        return _searched("poisson_search", uniforms.uniform(0), exp(-mean), lambda k, mean: mean / k, mean)

    def many() -> Any:
        constants = _poisson_constants(xp.where(small, _SEARCHED, lam))
        return until_accepted(uniforms, 2, _poisson_attempt, *constants, own="poisson")

    return either(xp, small, few, many)


def _poisson_constants(lam: Any) -> tuple[Any, ...]:
    """Return the means and constants of them, in the order of the parameters of `_poisson_attempt`."""
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    return lam, a, b, 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4), log(lam)


def _poisson_attempt(u: Any, v: Any, *constants: Any) -> tuple[Any, Any]:
    lam, a, b, quickly, factor, log_lam = constants
    xp = array_namespace(lam)
    u = u - 0.5
    us = 0.5 - xp.abs(u)
    k = xp.floor((2.0 * a / us + b) * u + lam + 0.43)
    quick = (us >= 0.07) & (v <= quickly)
    possible = (k >= 0.0) & ((us >= 0.013) | (v <= us))
    inside = xp.where(k >= 0.0, k, 0.0)
    height = log(v * factor / (a / (us * us) + b))
    mass = inside * log_lam - lam - log_factorial(inside)
    many = lam >= MANY_EVENTS
    if any_of(xp, many):
        far = -(large_poisson_deviance(inside - lam, lam) + 0.5 * log(xp.maximum(inside, 10.0)) + HALF_LOG_TWO_PI)
        mass = xp.where(many, far, mass)
    return inside, quick | (possible & (height <= mass))


@distribution((40, 0.1), "count", n=TRIALS, p=PROBABILITY)
def binomial(uniforms: ElementUniforms, n: Any, p: Any) -> Any:
    """Return binomial numbers: by search if fewer than 10 successes are expected, else by BTRS [2]_.

    If `p` is over 0.5, failures are counted.
    """
    xp = array_namespace(n, p)
    flipped = p > 0.5
    p = xp.where(flipped, 1.0 - p, p)
    mean = n * p
    small = mean < _SEARCHED

    def few() -> Any:
        rare = xp.where(small, p, 0.0)
        odds = rare / (1.0 - rare)
        u, first = uniforms.uniform(0), exp(n * log1p(-rare))
        found = _searched("binomial_search", u, first, lambda k, n, odds: (n + 1.0 - k) / k * odds, n, odds)
        return xp.minimum(found, n)

    def many(some_many: bool) -> Any:
        constants = _binomial_constants(xp.where(small, 20.0, n), xp.where(small, 0.5, p))
        own = "" if some_many else "binomial"
        return until_accepted(uniforms, 2, _binomial_attempt, *constants, own=own)

    value = either(xp, small, few, many, n >= MANY_EVENTS)
    return xp.where(flipped, n - value, value)


def _binomial_constants(n: Any, p: Any) -> tuple[Any, ...]:
    """Return constants of the parameters, in the order of the parameters of `_binomial_attempt`."""
    xp = array_namespace(n, p)
    mean, q = n * p, 1.0 - p
    spread = sqrt(mean * q)
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    mode = xp.floor((n + 1.0) * p)
    odds = p / q
    at_mode = (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)))
    error = stirling_error(mode) + stirling_error(n - mode)
    return n, mean, a, b, 0.92 - 4.2 / b, 2.83 + 5.1 / b, spread, mode, odds, at_mode, error


def _binomial_attempt(u: Any, v: Any, *constants: Any) -> tuple[Any, Any]:
    n, mean, a, b, quickly, factor, spread, mode, odds, at_mode, error = constants
    xp = array_namespace(n)
    u = u - 0.5
    us = 0.5 - xp.abs(u)
    k = xp.floor((2.0 * a / us + b) * u + mean + 0.5)
    quick = (us >= 0.07) & (v <= quickly)
    possible = (k >= 0.0) & (k <= n)
    inside = xp.where(possible, k, mode)
    height = log(v * factor * spread / (a / (us * us) + b))
    bound = (
        at_mode
        + (n + 1.0) * log((n - mode + 1.0) / (n - inside + 1.0))
        + (inside + 0.5) * log(odds * (n - inside + 1.0) / (inside + 1.0))
        + error
        - (stirling_error(inside) + stirling_error(n - inside))
    )
    many = n >= MANY_EVENTS
    if any_of(xp, many):
        bound = xp.where(many, _log_binomial_ratio(n, mean, mode, inside), bound)
    return inside, (quick & possible) | (possible & (height <= bound))


def _deviance(k: Any, mean: Any, delta: Any) -> Any:
    """Return half the deviance of counts from their mean: ``k log(k / mean) - (k - mean)`` [6]_.

    Examples
    --------
    >>> import numpy as np
    >>> k, mean = np.asarray([0.0, 99.0, 200.0]), np.asarray([100.0])
    >>> _deviance(k, mean, k - mean).round(6)
    array([1.0000000e+02, 5.0170000e-03, 3.8629436e+01])
    """
    xp = array_namespace(k)
    v = delta / (k + mean)
    near = xp.abs(v) < _NEAR
    w = xp.where(near, v, 0.0)
    series = series_in(w * w, _SERIES)
    far = k * log(quotient(xp.where(near | (k <= 0.0), mean, k), mean)) - delta
    return xp.where(near, delta * w + 2.0 * k * w * series, far)


def _error(k: Any) -> Any:
    """Return the error of Stirling's formula for the logarithm of ``k!``; 0 for 0."""
    xp = array_namespace(k)
    return xp.where(k > 0.0, stirling_error(xp.maximum(k - 1.0, 0.0)), 0.0)


def _log_binomial_ratio(n: Any, mean: Any, mode: Any, k: Any) -> Any:
    """Return the logarithm of the ratio of the probabilities of a count and of the mode.

    Examples
    --------
    >>> import numpy as np
    >>> n, mean, mode = np.asarray([40.0]), np.asarray([10.0]), np.asarray([10.0])
    >>> _log_binomial_ratio(n, mean, mode, np.asarray([0.0])).round(6)
    array([-9.571868])
    >>> round(math.log(0.75**40 / (math.comb(40, 10) * 0.25**10 * 0.75**30)), 6)
    -9.571868
    """
    xp = array_namespace(k)
    least = 0.5 / math.pi  # in place of 0, where Stirling's formula without its error then gives 0!
    terms = []
    for count in (mode, k):
        delta = count - mean
        apart = _deviance(count, mean, delta) + _deviance(n - count, n - mean, -delta)
        spread = xp.maximum(count, least) * xp.maximum(n - count, least)
        terms.append((apart, spread, _error(count) + _error(n - count)))
    (apart_0, spread_0, error_0), (apart, spread, error) = terms
    return (apart_0 - apart) + 0.5 * log(spread_0 / spread) + (error_0 - error)


@distribution((0.3,), "count", p=SOME_PROBABILITY)
def geometric(uniforms: ElementUniforms, p: Any) -> Any:
    """Return the number of trials up to the first success: exponential numbers, rounded up [3]_."""
    xp = array_namespace(p)
    surely = p == 1.0
    rate = xp.maximum(-log1p(-xp.where(surely, 0.5, p)), _LEAST)
    count = xp.maximum(xp.ceil(xp.minimum(quotient(exponential_number(uniforms), rate), MOST)), 1.0)
    return xp.where(surely, 1.0, count)


def _is_enough(ngood: Any, nbad: Any, nsample: Any) -> Any:
    return (nsample <= ngood + nbad) & (ngood + nbad <= 2**53)


_ENOUGH: Final = Rule("so that the last is no more than the first two together, which are at most 2**53", _is_enough)


@distribution((20, 30, 40), "count", together=_ENOUGH, ngood=TRIALS, nbad=TRIALS, nsample=TRIALS)
def hypergeometric(uniforms: ElementUniforms, ngood: Any, nbad: Any, nsample: Any) -> Any:
    """Return the number of good items in samples without replacement, by the ratio of uniforms [4]_.

    The count drawn is that of the rarer kind, in the sample or in the rest of the population if that is smaller.
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
        mass = _log_binomial_ratio(good, good * part, mode, k)
        mass = mass + _log_binomial_ratio(n - good, (n - good) * part, s - mode, s - k)
        return k, possible & (2.0 * log(u) <= mass)

    k = until_accepted(uniforms, 2, attempt, n, s, good, width, mode)
    k = xp.where(none, 0.0, k)
    k = xp.where(ngood > nbad, drawn - k, k)
    return xp.where(nsample > total - nsample, ngood - k, k)


@distribution((0.9,), "count", p=BELOW_ONE)
def logseries(uniforms: ElementUniforms, p: Any) -> Any:
    """Return logarithmic series numbers: geometric numbers with a random parameter [5]_."""
    xp = array_namespace(p)
    least = xp.maximum(p, _LEAST)
    x = log1p(-least) * uniforms.fine(2)
    near = x > -math.log(2.0)
    log_q = xp.where(near, log(-expm1(xp.where(near, x, -0.5))), log1p(-exp(xp.where(near, -1.0, x))))
    count = 1.0 + xp.floor(xp.minimum(-quotient(exponential_number(uniforms), log_q), MOST))
    return xp.minimum(count, MOST)


@distribution((1.5,), "count", a=ABOVE_ONE)
def zipf(uniforms: ElementUniforms, a: Any) -> Any:
    """Return Zipf numbers up to `MOST`, by rejection from rounded Pareto numbers [3]_."""
    xp = array_namespace(a)
    steep = a > _STEEPEST
    slope = xp.where(steep, 2.0, a) - 1.0
    cut = -expm1(slope * -math.log(MOST))
    step = expm1(slope * math.log(2.0))

    def attempt(u: Any, v: Any, w: Any, slope: Any, cut: Any, step: Any) -> tuple[Any, Any]:
        u = two_draws(u, v)
        flat = slope < 0.01  # then the argument of the logarithm is near 1, otherwise it may be near 0
        log_power = xp.where(flat, log1p(-cut * xp.where(flat, u, 0.5)), log(u + (1.0 - cut) * (1.0 - u)))
        x = xp.floor(exp(-quotient(log_power, slope)))
        x = xp.minimum(xp.maximum(x, 1.0), MOST)
        gain = expm1(slope * log1p(1.0 / x))
        return x, w * x * gain * (1.0 + step) <= step * (1.0 + gain)

    return xp.where(steep, 1.0, until_accepted(uniforms, 3, attempt, slope, cut, step))
