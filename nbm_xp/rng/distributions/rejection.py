"""Gamma, beta, Poisson and binomial numbers: methods that try until they accept, and searches.

Contract: an element's number follows from its own uniforms and parameters alone (see
`element_uniforms`), however often other elements are tried, so that the bits do not depend on chunks; and
through functions with the same bits on every library. All parameters are float64 arrays of shape (count,) or (1,).

References
----------
.. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
   Software 26 (2000), 363-372.
.. [2] W. Hörmann, "The transformed rejection method for generating Poisson random variables", Insurance: Mathematics
   and Economics 12 (1993), 39-45: PTRS.
.. [3] W. Hörmann, "The generation of binomial random variates", Journal of Statistical Computation and Simulation 46
   (1993), 101-110: BTRS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nbm_xp.namespace import array_namespace, concrete_int, dtype_of
from nbm_xp.namespace.compiling import is_traced, repeated
from nbm_xp.namespace.mrg31k3p import kernel
from nbm_xp.namespace.mrg31k3p.approximations import (
    HALF_LOG_TWO_PI,
    MANY_EVENTS,
    SURELY_ACCEPTED,
    large_poisson_deviance,
)

from ..elementary import exp, log, log_factorial, normal_quantile, quotient, sqrt, stirling_error
from ..transforms import two_draws
from .deviance import log_binomial_ratio
from .element_uniforms import ElementUniforms, until_accepted
from .fine_uniforms import fine

__all__ = [
    "any_of", "beta", "gamma", "large_binomial", "log_gamma", "log_odds_against_beta", "log_of_rest", "poisson",
]  # fmt: skip

_SEARCHED: Final = 10.0
"""The mean below which the distribution function is searched from 0 on."""

_FARTHEST: Final = 708.0  # logarithms of gamma numbers so far apart give no subnormal number, which JAX takes for 0
_LEAST: Final = 2.0**-1000
_TINY: Final = 2.0**-800
_LARGEST: Final = 2.0**820
_SHIFT: Final = 2.0**204


def which_of(xp: Any, *conditions: Any) -> list[bool]:
    """Whether each condition holds anywhere: one question, since from a device each answer is copied to the host.

    While a library compiles, any may hold.
    """
    kind = dtype_of(xp, "int64")
    answers = sum(xp.astype(xp.any(condition), kind) * 2**k for k, condition in enumerate(conditions))
    if is_traced([answers]):
        return [True] * len(conditions)
    held = concrete_int(answers)
    return [bool(held >> k & 1) for k in range(len(conditions))]


def any_of(xp: Any, condition: Any) -> bool:
    """Whether a condition holds anywhere."""
    return which_of(xp, condition)[0]


def log_gamma(uniforms: ElementUniforms, shape: Any, below: Sequence[bool] | None = None) -> Any:
    """The logarithms of standard gamma numbers, by the method of Marsaglia and Tsang [1]_.

    A shape below 1 is increased by 1, and the number is multiplied by ``u ** (1 / shape)``. One above 2**40 has every
    number accepted: fewer than 1 in 10**10 would not be, and what decides would be lost in rounding. `below` says
    whether any shapes are below 1, and whether any are not.
    """
    xp = array_namespace(shape)
    small = shape < 1.0
    some_small, some_not = which_of(xp, small, ~small) if below is None else below
    d = xp.where(small, shape + 1.0, xp.minimum(shape, _LARGEST)) - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)

    def attempt(high: Any, low: Any, u: Any, v: Any, d: Any, c: Any) -> tuple[Any, Any]:
        x = _normal_number(high, low)
        root = 1.0 + c * x
        inside = root > 0.0
        cube = xp.where(inside, root * root * root, 1.0)
        log_v = log(cube)
        fits = log(two_draws(u, v)) < 0.5 * x * x + d - d * cube + d * log_v
        return log(d) + log_v, inside & ((d > SURELY_ACCEPTED) | fits)

    tried = uniforms.every(2, 1)
    own = tried.own("log_gamma")
    value = until_accepted(tried, 4, attempt, d, c) if own is None else own(d, c, log(d))
    if not some_small:
        return value
    power = quotient(log(fine(uniforms)), xp.where(small, xp.maximum(shape, _LEAST), 1.0))
    return value + (xp.where(small, power, 0.0) if some_not else power)


def _normal_number(high: Any, low: Any) -> Any:
    """The standard normal number of a uniform of 53 bits, as far out as both its ends are fine."""
    xp = array_namespace(high)
    below = high < 0.5
    z = normal_quantile(two_draws(xp.where(below, high, 1.0 - high), low))
    return xp.where(below, z, -z)


def gamma(uniforms: ElementUniforms, shape: Any, scale: Any) -> Any:
    """Gamma numbers: see `log_gamma`. Of shape 0 they are 0; large ones are made without a logarithm."""
    xp = array_namespace(shape)
    none, large = shape == 0.0, shape > SURELY_ACCEPTED
    small = (shape < 1.0) & ~none
    some_none, some_large, scaled, *below = which_of(xp, none, large, scale != 1.0, small, ~small)
    value = exp(log_gamma(uniforms, xp.where(none | large, 1.0, shape) if some_none or some_large else shape, below))
    if some_large:
        d = xp.where(large, shape, 1.0) - 1.0 / 3.0
        root = 1.0 + _normal_number(uniforms.uniform(2), uniforms.uniform(3)) / sqrt(9.0 * xp.minimum(d, _LARGEST))
        value = xp.where(large, d * (root * root * root), value)
    value = xp.where(none, 0.0, value) if some_none else value
    return value * scale if scaled else value


def log_odds_against_beta(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    """The logarithms of ``y / x`` of gamma numbers ``x`` and ``y``, which make the beta numbers ``x / (x + y)``."""
    xp = array_namespace(a, b)
    largest = xp.maximum(a, b)  # of the tiniest and the largest the proportion alone matters
    shift = xp.where(largest < _TINY, _SHIFT, xp.where(largest > _LARGEST, 1.0 / _SHIFT, xp.ones_like(largest)))
    a, b = a * shift, b * shift
    below = which_of(xp, a < 1.0, a >= 1.0, b < 1.0, b >= 1.0)
    x, y = log_gamma(uniforms.every(0, 2), a, below[:2]), log_gamma(uniforms.every(1, 2), b, below[2:])
    return y - x


def beta(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    """Beta numbers, of the logarithms of two gamma numbers each, so that none is lost."""
    return 1.0 / (1.0 + exp(array_namespace(a, b).minimum(log_odds_against_beta(uniforms, a, b), _FARTHEST)))


def _searched(u: Any, first: Any, ratio: Any) -> Any:
    """Search a distribution function from 0 on for the first value that exceeds a uniform.

    Parameters
    ----------
    u : array
        Uniforms.
    first : array
        The probability of 0.
    ratio : callable
        ``ratio(k)`` is the probability of `k` over that of ``k - 1``.
    """
    xp = array_namespace(u)
    mass = xp.broadcast_to(first, u.shape)

    def step(k: Any, value: Any, mass: Any, total: Any, beyond: Any) -> tuple[Any, ...]:
        k = k + 1.0
        value = xp.where(beyond, k, value)
        mass = mass * ratio(k)
        total = total + mass
        return k, value, mass, total, beyond & (u >= total) & (mass > 0.0)

    return repeated(lambda *carries: xp.any(carries[-1]), step, (0.0, xp.zeros_like(u), mass, mass, u >= mass), xp)[1]


def poisson(uniforms: ElementUniforms, lam: Any) -> Any:
    """Poisson numbers: a search where the mean is below 10, else PTRS [2]_."""
    xp = array_namespace(lam)
    small = lam < _SEARCHED
    few = many = None
    some_small, some_not = which_of(xp, small, ~small)
    if some_small:
        mean = xp.where(small, lam, 1.0)
        search = kernel("rng.poisson_search", uniforms.library)
        u, first = uniforms.uniform(0), exp(-mean)
        few = _searched(u, first, lambda k: mean / k) if search is None else search(u, first, mean)
    if some_not:
        constants = _poisson_constants(xp.where(small, _SEARCHED, lam))
        own = uniforms.own("poisson")
        many = until_accepted(uniforms, 2, _poisson_attempt, *constants) if own is None else own(*constants)
    return _either(xp, small, few, many)


def _either(xp: Any, small: Any, few: Any, many: Any) -> Any:
    """Take the numbers of one method or the other; None stands for one that was not needed."""
    if few is None or many is None:
        return many if few is None else few
    return xp.where(small, few, many)


def _poisson_constants(lam: Any) -> tuple[Any, ...]:
    """The means and what follows from them alone, in the order in which `_poisson_attempt` takes it."""
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    return lam, a, b, 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4), log(lam)


def _poisson_attempt(
    u: Any, v: Any, lam: Any, a: Any, b: Any, quickly: Any, factor: Any, log_lam: Any
) -> tuple[Any, Any]:
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


def large_binomial(uniforms: ElementUniforms, n: Any, p: Any) -> Any:
    """Binomial numbers: a search where fewer than 10 successes are to be expected, else BTRS [3]_.

    Where `p` is over a half, failures are counted.
    """
    xp = array_namespace(n, p)
    flipped = p > 0.5
    p = xp.where(flipped, 1.0 - p, p)
    mean = n * p
    small = mean < _SEARCHED
    few = many = None
    some_small, some_not, some_many = which_of(xp, small, ~small, n >= MANY_EVENTS)
    if some_small:
        rare = xp.where(small, p, 0.0)
        odds = rare / (1.0 - rare)
        search = kernel("rng.binomial_search", uniforms.library)
        u, first = uniforms.uniform(0), exp(n * log_of_rest(rare))
        few = _searched(u, first, lambda k: (n + 1.0 - k) / k * odds) if search is None else search(u, first, n, odds)
        few = xp.minimum(few, n)
    if some_not:
        constants = _binomial_constants(xp.where(small, 20.0, n), xp.where(small, 0.5, p))
        own = None if some_many else uniforms.own("binomial")
        many = until_accepted(uniforms, 2, _binomial_attempt, *constants) if own is None else own(*constants)
    value = _either(xp, small, few, many)
    return xp.where(flipped, n - value, value)


def log_of_rest(p: Any) -> Any:
    """The logarithm of ``1 - p``, with the accuracy of `p`."""
    xp = array_namespace(p)
    q = 1.0 - p
    lost = 1.0 - q
    return xp.where(lost == 0.0, -p, log(q) * (p / xp.where(lost == 0.0, 1.0, lost)))


def _binomial_constants(n: Any, p: Any) -> tuple[Any, ...]:
    """What follows from the parameters alone, in the order in which `_binomial_attempt` takes it."""
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


def _binomial_attempt(
    u: Any,
    v: Any,
    n: Any,
    mean: Any,
    a: Any,
    b: Any,
    quickly: Any,
    factor: Any,
    spread: Any,
    mode: Any,
    odds: Any,
    at_mode: Any,
    error: Any,
) -> tuple[Any, Any]:
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
        bound = xp.where(many, log_binomial_ratio(n, mean, mode, inside), bound)
    return inside, (quick & possible) | (possible & (height <= bound))
