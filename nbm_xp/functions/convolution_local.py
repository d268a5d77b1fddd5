"""Depthwise, separable and locally connected convolutions."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import array_namespace, promote
from nbm_xp.namespace import convolution as sliding
from nbm_xp.tape.lengths import product

from ._arguments import Array, as_array, differ, sizes
from .convolution import conv
from .convolution_windows import (
    Adjoint,
    DataFormat,
    Padding,
    adjoint_pair,
    channels_first,
    correlate,
    counts,
    moved,
    restored,
    spatial,
    windows,
)

__all__ = ["depthwise_conv2d", "local_conv1d", "local_conv2d", "separable_conv2d"]


def depthwise_conv2d(
    x: Array,
    depthwise_kernel: Array,
    strides: Any = (1, 1),
    padding: Padding = "valid",
    data_format: DataFormat = None,
    dilation_rate: Any = (1, 1),
) -> Array:
    """Depthwise convolution: convolve each channel with its own kernels.

    Parameters
    ----------
    x : array
        Images, in the order of `data_format`.
    depthwise_kernel : array
        Of shape (rows, columns, channels, multiplier).
    strides, padding, data_format, dilation_rate
        See `conv`.

    Returns
    -------
    array
        With channels * multiplier channels, ordered by input channel.

    Raises
    ------
    ValueError
        If an argument is invalid, the numbers of channels differ, or no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = np.asarray([1.0, 10.0]).reshape(1, 1, 2, 1)
    >>> depthwise_conv2d(np.ones((1, 1, 2, 2)), kernel)[0, 0]
    array([[ 1., 10.],
           [ 1., 10.]])
    """
    first = channels_first(data_format)
    x, kernel = promote(as_array(x), as_array(depthwise_kernel))
    if kernel.ndim != 4 or x.ndim != 4:
        raise ValueError(f"x and depthwise_kernel must have 4 axes, got shapes {x.shape} and {kernel.shape}")
    x = moved(x, first)
    xp = array_namespace(x, kernel)
    channels = x.shape[-1]
    if differ(channels, kernel.shape[2]):
        raise ValueError(f"x must have the {kernel.shape[2]} channels of depthwise_kernel, got {channels}")
    kernel = xp.expand_dims(kernel, axis=3)
    where = windows(spatial(x), kernel.shape[:2], strides, padding, dilation_rate, size_name="depthwise_kernel")
    return restored(correlate(x, kernel, **where._asdict()), first)


def separable_conv2d(
    x: Array,
    depthwise_kernel: Array,
    pointwise_kernel: Array,
    strides: Any = (1, 1),
    padding: Padding = "valid",
    data_format: DataFormat = None,
    dilation_rate: Any = (1, 1),
) -> Array:
    """Separable convolution: a depthwise convolution, then a pointwise one, which mixes the channels.

    Parameters
    ----------
    x : array
        Images, in the order of `data_format`.
    depthwise_kernel : array
        Of shape (rows, columns, channels, multiplier).
    pointwise_kernel : array
        Of shape (1, 1, channels * multiplier, filters).
    strides, padding, data_format, dilation_rate
        Of the depthwise convolution; see `conv`.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If an argument is invalid, the numbers of channels differ, or no window fits.

    Examples
    --------
    >>> import numpy as np
    >>> separable_conv2d(np.ones((1, 4, 4, 3)), np.ones((2, 2, 3, 2)), np.ones((1, 1, 6, 5))).shape
    (1, 3, 3, 5)
    """
    pointwise = as_array(pointwise_kernel)
    if pointwise.ndim != 4 or any(differ(n, 1) for n in pointwise.shape[:2]):
        raise ValueError(f"pointwise_kernel must have shape (1, 1, channels, filters), got {pointwise.shape}")
    channels_alone = depthwise_conv2d(x, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(channels_alone, pointwise, data_format=data_format)


def local_conv1d(inputs: Array, kernel: Array, kernel_size: Any, strides: Any, data_format: DataFormat = None) -> Array:
    """Locally connected layer over one spatial axis: a convolution with a separate kernel for each window.

    Parameters
    ----------
    inputs : array
        Of shape (batch, steps, channels), whatever the data format.
    kernel : array
        Of shape (windows, kernel_size * channels, filters), with the channels varying fastest.
    kernel_size, strides : int or tuple of one int
        Length of a window, and distance between windows.
    data_format : {"channels_last", "channels_first"}, optional
        Validated, but otherwise ignored, as in Keras.

    Returns
    -------
    array
        Of shape (batch, windows, filters).

    Raises
    ------
    ValueError
        If an argument is invalid, or the numbers of windows and kernels differ.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = np.asarray([1.0, 0.0, 0.0, 1.0]).reshape(2, 2, 1)
    >>> local_conv1d(np.arange(3.0).reshape(1, 3, 1), kernel, 2, 1).reshape(-1)
    array([0., 2.])
    """
    channels_first(data_format)
    return _local(inputs, kernel, counts(kernel_size, "kernel_size", 1), strides, None, False)


def local_conv2d(
    inputs: Array, kernel: Array, kernel_size: Any, strides: Any, output_shape: Any, data_format: DataFormat = None
) -> Array:
    """Locally connected layer over two spatial axes: a convolution with a separate kernel for each window.

    Parameters
    ----------
    inputs : array
        Images, in the order of `data_format`.
    kernel : array
        Of shape (windows in row-major order, elements of a window, filters). The elements are in the order (rows,
        columns, channels), or for ``channels_first`` (channels, rows, columns).
    kernel_size, strides : int or pair of int
        Rows and columns of a window, and distances between windows.
    output_shape : pair of int
        Numbers of windows along the rows and columns of the image.
    data_format : {"channels_last", "channels_first"}, optional
        Order of the axes. Defaults to `image_data_format()`.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If an argument is invalid, or the numbers of windows and kernels differ.

    Examples
    --------
    >>> import numpy as np
    >>> local_conv2d(np.ones((1, 3, 3, 2)), np.ones((4, 8, 5)), (2, 2), (1, 1), (2, 2))[0, 0, 0]
    array([8., 8., 8., 8., 8.])
    """
    first = channels_first(data_format)
    lengths = sizes(output_shape)
    if len(lengths) != 2:
        raise ValueError(f"output_shape must be the numbers of windows down and across, got {output_shape!r}")
    return _local(inputs, kernel, counts(kernel_size, "kernel_size", 2), strides, lengths, first)


def _local(inputs: Array, kernel: Array, extents: Any, strides: Any, lengths: Any, first: bool) -> Array:
    x, kernel = promote(as_array(inputs), as_array(kernel))
    axes = len(extents)
    if x.ndim != axes + 2 or kernel.ndim != 3:
        raise ValueError(f"inputs must have {axes + 2} axes and kernel 3, got shapes {x.shape} and {kernel.shape}")
    x = moved(x, first)
    where = windows(spatial(x), extents, strides, "valid", size_name="kernel_size")
    lengths = where.lengths if lengths is None else lengths
    fit = zip(where.lengths, lengths, strict=True)
    if any(isinstance(most, int) and isinstance(some, int) and some > most for most, some in fit):
        raise ValueError(f"output_shape must not be more than the {where.lengths} windows there are, got {lengths}")
    many = product(lengths)
    if differ(many, kernel.shape[0]):
        raise ValueError(f"kernel must hold one kernel for each of {many} windows, got {kernel.shape[0]}")
    xp = array_namespace(x, kernel)
    patches = gather_windows(x, sizes=extents, **where._replace(lengths=lengths)._asdict())
    if first:
        patches = xp.matrix_transpose(patches)
    patches = xp.reshape(patches, (x.shape[0], many, kernel.shape[1]))
    result = xp.permute_dims(xp.matmul(xp.permute_dims(patches, (1, 0, 2)), kernel), (1, 0, 2))
    return restored(xp.reshape(result, (x.shape[0], *lengths, kernel.shape[2])), first)


def _patches(x: Any, *, sizes: Any, lengths: Any, **how: Any) -> Any:
    return (x.shape[0], *lengths, product(sizes), x.shape[-1]), x.dtype


# The elements of each window side by side; and these, added up where they lie in an array of spatial `lengths`.
gather_windows, scatter_windows = adjoint_pair(
    Adjoint("gather_windows", sliding.gather_windows, _patches),
    Adjoint("scatter_windows", sliding.scatter_windows, positions=slice(1, -2)),
    may_overlap=False,
)
