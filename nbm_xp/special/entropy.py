"""The logistic function and its kin, and products with logarithms that are 0 where a factor is."""

from __future__ import annotations

from typing import Any, TypeAlias

from nbm_xp.namespace.special import special_of

__all__ = ["entr", "expit", "kl_div", "log_expit", "logit", "rel_entr", "xlog1py", "xlogy"]

Array: TypeAlias = Any


def expit(x: Array, /) -> Array:
    """The logistic function, ``1 / (1 + exp(-x))``, with all its digits in both tails.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> expit(np.asarray([-1.0, 0.0, 1.0])).round(6)
    array([0.268941, 0.5     , 0.731059])
    """
    return special_of(x).expit(x)


def log_expit(x: Array, /) -> Array:
    """The logarithm of the logistic function, without computing what overflows.

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
    >>> log_expit(np.asarray([-1000.0, 0.0, 5.0])).round(6)
    array([-1.00000e+03, -6.93147e-01, -6.71500e-03])
    """
    return special_of(x).log_expit(x)


def logit(p: Array, /) -> Array:
    """The logarithm of the odds, ``log(p / (1 - p))``, the inverse of `expit`.

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
    >>> logit(np.asarray([0.1, 0.5, 0.9])).round(6)
    array([-2.197225,  0.      ,  2.197225])
    """
    return special_of(p).logit(p)


def xlogy(x: Array, y: Array, /) -> Array:
    """The product ``x log(y)``, 0 where `x` is.

    Parameters
    ----------
    x : array
        The factor.
    y : array
        What the logarithm is taken of.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> xlogy(np.asarray([0.0, 2.0]), np.asarray([0.0, 3.0])).round(6)
    array([0.      , 2.197225])
    """
    return special_of(x, y).xlogy(x, y)


def xlog1py(x: Array, y: Array, /) -> Array:
    """The product ``x log(1 + y)``, 0 where `x` is, right for small `y`.

    Parameters
    ----------
    x : array
        The factor.
    y : array
        What the logarithm of 1 more is taken of.

    Returns
    -------
    array
        Of the broadcast shape.

    Examples
    --------
    >>> import numpy as np
    >>> xlog1py(np.asarray([0.0, 2.0]), np.asarray([-1.0, 1e-20]))
    array([0.e+00, 2.e-20])
    """
    return special_of(x, y).xlog1py(x, y)


def entr(x: Array, /) -> Array:
    """The entropy of one probability, ``-x log(x)``.

    Parameters
    ----------
    x : array
        Real numbers; integers become floating point.

    Returns
    -------
    array
        0 at 0; minus infinity below it.

    Examples
    --------
    >>> import numpy as np
    >>> entr(np.asarray([0.0, 0.5, 1.0])).round(6)
    array([ 0.      ,  0.346574, -0.      ])
    """
    return special_of(x).entr(x)


def rel_entr(x: Array, y: Array, /) -> Array:
    """The relative entropy of two probabilities, ``x log(x / y)``.

    Parameters
    ----------
    x : array
        Probabilities, or other numbers not below 0.
    y : array
        The same of what is compared with.

    Returns
    -------
    array
        0 where `x` is; infinite where there is no value.

    Examples
    --------
    >>> import numpy as np
    >>> rel_entr(np.asarray([0.0, 0.5, 0.5]), np.asarray([0.5, 0.25, 0.0])).round(6)
    array([0.      , 0.346574,      inf])
    """
    return special_of(x, y).rel_entr(x, y)


def kl_div(x: Array, y: Array, /) -> Array:
    """The terms of Kullback and Leibler's divergence, ``x log(x / y) - x + y``, none of which is below 0.

    Parameters
    ----------
    x : array
        Probabilities, or other numbers not below 0.
    y : array
        The same of what is compared with.

    Returns
    -------
    array
        `y` where `x` is 0; infinite where there is no value.

    Examples
    --------
    >>> import numpy as np
    >>> kl_div(np.asarray([0.0, 0.5, 0.5]), np.asarray([0.5, 0.25, 0.5])).round(6)
    array([0.5     , 0.096574, 0.      ])
    """
    return special_of(x, y).kl_div(x, y)
