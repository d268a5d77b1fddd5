"""Regions of interest in images: pooling of each, and the choice among boxes that overlap.

The arithmetic is that of `nbm_xp.functions.feature_regions`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.functions.feature_regions import kept_boxes, pool_regions, spread_regions

from .buffers import Buffer
from .engine import Engine
from .operands import Target, number, operand, value_of, whole

__all__ = ["nms", "roipooling_bprop", "roipooling_fprop"]


def roipooling_fprop(
    self: Engine, I: Buffer, rois: Buffer, O: Buffer, argmax: Buffer, roi_count: int, C: int, H: int, W: int,
    pooled_height: int, pooled_width: int, spatial_scale: float,
) -> None:  # fmt: skip
    """Pool regions of images: the largest element in each cell of a grid laid over each region.

    Parameters
    ----------
    I : buffer or op-tree
        Feature maps, of shape (C · H · W, ``bsz``).
    rois : buffer or op-tree
        Of shape (roi_count, 5): a region's image, and its first and last column and row, x0, y0, x1 and y1.
    O, argmax : buffer
        Of C · pooled_height · pooled_width by roi_count elements: the largest elements, 0 where a cell lies outside
        the image; and the places of the first of them in their maps, counted row by row, -1 where there is none.
    roi_count, C, H, W, pooled_height, pooled_width : int
        The numbers of regions and maps, height and width of the maps and of the grid.
    spatial_scale : float
        What the regions' borders are multiplied with, to be places in the maps.

    Raises
    ------
    TypeError
        If an argument is no buffer of numbers, or a number of them no integer.
    ValueError
        If shapes do not fit, or ``bsz`` is not set. Nothing is written then.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.bsz = 1
    >>> rois, O, places = be.array([[0, 0, 0, 1, 1]]), be.zeros((2, 1)), be.zeros((2, 1), dtype="int32")
    >>> be.roipooling_fprop(be.array([1, 4, 3, 2]), rois, O, places, 1, 1, 2, 2, 2, 1, 1.0)
    >>> O.get().reshape(-1), places.get().reshape(-1)
    (array([4., 3.], dtype=float32), array([1, 2], dtype=int32))
    """
    lengths, cells, shape = _geometry(self, roi_count, C, H, W, pooled_height, pooled_width)
    maps, regions = operand(self, I, "I", (C * H * W, self.bsz or 0)), _regions(self, rois, roi_count)
    target, kept = Target(self, O, "O", shape), Target(self, argmax, "argmax", shape)
    values, places = pool_regions(maps, regions, lengths, cells, number(spatial_scale, "spatial_scale"))
    target.write(values, fresh=True)
    kept.write(places)


def roipooling_bprop(
    self: Engine, I: Buffer, rois: Buffer, O: Buffer, argmax: Buffer, roi_count: int, C: int, H: int, W: int,
    pooled_height: int, pooled_width: int, spatial_scale: float,
) -> None:  # fmt: skip
    """The gradient of `roipooling_fprop` in the feature maps.

    Parameters
    ----------
    I : buffer or op-tree
        Errors, of C · pooled_height · pooled_width by roi_count elements.
    rois, roi_count, C, H, W, pooled_height, pooled_width, spatial_scale
        As `roipooling_fprop` took them.
    O : buffer
        Where the gradient goes, of shape (C · H · W, ``bsz``).
    argmax : buffer
        The places that it gave.

    Raises
    ------
    TypeError, ValueError
        See `roipooling_fprop`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.bsz = 1
    >>> rois, places, O = be.array([[0, 0, 0, 1, 1]]), be.array([[3], [3]], dtype="int32"), be.empty((4, 1))
    >>> be.roipooling_bprop(be.array([1, 5]), rois, O, places, 1, 1, 2, 2, 2, 1, 1.0)
    >>> O.get().reshape(-1)
    array([0., 0., 0., 6.], dtype=float32)
    """
    lengths, cells, shape = _geometry(self, roi_count, C, H, W, pooled_height, pooled_width)
    errors, places = operand(self, I, "I", shape), operand(self, argmax, "argmax", shape)
    regions, target = _regions(self, rois, roi_count), Target(self, O, "O", (C * H * W, self.bsz or 0))
    number(spatial_scale, "spatial_scale")
    target.write(spread_regions(places, errors, regions, lengths, self.bsz or 0, cells), fresh=True)


def nms(self: Engine, detections: Buffer, threshold: float) -> list[int]:
    """Which boxes are left when those that overlap a better one are dropped: non-maximal suppression.

    Parameters
    ----------
    detections : buffer or op-tree
        Of shape (boxes, 5): first column and row, last column and row, and the score.
    threshold : float
        How much of the area of two boxes together may be in both.

    Returns
    -------
    list of int
        The numbers of the boxes kept, the best one first. To find them, the boxes are computed and copied to the
        host.

    Raises
    ------
    TypeError, ValueError
        If `detections` is no buffer or has another shape, or `threshold` is no number.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.nms(be.array([[0, 0, 9, 9, 0.9], [0, 0, 9, 8, 0.5], [20, 20, 29, 29, 0.1]]), 0.5)
    [0, 2]
    """
    value_of(self, detections, "detections")
    return kept_boxes(detections.get(), number(threshold, "threshold"))


def _geometry(
    self: Engine, roi_count: int, C: int, H: int, W: int, rows: int, columns: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, int]]:
    """Lengths of the maps and of the grid, and the shape of what is pooled."""
    if self.bsz is None:
        raise ValueError("regions lie in a batch: set the backend's bsz to the number of images first")
    maps = whole(C, "C")
    cells = whole(rows, "pooled_height"), whole(columns, "pooled_width")
    shape = maps * cells[0] * cells[1], whole(roi_count, "roi_count")
    return (maps, whole(H, "H"), whole(W, "W")), cells, shape


def _regions(self: Engine, rois: Any, count: int) -> Any:
    found = value_of(self, rois, "rois")
    if tuple(found.shape) != (count, 5):
        raise ValueError(f"rois must have shape ({count}, 5), got {tuple(found.shape)}")
    return found
