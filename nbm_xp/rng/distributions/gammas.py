"""Gamma numbers and those made of them: beta, chi-squared, F, Student's t and negative binomial numbers.

Contract: quotients are computed from logarithms, so that parameters near 0 lose no precision; results beyond the range
of float64 are infinite. A sampler of derivatives takes the same uniforms as the distribution's own sampler, and returns
the derivatives of the same numbers.

References
----------
.. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
   Software 26 (2000), 363-372.
.. [2] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 2, second edition,
   Wiley, 1995, chapters 27 to 30, for the other distributions.
.. [3] M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", Advances in Neural Information
   Processing Systems 31 (2018).
.. [4] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 10.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.elementary import exp, log, normal_quantile, quotient, sqrt
from nbm_xp.namespace.mrg31k3p.approximations import SURELY_ACCEPTED

from ..rules import LARGEST_MEAN, NOT_NEGATIVE, POSITIVE, SOME_PROBABILITY, Rule
from ..tasks import ElementUniforms
from ..uniforms import two_draws
from .counts import poisson
from .derivatives import log_gamma_in_shape, logit_beta_in_a, noncentral_chi_squared_in_nonc
from .sampling import any_of, distribution, grown, normal_number, root, until_accepted, which_of

_FARTHEST_LOG: Final = 708.0  # logarithms this far apart give no subnormal numbers, which JAX flushes to 0
_LEAST, _LARGE = 2.0**-1000, 2.0**800
_TINY: Final = 2.0**-800
_LARGEST: Final = 2.0**820
_SHIFT: Final = 2.0**204
_WIDE: Final = 1e15  # with at least this noncentrality, degrees of freedom below 1 are lost in rounding


def log_gamma(uniforms: ElementUniforms, shape: Any, below: Sequence[bool] | None = None) -> Any:
    """Return the logarithms of standard gamma numbers, by the method of Marsaglia and Tsang [1]_.

    A shape below 1 is increased by 1, and the number is multiplied by ``u ** (1 / shape)``. Above a shape of 2**40
    every number is accepted: fewer than 1 in 10**10 would be rejected, and the criterion would be lost in rounding.
    `below` is whether any shapes are below 1, and whether any are not.
    """
    xp = array_namespace(shape)
    small = shape < 1.0
    some_small, some_not = which_of(xp, small, ~small) if below is None else below
    d = xp.where(small, shape + 1.0, xp.minimum(shape, _LARGEST)) - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)

    def attempt(high: Any, low: Any, u: Any, v: Any, d: Any, c: Any, log_d: Any) -> tuple[Any, Any]:
        x = _normal_number(high, low)
        root = 1.0 + c * x
        inside = root > 0.0
        cube = xp.where(inside, root * root * root, 1.0)
        log_v = log(cube)
        fits = log(two_draws(u, v)) < 0.5 * x * x + d - d * cube + d * log_v
        return log_d + log_v, inside & ((d > SURELY_ACCEPTED) | fits)

    value = until_accepted(uniforms.every(2, 1), 4, attempt, d, c, log(d), own="log_gamma")
    if not some_small:
        return value
    power = quotient(log(uniforms.fine(0)), xp.where(small, xp.maximum(shape, _LEAST), 1.0))
    return value + (xp.where(small, power, 0.0) if some_not else power)


def _normal_number(high: Any, low: Any) -> Any:
    """Return standard normal numbers of uniforms of 53 bits, with equally fine tails on both sides."""
    xp = array_namespace(high)
    below = high < 0.5
    z = normal_quantile(two_draws(xp.where(below, high, 1.0 - high), low))
    return xp.where(below, z, -z)


@distribution((2.5, 1.5), linear=("scale",), shape=NOT_NEGATIVE, scale=NOT_NEGATIVE)
def gamma(uniforms: ElementUniforms, shape: Any, scale: Any) -> Any:
    """Return gamma numbers: see `log_gamma`. Shape 0 gives 0; large shapes need no logarithm."""
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
    """Return the logarithms of ``y / x`` of the gamma numbers whose beta numbers are ``x / (x + y)``."""
    xp = array_namespace(a, b)
    largest = xp.maximum(a, b)  # for extreme parameters only their ratio matters
    shift = xp.where(largest < _TINY, _SHIFT, xp.where(largest > _LARGEST, 1.0 / _SHIFT, xp.ones_like(largest)))
    a, b = a * shift, b * shift
    below = which_of(xp, a < 1.0, a >= 1.0, b < 1.0, b >= 1.0)
    x, y = log_gamma(uniforms.every(0, 2), a, below[:2]), log_gamma(uniforms.every(1, 2), b, below[2:])
    return y - x


@distribution((0.5, 2.5), "share", a=POSITIVE, b=POSITIVE)
def beta(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    """Return beta numbers, computed from the logarithms of two gamma numbers to avoid underflow."""
    return 1.0 / (1.0 + exp(array_namespace(a, b).minimum(log_odds_against_beta(uniforms, a, b), _FARTHEST_LOG)))


def _within(x: Any) -> Any:
    """Return a number clipped to where its logarithm and results made of it are finite."""
    xp = array_namespace(x)
    return xp.minimum(xp.maximum(x, _LEAST), _LARGE)


def _log_mean_over(uniforms: ElementUniforms, df: Any) -> Any:
    """Return the logarithms of degrees of freedom divided by chi-squared numbers with these degrees of freedom."""
    half = _within(0.5 * df)
    return log(half) - log_gamma(uniforms, half)


@distribution((2.5,), df=POSITIVE)
def chisquare(uniforms: ElementUniforms, df: Any) -> Any:
    """Return chi-squared numbers: twice gamma numbers of half the shape [2]_."""
    xp = array_namespace(df)
    return 2.0 * gamma(uniforms, 0.5 * df, xp.ones_like(df))


def _central_and_shift(uniforms: ElementUniforms, df: Any, nonc: Any) -> tuple[Any, Any]:
    """Return the degrees of freedom of the central part of a noncentral chi-squared number, and the rest of it."""
    xp = array_namespace(df, nonc)
    direct = (df > 1.0) | (nonc > _WIDE)
    left, apart = xp.maximum(df - 1.0, 0.0), 0.0
    if any_of(xp, ~direct):
        events = poisson(uniforms.every(1, 2), 0.5 * xp.where(direct, 1.0, nonc))
        left = xp.where(direct, left, df + 2.0 * events)
    if any_of(xp, direct):
        z = normal_number(uniforms.every(1, 2)) + root(nonc)
        apart = xp.where(direct, z * z, 0.0)
    return left, apart


@distribution((2.5, 1.5), df=POSITIVE, nonc=NOT_NEGATIVE)
def noncentral_chisquare(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    """Return a squared normal plus a chi-squared number [2]_; up to 1 degree of freedom, a Poisson mixture."""
    left, apart = _central_and_shift(uniforms, df, nonc)
    return chisquare(uniforms.every(0, 2), left) + apart


@distribution((2.5, 4.5), "tail", dfnum=POSITIVE, dfden=POSITIVE)
def f(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    """Return ratios of mean squares [2]_."""
    above, below = _log_mean_over(uniforms.every(0, 2), dfnum), _log_mean_over(uniforms.every(1, 2), dfden)
    return grown(below - above)


@distribution((2.5, 4.5, 1.5), "tail", dfnum=POSITIVE, dfden=POSITIVE, nonc=NOT_NEGATIVE)
def noncentral_f(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    """Return ratios of mean squares with a noncentral numerator [2]_."""
    xp = array_namespace(dfnum, nonc)
    x = noncentral_chisquare(uniforms.every(0, 2), dfnum, nonc)
    some = x > 0.0
    size = log(_within(xp.where(some, x, 1.0))) - log(_within(dfnum)) + _log_mean_over(uniforms.every(1, 2), dfden)
    return xp.where(some, grown(size), 0.0)


@distribution((2.5,), "tail", df=POSITIVE)
def standard_t(uniforms: ElementUniforms, df: Any) -> Any:
    """Return normal numbers divided by roots of mean squares [2]_."""
    z = normal_number(uniforms.every(1, 2))
    xp = array_namespace(z)
    size = xp.abs(z)
    some = size > 0.0
    t = grown(log(xp.where(some, size, 1.0)) + 0.5 * _log_mean_over(uniforms.every(0, 2), df))
    return xp.where(some, xp.where(z < 0.0, -t, t), 0.0)


def _log_gamma_in_shape(uniforms: ElementUniforms, shape: Any) -> Any:
    return log_gamma_in_shape(shape, log_gamma(uniforms, shape))


@gamma.derivative("shape")
def _gamma_in_shape(uniforms: ElementUniforms, shape: Any, scale: Any) -> Any:
    xp = array_namespace(shape)
    none = shape == 0.0
    positive = xp.where(none, 1.0, shape)
    y = log_gamma(uniforms, positive)
    return xp.where(none, 0.0, exp(y) * log_gamma_in_shape(positive, y)) * scale


@gamma.derivative("scale")
def _gamma_in_scale(uniforms: ElementUniforms, shape: Any, scale: Any) -> Any:
    return gamma(uniforms, shape, array_namespace(scale).ones_like(scale))


def _beta_in_logit(logit: Any) -> Any:
    tail = exp(-array_namespace(logit).abs(logit))
    return tail / ((1.0 + tail) * (1.0 + tail))


@beta.derivative("a")
def _beta_in_a(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    logit = -log_odds_against_beta(uniforms, a, b)
    return _beta_in_logit(logit) * logit_beta_in_a(a, b, logit)


@beta.derivative("b")
def _beta_in_b(uniforms: ElementUniforms, a: Any, b: Any) -> Any:
    odds = log_odds_against_beta(uniforms, a, b)
    return _beta_in_logit(odds) * -logit_beta_in_a(b, a, odds)


@chisquare.derivative("df")
def _chi_squared_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    return _gamma_in_shape(uniforms, 0.5 * df, array_namespace(df).ones_like(df))


@noncentral_chisquare.derivative("df")
def _noncentral_chi_squared_in_df(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    central, _ = _central_and_shift(uniforms, df, nonc)
    return _chi_squared_in_df(uniforms.every(0, 2), central)


@noncentral_chisquare.derivative("nonc")
def _noncentral_chi_squared_in_nonc(uniforms: ElementUniforms, df: Any, nonc: Any) -> Any:
    return noncentral_chi_squared_in_nonc(df, nonc, noncentral_chisquare(uniforms, df, nonc))


def _log_mean_over_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    """Return the derivatives of `_log_mean_over` in the degrees of freedom."""
    half = _within(0.5 * df)
    return 0.5 * (1.0 / half - _log_gamma_in_shape(uniforms, half))


@f.derivative("dfnum")
def _f_in_dfnum(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    return -f(uniforms, dfnum, dfden) * _log_mean_over_in_df(uniforms.every(0, 2), dfnum)


@f.derivative("dfden")
def _f_in_dfden(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    return f(uniforms, dfnum, dfden) * _log_mean_over_in_df(uniforms.every(1, 2), dfden)


def _over_mean(uniforms: ElementUniforms, dfnum: Any, dfden: Any) -> Any:
    """Return the factor by which a noncentral chi-squared number becomes a noncentral F number."""
    return grown(_log_mean_over(uniforms.every(1, 2), dfden) - log(_within(dfnum)))


@noncentral_f.derivative("dfnum")
def _noncentral_f_in_dfnum(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    own = uniforms.every(0, 2)
    x, slope = (of(own, dfnum, nonc) for of in (noncentral_chisquare, _noncentral_chi_squared_in_df))
    return _over_mean(uniforms, dfnum, dfden) * (slope - x / dfnum)


@noncentral_f.derivative("dfden")
def _noncentral_f_in_dfden(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    return noncentral_f(uniforms, dfnum, dfden, nonc) * _log_mean_over_in_df(uniforms.every(1, 2), dfden)


@noncentral_f.derivative("nonc")
def _noncentral_f_in_nonc(uniforms: ElementUniforms, dfnum: Any, dfden: Any, nonc: Any) -> Any:
    slope = _noncentral_chi_squared_in_nonc(uniforms.every(0, 2), dfnum, nonc)
    return _over_mean(uniforms, dfnum, dfden) * slope


@standard_t.derivative("df")
def _student_t_in_df(uniforms: ElementUniforms, df: Any) -> Any:
    return 0.5 * standard_t(uniforms, df) * _log_mean_over_in_df(uniforms.every(0, 2), df)


def _is_sparse(n: Any, p: Any) -> Any:
    mean = n * (1.0 - p)
    return mean + 10.0 * mean**0.5 <= LARGEST_MEAN * p


_FEW_FAILURES: Final = Rule(f"so that {LARGEST_MEAN:g} failures are hardly to be expected", _is_sparse)


@distribution((2.5, 0.3), "count", together=_FEW_FAILURES, n=POSITIVE, p=SOME_PROBABILITY)
def negative_binomial(uniforms: ElementUniforms, n: Any, p: Any) -> Any:
    """Return the number of failures before `n` successes: Poisson numbers whose means are gamma numbers [4]_."""
    xp = array_namespace(n, p)
    means = gamma(uniforms.every(0, 2), n, (1.0 - p) / p)
    return poisson(uniforms.every(1, 2), xp.minimum(means, LARGEST_MEAN))
