"""Histograms of magnitudes, for the pictures of networks' weights."""

from __future__ import annotations

from nbm_xp.namespace import array_namespace, running_dtype

from ._arguments import Array, as_array
from .conversion import cast
from .joining import sums_at

__all__ = ["magnitude_counts"]


def magnitude_counts(x: Array, bins: int, offset: int) -> Array:
    """How many elements have a magnitude near each power of two.

    Parameters
    ----------
    x : array
        Elements in any shape.
    bins : int
        How many powers there are.
    offset : int
        The exponent of the first one, which also takes all that is smaller, 0 included. The last one takes the power
        behind it too; what is larger, or nan, counts nowhere.

    Returns
    -------
    array of int32
        Of shape (bins,).

    Examples
    --------
    >>> import numpy as np
    >>> magnitude_counts(np.asarray([0.0, 1.0, -1.1, 2.0, 99.0]), 3, -1).tolist()
    [1, 2, 1]
    """
    x = cast(as_array(x), "float32")
    xp = array_namespace(x)
    magnitude = xp.reshape(xp.abs(x), (-1,))
    power = xp.round(xp.log2(xp.where(magnitude > 0, magnitude, 1.0)))
    place = xp.where(magnitude > 0, xp.maximum(power - offset, xp.zeros_like(power)), 0.0)
    place = xp.where(place == bins, bins - 1.0, place)
    place = xp.astype(xp.where(place < bins, place, float(bins)), running_dtype(xp, "int64"))
    return sums_at(xp.ones_like(place, dtype=xp.int32), place, length=bins + 1)[:bins]
