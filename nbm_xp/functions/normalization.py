"""L2 normalization, batch normalization, and bias addition.

Sources: the Keras 2.0 backend document; S. Ioffe and C. Szegedy, "Batch normalization", 2015,
https://arxiv.org/abs/1502.03167, for batches, also with features along the first axis; for products rounded to powers
of two, M. Courbariaux et al., "Binarized neural networks", 2016, https://arxiv.org/abs/1602.02830.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbm_xp.namespace import array_namespace, in_one_library, promote
from nbm_xp.tape.standard.shapes import axis_of

from ._arguments import Array, as_array, floats, promoted_pair
from .arithmetic import shift

__all__ = [
    "batch_normalization", "bias_add", "l2_normalize", "moving_average", "normalize_batch_in_training",
    "normalized_features", "normalized_features_gradient",
]  # fmt: skip

_SHORTEST_SQUARE = 1e-12


def l2_normalize(x: Array, axis: Any, *, bounded: bool = True) -> Array:
    """Divide vectors by their Euclidean norm.

    Parameters
    ----------
    x : array
        Integers become floating point.
    axis : int or sequence of int
        Axes along which the norms are computed.
    bounded : bool
        Whether to divide by at least 1e-6, as in TensorFlow. Otherwise, as in Theano, vectors are divided by their norm
        however small; only vectors whose squared norm is 0 are not changed.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> l2_normalize(np.asarray([[3.0, 4.0], [0.0, 0.0]]), axis=1)
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    xp, x = floats(x)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    square = xp.sum(xp.square(x), axis=axes, keepdims=True)
    square = xp.maximum(square, _SHORTEST_SQUARE) if bounded else xp.where(square > 0, square, 1.0)
    return x / xp.sqrt(square)


def normalize_batch_in_training(
    x: Array, gamma: Array | None, beta: Array | None, reduction_axes: Iterable[int], epsilon: float = 0.001
) -> tuple[Array, Array, Array]:
    """Normalize a batch by its own mean and variance.

    Parameters
    ----------
    x : array
        Batch.
    gamma, beta : array or None
        Scale and offset of the result, one for each element along the axes that are not reduced; None for 1 and 0.
    reduction_axes : iterable of int
        Axes over which mean and variance are computed.
    epsilon : float
        Number added to the variance.

    Returns
    -------
    normalized : array
        Of the shape of `x`.
    mean, variance : array
        Without the reduced axes. The variance is divided by the number of elements.

    Raises
    ------
    ValueError
        If an axis is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> normed, mean, variance = normalize_batch_in_training(np.asarray([[1.0], [3.0]]), None, None, [0], epsilon=0.0)
    >>> normed.tolist(), mean.tolist(), variance.tolist()
    ([[-1.0], [1.0]], [2.0], [1.0])
    """
    _, x = floats(x)
    x, gamma, beta = promote(x, gamma, beta)
    xp = array_namespace(x, gamma, beta)
    axes = tuple(sorted({axis_of(axis, x.ndim, "reduction_axes") for axis in reduction_axes}))
    centre = xp.mean(x, axis=axes, keepdims=True)
    deviation = x - centre
    variance = xp.mean(xp.square(deviation), axis=axes, keepdims=True)
    kept = tuple(1 if axis in axes else length for axis, length in enumerate(x.shape))
    scale = 1.0 / xp.sqrt(variance + epsilon)
    normalized = deviation * (scale if gamma is None else scale * xp.reshape(gamma, kept))
    if beta is not None:
        normalized = normalized + xp.reshape(beta, kept)
    return normalized, xp.squeeze(centre, axis=axes), xp.squeeze(variance, axis=axes)


def batch_normalization(
    x: Array, mean: Array, var: Array, beta: Array | None, gamma: Array | None, epsilon: float = 0.001
) -> Array:
    """Normalize by a given mean and variance.

    Parameters
    ----------
    x : array
        Batch.
    mean, var : array
        Mean and variance, which broadcast against `x`.
    beta, gamma : array or None
        Offset and scale of the result; None for 0 and 1.
    epsilon : float
        Number added to the variance, under the square root.

    Returns
    -------
    array
        ``(x - mean) / sqrt(var + epsilon) * gamma + beta``.

    Examples
    --------
    >>> import numpy as np
    >>> batch_normalization(np.asarray([1.0, 5.0]), 3.0, 4.0, 10.0, None, epsilon=0.0)
    array([ 9., 11.])
    """
    _, x = floats(x)
    x, mean, var, beta, gamma = promote(x, mean, var, beta, gamma)
    xp = array_namespace(x, mean, var, beta, gamma)
    scale = 1.0 / xp.sqrt(xp.asarray(var) + epsilon) if isinstance(var, (int, float)) else 1.0 / xp.sqrt(var + epsilon)
    normalized = (x - mean) * (scale if gamma is None else scale * gamma)
    return normalized if beta is None else normalized + beta


def bias_add(x: Array, bias: Array, data_format: str = "channels_last") -> Array:
    """Add an offset to each channel, or to each element of a sample.

    Parameters
    ----------
    x : array
        Samples along the first axis.
    bias : array
        Vector with one number for each channel; or array with one axis less than `x`, with one number for each element
        of a sample and the channels last. If the channels of `x` come first, it is reshaped, not transposed, as in
        Keras.
    data_format : {"channels_last", "channels_first"}
        Axis of the channels of `x`: the last, or the one after the samples.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If `data_format` is unknown, or `bias` has a wrong number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> bias_add(np.zeros((1, 2, 3)), np.asarray([1.0, 2.0]), data_format="channels_first")[0, :, 0]
    array([1., 2.])
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', got {data_format!r}")
    x, bias = promoted_pair(as_array(x), as_array(bias))
    if bias.ndim not in (1, x.ndim - 1):
        raise ValueError(
            f"bias must have 1 or {x.ndim - 1} axes for an array of {x.ndim}, got shape {tuple(bias.shape)}"
        )
    xp = array_namespace(x, bias)
    if data_format == "channels_first" and x.ndim > 2:
        spatial = bias.shape[:-1] or (1,) * (x.ndim - 2)
        bias = xp.reshape(bias, (bias.shape[-1], *spatial))
    return x + bias


def _scaled(x: Array, factor: Array, shifted: bool) -> Array:
    return shift(x, factor) if shifted else x * factor


def normalized_features(
    x: Array, mean: Array, var: Array, gamma: Array, beta: Array, epsilon: float, *, shifted: bool = False
) -> Array:
    """Normalize features of given mean and variance to mean `beta` and standard deviation `gamma`.

    Parameters
    ----------
    x : array
        Of shape (features, examples).
    mean, var, gamma, beta : array
        Columns with one entry for each feature.
    epsilon : float
        Number added to the variance, under the square root.
    shifted : bool
        Whether to round the factors of products to powers of two.

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
    """Gradients of features normalized by their own mean and variance.

    Parameters
    ----------
    error : array
        Gradient with respect to the result of `normalized_features`, of shape (features, examples).
    x, mean, var, gamma, epsilon, shifted
        Arguments of `normalized_features`; `mean` and `var` must be those of `x` over the examples.

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
    """Exponential moving average, ``rho * average + (1 - rho) * x``.

    Parameters
    ----------
    average, x : array
        Old average, and new value.
    rho : float
        Weight of the old average, between 0 and 1.

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
