"""Pooling of buffers, region-of-interest pooling, and non-maximum suppression of boxes.

The computations are those of `nbm_xp.functions`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import feature_maps
from nbm_xp.functions.convolution_windows import window_count
from nbm_xp.functions.feature_regions import kept_boxes, pool_regions, spread_regions
from nbm_xp.namespace import is_integer

from .buffers import Buffer
from .engine import Engine
from .layers import PoolLayer, Target, also_by_place, factors, number, operand, value_of, whole


def _ends_with_places(given: dict[str, Any]) -> bool:
    """Return whether the last argument is argmax: None, or integers where the gradient is not."""
    if "argmax" not in given or given["argmax"] is None:
        return "argmax" in given
    gradient, places = (isinstance(given[name], Buffer) and is_integer(given[name]) for name in ("grad_I", "argmax"))
    return bool(places and not gradient)


def _room_for_places(argmax: Buffer, layer: PoolLayer) -> None:
    """Raise an error if the dtype of `argmax` is too narrow for the indices in a window."""
    if not is_integer(argmax):
        raise TypeError(f"argmax must hold integers, got {argmax.dtype}")
    most = {"int8": 128, "uint8": 256}.get(str(argmax.dtype), layer.window_size)
    if layer.window_size > most:
        raise ValueError(f"argmax must have room for {layer.window_size} places in a window, got {argmax.dtype}")


class Poolings(Engine):
    """A Backend's pooling of windows and of regions, and non-maximum suppression."""

    def output_dim(self, X: int, S: int, padding: int, strides: int, pooling: bool = False, dilation: int = 1) -> int:
        """Return the number of windows along one axis.

        Parameters
        ----------
        X, S : int
            Lengths of the axis and of a window.
        padding : int
            Number of zeros at each end.
        strides : int
            Stride.
        pooling : bool
            Whether windows are pooled. In the mode ``"caffe"``, the last pooling window may extend beyond the padding.
        dilation : int
            Dilation.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If an argument is out of range, no window fits, or the padding of a pooling is not less than a window.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.output_dim(7, 3, 1, 2), be.output_dim(7, 2, 0, 1, dilation=3)
        (4, 4)
        """
        return window_count(
            whole(X, "X"), whole(S, "S"), whole(padding, "padding", 0), whole(strides, "strides"), pooling=pooling,
            dilation=whole(dilation, "dilation"), cover=self.compat_mode == "caffe",
        )  # fmt: skip

    def pool_layer(
        self, dtype: Any, op: str, N: int, C: int, D: int = 1, H: int = 1, W: int = 1, J: int = 1, T: int = 1,
        R: int = 1, S: int = 1, pad_j: int = 0, pad_d: int = 0, pad_h: int = 0, pad_w: int = 0,
        str_j: int | None = None, str_d: int | None = None, str_h: int | None = None, str_w: int | None = None, *,
        pad_c: int | None = None, str_c: int | None = None,
    ) -> PoolLayer:  # fmt: skip
        """Describe a pooling over feature maps, positions or both.

        Parameters
        ----------
        dtype
            Dtype of the elements.
        op : {"max", "avg", "l2"}
            Reduction of a window: maximum, mean, or square root of the sum of squares.
        N, C : int
            Number of images, and of feature maps of the inputs.
        D, H, W : int
            Depth, height and width of the inputs.
        J, T, R, S : int
            Sizes of a window: feature maps, depth, height and width.
        pad_j, pad_d, pad_h, pad_w : int
            Padding on each side; it is never the maximum, and not counted in a mean.
        str_j, str_d, str_h, str_w : int, optional
            Strides; by default equal to the window sizes.
        pad_c, str_c : int, optional
            Aliases of `pad_j` and `str_j`.

        Returns
        -------
        PoolLayer

        Raises
        ------
        TypeError, ValueError
            If an argument is not an integer or out of range, `op` is unknown, or the padding is not less than a window.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").pool_layer("float32", "max", 32, 16, H=12, W=12, R=2, S=2).dimO
        (16, 1, 6, 6, 32)
        """
        pads = (pad_j if pad_c is None else pad_c, pad_d, pad_h, pad_w)
        steps = (str_j if str_c is None else str_c, str_d, str_h, str_w)
        return PoolLayer(dtype, op, N, C, (D, H, W), (J, T, R, S), pads, steps, cover=self.compat_mode == "caffe")

    @also_by_place("layer, I, O, argmax, alpha, beta")
    def fprop_pool(
        self, layer: PoolLayer, I: Buffer, O: Buffer, *, argmax: Buffer | None = None, alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:  # fmt: skip
        """Pool: set O to ``alpha`` times the pooled windows, plus ``beta · O``.

        Parameters
        ----------
        layer : PoolLayer
            The layer's description.
        I : buffer or op-tree
            Inputs, of shape ``layer.dimI2``.
        O : buffer
            Outputs, of shape ``layer.dimO2``.
        argmax : buffer, optional
            Integers, of shape ``layer.dimO2``: for max pooling, the destination of the index of each maximum in its
            window, for `bprop_pool`.
        alpha, beta : float
            Factors of the new result and of the previous values.

        Raises
        ------
        TypeError
            If `layer` is not a pooling layer, or an operand is not a buffer of numbers.
        ValueError
            If a shape does not match the layer. Nothing is written in that case.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> layer = be.pool_layer("float32", "max", N=1, C=1, W=4, S=2)
        >>> O = be.empty(layer.dimO2)
        >>> be.fprop_pool(layer, be.array([4, 1, 2, 3]), O)
        >>> O.get().reshape(-1)
        array([4., 3.], dtype=float32)
        """
        where = PoolLayer.checked(layer).windows
        inputs, target = operand(self, I, "I", layer.dimI2), Target(self, O, "O", layer.dimO2)
        alpha, beta = factors(alpha, beta)
        places = None
        if argmax is not None and layer.op == "max":
            places = Target(self, argmax, "argmax", layer.dimO2)
            _room_for_places(argmax, layer)
        pooled = feature_maps.pool_maps(inputs, **where, pool_mode=layer.op)
        if places is not None:
            places.write(feature_maps.pool_maps_places(inputs, **where))
        target.write_scaled(pooled, alpha, beta)

    @also_by_place("layer, E, grad_I, argmax, alpha, beta", _ends_with_places, I=None)
    @also_by_place("layer, I, E, grad_I, alpha, beta")
    def bprop_pool(
        self, layer: PoolLayer, I: Buffer | None, E: Buffer, grad_I: Buffer, *, argmax: Buffer | None = None,
        alpha: float = 1.0, beta: float = 0.0,
    ) -> None:  # fmt: skip
        """Compute the gradient of `fprop_pool`. The first of several maxima in a window gets the gradient.

        Parameters
        ----------
        layer : PoolLayer
            The layer's description.
        I : buffer, op-tree or None
            Inputs, of shape ``layer.dimI2``. May be None for means, and for maxima if `argmax` is given.
        E : buffer or op-tree
            Errors of the outputs, of shape ``layer.dimO2``.
        grad_I : buffer
            Destination of the gradient, of shape ``layer.dimI2``.
        argmax : buffer, optional
            The indices written by `fprop_pool`, instead of `I`.
        alpha, beta : float
            Factors of the gradient and of its previous values.

        Raises
        ------
        TypeError, ValueError
            See `fprop_pool`.

        Notes
        -----
        The layers of neon's own release call ``bprop_pool(layer, E, grad_I, argmax)``. A call has this form if its last
        argument is None, for layers that need no indices, or is of integers where the argument before it is not.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> layer = be.pool_layer("float32", "max", N=1, C=1, W=4, S=2)
        >>> grad_I = be.empty(layer.dimI2)
        >>> be.bprop_pool(layer, be.array([4, 4, 2, 3]), be.array([1, 10]), grad_I)
        >>> grad_I.get().reshape(-1)
        array([ 1.,  0.,  0., 10.], dtype=float32)
        """
        where = PoolLayer.checked(layer).windows
        errors, target = operand(self, E, "E", layer.dimO2), Target(self, grad_I, "grad_I", layer.dimI2)
        alpha, beta = factors(alpha, beta)
        if I is None and argmax is not None and layer.op == "max":
            places = operand(self, argmax, "argmax", layer.dimO2)
            found = feature_maps.pool_maps_spread(places, errors, **where)
        elif I is not None or layer.op == "avg":  # the gradient of a mean does not depend on the inputs
            inputs = target.buffer.array if I is None else operand(self, I, "I", layer.dimI2)
            found = feature_maps.pool_maps_gradient(inputs, errors, **where, pool_mode=layer.op)
        else:
            raise ValueError(f"I must be given: the gradient of {layer.op!r} pooling depends on the inputs")
        target.write_scaled(found, alpha, beta)

    def roipooling_fprop(
        self, I: Buffer, rois: Buffer, O: Buffer, argmax: Buffer, roi_count: int, C: int, H: int, W: int,
        pooled_height: int, pooled_width: int, spatial_scale: float,
    ) -> None:  # fmt: skip
        """Pool regions of images: compute the maximum in each cell of a grid over each region.

        Parameters
        ----------
        I : buffer or op-tree
            Feature maps, of shape (C · H · W, ``bsz``).
        rois : buffer or op-tree
            Regions, of shape (roi_count, 5): image, first column x0, first row y0, last column x1, last row y1.
        O, argmax : buffer
            Destinations of C · pooled_height · pooled_width by roi_count elements: the maxima, 0 for cells outside the
            image; and the indices of the first maximum in its map, in row-major order, -1 for cells outside the image.
        roi_count, C, H, W, pooled_height, pooled_width : int
            Numbers of regions and of maps; height and width of the maps and of the grid.
        spatial_scale : float
            Factor from the regions' coordinates to positions in the maps.

        Raises
        ------
        TypeError
            If an operand is not a buffer of numbers, or a size is not an integer.
        ValueError
            If shapes do not match, or ``bsz`` is not set. Nothing is written in that case.

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
        lengths, cells, shape = self._geometry(roi_count, C, H, W, pooled_height, pooled_width)
        maps, regions = operand(self, I, "I", (C * H * W, self.bsz or 0)), self._regions(rois, roi_count)
        target, maxima = Target(self, O, "O", shape), Target(self, argmax, "argmax", shape)
        values, places = pool_regions(maps, regions, lengths, cells, number(spatial_scale, "spatial_scale"))
        target.write(values, fresh=True)
        maxima.write(places)

    def roipooling_bprop(
        self, I: Buffer, rois: Buffer, O: Buffer, argmax: Buffer, roi_count: int, C: int, H: int, W: int,
        pooled_height: int, pooled_width: int, spatial_scale: float,
    ) -> None:  # fmt: skip
        """Compute the gradient of `roipooling_fprop` with respect to the feature maps.

        Parameters
        ----------
        I : buffer or op-tree
            Errors of the outputs, C · pooled_height · pooled_width by roi_count elements.
        rois, roi_count, C, H, W, pooled_height, pooled_width, spatial_scale
            See `roipooling_fprop`.
        O : buffer
            Destination of the gradient, of shape (C · H · W, ``bsz``).
        argmax : buffer
            The indices written by `roipooling_fprop`.

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
        lengths, cells, shape = self._geometry(roi_count, C, H, W, pooled_height, pooled_width)
        errors, places = operand(self, I, "I", shape), operand(self, argmax, "argmax", shape)
        regions, target = self._regions(rois, roi_count), Target(self, O, "O", (C * H * W, self.bsz or 0))
        number(spatial_scale, "spatial_scale")
        target.write(spread_regions(places, errors, regions, lengths, self.bsz or 0, cells), fresh=True)

    def nms(self, detections: Buffer, threshold: float) -> list[int]:
        """Non-maximum suppression: return the boxes without too much overlap with a better box.

        Parameters
        ----------
        detections : buffer or op-tree
            Boxes, of shape (boxes, 5): first column, first row, last column, last row, score.
        threshold : float
            Largest allowed overlap of two boxes: intersection over union.

        Returns
        -------
        list of int
            Indices of the remaining boxes, best score first. The boxes are computed and copied to the host.

        Raises
        ------
        TypeError, ValueError
            If `detections` is not a buffer or has another shape, or `threshold` is not a number.

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
        self, roi_count: int, C: int, H: int, W: int, rows: int, columns: int
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, int]]:
        """Return the lengths of the maps and of the grid, and the shape of the pooled output."""
        if self.bsz is None:
            raise ValueError("regions belong to a batch: set the backend's bsz to the number of images first")
        maps = whole(C, "C")
        cells = whole(rows, "pooled_height"), whole(columns, "pooled_width")
        shape = maps * cells[0] * cells[1], whole(roi_count, "roi_count")
        return (maps, whole(H, "H"), whole(W, "W")), cells, shape

    def _regions(self, rois: Any, count: int) -> Any:
        found = value_of(self, rois, "rois")
        if tuple(found.shape) != (count, 5):
            raise ValueError(f"rois must have shape ({count}, 5), got {tuple(found.shape)}")
        return found
