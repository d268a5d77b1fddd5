"""Distribution functions that tests of hypotheses ask for: Student's t and chi-squared."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = ["chdtr", "chdtrc", "stdtr", "stdtrit"]

Array: TypeAlias = Any


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
