"""Bessel functions, incomplete gamma and beta functions, and the distribution functions based on them."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = [
    "betainc", "chdtr", "chdtrc", "gammainc", "gammaincc", "i0", "i0e", "i1", "i1e", "j0", "j1", "stdtr", "stdtrit",
]  # fmt: skip

Array: TypeAlias = Any


def i0(x: Array, /) -> Array:
    """The modified Bessel function of the first kind of order 0.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        1 at 0, growing as ``exp(|x|)``.

    Examples
    --------
    >>> import numpy as np
    >>> i0(np.asarray([0.0, 1.0, -1.0])).round(6)
    array([1.      , 1.266066, 1.266066])
    """
    return special_of(x).i0(x)


def i0e(x: Array, /) -> Array:
    """The exponentially scaled modified Bessel function of order 0, ``exp(-|x|) i0(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        1 at 0, decreasing to 0 with ``|x|``.

    Examples
    --------
    >>> import numpy as np
    >>> i0e(np.asarray([0.0, 1.0, 1000.0])).round(6)
    array([1.      , 0.46576 , 0.012617])
    """
    return special_of(x).i0e(x)


def i1(x: Array, /) -> Array:
    """The modified Bessel function of the first kind of order 1.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        An odd function; its absolute value grows as ``exp(|x|)``.

    Examples
    --------
    >>> import numpy as np
    >>> i1(np.asarray([0.0, 1.0, -1.0])).round(6)
    array([ 0.      ,  0.565159, -0.565159])
    """
    return special_of(x).i1(x)


def i1e(x: Array, /) -> Array:
    """The exponentially scaled modified Bessel function of order 1, ``exp(-|x|) i1(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        An odd function.

    Examples
    --------
    >>> import numpy as np
    >>> i1e(np.asarray([0.0, 1.0, 1000.0])).round(6)
    array([0.      , 0.20791 , 0.012611])
    """
    return special_of(x).i1e(x)


def j0(x: Array, /) -> Array:
    """The Bessel function of the first kind of order 0.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From -0.41 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> j0(np.asarray([0.0, 1.0, 10.0])).round(6)
    array([ 1.      ,  0.765198, -0.245936])
    """
    return special_of(x).j0(x)


def j1(x: Array, /) -> Array:
    """The Bessel function of the first kind of order 1.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From -0.59 to 0.59.

    Examples
    --------
    >>> import numpy as np
    >>> j1(np.asarray([0.0, 1.0, 10.0])).round(6)
    array([0.      , 0.440051, 0.043473])
    """
    return special_of(x).j1(x)


def gammainc(a: Array, x: Array, /) -> Array:
    """The regularised lower incomplete gamma function, the distribution function of the gamma distribution.

    Parameters
    ----------
    a : array
        Shape parameter, above 0.
    x : array
        Argument, 0 or more.

    Returns
    -------
    array
        From 0 to 1.

    Notes
    -----
    Derivatives with respect to `a` are integrals, computed by Gauss-Legendre quadrature to about 1e-12.

    Examples
    --------
    >>> import numpy as np
    >>> gammainc(np.asarray([1.0, 5.0]), np.asarray([1.0, 4.0])).round(6)
    array([0.632121, 0.371163])
    """
    return special_of(a, x).gammainc(a, x)


def gammaincc(a: Array, x: Array, /) -> Array:
    """The regularised upper incomplete gamma function, ``1 - gammainc(a, x)``, accurate also where it is small.

    Parameters
    ----------
    a : array
        Shape parameter, above 0.
    x : array
        Argument, 0 or more.

    Returns
    -------
    array
        From 1 down to 0.

    Examples
    --------
    >>> import numpy as np
    >>> gammaincc(np.asarray([1.0, 5.0]), np.asarray([50.0, 4.0]))
    array([1.92874985e-22, 6.28836935e-01])
    """
    return special_of(a, x).gammaincc(a, x)


def betainc(a: Array, b: Array, x: Array, /) -> Array:
    """The regularised incomplete beta function, the distribution function of the beta distribution.

    Parameters
    ----------
    a : array
        First parameter, above 0.
    b : array
        Second parameter, above 0.
    x : array
        Argument, from 0 to 1.

    Returns
    -------
    array
        From 0 to 1.

    Notes
    -----
    Derivatives with respect to `a` and `b` are integrals, computed by Gauss-Legendre quadrature to about 1e-12.

    Examples
    --------
    >>> import numpy as np
    >>> betainc(np.asarray([1.0, 2.0]), np.asarray([1.0, 3.0]), np.asarray([0.25, 0.5])).round(6)
    array([0.25  , 0.6875])
    """
    return special_of(a, b, x).betainc(a, b, x)


def chdtr(v: Array, x: Array, /) -> Array:
    """The distribution function of the chi-squared distribution.

    Parameters
    ----------
    v : array
        Degrees of freedom, above 0.
    x : array
        Argument, 0 or more.

    Returns
    -------
    array
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> chdtr(np.asarray([1.0, 5.0]), np.asarray([3.841459, 11.070498])).round(6)
    array([0.95, 0.95])
    """
    return special_of(v, x).chdtr(v, x)


def chdtrc(v: Array, x: Array, /) -> Array:
    """The survival function of the chi-squared distribution, ``1 - chdtr(v, x)``, accurate also where it is small.

    Parameters
    ----------
    v : array
        Degrees of freedom, above 0.
    x : array
        Argument, 0 or more.

    Returns
    -------
    array
        From 1 down to 0.

    Examples
    --------
    >>> import numpy as np
    >>> chdtrc(np.asarray([1.0, 5.0]), np.asarray([3.841459, 11.070498])).round(6)
    array([0.05, 0.05])
    """
    return special_of(v, x).chdtrc(v, x)


def stdtr(df: Array, t: Array, /) -> Array:
    """The distribution function of Student's t distribution.

    Parameters
    ----------
    df : array
        Degrees of freedom, above 0.
    t : array
        The argument.

    Returns
    -------
    array
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> stdtr(np.asarray([1.0, 10.0]), np.asarray([1.0, -2.228139])).round(6)
    array([0.75 , 0.025])
    """
    return special_of(df, t).stdtr(df, t)


def stdtrit(df: Array, p: Array, /) -> Array:
    """The quantiles of Student's t distribution, the inverse of `stdtr` with respect to `t`.

    Parameters
    ----------
    df : array
        Degrees of freedom, above 0.
    p : array
        Probability, from 0 to 1.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> stdtrit(np.asarray([1.0, 10.0]), np.asarray([0.75, 0.025])).round(6)
    array([ 1.      , -2.228139])
    """
    return special_of(df, p).stdtrit(df, p)
