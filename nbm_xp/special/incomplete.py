"""The regularised incomplete gamma and beta functions: distribution functions of many tests."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = ["betainc", "gammainc", "gammaincc"]

Array: TypeAlias = Any


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
