"""Real numbers of one uniform each: the inverse of a distribution function.

Contract: one uniform makes one number, in order, through functions with the same bits on every
library; a uniform is a multiple of 2**-31, so ``1 - u`` is exact, and no number lies further out than 2**-31 of all do.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace

from ..elementary import log, normal_quantile
from ..quantiles import truncated_normal

__all__ = ["exponential", "gumbel", "laplace", "logistic", "truncated_normal_number"]


def exponential(u: Any) -> Any:
    """Standard exponential numbers: ``-log(u)``, of which the distribution is the same as of ``-log(1 - u)``.

    Examples
    --------
    >>> import numpy as np
    >>> exponential(np.asarray([0.5])).round(6)
    array([0.693147])
    """
    return -log(u)


def laplace(u: Any) -> Any:
    """Standard Laplace numbers: ``log(2 u)`` below the median, ``-log(2 (1 - u))`` above.

    Examples
    --------
    >>> import numpy as np
    >>> laplace(np.asarray([0.25, 0.75])).round(6)
    array([-0.693147,  0.693147])
    """
    xp = array_namespace(u)
    below = u < 0.5
    size = log(2.0 * xp.where(below, u, 1.0 - u))
    return xp.where(below, size, -size)


def logistic(u: Any) -> Any:
    """Standard logistic numbers: ``log(u) - log(1 - u)``.

    Examples
    --------
    >>> import numpy as np
    >>> logistic(np.asarray([0.5, 0.75])).round(6)
    array([0.      , 1.098612])
    """
    return log(u) - log(1.0 - u)


def gumbel(u: Any) -> Any:
    """Standard Gumbel numbers: ``-log(-log(u))``.

    Examples
    --------
    >>> import numpy as np
    >>> gumbel(np.asarray([0.5])).round(6)
    array([0.366513])
    """
    return -log(-log(u))


def truncated_normal_number(u: Any) -> Any:
    """Standard normal numbers within two standard deviations: see `nbm_xp.rng.quantiles`.

    Examples
    --------
    >>> import numpy as np
    >>> truncated_normal_number(np.asarray([0.5, 0.75])).round(6)
    array([0.      , 0.639112])
    """
    return truncated_normal(u, normal_quantile)
