"""Feature maps as matrices: a row for each element of the maps, a column for each image.

The rows are in the order (channels, positions…). The functions of convolution and pooling take (images, positions…,
channels), which is another view of the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import array_namespace
from nbm_xp.tape.lengths import as_length, same_length

from ._arguments import Array

__all__ = ["by_channel", "from_images", "paddings", "to_images"]


def by_channel(x: Array, name: str, lengths: Sequence[Any], channels: int | None = None) -> Array:
    """A matrix with its rows as (channels, lengths…).

    Raises
    ------
    ValueError
        If there are not as many rows as that needs; without `channels`, not a multiple of what one channel needs.
    """
    if x.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got shape {x.shape}")
    rows, places = as_length(x.shape[0]), math.prod(lengths, start=1)
    found = rows // places if channels is None else channels
    if same_length(found * places, rows) is False:
        wanted = "for each channel " if channels is None else ""
        raise ValueError(f"{name} must have {places} rows {wanted}for lengths {tuple(lengths)}, got shape {x.shape}")
    return array_namespace(x).reshape(x, (found, *lengths, x.shape[1]))


def to_images(x: Array, name: str, lengths: Sequence[Any], channels: int | None = None) -> Array:
    """A matrix as (images, positions…, channels): see `by_channel`."""
    parts = by_channel(x, name, lengths, channels)
    return array_namespace(x).permute_dims(parts, (parts.ndim - 1, *range(1, parts.ndim - 1), 0))


def from_images(images: Array) -> Array:
    """(images, positions…, channels) as a matrix."""
    xp = array_namespace(images)
    parts = xp.permute_dims(images, (images.ndim - 1, *range(1, images.ndim - 1), 0))
    return xp.reshape(parts, (math.prod(map(as_length, parts.shape[:-1]), start=1), parts.shape[-1]))


def paddings(padding: Any, axes: int) -> tuple[int, ...]:
    """A number of zeros for each axis, from one for all or from a sequence."""
    items = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * axes
    if len(items) != axes or not all(isinstance(item, int) and item >= 0 for item in items):
        raise ValueError(f"padding must be 0 or more, an integer or one for each of {axes} axes, got {padding!r}")
    return items
