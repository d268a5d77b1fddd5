"""Probabilities of counts out of very many: how far they are from those of the mean, without a loss of digits.

Contract: a logarithm of a probability to within 1e-6 for as many trials as doubles count, where
logarithms of factorials, which grow with the number of trials, would cancel each other's digits.

References
----------
.. [1] C. Loader, "Fast and accurate computation of binomial probabilities", Bell Laboratories, 2000.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import array_namespace

from ..elementary import log, quotient, stirling_error

__all__ = ["deviance", "log_binomial_ratio"]

_NEAR: Final = 0.1
_SERIES: Final = tuple(1.0 / odd for odd in range(17, 1, -2))


def deviance(k: Any, mean: Any, delta: Any) -> Any:
    """Half the deviance of counts from their mean: ``k log(k / mean) - (k - mean)`` [1]_.

    Parameters
    ----------
    k, mean : array
        float64, 0 or more, and more than 0.
    delta : array
        ``k - mean``.

    Examples
    --------
    >>> import numpy as np
    >>> k, mean = np.asarray([0.0, 99.0, 200.0]), np.asarray([100.0])
    >>> deviance(k, mean, k - mean).round(6)
    array([1.0000000e+02, 5.0170000e-03, 3.8629436e+01])
    """
    xp = array_namespace(k)
    v = delta / (k + mean)
    near = xp.abs(v) < _NEAR
    w = xp.where(near, v, 0.0)
    square = w * w
    series = square * _SERIES[0]
    for coefficient in _SERIES[1:]:
        series = (series + coefficient) * square
    far = k * log(quotient(xp.where(near | (k <= 0.0), mean, k), mean)) - delta
    return xp.where(near, delta * w + 2.0 * k * w * series, far)


def _error(k: Any) -> Any:
    """What Stirling's formula for the logarithm of ``k!`` lacks; 0 of 0."""
    xp = array_namespace(k)
    return xp.where(k > 0.0, stirling_error(xp.maximum(k - 1.0, 0.0)), 0.0)


def log_binomial_ratio(n: Any, mean: Any, mode: Any, k: Any) -> Any:
    """The logarithm of the probability of a count over that of the mode.

    Parameters
    ----------
    n : array
        How many trials.
    mean : array
        Their number times the probability of success, at most half of them.
    mode : array
        The most probable count, 1 or more.
    k : array
        The count, from 0 to `n`.

    Examples
    --------
    >>> import numpy as np
    >>> n, mean, mode = np.asarray([40.0]), np.asarray([10.0]), np.asarray([10.0])
    >>> log_binomial_ratio(n, mean, mode, np.asarray([0.0])).round(6)
    array([-9.571868])
    >>> round(math.log(0.75**40 / (math.comb(40, 10) * 0.25**10 * 0.75**30)), 6)
    -9.571868
    """
    xp = array_namespace(k)
    least = 0.5 / math.pi  # in place of 0, for which Stirling's formula without its error gives 0!
    terms = []
    for count in (mode, k):
        delta = count - mean
        apart = deviance(count, mean, delta) + deviance(n - count, n - mean, -delta)
        spread = xp.maximum(count, least) * xp.maximum(n - count, least)
        terms.append((apart, spread, _error(count) + _error(n - count)))
    (apart_0, spread_0, error_0), (apart, spread, error) = terms
    return (apart_0 - apart) + 0.5 * log(spread_0 / spread) + (error_0 - error)
