"""Bessel functions, incomplete gamma and beta functions, and distribution functions made of them."""

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
    """The modified Bessel function of order 0 scaled, ``exp(-|x|) i0(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From 1 at 0 down to 0.

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
        Odd, growing as ``exp(|x|)``.

    Examples
    --------
    >>> import numpy as np
    >>> i1(np.asarray([0.0, 1.0, -1.0])).round(6)
    array([ 0.      ,  0.565159, -0.565159])
    """
    return special_of(x).i1(x)


def i1e(x: Array, /) -> Array:
    """The modified Bessel function of order 1 scaled, ``exp(-|x|) i1(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        Odd.

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
        The shape, above 0.
    x : array
        The argument, from 0 up.

    Returns
    -------
    array
        From 0 to 1.

    Notes
    -----
    Its derivative in `a` is an integral, found by Gauss and Legendre's rule to about 1e-12, as are the further
    ones.

    Examples
    --------
    >>> import numpy as np
    >>> gammainc(np.asarray([1.0, 5.0]), np.asarray([1.0, 4.0])).round(6)
    array([0.632121, 0.371163])
    """
    return special_of(a, x).gammainc(a, x)


def gammaincc(a: Array, x: Array, /) -> Array:
    """The regularised upper incomplete gamma function, one less `gammainc`, with all its digits where that is small.

    Parameters
    ----------
    a : array
        The shape, above 0.
    x : array
        The argument, from 0 up.

    Returns
    -------
    array
        From 1 to 0.

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
        The first parameter, above 0.
    b : array
        The second one, above 0.
    x : array
        The argument, from 0 to 1.

    Returns
    -------
    array
        From 0 to 1.

    Notes
    -----
    Its derivatives in `a` and `b` are integrals, found by Gauss and Legendre's rule to about 1e-12.

    Examples
    --------
    >>> import numpy as np
    >>> betainc(np.asarray([1.0, 2.0]), np.asarray([1.0, 3.0]), np.asarray([0.25, 0.5])).round(6)
    array([0.25  , 0.6875])
    """
    return special_of(a, b, x).betainc(a, b, x)


def chdtr(v: Array, x: Array, /) -> Array:
    """The distribution function of chi-squared.

    Parameters
    ----------
    v : array
        The degrees of freedom, above 0.
    x : array
        The argument, from 0 up.

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
    """The probability of more than `x` by chi-squared's distribution, with all its digits where that is small.

    Parameters
    ----------
    v : array
        The degrees of freedom, above 0.
    x : array
        The argument, from 0 up.

    Returns
    -------
    array
        From 1 to 0.

    Examples
    --------
    >>> import numpy as np
    >>> chdtrc(np.asarray([1.0, 5.0]), np.asarray([3.841459, 11.070498])).round(6)
    array([0.05, 0.05])
    """
    return special_of(v, x).chdtrc(v, x)


def stdtr(df: Array, t: Array, /) -> Array:
    """The distribution function of Student's t.

    Parameters
    ----------
    df : array
        The degrees of freedom, above 0.
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
    """The quantiles of Student's t, the inverse of `stdtr` in `t`.

    Parameters
    ----------
    df : array
        The degrees of freedom, above 0.
    p : array
        The probability, from 0 to 1.

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
