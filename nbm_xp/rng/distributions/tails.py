"""Numbers with long tails, and others of a uniform or two: Pareto, Weibull, Cauchy, von Mises, Wald and their like.

Contract: both ends are as fine as `fine_uniforms` are; what is beyond all doubles is infinite,
and nothing else is. All parameters are float64 arrays of shape (count,) or (1,).

References
----------
.. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, chapter 2, for inversion.
.. [2] J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using transformations with multiple
   roots", The American Statistician 30 (1976), 88-90.
.. [3] D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", Applied Statistics 28 (1979),
   152-157.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace

from ..elementary import arctan, cos, exp, expm1, log, quotient, sin, sqrt
from ..transforms import two_draws
from .element_uniforms import ElementUniforms, until_accepted
from .fine_uniforms import exponential_number, folded, grown, normal_number, root

__all__ = ["cauchy", "lognormal", "pareto", "power", "rayleigh", "triangular", "vonmises", "wald", "weibull"]

_LEAST, _MOST = 2.0**-1000, 2.0**1000
_LEAST_RATIO: Final = 2.0**-800
_TURN: Final = 2.0 * math.pi


def lognormal(uniforms: ElementUniforms, mean: Any, sigma: Any) -> Any:
    """Exponentials of normal numbers."""
    xp = array_namespace(mean, sigma)
    return grown(xp.minimum(sigma, _MOST) * normal_number(uniforms) + xp.maximum(xp.minimum(mean, _MOST), -_MOST))


def pareto(uniforms: ElementUniforms, a: Any) -> Any:
    """Numbers of Lomax's distribution, by inversion [1]_: ``(1 - u) ** (-1 / a) - 1``."""
    xp = array_namespace(a)
    x = quotient(exponential_number(uniforms), xp.maximum(a, _LEAST))
    return xp.where(x > 700.0, math.inf, expm1(xp.minimum(x, 700.0)))


def power(uniforms: ElementUniforms, a: Any) -> Any:
    """Powers of uniforms, by inversion [1]_: ``u ** (1 / a)``."""
    return exp(-quotient(exponential_number(uniforms), array_namespace(a).maximum(a, _LEAST)))


def weibull(uniforms: ElementUniforms, a: Any) -> Any:
    """Powers of exponential numbers, by inversion [1]_; 0 of shape 0."""
    xp = array_namespace(a)
    return xp.where(a == 0.0, 0.0, grown(quotient(log(exponential_number(uniforms)), xp.maximum(a, _LEAST))))


def rayleigh(uniforms: ElementUniforms, scale: Any) -> Any:
    """Lengths of normal vectors in the plane, by inversion [1]_."""
    return sqrt(2.0 * exponential_number(uniforms)) * scale


def cauchy(uniforms: ElementUniforms) -> Any:
    """Tangents of uniform angles, by inversion [1]_."""
    below, v = folded(uniforms)
    size = cos(math.pi * v) / sin(math.pi * v)
    return array_namespace(v).where(below, -size, size)


def triangular(uniforms: ElementUniforms, left: Any, mode: Any, right: Any) -> Any:
    """Numbers between two bounds whose density rises to the mode and falls from there, by inversion [1]_."""
    below, v = folded(uniforms)
    xp, base = array_namespace(v), right - left
    rising, falling = quotient(mode - left, base), quotient(right - mode, base)
    u, rest = xp.where(below, v, 1.0 - v), xp.where(below, 1.0 - v, v)
    x = xp.where(u < rising, left + base * root(u * rising), right - base * root(rest * falling))
    return xp.minimum(xp.maximum(x, left), right)


def wald(uniforms: ElementUniforms, mean: Any, scale: Any) -> Any:
    """Inverse Gaussian numbers: one of two roots [2]_, of which the product is the mean's square.

    Of the ratio of the larger root to the mean all terms are positive, so that no digit is lost.
    """
    z, u = normal_number(uniforms, 1), uniforms.uniform(0)
    xp = array_namespace(z)
    wide = mean > scale
    ratio = xp.maximum(quotient(xp.where(wide, scale, mean), xp.where(wide, mean, scale)), _LEAST_RATIO)
    w = 0.5 * (z * z) * xp.where(wide, 1.0 / ratio, ratio)
    larger = 1.0 + w + sqrt(w) * sqrt(w + 2.0)
    short = u < larger / (1.0 + larger)
    return mean * xp.where(short, 1.0 / larger, xp.minimum(larger, _MOST * 2.0**23 / xp.maximum(mean, 1.0)))


def vonmises(uniforms: ElementUniforms, mu: Any, kappa: Any) -> Any:
    """Angles around a mean angle, from a wrapped Cauchy distribution by rejection [3]_.

    Written in tangents of half angles, which keep their digits however large the concentration is.
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
        flat = 2.0 * (q / (1.0 + q * q)) * q  # 1 less the cosine
        y = kappa * (excess + flat)
        fits = log(y / v) + 1.0 - y >= 0.0
        return 2.0 * xp.where(near, -arctan(q), arctan(q)), fits

    x = until_accepted(uniforms, 3, attempt, kappa, excess, slope) + mu
    x = x - _TURN * xp.round(x * (1.0 / _TURN))
    return xp.minimum(xp.maximum(x, -math.pi), math.pi)
