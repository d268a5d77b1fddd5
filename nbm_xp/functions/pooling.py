"""Pooling: the maximum, the mean, or the square root of the sum of squares of each window.

Maxima and means ignore the padding. Source: the API documentation of TensorFlow 1.14,
https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/nn/pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from nbm_xp.namespace import array_namespace, is_complex, promote
from nbm_xp.namespace import convolution as sliding
from nbm_xp.tape import composite
from nbm_xp.tape.lengths import same_length

from ._arguments import Array, as_array, floats, numbers
from .convolution_windows import (
    Adjoint,
    DataFormat,
    Padding,
    adjoint_pair,
    channels_first,
    channels_kept,
    checked,
    counts,
    moved,
    restored,
    spatial,
    windows,
)

__all__ = ["PoolTies", "pool", "pool_gradient"]

PoolTies: TypeAlias = Literal["share", "first", "whole"]

_MODES = ("max", "avg", "l2")


def pool(
    x: Array,
    pool_size: Any,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    pool_mode: str = "max",
    *,
    axes: int | None = None,
    ties: PoolTies = "share",
) -> Array:
    """Pool over the spatial axes: all axes except images and channels.

    Parameters
    ----------
    x : array
        Images, with three axes or more.
    pool_size : int or sequence of int
        Length of a window along all spatial axes, or along each.
    strides : int or sequence of int
        From window to window.
    padding : str, int, or sequence of int or pairs of int
        See `conv`.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.
    pool_mode : {"max", "avg", "l2"}
        Maximum, mean of the elements without the padding, or square root of the sum of squares.
    axes : int, optional
        Required number of spatial axes.
    ties : {"share", "first", "whole"}
        Gradient of equal maxima: shared equally among them; all of it to the first in row-major order, as in
        TensorFlow; or all of it to each, as in Theano.

    Returns
    -------
    array
        Of the dtype of `x`; means of integers are floating point.

    Raises
    ------
    ValueError
        If an argument is invalid, or no window fits.
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> pool(np.asarray([3.0, 1.0, 2.0]).reshape(1, 3, 1), 2, padding="same", pool_mode="avg").reshape(-1)
    array([2. , 1.5, 2. ])
    >>> pool(np.arange(16.0).reshape(1, 4, 4, 1), (2, 2), strides=(2, 2))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    x = as_array(x)
    if axes is not None and x.ndim != axes + 2:
        raise ValueError(f"x must have {axes + 2} axes, got shape {x.shape}")
    x, how, first = _prepared(x, pool_size, strides, padding, data_format, pool_mode, ties)
    if pool_mode == "max":
        result = maxima(x, ties=ties, **how)
    elif pool_mode == "avg":
        result = means(x, **how)
    else:
        result = _root(sums(x * x, **how))
    return restored(result, first)


def pool_gradient(
    x: Array,
    g: Array,
    pool_size: Any,
    strides: Any = 1,
    padding: Padding = "valid",
    data_format: DataFormat = None,
    pool_mode: str = "max",
    *,
    ties: PoolTies = "share",
) -> Array:
    """Gradient of `pool` with respect to its input, given the gradient of its result.

    Parameters
    ----------
    x : array
        What was pooled, floating point.
    g : array
        Gradient with respect to the result, of the result's shape.
    pool_size, strides, padding, data_format, pool_mode, ties
        See `pool`.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x, g = np.asarray([3.0, 4.0, 0.0]).reshape(1, 3, 1), np.asarray([5.0, 1.0]).reshape(1, 2, 1)
    >>> pool_gradient(x, g, 2, pool_mode="l2").reshape(-1)
    array([3., 5., 0.])
    """
    x, g = promote(*(floats(some)[1] for some in (x, g)))
    x, how, first = _prepared(x, pool_size, strides, padding, data_format, pool_mode, ties)
    g = moved(g, first)
    wanted = (x.shape[0], *how["lengths"], x.shape[-1])
    if g.ndim != x.ndim or any(same_length(a, b) is False for a, b in zip(g.shape, wanted, strict=True)):
        raise ValueError(f"g must have the shape of the result, (images, *{how['lengths']}, channels), got {g.shape}")
    if pool_mode == "max":
        result = place_maxima(g, x, maxima(x, ties=ties, **how), ties=ties, **how)
    elif pool_mode == "avg":
        result = spread_means(g, **how | {"lengths": spatial(x)})
    else:
        root = _root(sums(x * x, **how))
        result = 2.0 * x * spread_sums(_unroot(g, root, x), **how | {"lengths": spatial(x)})
    return restored(result, first)


def _prepared(
    x: Array, pool_size: Any, strides: Any, padding: Padding, data_format: DataFormat, mode: str, ties: PoolTies
) -> tuple[Array, dict[str, Any], bool]:
    """The array with its channels last, its windows, and whether the channels came first."""
    if mode not in _MODES:
        raise ValueError(f"pool_mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    if ties not in ("share", "first", "whole"):
        raise ValueError(f"ties must be 'share', 'first' or 'whole', got {ties!r}")
    first = channels_first(data_format)
    x = numbers(x)[1] if mode == "max" else floats(numbers(x)[1])[1]
    if x.ndim < 3:
        raise ValueError(f"x must have three axes or more, (images, *positions, channels), got shape {x.shape}")
    if is_complex(x.dtype):
        raise TypeError(f"x must be real, got {x.dtype}: complex numbers have no order")
    x = moved(x, first)
    sizes = counts(pool_size, "pool_size", x.ndim - 2)
    where = windows(spatial(x), sizes, strides, padding, size_name="pool_size")
    return x, {"sizes": sizes, "starts": where.starts, "strides": where.strides, "lengths": where.lengths}, first


def _placed(g: Array, out: Array, x: Array, **how: Any) -> Array:
    return place_maxima(g, x, out, **how)


@composite(infer=channels_kept, gradient=_placed, name="window_maxima")
def maxima(x: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any, ties: PoolTies) -> Array:
    """The maximum of each window."""
    return _maxima(x, sizes=sizes, starts=starts, strides=strides, lengths=lengths)


_maxima = checked(sliding.maxima, "pool_size")
# Numbers for each window, handed to its largest elements.
place_maxima = composite(
    arrays=3,
    infer=lambda g, x, largest, **how: (x.shape, g.dtype),
    gradient=(lambda g, out, _, x, largest, **how: pick_maxima(g, x, largest, **how), None, None),
    may_overlap=False,
)(sliding.place_maxima)
# The elements of one array where another is largest.
pick_maxima: Callable[..., Array] = composite(
    arrays=3,
    infer=lambda v, x, largest, **how: (largest.shape, v.dtype),
    gradient=(lambda g, out, _, x, largest, **how: place_maxima(g, x, largest, **how), None, None),
    may_overlap=False,
)(sliding.pick_maxima)

# The sum of each window; and a number for each window, added to each of its elements.
sums, spread_sums = adjoint_pair(
    Adjoint("window_sums", checked(sliding.sum_windows, "pool_size")),
    Adjoint("spread_window_sums", sliding.spread_windows),
)
# The mean of each window's elements that are no padding; and a number for each window, shared by these elements.
means, spread_means = adjoint_pair(
    Adjoint("window_means", checked(sliding.mean_windows, "pool_size")),
    Adjoint("spread_window_means", sliding.spread_means),
)


def _unroot(g: Array, out: Array, x: Array) -> Array:
    xp = array_namespace(g, out)
    some = out > 0.0
    return xp.where(some, g / (2.0 * xp.where(some, out, 1.0)), 0.0)


@composite(gradient=_unroot, elementwise=True, name="root_of_sum_of_squares", may_overlap=False)
def _root(x: Array) -> Array:
    """The square root, with gradient 0 at 0."""
    return array_namespace(x).sqrt(x)
