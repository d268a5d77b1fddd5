"""Logarithm, exponential, sine, cosine and normal quantiles near a point, in sums, products and quotients alone.

Contract: IEEE 754 fixes every sum, product, quotient and square root of doubles to the last bit,
but no library's logarithm or sine. So what is made of these four has the same bits everywhere: on arrays of any
library, one operation after the other, and in a compiled loop that contracts none of them. Each function is written
in Python's operators for both, and is within one unit in the last place where its range is kept.

References
----------
.. [1] Sun Microsystems, "fdlibm: freely distributable libm", 1993, for the coefficients and their error bounds.
.. [2] W. J. Cody and W. Waite, "Software manual for the elementary functions", Prentice-Hall, 1980, for the reduction
   by a constant in two parts.
.. [3] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
   (1988), 477-484.
"""

from __future__ import annotations

from typing import Any, Final

LN2_HIGH: Final = 6.93147180369123816490e-01
# The logarithm of 2 in two parts, the first of few enough digits that a product with an exponent is exact.
LN2_LOW: Final = 1.90821492927058770002e-10

HALF_PI_HIGH: Final = 1.57079632673412561417e00
# A quarter of a turn, likewise.
HALF_PI_LOW: Final = 6.07710050650619224932e-11

ROOT_TWO: Final = 1.4142135623730951
HALF_LOG_TWO_PI: Final = 0.9189385332046727

# The logarithms of 0!, 1!, … 9!.
LOG_FACTORIALS: Final = (
    0.0, 0.0, 0.6931471805599453, 1.791759469228055, 3.1780538303479458, 4.787491742782046, 6.579251212010101,
    8.525161361065415, 10.60460290274525, 12.801827480081469,
)  # fmt: skip

# What Stirling's formula lacks for 0!, 1!, … 9!, written about 1, 2, … 10.
STIRLING_ERRORS: Final = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
    0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
)  # fmt: skip

# How many events or trials are so many that logarithms of factorials would lose the digits that decide.
MANY_EVENTS: Final = 2.0**30

# The shape of gamma numbers above which fewer than one in 10**10 is refused.
SURELY_ACCEPTED: Final = 2.0**40

# How far from a half a probability may be whose normal number is `central_quantile`'s.
HALF_WIDTH: Final = 0.425

# The least probability that has a normal number here: lesser ones have the same.
LEAST_TAIL: Final = 2.0**-1000

# Where ``sqrt(-log(p))`` is more, the normal number is `far_quantile`'s.
FAR_TAIL: Final = 5.0


def log_from_parts(f: Any, k: Any) -> Any:
    """The logarithm of ``(1 + f) * 2**k``, with ``1 + f`` from the root of 1/2 to the root of 2.

    Examples
    --------
    >>> log_from_parts(0.25, 0.0)
    0.22314355131420976
    """
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    even = w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    rest = odd + z * (6.666666666666735130e-01 + even)
    half_square = 0.5 * f * f
    return k * LN2_HIGH - ((half_square - (s * (half_square + rest) + k * LN2_LOW)) - f)


def exp_near_zero(high: Any, low: Any) -> Any:
    """The exponential of ``high - low``, which is at most half of the logarithm of 2 in size.

    Examples
    --------
    >>> exp_near_zero(0.25, 0.0)
    1.2840254166877414
    """
    r = high - low
    t = r * r
    p = 6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08)
    c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * p))
    return 1.0 - ((low - (r * c) / (2.0 - c)) - high)


def sine_near_zero(r: Any) -> Any:
    """The sine of at most an eighth of a turn.

    Examples
    --------
    >>> sine_near_zero(0.5)
    0.479425538604203
    """
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    return r + z * r * (-1.66666666666666324348e-01 + z * p)


def cosine_near_zero(r: Any) -> Any:
    """The cosine of at most an eighth of a turn.

    Examples
    --------
    >>> cosine_near_zero(0.5)
    0.8775825618903728
    """
    z = r * r
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    p = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p))
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + z * z * p)


def central_quantile(r: Any) -> Any:
    """The normal number below which lies a probability near a half, over what the probability is more than a half [3]_.

    `r` is ``HALF_WIDTH**2`` less the square of that.

    Examples
    --------
    >>> round(0.25 * central_quantile(HALF_WIDTH**2 - 0.25**2), 12)
    0.674489750196
    """
    above = (
        (2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4
    ) * r + 4.5921953931549871457e4
    above = (
        ((above * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r + 1.3314166789178437745e2
    ) * r + 3.3871328727963666080e0
    below = (
        (5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4
    ) * r + 2.1213794301586595867e4
    below = (
        ((below * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r + 4.2313330701600911252e1
    ) * r + 1.0
    return above / below


def outer_quantile(r: Any) -> Any:
    """The normal number beyond which lies a small probability, of which `r` is ``sqrt(-log(p)) - 1.6`` [3]_.

    Examples
    --------
    >>> round(outer_quantile(0.25), 12)
    1.84346250039
    """
    above = (
        (7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1
    ) * r + 1.27045825245236838258e0
    above = (
        ((above * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r + 4.63033784615654529590e0
    ) * r + 1.42343711074968357734e0
    below = (
        (1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2
    ) * r + 1.48103976427480074590e-1
    below = (
        ((below * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r + 2.05319162663775882187e0
    ) * r + 1.0
    return above / below


def far_quantile(r: Any) -> Any:
    """The normal number beyond which lies a probability below exp(-25), of which `r` is ``sqrt(-log(p)) - 5`` [3]_.

    Examples
    --------
    >>> round(far_quantile(0.5), 12)
    7.390976407744
    """
    above = (
        (2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3
    ) * r + 2.65321895265761230930e-2
    above = (
        ((above * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r + 5.46378491116411436990e0
    ) * r + 6.65790464350110377720e0
    below = (
        (2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5
    ) * r + 7.86869131145613259100e-4
    below = (
        ((below * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r + 5.99832206555887937690e-1
    ) * r + 1.0
    return above / below


def stirling_series(x: Any) -> Any:
    """Remainder of Stirling's formula for the logarithm of a factorial, from 10 on.

    Examples
    --------
    >>> round(stirling_series(10.0), 12)
    0.008330563433
    """
    r = 1.0 / x
    z = r * r
    return r * (
        0.08333333333333333 - z * (0.002777777777777778 - z * (0.0007936507936507937 - z * 0.0005952380952380953))
    )


def large_poisson_deviance(delta: Any, lam: Any) -> Any:
    """``k log(k / lam) - (k - lam)`` for a `k` that is `delta` more than a `lam` of `MANY_EVENTS` or more.

    Four terms of its series: next to the mean the rest is below 1e-9; far from it both are beyond all measure.

    Examples
    --------
    >>> round(large_poisson_deviance(2.0**17, 2.0**34), 9)
    0.499998728
    """
    x = delta / lam
    return 0.5 * delta * x * (1.0 - x * (0.3333333333333333 - x * 0.16666666666666666))
