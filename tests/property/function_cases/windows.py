"""Cases of convolutions, pooling and padding."""

from __future__ import annotations

import numpy as np

from nbm_xp.functions import convolution, convolution_local, padding, pooling
from tests.helpers.tables.case import values, whole
from tests.helpers.windows import channels_last, convolved, pooled, separated, transposed, unshared

from .case import FunctionCase, of

__all__ = ["cases"]


def cases() -> list[FunctionCase]:
    """All of the chapter."""
    return [*_convolved(), *_transposed(), *_local(), *_pooled(), *_padded()]


def _convolved() -> list[FunctionCase]:
    line, kernel = values(2, 6, 2), values(3, 2, 3, low=-1.0)
    image, square = values(2, 5, 4, 2), values(2, 3, 2, 2, low=-1.0)
    first, last = {"data_format": "channels_first"}, {"data_format": "channels_last"}

    made = [
        of("conv1d", convolution.conv, lambda x, k, a=args: convolved(x, k, *a), line, kernel, options=options | last)
        for options, args in (
            ({"padding": "causal", "dilation_rate": 2}, (1, "causal", 2)),
            ({"padding": "half", "strides": 3}, (3, "half")),
        )
    ]
    made += [
        of("conv2d", convolution.conv, lambda x, k: convolved(x, k, (2, 1), "same", (1, 2)), image, square,
            options={"strides": (2, 1), "padding": "same", "dilation_rate": (1, 2)} | last),
        of("conv2d", convolution.conv, lambda x, k: channels_last(convolved, x, k, 2, "full"), values(2, 2, 5, 4),
            square, options={"strides": 2, "padding": "full"} | first),
        of("conv2d", convolution.conv, lambda x, k: convolved(x, k, flip=True), image, square,
            options={"flip": True} | last),
        of("conv2d", convolution.conv, lambda x, k: convolved(x, k, padding=((1, 0), (0, 3))), image, square,
            options={"padding": ((1, 0), (0, 3))} | last),
        of("conv2d", convolution.conv, lambda x, k: convolved(x, k, padding="same"), whole(1, 4, 4, 2),
            whole(2, 2, 2, 3), options={"padding": "same"} | last),
        of("conv2d", convolution.conv, lambda x, k: convolved(x, k), values(0, 4, 4, 2), values(2, 2, 2, 3),
            label="no images"),
        of("conv3d", convolution.conv, lambda x, k: convolved(x, k, (1, 2, 1), "same"), values(1, 3, 4, 3, 2),
            values(2, 2, 2, 2, 2, low=-1.0), options={"strides": (1, 2, 1), "padding": "same"} | last),
    ]  # fmt: skip
    return made


def _transposed() -> list[FunctionCase]:
    image, kernel = values(2, 3, 2, 3), values(3, 2, 2, 3, low=-1.0)

    def to_kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        rows = [x[:, i : i + 3] for i in range(2)]
        return np.stack([np.einsum("noc,nof->cf", row, y) for row in rows])

    return [
        of("conv2d_transpose", convolution.conv_to_shape, lambda x, k: transposed(x, k, (5, 4), 2, "same"), image,
            kernel, options={"axes": 2, "output_shape": (2, 5, 4, 2), "strides": (2, 2), "padding": "same"}),
        of("conv2d_transpose", convolution.conv_to_shape,
            lambda x, k: channels_last(transposed, x, k, (8, 4), (2, 3)), values(2, 3, 3, 1),
            values(3, 4, 2, 3, low=-1.0),
            options={"axes": 2, "output_shape": (None, 2, 8, 4), "strides": (2, 3), "data_format": "channels_first"}),
        of("conv_transpose", convolution.conv_transpose, lambda y, k: transposed(y, k, (8,), 3, "valid", 2),
            values(2, 2, 2), values(3, 1, 2, low=-1.0), options={"lengths": 8, "strides": 3, "dilation_rate": 2}),
        of("conv_kernel", convolution.conv_kernel, to_kernel, values(2, 4, 2), values(2, 3, 3, low=-1.0),
            options={"kernel_size": 2}),
    ]  # fmt: skip


def _local() -> list[FunctionCase]:
    image, depth, point = values(2, 4, 4, 2), values(2, 2, 2, 3, low=-1.0), values(1, 1, 6, 2, low=-1.0)

    def mixed(x: np.ndarray, d: np.ndarray, p: np.ndarray) -> np.ndarray:
        return separated(x, d, 2, "same") @ p[0, 0]

    return [
        of("separable_conv2d", convolution_local.separable_conv2d, mixed, image, depth, point,
            options={"strides": (2, 2), "padding": "same"}),
        of("depthwise_conv2d", convolution_local.depthwise_conv2d, lambda x, d: separated(x, d, 1, "valid", (2, 1)),
            image, depth, options={"dilation_rate": (2, 1)}),
        of("depthwise_conv2d", convolution_local.depthwise_conv2d, lambda x, d: channels_last(separated, x, d),
            values(2, 2, 4, 4), values(2, 2, 2, 1), options={"data_format": "channels_first"}),
        of("local_conv1d", convolution_local.local_conv1d, lambda x, k: unshared(x, k, (3,), 2), values(2, 5, 2),
            values(2, 6, 3, low=-1.0), options={"kernel_size": (3,), "strides": (2,)}),
        of("local_conv2d", convolution_local.local_conv2d, lambda x, k: unshared(x, k, (2, 3), 1), values(2, 3, 4, 2),
            values(4, 12, 2, low=-1.0), options={"kernel_size": (2, 3), "strides": (1, 1), "output_shape": (2, 2)}),
        of("local_conv2d", convolution_local.local_conv2d,
            lambda x, k: channels_last(unshared, x, k, (2, 3), (2, 1), by_channel=True), values(2, 2, 5, 4),
            values(4, 12, 2, low=-1.0), options={"kernel_size": (2, 3), "strides": (2, 1), "output_shape": (2, 2),
                                                 "data_format": "channels_first"}),
    ]  # fmt: skip


def _pooled() -> list[FunctionCase]:
    image, ties = values(2, 5, 4, 2), whole(1, 4, 5, 2, dtype="float64")
    made = [
        of("pool2d", pooling.pool, lambda x, m=mode: pooled(x, (3, 2), (2, 1), "same", m), image,
            options={"pool_size": (3, 2), "strides": (2, 1), "padding": "same", "pool_mode": mode})
        for mode in ("max", "avg", "l2")
    ]  # fmt: skip
    return [
        *made,
        of("pool2d", pooling.pool, lambda x: channels_last(pooled, x, 2, 2, "leading", "avg"), values(2, 2, 5, 4),
            options={"pool_size": 2, "strides": 2, "padding": "leading", "pool_mode": "avg",
                     "data_format": "channels_first"}),
        of("pool2d", pooling.pool, lambda x: pooled(x, 2, 2), ties.astype("int32"),
            options={"pool_size": 2, "strides": 2}),
        of("pool2d", pooling.pool, lambda x: pooled(x.astype("float64"), 3, 1, "same", "avg"), ties.astype("int32"),
            options={"pool_size": 3, "padding": "same", "pool_mode": "avg"}),
        of("pool3d", pooling.pool, lambda x: pooled(x, 2, (1, 2, 1)), values(1, 3, 4, 3, 2),
            options={"pool_size": 2, "strides": (1, 2, 1)}),
        of("pool3d", pooling.pool, lambda x: pooled(x, 2, 2, "same", "avg"), values(1, 3, 4, 3, 2),
            options={"pool_size": 2, "strides": 2, "padding": "same", "pool_mode": "avg"}),
    ]  # fmt: skip


def _padded() -> list[FunctionCase]:
    image, volume = values(2, 2, 3, 2), values(1, 2, 1, 2, 2)
    first = {"data_format": "channels_first"}
    return [
        of("temporal_padding", padding.temporal_padding, lambda x: np.pad(x, ((0, 0), (2, 1), (0, 0))),
            values(2, 3, 2), options={"padding": (2, 1)}),
        of("spatial_2d_padding", padding.spatial_2d_padding, lambda x: np.pad(x, ((0, 0), (1, 0), (0, 2), (0, 0))),
            image, options={"padding": ((1, 0), (0, 2))}),
        of("spatial_2d_padding", padding.spatial_2d_padding, lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2))),
            image, options={"padding": (1, 2)} | first),
        of("spatial_3d_padding", padding.spatial_3d_padding,
            lambda x: np.pad(x, ((0, 0), (1, 1), (1, 1), (1, 1), (0, 0))), volume),
        of("resize_images", padding.resize_images, lambda x: x.repeat(2, 1).repeat(3, 2), image,
            options={"height_factor": 2, "width_factor": 3}),
        of("resize_images", padding.resize_images, lambda x: x.repeat(2, 3), whole(2, 2, 3, 2),
            options={"height_factor": 1, "width_factor": 2} | first),
        of("resize_volumes", padding.resize_volumes, lambda x: x.repeat(2, 2).repeat(3, 4), volume,
            options={"depth_factor": 2, "height_factor": 1, "width_factor": 3} | first),
    ]  # fmt: skip
