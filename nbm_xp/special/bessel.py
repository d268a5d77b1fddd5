"""Bessel functions of the orders 0 and 1, ordinary and modified."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = ["i0", "i0e", "i1", "i1e", "j0", "j1"]

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
