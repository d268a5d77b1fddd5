"""The error function and the normal distribution function, and their inverses."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = ["erf", "erfc", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

Array: TypeAlias = Any


def erf(x: Array, /) -> Array:
    """The error function, twice the integral of the normal density with variance 1/2 from 0 to `x`.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> erf(np.asarray([-1.0, 0.0, 0.5])).round(6)
    array([-0.842701,  0.      ,  0.5205  ])
    """
    return special_of(x).erf(x)


def erfc(x: Array, /) -> Array:
    """One less the error function, with all its digits where that is small.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From 2 down to 0.

    Examples
    --------
    >>> import numpy as np
    >>> erfc(np.asarray([0.0, 1.0, 10.0]))
    array([1.00000000e+00, 1.57299207e-01, 2.08848758e-45])
    """
    return special_of(x).erfc(x)


def erfcx(x: Array, /) -> Array:
    """The complementary error function scaled, ``exp(x**2) erfc(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Infinite for `x` below about -26.6; about ``1 / (x sqrt(pi))`` far on the right.

    Examples
    --------
    >>> import numpy as np
    >>> erfcx(np.asarray([0.0, 1.0, 1e6]))
    array([1.00000000e+00, 4.27583576e-01, 5.64189584e-07])
    """
    return special_of(x).erfcx(x)


def erfinv(y: Array, /) -> Array:
    """The inverse of the error function.

    Parameters
    ----------
    y : array
        Numbers from -1 to 1.

    Returns
    -------
    array
        Infinite at -1 and 1, NaN beyond.

    Examples
    --------
    >>> import numpy as np
    >>> erfinv(np.asarray([-0.5, 0.0, 1.0])).round(6)
    array([-0.476936,  0.      ,       inf])
    """
    return special_of(y).erfinv(y)


def ndtr(x: Array, /) -> Array:
    """The distribution function of the standard normal distribution.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> ndtr(np.asarray([-1.96, 0.0, 1.96])).round(6)
    array([0.024998, 0.5     , 0.975002])
    """
    return special_of(x).ndtr(x)


def log_ndtr(x: Array, /) -> Array:
    """The logarithm of the normal distribution function, right where the function itself is 0.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> log_ndtr(np.asarray([-100.0, 0.0, 5.0])).round(6)
    array([-5.00552421e+03, -6.93147000e-01, -0.00000000e+00])
    """
    return special_of(x).log_ndtr(x)


def ndtri(p: Array, /) -> Array:
    """The quantiles of the standard normal distribution, the inverse of `ndtr`.

    Parameters
    ----------
    p : array
        Probabilities.

    Returns
    -------
    array
        Infinite at 0 and 1, NaN beyond.

    Examples
    --------
    >>> import numpy as np
    >>> ndtri(np.asarray([0.025, 0.5, 1.0])).round(6)
    array([-1.959964,  0.      ,       inf])
    """
    return special_of(p).ndtri(p)
