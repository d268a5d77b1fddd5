"""Pooling: the largest element, the mean, or the root of the sum of squares of each window.

Padding never wins a maximum and counts in no mean. Source: the API documentation of TensorFlow 1.14,
https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/nn/pool.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from nbm_xp.namespace import array_namespace, is_complex, promote
from nbm_xp.namespace import convolution as sliding
from nbm_xp.tape import composite
from nbm_xp.tape.lengths import same_length

from ._arguments import Array, as_array, floats, numbers
from .convolution_windows import DataFormat, Padding, channels_first, counts, moved, restored, spatial, windows

__all__ = ["PoolTies", "pool", "pool2d", "pool3d", "pool_gradient"]

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
    ties: PoolTies = "share",
) -> Array:
    """Pooling over all axes but those of images and channels.

    Parameters
    ----------
    x : array
        With three axes or more.
    pool_size : int or sequence of int
        Of a window, along all spatial axes or each.
    strides : int or sequence of int
        From window to window.
    padding : str, int, or sequence of int or pairs of int
        As `conv` takes it.
    data_format : {"channels_last", "channels_first"}, optional
        By default as configured.
    pool_mode : {"max", "avg", "l2"}
        The largest element; the mean of those that are no padding; the root of the sum of squares.
    ties : {"share", "first", "whole"}
        The gradient of elements that are equally large: shared equally among them, the whole of it to the first in
        row-major order, as in TensorFlow, or the whole of it to each, as in Theano.

    Returns
    -------
    array
        The dtype is kept, but a mean of integers is floating point.

    Raises
    ------
    ValueError
        If an argument is not as described, or windows do not fit.
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> pool(np.asarray([3.0, 1.0, 2.0]).reshape(1, 3, 1), 2, padding="same", pool_mode="avg").reshape(-1)
    array([2. , 1.5, 2. ])
    """
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
    """The gradient of `pool` in its array, given one in its result.

    Parameters
    ----------
    x : array
        What was pooled, floating point.
    g : array
        With the shape of the result.
    pool_size, strides, padding, data_format, pool_mode, ties
        As `pool` takes them.

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
    """The array with its channels last, where its windows are, and whether the channels came first."""
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


def pool2d(
    x: Array,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: Padding = "valid",
    data_format: DataFormat = None,
    pool_mode: str = "max",
    *,
    ties: PoolTies = "share",
) -> Array:
    """Pooling over two spatial axes; see `pool`.

    Examples
    --------
    >>> import numpy as np
    >>> pool2d(np.arange(16.0).reshape(1, 4, 4, 1), (2, 2), strides=(2, 2))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    return _of_axes(2, x, pool_size, strides, padding, data_format, pool_mode, ties)


def pool3d(
    x: Array,
    pool_size: Any,
    strides: Any = (1, 1, 1),
    padding: Padding = "valid",
    data_format: DataFormat = None,
    pool_mode: str = "max",
    *,
    ties: PoolTies = "share",
) -> Array:
    """Pooling over three spatial axes; see `pool`.

    Examples
    --------
    >>> import numpy as np
    >>> pool3d(np.ones((1, 4, 4, 4, 2)), (2, 2, 2), strides=(2, 2, 2), pool_mode="avg").shape
    (1, 2, 2, 2, 2)
    """
    return _of_axes(3, x, pool_size, strides, padding, data_format, pool_mode, ties)


def _of_axes(
    axes: int, x: Array, size: Any, strides: Any, padding: Padding, data_format: Any, mode: str, ties: PoolTies
) -> Array:
    x = as_array(x)
    if x.ndim != axes + 2:
        raise ValueError(f"x must have {axes + 2} axes, got shape {x.shape}")
    return pool(x, size, strides, padding, data_format, mode, ties=ties)


def _checked(lengths: tuple[int, ...]) -> tuple[int, ...]:
    if min(lengths) < 0:
        raise ValueError(f"pool_size must not be larger than the padded array: there would be {lengths} windows")
    return lengths


def _infer(x: Any, *, lengths: Any, **how: Any) -> Any:
    return (x.shape[0], *lengths, x.shape[-1]), x.dtype


def _spatial(x: Array) -> Any:
    return x.node.shape[1:-1]


def _placed(g: Array, out: Array, x: Array, **how: Any) -> Array:
    return place_maxima(g, x, out, **how)


@composite(infer=_infer, gradient=_placed, name="window_maxima")
def maxima(x: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any, ties: PoolTies) -> Array:
    """The largest element of each window."""
    return sliding.maxima(x, sizes=sizes, starts=starts, strides=strides, lengths=_checked(lengths))


def _picked(g: Array, out: Array, g_of: Array, x: Array, largest: Array, **how: Any) -> Array:
    return pick_maxima(g, x, largest, **how)


@composite(
    arrays=3,
    infer=lambda g, x, largest, **how: (x.shape, g.dtype),
    gradient=(_picked, None, None),
    name="place_maxima",
    may_overlap=False,
)
def place_maxima(
    g: Array, x: Array, largest: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any, ties: PoolTies
) -> Array:
    """Numbers for each window, handed to its largest elements."""
    return sliding.place_maxima(g, x, largest, sizes=sizes, starts=starts, strides=strides, lengths=lengths, ties=ties)


def _placed_again(g: Array, out: Array, v: Array, x: Array, largest: Array, **how: Any) -> Array:
    return place_maxima(g, x, largest, **how)


@composite(
    arrays=3,
    infer=lambda v, x, largest, **how: (largest.shape, v.dtype),
    gradient=(_placed_again, None, None),
    name="pick_maxima",
    may_overlap=False,
)
def pick_maxima(
    v: Array, x: Array, largest: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any, ties: PoolTies
) -> Array:
    """The elements of one array where another is largest."""
    return sliding.pick_maxima(v, x, largest, sizes=sizes, starts=starts, strides=strides, lengths=lengths, ties=ties)


def _spread(g: Array, out: Array, x: Array, *, lengths: Any, **how: Any) -> Array:
    return spread_sums(g, lengths=_spatial(x), **how)


@composite(infer=_infer, gradient=_spread, name="window_sums")
def sums(x: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any) -> Array:
    """The sum of each window."""
    return sliding.sum_windows(x, sizes=sizes, starts=starts, strides=strides, lengths=_checked(lengths))


def _summed(g: Array, out: Array, y: Array, *, lengths: Any, **how: Any) -> Array:
    return sums(g, lengths=_spatial(y), **how)


@composite(infer=_infer, gradient=_summed, name="spread_window_sums")
def spread_sums(y: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any) -> Array:
    """A number for each window, added to each of its elements."""
    return sliding.spread_windows(y, sizes=sizes, starts=starts, strides=strides, lengths=lengths)


def _spread_means(g: Array, out: Array, x: Array, *, lengths: Any, **how: Any) -> Array:
    return spread_means(g, lengths=_spatial(x), **how)


@composite(infer=_infer, gradient=_spread_means, name="window_means")
def means(x: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any) -> Array:
    """The mean of each window's elements that are no padding."""
    return sliding.mean_windows(x, sizes=sizes, starts=starts, strides=strides, lengths=_checked(lengths))


def _averaged(g: Array, out: Array, y: Array, *, lengths: Any, **how: Any) -> Array:
    return means(g, lengths=_spatial(y), **how)


@composite(infer=_infer, gradient=_averaged, name="spread_window_means")
def spread_means(y: Array, *, sizes: Any, starts: Any, strides: Any, lengths: Any) -> Array:
    """A number for each window, shared by its elements that are no padding."""
    return sliding.spread_means(y, sizes=sizes, starts=starts, strides=strides, lengths=lengths)


def _unroot(g: Array, out: Array, x: Array) -> Array:
    xp = array_namespace(g, out)
    some = out > 0.0
    return xp.where(some, g / (2.0 * xp.where(some, out, 1.0)), 0.0)


@composite(gradient=_unroot, elementwise=True, name="root_of_sum_of_squares", may_overlap=False)
def _root(x: Array) -> Array:
    """The square root, whose gradient at 0 is 0."""
    return array_namespace(x).sqrt(x)
