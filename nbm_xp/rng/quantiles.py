"""Normal numbers from uniforms, one for one: the inverse of the normal distribution function.

What this chapter must satisfy: relative accuracy of 1e-15 from -2 to 2 standard deviations, elementwise over ``xp``, so
that truncated draws keep the bits and the independence of the uniforms they are made of, without a redraw.

References
----------
.. [1] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
   (1988), 477-484.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import array_namespace

__all__ = ["normal_quantile", "truncated_normal"]

Function: TypeAlias = Callable[[Any], Any]

# Highest powers first: numerator and denominator about the middle, then in the tails, in the variables of the article.
_MIDDLE: Final = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
        1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
        5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
_TAIL: Final = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
        3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
        6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0,
    ),
)  # fmt: skip
_HALF_WIDTH: Final = 0.425
_FARTHEST: Final = 1.3887943864964021e-11  # exp(-25)
BEYOND_TWO_SIGMA: Final = 0.022750131948179207
"""The probability of more than two standard deviations, on one side."""


def _ratio(parts: Any, r: Any) -> Any:
    numerator, denominator = (reduce(lambda total, c: total * r + c, part[1:], part[0] + 0.0 * r) for part in parts)
    return numerator / denominator


def normal_quantile(p: Any, log: Function | None = None, sqrt: Function | None = None) -> Any:
    """The number below which a standard normal number lies with probability `p`.

    Parameters
    ----------
    p : array
        Probabilities, floating, from 1.4e-11 to 1 less that.
    log, sqrt : callable, optional
        The natural logarithm and the square root; the library's own by default.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> normal_quantile(np.asarray([0.025, 0.5, 0.975])).round(6)
    array([-1.959964,  0.      ,  1.959964])
    """
    xp = array_namespace(p)
    q = p - 0.5
    middle = xp.abs(q) <= _HALF_WIDTH
    near = q * _ratio(_MIDDLE, _HALF_WIDTH**2 - xp.where(middle, q * q, 0.0))
    outside = xp.maximum(xp.minimum(p, 1.0 - p), _FARTHEST)
    far = _ratio(_TAIL, (sqrt or xp.sqrt)(-(log or xp.log)(xp.where(middle, 0.05, outside))) - 1.6)
    return xp.where(middle, near, xp.where(q < 0, -far, far))


def truncated_normal(u: Any, log: Function | None = None, sqrt: Function | None = None) -> Any:
    """Standard normal numbers within two standard deviations, from uniforms.

    Parameters
    ----------
    u : array
        Uniforms between 0 and 1.
    log, sqrt : callable, optional
        As for `normal_quantile`.

    Returns
    -------
    array
        In the order of the uniforms: the smallest is made the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> truncated_normal(np.asarray([0.0, 0.5, 1.0])).round(12).tolist()
    [-2.0, 0.0, 2.0]
    """
    xp = array_namespace(u)
    z = normal_quantile(BEYOND_TWO_SIGMA + u * (1.0 - 2.0 * BEYOND_TWO_SIGMA), log, sqrt)
    return xp.minimum(xp.maximum(z, -2.0), 2.0)
