"""Uniforms of two draws, and normal and exponential numbers made of them: for distributions with long tails.

Contract: 2**-62 is the least distance from 0, and from 1 too where a uniform is folded; there, as
everywhere, it has all the digits of a double. So tails go as far out as 2**62 numbers do.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace

from ..elementary import cos, exp, log, log1p, sqrt
from ..transforms import two_draws
from .element_uniforms import ElementUniforms

__all__ = ["exponential_number", "fine", "folded", "grown", "normal_number", "root"]

_FARTHEST: Final = 700.0
_LARGE, _SMALL = 2.0**800, 2.0**-800
_SCALE: Final = 2.0**400


def fine(uniforms: ElementUniforms, j: int = 0) -> Any:
    """A uniform of the numbers `j` and ``j + 1``: from 2**-62 on."""
    return uniforms.fine(j)


def folded(uniforms: ElementUniforms, j: int = 0) -> tuple[Any, Any]:
    """Whether a uniform of two is below a half, and how far from the nearer end it is."""
    high = uniforms.uniform(j)
    below = high < 0.5
    return below, two_draws(array_namespace(high).where(below, high, 1.0 - high), uniforms.uniform(j + 1))


def exponential_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """A standard exponential number of two uniforms, with all its digits near 0 as well as far out."""
    below, v = folded(uniforms, j)
    return -array_namespace(v).where(below, log(v), log1p(-v))


def normal_number(uniforms: ElementUniforms, j: int = 0) -> Any:
    """A standard normal number of three uniforms, by the method of Box and Muller: up to 9.2 standard deviations."""
    return sqrt(-2.0 * log(fine(uniforms, j))) * cos(uniforms.uniform(j + 2) * (2.0 * math.pi))


def grown(x: Any) -> Any:
    """The exponential; infinite where that is over 1e304.

    Examples
    --------
    >>> import numpy as np
    >>> grown(np.asarray([0.0, 1e6]))
    array([ 1., inf])
    """
    return array_namespace(x).where(x > _FARTHEST, math.inf, exp(x))


def root(x: Any) -> Any:
    """The square root of any number that is not negative.

    Examples
    --------
    >>> import numpy as np
    >>> root(np.asarray([0.0, 4e-300, 4.0, 4e300]))
    array([0.e+000, 2.e-150, 2.e+000, 2.e+150])
    """
    xp = array_namespace(x)
    large, small = x > _LARGE, x < _SMALL
    scaled = sqrt(xp.where(large, x * (1.0 / _SCALE), xp.where(small, x, 1.0) * xp.where(small, _SCALE, x)))
    return xp.where(large, scaled * 2.0**200, xp.where(small, scaled * 2.0**-200, scaled))
