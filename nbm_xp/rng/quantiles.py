"""Normal numbers from uniforms, one for one: the inverse of the normal distribution function.

Contract: relative accuracy of 1e-15 from -2 to 2 standard deviations, elementwise over ``xp``, so
that truncated draws keep the bits and the independence of the uniforms they are made of, without a redraw.

References
----------
.. [1] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
   (1988), 477-484.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.mrg31k3p.approximations import (
    FAR_TAIL,
    HALF_WIDTH,
    LEAST_TAIL,
    central_quantile,
    far_quantile,
    outer_quantile,
)

__all__ = ["normal_quantile", "truncated_normal"]

Function: TypeAlias = Callable[[Any], Any]

BEYOND_TWO_SIGMA: Final = 0.022750131948179207
"""The probability of more than two standard deviations, on one side."""


def normal_quantile(p: Any, log: Function | None = None, sqrt: Function | None = None) -> Any:
    """The number below which a standard normal number lies with probability `p`.

    Parameters
    ----------
    p : array
        Probabilities, floating, between 0 and 1.
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
    tail = xp.maximum(xp.minimum(p, 1.0 - p), LEAST_TAIL)
    root = (sqrt or xp.sqrt)(-(log or xp.log)(tail))
    is_far = root > FAR_TAIL
    far = far_quantile(xp.where(is_far, root, FAR_TAIL) - FAR_TAIL)
    near = _near_quantile(xp.where(is_far, 0.5, p), log, sqrt)
    return xp.where(is_far, xp.where(p < 0.5, -far, far), near)


def _near_quantile(p: Any, log: Function | None = None, sqrt: Function | None = None) -> Any:
    """The same of probabilities from exp(-25) to 1 less that."""
    xp = array_namespace(p)
    q = p - 0.5
    middle = xp.abs(q) <= HALF_WIDTH
    near = q * central_quantile(HALF_WIDTH**2 - xp.where(middle, q * q, 0.0))
    outside = xp.where(middle, 0.05, xp.minimum(p, 1.0 - p))
    far = outer_quantile((sqrt or xp.sqrt)(-(log or xp.log)(outside)) - 1.6)
    return xp.where(middle, near, xp.where(q < 0, -far, far))


def truncated_normal(u: Any, quantile: Function = _near_quantile) -> Any:
    """Standard normal numbers within two standard deviations, from uniforms.

    Parameters
    ----------
    u : array
        Uniforms between 0 and 1.
    quantile : callable, optional
        What stands in for `normal_quantile`.

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
    z = quantile(BEYOND_TWO_SIGMA + u * (1.0 - 2.0 * BEYOND_TWO_SIGMA))
    return xp.minimum(xp.maximum(z, -2.0), 2.0)
