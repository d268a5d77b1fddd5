"""The gamma function, the error function, and functions based on them."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = [
    "beta", "betaln", "digamma", "erf", "erfc", "erfcx", "erfinv", "gamma", "gammaln", "log_ndtr", "ndtr", "ndtri",
    "polygamma", "zeta",
]  # fmt: skip

Array: TypeAlias = Any


def gammaln(x: Array, /) -> Array:
    """The logarithm of the absolute value of the gamma function.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Infinite at 0 and at negative integers.

    Examples
    --------
    >>> import numpy as np
    >>> gammaln(np.asarray([0.5, 1.0, 100.0])).round(6)
    array([  0.572365,   0.      , 359.134205])
    """
    return special_of(x).gammaln(x)


def gamma(x: Array, /) -> Array:
    """The gamma function; ``gamma(n)`` is ``(n - 1)!`` for positive integers n.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        NaN at negative integers.

    Examples
    --------
    >>> import numpy as np
    >>> gamma(np.asarray([0.5, 5.0, -0.5])).round(6)
    array([ 1.772454, 24.      , -3.544908])
    """
    return special_of(x).gamma(x)


def digamma(x: Array, /) -> Array:
    """The logarithmic derivative of the gamma function.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        NaN at negative integers.

    Examples
    --------
    >>> import numpy as np
    >>> digamma(np.asarray([1.0, 10.0])).round(6)
    array([-0.577216,  2.251753])
    """
    return special_of(x).digamma(x)


def beta(a: Array, b: Array, /) -> Array:
    """The beta function, ``gamma(a) gamma(b) / gamma(a + b)``.

    Parameters
    ----------
    a : array
        First parameter.
    b : array
        Second parameter.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> beta(np.asarray([1.0, 0.5]), np.asarray([2.0, 0.5])).round(6)
    array([0.5     , 3.141593])
    """
    return special_of(a, b).beta(a, b)


def betaln(a: Array, b: Array, /) -> Array:
    """The logarithm of the absolute value of the beta function, accurate where the beta function underflows.

    Parameters
    ----------
    a : array
        First parameter.
    b : array
        Second parameter.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> betaln(np.asarray([1.0, 1000.0]), np.asarray([2.0, 1000.0])).round(6)
    array([-6.9314700e-01, -1.3884826e+03])
    """
    return special_of(a, b).betaln(a, b)


def polygamma(n: int | Array, x: Array, /) -> Array:
    """The derivatives of `digamma`.

    Parameters
    ----------
    n : int or array
        Order of the derivative, 0 or more. An int is fastest; an array of integers broadcasts against `x`.
    x : array
        Argument. With an array of orders, it must be above 0 where the library has no zeta function of its own.

    Returns
    -------
    array
        ``digamma(x)`` for n = 0.

    Raises
    ------
    ValueError
        If `n` is an int below 0.

    Examples
    --------
    >>> import numpy as np
    >>> polygamma(1, np.asarray([1.0, 10.0])).round(6)
    array([1.644934, 0.105166])
    """
    functions = special_of(x) if isinstance(n, int) else special_of(n, x)
    return functions.polygamma(n, x)


def zeta(x: Array, q: Array | None = None, /) -> Array:
    """Riemann's zeta function, or Hurwitz's: the sum of ``(n + q)**-x`` over n from 0.

    Parameters
    ----------
    x : array
        Exponent, above 1 if `q` is given.
    q : array, optional
        Offset of the sum, above 0. Without it, Riemann's function, which is defined for every `x` except 1.

    Returns
    -------
    array
        Infinite at x = 1; with `q`, NaN below 1.

    Notes
    -----
    Derivatives with respect to `x` are computed by the Euler-Maclaurin formula; they lose digits below x = -5.

    Examples
    --------
    >>> import numpy as np
    >>> zeta(np.asarray([2.0, 0.0])).round(6), zeta(np.asarray([2.0]), np.asarray([10.0])).round(6)
    (array([ 1.644934, -0.5     ]), array([0.105166]))
    """
    return special_of(x).zeta(x) if q is None else special_of(x, q).zeta(x, q)


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
    """The complementary error function, ``1 - erf(x)``, accurate also where it is small.

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
    """The scaled complementary error function, ``exp(x**2) erfc(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Infinite for `x` below about -26.6; approximately ``1 / (x sqrt(pi))`` for large `x`.

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
        Minus infinity at -1, infinity at 1, NaN outside.

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
    """The logarithm of the normal distribution function, accurate where the function itself underflows.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        At most 0.

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
        Minus infinity at 0, infinity at 1, NaN outside.

    Examples
    --------
    >>> import numpy as np
    >>> ndtri(np.asarray([0.025, 0.5, 1.0])).round(6)
    array([-1.959964,  0.      ,       inf])
    """
    return special_of(p).ndtri(p)
