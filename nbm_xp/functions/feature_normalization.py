"""Batch normalization of features that lie along the first axis, examples and places along the others.

Source: S. Ioffe and C. Szegedy, "Batch normalization", 2015, https://arxiv.org/abs/1502.03167; with products rounded to
powers of two, M. Courbariaux et al., "Binarized neural networks", 2016, https://arxiv.org/abs/1602.02830.
"""

from __future__ import annotations

from nbm_xp.namespace import array_namespace, in_one_library

from ._arguments import Array, floats
from .base_two import shift

__all__ = ["moving_average", "normalized_features", "normalized_features_gradient"]


def _scaled(x: Array, factor: Array, shifted: bool) -> Array:
    return shift(x, factor) if shifted else x * factor


def normalized_features(
    x: Array, mean: Array, var: Array, gamma: Array, beta: Array, epsilon: float, *, shifted: bool = False
) -> Array:
    """Features of a given mean and variance as ones of mean `beta` and deviation `gamma`.

    Parameters
    ----------
    x : array
        Features by examples.
    mean, var, gamma, beta : array
        Columns, one entry for each feature.
    epsilon : float
        What is added to the variance, under the root.
    shifted : bool
        Whether what is multiplied with is rounded to powers of two.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> column = lambda value: np.asarray([[value]])
    >>> normalized_features(np.asarray([[1.0, 5.0]]), column(3.0), column(4.0), column(1.0), column(10.0), 0.0)
    array([[ 9., 11.]])
    """
    _, x = floats(x)
    x, mean, var, gamma, beta = in_one_library((x, mean, var, gamma, beta))
    xp = array_namespace(x, var)
    return _scaled(_scaled(x - mean, 1.0 / xp.sqrt(var + epsilon), shifted), gamma, shifted) + beta


def normalized_features_gradient(
    error: Array, x: Array, mean: Array, var: Array, gamma: Array, epsilon: float, *, shifted: bool = False
) -> tuple[Array, Array, Array]:
    """The gradients of features normalised by their own mean and variance.

    Parameters
    ----------
    error : array
        The gradient in what `normalized_features` gave, features by examples.
    x, mean, var, gamma, epsilon, shifted
        What it was given: `mean` and `var` are those of `x` over the examples.

    Returns
    -------
    x_gradient : array
        Of the shape of `x`.
    gamma_gradient, beta_gradient : array
        Columns.

    Examples
    --------
    >>> import numpy as np
    >>> x, one = np.asarray([[1.0, 3.0]]), np.asarray([[1.0]])
    >>> gradients = normalized_features_gradient(np.asarray([[1.0, 0.0]]), x, 2 * one, one, one, 0.0)
    >>> [gradient.tolist() for gradient in gradients]
    [[[0.0, 0.0]], [[-1.0]], [[1.0]]]
    """
    _, x = floats(x)
    error, x, mean, var, gamma = in_one_library((error, x, mean, var, gamma))
    xp = array_namespace(error, x, var)
    per_deviation = 1.0 / xp.sqrt(var + epsilon)
    normal = _scaled(x - mean, per_deviation, shifted)
    in_gamma = xp.sum(normal * error, axis=1, keepdims=True)
    in_beta = xp.sum(error, axis=1, keepdims=True)
    common = (_scaled(normal, in_gamma, shifted) + in_beta) / x.shape[1]
    return _scaled(_scaled(error - common, per_deviation, shifted), gamma, shifted), in_gamma, in_beta


def moving_average(average: Array, x: Array, rho: float) -> Array:
    """An average that follows what is new: ``rho`` of the old one, the rest of the new.

    Parameters
    ----------
    average, x : array
        The old average, and what is new.
    rho : float
        How much of the old one stays, between 0 and 1.

    Returns
    -------
    array

    Examples
    --------
    >>> moving_average(1.0, 2.0, 0.75)
    1.25
    """
    average, x = in_one_library((average, x))
    return average * rho + x * (1.0 - rho)
