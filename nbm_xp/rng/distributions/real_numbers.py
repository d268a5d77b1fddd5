"""Real numbers of a few uniforms each: by inversion of the distribution function, as one of two roots, by rejection.

Contract: both tails are as fine as the uniforms; results are infinite only beyond the range of float64.

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, chapter 2, for inversion.
.. [2] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
   (1988), 477-484.
.. [3] J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using transformations with multiple
   roots", The American Statistician 30 (1976), 88-90.
.. [4] D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", Applied Statistics 28 (1979),
   152-157.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from nbm_xp.namespace import array_namespace, elementary
from nbm_xp.namespace.elementary import arctan, cos, exp, expm1, log, log1p, normal_quantile, quotient, sin, sqrt

from ..rules import FINITE, NOT_NEGATIVE, POSITIVE, Rule
from ..tasks import ElementUniforms
from ..uniforms import two_draws
from .derivatives import vonmises_in_kappa, wald_in_mean
from .sampling import distribution, exponential_number, folded, grown, normal_number, ones, root, scaled, until_accepted

_LEAST, _MOST = 2.0**-1000, 2.0**1000
_LEAST_RATIO: Final = 2.0**-800
_SMALLEST: Final = 1e-100
_HALF_OF_ALL: Final = 2.0**1022
_TURN: Final = 2.0 * math.pi


@scaled(2.5)
def exponential(uniforms: ElementUniforms) -> Any:
    """Return standard exponential numbers: ``-log(u)``, which has the same distribution as ``-log(1 - u)``."""
    return -log(uniforms.fine(0))


@scaled(0.5, 1.5, loc=FINITE)
def laplace(uniforms: ElementUniforms) -> Any:
    """Return standard Laplace numbers: ``log(2 u)`` below the median, ``-log(2 (1 - u))`` above."""
    below, v = folded(uniforms)
    size = log(2.0 * v)
    return array_namespace(v).where(below, size, -size)


@scaled(0.5, 1.5, loc=FINITE)
def logistic(uniforms: ElementUniforms) -> Any:
    """Return standard logistic numbers: ``log(u) - log(1 - u)``."""
    below, v = folded(uniforms)
    size = log(v) - log1p(-v)
    return array_namespace(v).where(below, size, -size)


@scaled(0.5, 1.5, loc=FINITE)
def gumbel(uniforms: ElementUniforms) -> Any:
    """Return standard Gumbel numbers: ``-log(-log(u))``."""
    below, v = folded(uniforms)
    return -log(-array_namespace(v).where(below, log(v), log1p(-v)))


@scaled(0.5, 1.5, loc=FINITE)
def truncated_normal(uniforms: ElementUniforms) -> Any:
    """Return standard normal numbers truncated at two standard deviations."""
    own = uniforms.own("truncated_normals")
    return elementary.truncated_normal(uniforms.fine(0), normal_quantile) if own is None else own()


@distribution((0.5, 1.5), "tail", mean=FINITE, sigma=NOT_NEGATIVE)
def lognormal(uniforms: ElementUniforms, mean: Any, sigma: Any) -> Any:
    """Return exponentials of normal numbers."""
    xp = array_namespace(mean, sigma)
    return grown(xp.minimum(sigma, _MOST) * normal_number(uniforms) + xp.maximum(xp.minimum(mean, _MOST), -_MOST))


@distribution((1.5,), "tail", a=POSITIVE)
def pareto(uniforms: ElementUniforms, a: Any) -> Any:
    """Return Lomax numbers, by inversion [1]_: ``(1 - u) ** (-1 / a) - 1``."""
    xp = array_namespace(a)
    x = quotient(exponential_number(uniforms), xp.maximum(a, _LEAST))
    return xp.where(x > 700.0, math.inf, expm1(xp.minimum(x, 700.0)))


@distribution((1.5,), "share", a=POSITIVE)
def power(uniforms: ElementUniforms, a: Any) -> Any:
    """Return powers of uniforms, by inversion [1]_: ``u ** (1 / a)``."""
    return exp(-quotient(exponential_number(uniforms), array_namespace(a).maximum(a, _LEAST)))


@distribution((1.5,), "tail", a=NOT_NEGATIVE)
def weibull(uniforms: ElementUniforms, a: Any) -> Any:
    """Return powers of exponential numbers, by inversion [1]_; 0 if the shape is 0."""
    xp = array_namespace(a)
    return xp.where(a == 0.0, 0.0, grown(quotient(log(exponential_number(uniforms)), xp.maximum(a, _LEAST))))


@scaled(1.5)
def rayleigh(uniforms: ElementUniforms) -> Any:
    """Return Rayleigh numbers, the lengths of standard normal vectors in the plane, by inversion [1]_."""
    return sqrt(2.0 * exponential_number(uniforms))


@distribution((), "tail")
def standard_cauchy(uniforms: ElementUniforms) -> Any:
    """Return tangents of uniform angles, by inversion [1]_."""
    below, v = folded(uniforms)
    size = cos(math.pi * v) / sin(math.pi * v)
    return array_namespace(v).where(below, -size, size)


def _is_ascending(left: Any, mode: Any, right: Any) -> Any:
    return (left <= mode) & (mode <= right) & (left < right) & (0.5 * right - 0.5 * left < _HALF_OF_ALL)


_ASCENDING: Final = Rule("in ascending order and a finite distance apart, the first less than the last", _is_ascending)


@distribution((-0.5, 0.5, 3.5), together=_ASCENDING, left=FINITE, mode=FINITE, right=FINITE)
def triangular(uniforms: ElementUniforms, left: Any, mode: Any, right: Any) -> Any:
    """Return triangular numbers, by inversion [1]_."""
    below, v = folded(uniforms)
    xp, base = array_namespace(v), right - left
    rising, falling = quotient(mode - left, base), quotient(right - mode, base)
    u, rest = xp.where(below, v, 1.0 - v), xp.where(below, 1.0 - v, v)
    x = xp.where(u < rising, left + base * root(u * rising), right - base * root(rest * falling))
    return xp.minimum(xp.maximum(x, left), right)


@distribution((1.5, 2.5), "tail", mean=POSITIVE, scale=POSITIVE)
def wald(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    """Return inverse Gaussian numbers: one of two roots [3]_ whose product is the square of the mean.

    All terms in the ratio of the larger root to the mean are positive, so that no digits cancel.
    """
    z, u = normal_number(uniforms, 1), uniforms.uniform(0)
    xp = array_namespace(z)
    wide = mean > scale
    ratio = xp.maximum(quotient(xp.where(wide, scale, mean), xp.where(wide, mean, scale)), _LEAST_RATIO)
    w = 0.5 * (z * z) * xp.where(wide, 1.0 / ratio, ratio)
    larger = 1.0 + w + sqrt(w) * sqrt(w + 2.0)
    short = u < larger / (1.0 + larger)
    return mean * xp.where(short, 1.0 / larger, xp.minimum(larger, _MOST * 2.0**23 / xp.maximum(mean, 1.0)))


@distribution((0.5, 1.5), "share", linear=("mu",), mu=FINITE, kappa=NOT_NEGATIVE)
def vonmises(uniforms: ElementUniforms, mu: Any, kappa: Any) -> Any:
    """Return angles about a mean angle, by rejection from a wrapped Cauchy distribution [4]_.

    They are computed from tangents of half angles, which keep their precision for any concentration.
    """
    xp = array_namespace(mu, kappa)
    kappa = xp.minimum(xp.maximum(kappa, 2.0**-300), 2.0**900)
    squared = xp.minimum(kappa, 2.0**100)
    tau = xp.where(kappa < 2.0**100, sqrt(1.0 + 4.0 * squared * squared), 2.0 * kappa) + 1.0
    s = tau / (2.0 * kappa)
    excess = (tau / kappa) / (2.0 * kappa) / (s + 1.0)  # s - 1
    slope = root(excess / (s + 1.0))

    def attempt(high: Any, low: Any, v: Any, kappa: Any, excess: Any, slope: Any) -> tuple[Any, Any]:
        near = high < 0.5
        angle = math.pi * two_draws(xp.where(near, high, 1.0 - high), low)
        q = slope * cos(angle) / sin(angle)
        flat = 2.0 * (q / (1.0 + q * q)) * q  # 1 - cos
        y = kappa * (excess + flat)
        fits = log(y / v) + 1.0 - y >= 0.0
        return 2.0 * xp.where(near, -arctan(q), arctan(q)), fits

    x = until_accepted(uniforms, 3, attempt, kappa, excess, slope) + mu
    x = x - _TURN * xp.round(x * (1.0 / _TURN))
    return xp.minimum(xp.maximum(x, -math.pi), math.pi)


@lognormal.derivative("sigma")
def _lognormal_in_sigma(uniforms: ElementUniforms, mean: Any, sigma: Any) -> Any:
    return lognormal(uniforms, mean, sigma) * normal_number(uniforms)


lognormal.derivative("mean")(lognormal.sample)


def _exponent(uniforms: ElementUniforms, a: Any) -> Any:
    """Return the derivative of ``log(u) / a`` in the shape ``a``, for powers and, negated, for Pareto numbers."""
    a = array_namespace(a).maximum(a, _SMALLEST)
    return quotient(quotient(exponential_number(uniforms), a), a)


@pareto.derivative("a")
def _pareto_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    return -(1.0 + pareto(uniforms, a)) * _exponent(uniforms, a)


@power.derivative("a")
def _power_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    return power(uniforms, a) * _exponent(uniforms, a)


@weibull.derivative("a")
def _weibull_in_a(uniforms: ElementUniforms, a: Any) -> Any:
    shape = array_namespace(a).maximum(a, _SMALLEST)
    return -weibull(uniforms, a) * quotient(quotient(log(exponential_number(uniforms)), shape), shape)


def _triangular_in(in_parameter: str) -> Callable[..., Any]:
    """Return the sampler of the derivative in a bound or the mode, by similar triangles."""

    def sample(uniforms: ElementUniforms, left: Any, mode: Any, right: Any) -> Any:
        x = triangular(uniforms, left, mode, right)
        xp = array_namespace(x)
        rising = x < mode
        near, far = xp.where(rising, left, right), xp.where(rising, right, left)
        apart = xp.where(mode == near, 1.0, mode - near)
        in_mode, in_far = 0.5 * (x - near) / apart, 0.5 * (x - near) / (far - near)
        if in_parameter == "mode":
            return in_mode
        return xp.where(rising == (in_parameter == "left"), 1.0 - in_mode - in_far, in_far)

    return sample


for name in triangular.rules:
    triangular.derivative(name)(_triangular_in(name))


@wald.derivative("mean")
def _wald_in_mean(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    x = wald(uniforms, mean, scale)
    return wald_in_mean(mean, scale, array_namespace(x).maximum(x, _SMALLEST))


@wald.derivative("scale")
def _wald_in_scale(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    return (wald(uniforms, mean, scale) - mean * _wald_in_mean(uniforms, mean, scale)) / scale


@vonmises.derivative("kappa")
def _vonmises_in_kappa(uniforms: ElementUniforms, mu: Any, kappa: Any) -> Any:
    return vonmises_in_kappa(kappa, vonmises(uniforms, array_namespace(mu).zeros_like(mu), kappa))


vonmises.derivative("mu")(ones)
