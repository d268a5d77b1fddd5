"""Pooling of regions of interest, non-maximal suppression, and local response normalization.

Maps are matrices of shape (maps · height · width, images), as in `nbm_xp.functions.feature_maps`. A region is a row of
five numbers, ``(image, x0, y0, x1, y1)``: the number of the image, the first column and row, and the last. Pooling
takes the maximum of each cell of a grid over the region. Source: R. Girshick, "Fast R-CNN", 2015,
https://arxiv.org/abs/1504.08083. Local response normalization divides features by a power of a sum over neighbouring
maps at the same position. Source: A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification with deep
convolutional neural networks", 2012, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nbm_xp.namespace import array_namespace, running_dtype, take_along_axis

from ._arguments import Array, floats
from .joining import sums_at

__all__ = [
    "kept_boxes", "local_response", "local_response_gradient", "pool_regions", "response_scale", "spread_regions",
]  # fmt: skip


def _cells(first: Array, last: Array, cells: int, length: int) -> tuple[Array, Array]:
    """Return the start and end of each cell of each region along an axis, of shape (cells, regions).

    A cell starts at the pixel that contains the start of its share of the region, and ends after the pixel with its
    end. The arithmetic is in integers, so that no rounding moves a border.
    """
    xp = array_namespace(first, last)
    size = xp.maximum(last - first + 1, xp.ones_like(first))
    number = xp.reshape(xp.arange(cells, dtype=running_dtype(xp, "int64")), (-1, 1))
    begins, ends = number * size // cells + first, ((number + 1) * size + (cells - 1)) // cells + first
    none, all_of_it = xp.zeros_like(begins), xp.full_like(begins, length)
    return xp.minimum(xp.maximum(begins, none), all_of_it), xp.minimum(xp.maximum(ends, none), all_of_it)


def _borders(regions: Array, scale: float) -> tuple[Array, ...]:
    """Return the regions' images, and their first and last columns and rows in the maps, as integers."""
    xp, regions = floats(regions)
    if regions.ndim != 2 or regions.shape[1] != 5:
        raise ValueError(f"regions must have shape (regions, 5), got {tuple(regions.shape)}")
    image = xp.astype(xp.round(regions[:, 0]), running_dtype(xp, "int64"))
    return image, *(xp.astype(xp.round(regions[:, place] * scale), running_dtype(xp, "int64")) for place in range(1, 5))


def _inside(begins: Array, ends: Array, length: int) -> Array:
    """Whether each pixel along an axis is in each region's cell, of shape (length, regions)."""
    xp = array_namespace(begins, ends)
    places = xp.reshape(xp.arange(length, dtype=running_dtype(xp, "int64")), (-1, 1))
    return (places >= begins) & (places < ends)


def pool_regions(
    x: Array, regions: Array, lengths: Sequence[int], cells: Sequence[int], scale: float = 1.0
) -> tuple[Array, Array]:
    """Return the maxima of the cells of regions, and their positions.

    Parameters
    ----------
    x : array
        Of shape (maps · height · width, images).
    regions : array
        Of shape (regions, 5).
    lengths : sequence of int
        Number of maps, height and width.
    cells : sequence of int
        Numbers of rows and columns of cells in each region. The cells of a small region overlap.
    scale : float
        Factor that converts the regions' coordinates to positions in the maps.

    Returns
    -------
    values : array
        Of shape (maps · rows · columns, regions); 0 where a cell lies outside the image.
    places : array of int
        Of the same shape: the row-major index in its map of the first maximum; -1 for a cell outside the image.

    Raises
    ------
    ValueError
        If `regions` is not of shape (regions, 5).

    Examples
    --------
    >>> import numpy as np
    >>> x, whole = np.asarray([[1.0], [4.0], [3.0], [2.0]]), np.asarray([[0.0, 0.0, 0.0, 1.0, 1.0]])
    >>> values, places = pool_regions(x, whole, (1, 2, 2), (2, 1))
    >>> values.reshape(-1), places.reshape(-1).tolist()
    (array([4., 3.]), [1, 2])
    """
    image, x0, y0, x1, y1 = _borders(regions, scale)
    xp, x = floats(x)
    (maps, height, width), (rows, columns), count = lengths, cells, regions.shape[0]
    own = xp.take(xp.reshape(x, (maps, height, width, -1)), image, axis=3)
    left, right = _cells(x0, x1, columns, width)
    above, below = _cells(y0, y1, rows, height)
    best, at = [], []  # for each row of the image, the maximum in each column of cells
    for column in range(columns):
        shown = xp.where(_inside(left[column, :], right[column, :], width), own, -math.inf)
        best.append(xp.max(shown, axis=2))
        at.append(xp.argmax(shown, axis=2))
    rows_best, rows_at = xp.stack(best, axis=2), xp.stack(at, axis=2)
    values, places = [], []
    for row in range(rows):
        inside = xp.reshape(_inside(above[row, :], below[row, :], height), (height, 1, count))
        shown = xp.where(inside, rows_best, -math.inf)
        place = xp.argmax(shown, axis=1, keepdims=True)
        values.append(xp.max(shown, axis=1))
        places.append(xp.squeeze(place * width + take_along_axis(rows_at, place, axis=1), axis=1))
    filled = xp.expand_dims(below > above, axis=1) & xp.expand_dims(right > left, axis=0)
    found, where = xp.stack(values, axis=1), xp.stack(places, axis=1)
    shape = (maps * rows * columns, count)
    return (
        xp.reshape(xp.where(filled, found, xp.zeros_like(found)), shape),
        xp.reshape(xp.where(filled, where, xp.full_like(where, -1)), shape),
    )


def spread_regions(
    places: Array, g: Array, regions: Array, lengths: Sequence[int], images: int, cells: Sequence[int]
) -> Array:
    """Add a number for each cell of each region to one element of its image: the gradient of `pool_regions`.

    Parameters
    ----------
    places : array of int
        Positions, as returned by `pool_regions`.
    g : array
        Numbers to add, of the same shape, (maps · rows · columns, regions).
    regions, lengths, cells
        See `pool_regions`.
    images : int
        How many there are.

    Returns
    -------
    array
        Of shape (maps · height · width, images).

    Raises
    ------
    ValueError
        If `regions` is not of shape (regions, 5).

    Examples
    --------
    >>> import numpy as np
    >>> region = np.asarray([[1.0, 0.0, 0.0, 1.0, 1.0]])
    >>> spread_regions(np.asarray([[3], [3]]), np.asarray([[1.0], [5.0]]), region, (1, 2, 2), 2, (2, 1)).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 6.0]]
    """
    image = _borders(regions, 1.0)[0]
    xp, g = floats(g)
    (maps, height, width), (rows, columns) = lengths, cells
    size, count = height * width, regions.shape[0]
    own = xp.reshape(xp.astype(places, running_dtype(xp, "int64")), (maps, rows * columns, count))
    offset = xp.reshape(xp.arange(maps, dtype=running_dtype(xp, "int64")) * size, (-1, 1, 1))
    index = (own + offset) * images + image
    nowhere = own < 0
    values = xp.where(nowhere, 0.0, xp.reshape(g, own.shape))
    index = xp.where(nowhere, xp.zeros_like(index), index)
    total = sums_at(xp.reshape(values, (-1,)), xp.reshape(index, (-1,)), length=maps * size * images)
    return xp.reshape(total, (maps * size, images))


def kept_boxes(boxes: Array, threshold: float) -> list[int]:
    """Non-maximal suppression: the boxes that remain after removing those that overlap a box of higher score.

    Each box depends on the boxes kept before it, so the values must be known: the function cannot be recorded.

    Parameters
    ----------
    boxes : array
        Of shape (boxes, 5): first column and row, last column and row, and the score.
    threshold : float
        Largest allowed overlap of two boxes: their intersection over their union.

    Returns
    -------
    list of int
        Numbers of the boxes kept, in order of decreasing score.

    Raises
    ------
    ValueError
        If `boxes` is not of shape (boxes, 5).

    Examples
    --------
    >>> import numpy as np
    >>> boxes = [[0, 0, 9, 9, 0.5], [0, 0, 9, 8, 0.9], [20, 20, 29, 29, 0.1]]
    >>> kept_boxes(np.asarray(boxes, dtype="float64"), 0.5)
    [1, 2]
    """
    if boxes.ndim != 2 or boxes.shape[1] != 5:
        raise ValueError(f"boxes must have shape (boxes, 5), got {tuple(boxes.shape)}")
    xp = array_namespace(boxes)
    x0, y0, x1, y1 = (boxes[:, place] for place in range(4))
    area = (x1 - x0 + 1) * (y1 - y0 + 1)
    waiting = xp.flip(xp.argsort(boxes[:, 4]))
    kept = []
    while waiting.shape[0]:
        best, waiting = waiting[:1], waiting[1:]
        kept.append(int(best[0]))
        common = _overlap(x0, x1, best, waiting) * _overlap(y0, y1, best, waiting)
        share = common / (xp.take(area, best) + xp.take(area, waiting) - common)
        waiting = waiting[share <= threshold]
    return kept


def _overlap(begins: Array, ends: Array, one: Array, others: Array) -> Array:
    """Length of the overlap of one interval of an axis and each of several others."""
    xp = array_namespace(begins, ends)
    begin = xp.maximum(xp.take(begins, one), xp.take(begins, others))
    length = xp.minimum(xp.take(ends, one), xp.take(ends, others)) - begin + 1
    return xp.maximum(length, xp.zeros_like(length))


def _over_neighbours(x: Array, maps: int, window: int) -> Array:
    """Sum over a window of maps around each map; there are no maps before the first and after the last."""
    xp, half = array_namespace(x), window // 2
    rows = xp.reshape(x, (maps, -1))
    if half:
        nothing = xp.zeros_like(rows[:1, :])
        rows = xp.concat([*[nothing] * half, rows, *[nothing] * half], axis=0)
    total = rows[:maps, :]
    for begin in range(1, window):
        total = total + rows[begin : begin + maps, :]
    return xp.reshape(total, x.shape)


def response_scale(x: Array, maps: int, window: int, alpha: float) -> Array:
    """Scale of local response normalization: 1 plus a multiple of the mean square of neighbouring maps.

    Parameters
    ----------
    x : array
        Of shape (maps · positions, images).
    maps : int
        Number of feature maps.
    window : int
        Odd number of maps in the window around each map.
    alpha : float
        Factor of the mean square.

    Returns
    -------
    array
        Of the shape of `x`: ``1 + alpha / window`` times the sum of the squares.

    Raises
    ------
    ValueError
        If `window` is even, or less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> response_scale(np.asarray([[1.0], [2.0], [3.0]]), 3, 3, 3.0).reshape(-1)
    array([ 6., 15., 14.])
    """
    if window < 1 or window % 2 == 0:
        raise ValueError(f"window must be odd and 1 or more, got {window}")
    _, x = floats(x)
    return 1.0 + _over_neighbours(x * x, maps, window) * (alpha / window)


def local_response(x: Array, scale: Array, power: float) -> Array:
    """Local response normalization: divide features by a power of their scale.

    Parameters
    ----------
    x, scale : array
        Features, and their scale from `response_scale`.
    power : float
        Exponent of the scale.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> local_response(np.asarray([[8.0]]), np.asarray([[4.0]]), 0.5)
    array([[4.]])
    """
    return x * array_namespace(x, scale).pow(scale, -power)


def local_response_gradient(
    error: Array, x: Array, out: Array, scale: Array, maps: int, window: int, alpha: float, power: float
) -> Array:
    """Gradient of local response normalization.

    Parameters
    ----------
    error : array
        Gradient with respect to the result of `local_response`, of shape (maps · positions, images).
    x, out, scale : array
        Argument and result of `local_response`, and the scale.
    maps, window, alpha, power
        See `response_scale` and `local_response`.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.asarray([[1.0]])
    >>> local_response_gradient(x, x, x / 2, 2 * x, 1, 1, 1.0, 1.0)
    array([[0.]])
    """
    xp = array_namespace(error, x, out, scale)
    through_scale = _over_neighbours(out * error / scale, maps, window) * x * (-2.0 * power * alpha / window)
    return error * xp.pow(scale, -power) + through_scale
