"""Derivatives of random numbers with respect to the parameters of their distribution, at a fixed probability.

Contract: ``dx/da = -(dF(x; a)/da) / f(x; a)`` for a distribution function F with density f [1]_, in float64. The
integrand of ``dF/da`` is divided by the density, so that no normalising constant is needed. The remaining integral
extends from `x` outward, over ``exp(log f(t) - log f(x))`` times the derivative of ``log f(t)`` in the parameter. It is
computed by Gauss-Legendre quadrature in the square root of the distance from `x`, up to where the exponential is
negligible. All arguments are arrays that broadcast.

References
----------
.. [1] M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", Advances in Neural Information
   Processing Systems 31 (2018).
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.special import special_of
from nbm_xp.namespace.special.forms import legendre

_NEGLIGIBLE: Final = 33.0  # exp(-33) is 5e-15
_SERIES_BELOW: Final = 0.6
_TERMS: Final = 15
_SMALLEST_SHAPE, _LARGEST_SHAPE = 1e-100, 2.0**40
_CORRECTIONS: Final = tuple(b / n for n, b in ((2, 1 / 6), (4, -1 / 30), (6, 1 / 42), (8, -1 / 30), (10, 5 / 66)))
_BESSEL_STEPS: Final = 30


@functools.cache
def _rule(count: int) -> list[tuple[float, float]]:
    """Return nodes and weights on [0, 1] for an integrand that varies fastest near 0."""
    roots = [(0.5 * (node + 1.0), weight) for node, weight in legendre(count)]
    return [(root * root, weight * root) for root, weight in roots]


def _reach(slope: Any, curvature: Any) -> Any:
    """Return where a parabola with given non-negative slope and curvature at 0 reaches `_NEGLIGIBLE`."""
    xp = array_namespace(slope)
    return 2.0 * _NEGLIGIBLE / (slope + xp.sqrt(slope * slope + 2.0 * _NEGLIGIBLE * curvature))


def log_gamma_in_shape(shape: Any, log_value: Any) -> Any:
    """Return the derivative of the logarithm of a standard gamma number with respect to its shape.

    Parameters
    ----------
    shape : array
        float64, more than 0.
    log_value : array
        float64, logarithm of the number.

    Returns
    -------
    array
        Its relative error is below 1e-11 for shapes from 1e-6 to 1e8. Times the number, it is the derivative of the
        number.

    Notes
    -----
    Numbers below 0.6 use the series of the lower incomplete gamma function, differentiated term by term. For shapes
    above 2**40, numbers are normal to within rounding.

    Examples
    --------
    >>> import numpy as np
    >>> log_gamma_in_shape(np.asarray([1.0, 1.0, 50.0]), np.log(np.asarray([0.5, 2.0, 50.0]))).round(6)
    array([1.613958, 0.815846, 0.020067])
    """
    xp = array_namespace(shape, log_value)
    a = xp.minimum(xp.maximum(shape, _SMALLEST_SHAPE), _LARGEST_SHAPE)
    y = xp.minimum(xp.maximum(log_value, -1.0 / _SMALLEST_SHAPE), 700.0)
    x = xp.exp(xp.minimum(xp.maximum(y, -700.0), 40.0))
    normal = 0.5 * (1.0 / xp.maximum(shape, 1.0) + xp.exp(-xp.maximum(y, 0.0)))
    digamma = special_of(a).digamma(a + 1.0)
    near = x < _SERIES_BELOW
    series = _series_in_shape(xp, a, xp.where(near, x, _SERIES_BELOW), y - digamma)
    value = xp.where(near, series, _integral_in_shape(xp, a, xp.maximum(x, _SERIES_BELOW), digamma))
    return xp.where(shape > _LARGEST_SHAPE, normal, value)


def _series_in_shape(xp: Any, a: Any, x: Any, above: Any) -> Any:
    """Return the derivative at small numbers, whose logarithms are `above` the digamma function of ``a + 1``."""
    term, harmonic, total, weighted = xp.ones_like(a + x), 0.0, 1.0, 0.0
    for k in range(1, _TERMS + 1):
        inverse = 1.0 / (a + k)
        term, harmonic = term * x * inverse, harmonic + inverse
        total, weighted = total + term, weighted + term * harmonic
    return (weighted - above * total) / a


def _integral_in_shape(xp: Any, a: Any, x: Any, digamma: Any) -> Any:
    """Return the derivative at numbers that are not small; `digamma` is that of ``a + 1``."""
    excess = (x - a) / a
    close = (a > 8.0) & (xp.abs(excess) < 0.5)
    ratio = xp.where(close, xp.log1p(xp.where(close, excess, 0.0)), xp.log(x) - xp.log(a))
    above = ratio - (digamma - 1.0 / a - xp.log(a))
    lower, gap = x < a, xp.abs(x - a)
    start = _reach(gap, x)
    upper_end = xp.log1p((_NEGLIGIBLE + a * start) / x)
    for _ in range(2):  # Newton's method for a convex function
        fall = xp.expm1(-start)
        start = start + (_NEGLIGIBLE - ((gap + x) * start + x * fall)) / (gap - x * fall)
    end = xp.where(lower, -start, upper_end)
    total: Any = 0.0
    for node, weight in _rule(28):
        t = end * node
        total = total + weight * (above + t) * xp.exp(a * t - x * xp.expm1(t))
    return end * total


def logit_beta_in_a(a: Any, b: Any, logit: Any) -> Any:
    """Return the derivative of the logit of a beta number with respect to its first parameter.

    Parameters
    ----------
    a, b : array
        float64, more than 0.
    logit : array
        float64, ``log(x / (1 - x))`` of the number ``x``.

    Returns
    -------
    array
        Its relative error is below 1e-7 for parameters from 0.1 to 1e6, and below 1e-6 from 1e-4 on. Times
        ``x * (1 - x)``, it is the derivative of ``x``. The derivative in `b` is ``-logit_beta_in_a(b, a, -logit)``.

    Examples
    --------
    >>> import numpy as np
    >>> logit_beta_in_a(np.asarray([1.0, 2.0]), np.asarray([1.0, 3.0]), np.asarray([0.0, 0.5])).round(6)
    array([1.386294, 0.465932])
    """
    xp = array_namespace(a, b, logit)
    large = a > _LARGEST_SHAPE
    p = xp.minimum(xp.maximum(a, _SMALLEST_SHAPE), _LARGEST_SHAPE)
    q = xp.minimum(xp.maximum(b, _SMALLEST_SHAPE), 1.0 / _SMALLEST_SHAPE)
    both, tail = p + q, xp.exp(xp.maximum(-xp.abs(logit), -700.0))
    above = _digamma_difference(xp, p, q) - xp.log1p(tail) + xp.minimum(logit, 0.0)
    turned = logit > 0.0  # so that no probability is near 1, where precision is lost
    rate, share = xp.where(turned, q, p), tail / (1.0 + tail)
    mean = both * share
    direction = xp.where(mean < rate, -1.0, 1.0)
    end = _reach(xp.abs(rate - mean), mean / (1.0 + tail))
    for _ in range(3):  # Newton's method for a convex function
        t = direction * end
        grown = xp.expm1(xp.minimum(t, 300.0))
        drop = both * _log_growth(xp, share, t) - rate * t
        end = end + (_NEGLIGIBLE - drop) / (direction * (mean * (1.0 + grown) / (1.0 + share * grown) - rate))
    total: Any = 0.0
    for node, weight in _rule(40):
        t = direction * end * node
        growth = _log_growth(xp, share, t)
        slope = above - growth + xp.where(turned, 0.0, t)
        total = total + weight * slope * xp.exp(rate * t - both * growth)
    value = xp.where(turned, -direction, direction) * end * total
    deviation = logit + xp.log(q) - xp.log(xp.where(large, a, p))
    return xp.where(large, (1.0 - 0.5 * deviation / (1.0 + xp.where(large, a, p) / q)) / xp.maximum(a, 1.0), value)


def _log_growth(xp: Any, share: Any, t: Any) -> Any:
    """Return ``log(1 + share * (exp(t) - 1))``."""
    near = xp.minimum(t, 300.0)
    return xp.log1p(share * xp.expm1(near)) + (t - near)


def _digamma_difference(xp: Any, a: Any, b: Any) -> Any:
    """Return ``digamma(a + b) - digamma(a)``, with the relative accuracy of `b` if that is small."""
    total = sum(1.0 / ((a + k) * (a + b + k)) for k in range(10))
    far, farther = a + 10.0, a + b + 10.0
    corrections = [xp.zeros_like(far), xp.zeros_like(farther)]
    for coefficient in reversed(_CORRECTIONS):
        corrections = [(c + coefficient) / (z * z) for c, z in zip(corrections, (far, farther), strict=True)]
    return b * (total + 0.5 / (far * farther)) + xp.log1p(b / far) + (corrections[0] - corrections[1])


def _bessel_quotient(order: Any, squared: Any) -> Any:
    """Return ``I(order + 1, z) / (z I(order, z))`` of modified Bessel functions, from ``z**2``, for orders from -1 on.

    It is Gauss's continued fraction, with an end that agrees with two terms of the asymptotic series. Its relative
    error is below 1e-6.
    """
    xp, last = array_namespace(order, squared), order + _BESSEL_STEPS
    value = 1.0 / ((last + 0.5) + xp.sqrt((last + 0.5) * (last + 1.5) + squared))
    for step in range(_BESSEL_STEPS, 0, -1):
        value = 1.0 / (2.0 * (order + step) + squared * value)
    return value


def noncentral_chi_squared_in_nonc(df: Any, nonc: Any, value: Any) -> Any:
    """Return the derivative of a noncentral chi-squared number with respect to the noncentrality.

    Parameters
    ----------
    df, nonc, value : array
        float64, 0 or more: the parameters and the number.

    Notes
    -----
    The derivative of the distribution function is minus the density with two more degrees of freedom; the ratio of the
    two densities is a ratio of Bessel functions.

    Examples
    --------
    >>> import numpy as np
    >>> noncentral_chi_squared_in_nonc(np.asarray([2.0]), np.asarray([0.0, 3.0]), np.asarray([4.0])).round(6)
    array([2.      , 0.969032])
    """
    return value * _bessel_quotient(0.5 * df - 1.0, nonc * value)


def vonmises_in_kappa(kappa: Any, angle: Any) -> Any:
    """Return the derivative of a von Mises angle about 0 with respect to the concentration.

    Parameters
    ----------
    kappa : array
        float64, 0 or more.
    angle : array
        float64, in radians, from -pi to pi.

    Examples
    --------
    >>> import numpy as np
    >>> vonmises_in_kappa(np.asarray([0.0, 2.0]), np.asarray([0.5, -0.5])).round(6)
    array([-0.479426,  0.155526])
    """
    xp = array_namespace(kappa, angle)
    size = xp.abs(angle)
    squared = size * size
    beyond = xp.sqrt(squared + _NEGLIGIBLE * math.pi**2 / (2.0 * xp.maximum(kappa, 1.0))) - size
    # near 0 the inward integral is the accurate one
    end = xp.where(kappa * squared < 1.0, -size, xp.minimum(beyond, math.pi - size))
    large = kappa > 60.0
    q = 1.0 / xp.where(large, kappa, 60.0)
    series = 0.5 * q * (1.0 + 0.25 * q * (1.0 + q * (1.0 + q * (25 / 16 + q * (13 / 4 + q * (1073 / 128))))))
    small = xp.where(large, 1.0, kappa)
    rest = xp.where(large, series, 1.0 - small * _bessel_quotient(xp.zeros_like(small), small * small))
    total: Any = 0.0
    for node, weight in _rule(28):
        s = end * node
        sine = xp.sin(0.5 * (size + s))
        fall = xp.exp(-2.0 * kappa * xp.sin(size + 0.5 * s) * xp.sin(0.5 * s))
        total = total + weight * fall * (rest - 2.0 * sine * sine)
    return xp.where(angle < 0.0, -1.0, 1.0) * end * total


def wald_in_mean(mean: Any, scale: Any, value: Any) -> Any:
    """Return the derivative of a Wald number in the mean; the derivative in the scale follows by homogeneity.

    Parameters
    ----------
    mean, scale, value : array
        float64, more than 0.

    Examples
    --------
    >>> import numpy as np
    >>> wald_in_mean(np.asarray([1.0]), np.asarray([2.0]), np.asarray([1.0, 3.0])).round(6)
    array([0.905354, 4.161819])
    """
    xp = array_namespace(mean, scale, value)
    beta = xp.sqrt(scale / value) * (value / mean + 1.0)
    mills = math.sqrt(0.5 * math.pi) * special_of(beta).erfcx(math.sqrt(0.5) * beta)
    return 2.0 * (value / mean) * xp.sqrt(scale * value) / mean * mills
