"""Logarithm, exponential, sine and cosine near a point, in sums, products and quotients alone.

What this chapter must satisfy: IEEE 754 fixes every sum, product, quotient and square root of doubles to the last bit,
but no library's logarithm or sine. So what is made of these four has the same bits everywhere: on arrays of any
library, one operation after the other, and in a compiled loop that contracts none of them. Each function is written
in Python's operators for both, and is within one unit in the last place where its range is kept.

References
----------
.. [1] Sun Microsystems, "fdlibm: freely distributable libm", 1993, for the coefficients and their error bounds.
.. [2] W. J. Cody and W. Waite, "Software manual for the elementary functions", Prentice-Hall, 1980, for the reduction
   by a constant in two parts.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = [
    "HALF_PI_HIGH", "HALF_PI_LOW", "LN2_HIGH", "LN2_LOW", "ROOT_TWO", "TWO_PI", "cosine_near_zero", "exp_near_zero",
    "log_from_parts", "sine_near_zero",
]  # fmt: skip

LN2_HIGH: Final = 6.93147180369123816490e-01
LN2_LOW: Final = 1.90821492927058770002e-10
"""The logarithm of 2 in two parts, the first of few enough digits that a product with an exponent is exact."""

HALF_PI_HIGH: Final = 1.57079632673412561417e00
HALF_PI_LOW: Final = 6.07710050650619224932e-11
"""A quarter of a turn, likewise."""

ROOT_TWO: Final = 1.4142135623730951
TWO_PI: Final = 6.283185307179586


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
