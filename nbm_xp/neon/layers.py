"""Layers as parameters: the shapes and steps of a convolution, a deconvolution or a pooling, worked out once.

What a `Backend`'s ``conv_layer``, ``deconv_layer`` and ``pool_layer`` return, and its operations take. The attributes
have neon's names: inputs I are (C · D · H · W, N), filters F (C · T · R · S, K), outputs O (K · M · P · Q, N).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from nbm_xp.functions.convolution_windows import pool_count, spread_length, window_count
from nbm_xp.namespace import dtype_name, is_complex
from nbm_xp.tape.dtypes import as_dtype

from .operands import whole

__all__ = ["ConvLayer", "DeconvLayer", "Layer", "PoolLayer"]

_POOLINGS = ("max", "avg", "l2")


def _named(names: Sequence[str], values: Sequence[Any], least: int) -> tuple[int, ...]:
    return tuple(whole(value, name, least) for name, value in zip(names, values, strict=True))


class Layer:
    """Inputs and outputs of a layer, C and K feature maps of some lengths, for N images.

    Attributes
    ----------
    dtype : DType
        Of the elements.
    N, C, K : int
        Images, and maps of the inputs and outputs.
    DHW, MPQ : tuple of int
        Depth, height and width of the inputs and of the outputs; each is also an attribute of its own.
    dimI, dimO, dimI2, dimO2 : tuple of int
        The shapes of inputs and outputs, of five axes and of two.
    sizeI, sizeO, nOut : int
        Numbers of elements; `nOut` is that of the layer's result for one image.
    padding, strides : tuple of int
        Zeros on each side, and steps from window to window.
    """

    made_by: ClassVar[str]

    def __init__(
        self, dtype: Any, N: int, C: int, K: int, DHW: tuple[int, ...], MPQ: tuple[int, ...],
        padding: tuple[int, ...], strides: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.dtype = as_dtype(dtype_name(dtype))
        if is_complex(self.dtype):
            raise TypeError(f"dtype must be one of real numbers, got {self.dtype}")
        self.N, self.C, self.K = N, C, K
        self.DHW, self.MPQ, self.padding, self.strides = DHW, MPQ, padding, strides
        self.D, self.H, self.W = DHW
        self.M, self.P, self.Q = MPQ
        self.dimI, self.dimO = (C, *DHW, N), (K, *MPQ, N)
        self.dimI2, self.dimO2 = (math.prod(self.dimI[:-1]), N), (math.prod(self.dimO[:-1]), N)
        self.sizeI, self.sizeO = math.prod(self.dimI), math.prod(self.dimO)
        self.nOut = self.dimO2[0]

    @classmethod
    def checked(cls, layer: Any) -> Self:
        """What an operation was given as its layer.

        Raises
        ------
        TypeError
            If it is no layer of this kind.
        """
        if not isinstance(layer, cls):
            raise TypeError(f"layer must be what {cls.made_by} returns, got {type(layer).__name__}")
        return layer

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype} {self.dimI} to {self.dimO}>"


class ConvLayer(Layer):
    """A convolution of K filters.

    Attributes
    ----------
    TRS : tuple of int
        Depth, height and width of a filter.
    NCK, dilation : tuple of int
        The three numbers together; steps from place to place in a window.
    dimF, dimF2 : tuple of int
        The shapes of the filters, of five axes and of two.
    dimS : tuple of int
        The shape of the sums of the maps, (K, 1).
    sizeF : int
        The number of the filters' elements.
    relu, bsum : bool
        Whether what is written is rectified, and whether its maps are summed up.
    """

    made_by = "conv_layer or deconv_layer"

    def __init__(
        self, dtype: Any, N: int, C: int, K: int, DHW: Sequence[int], TRS: Sequence[int], padding: Sequence[int],
        strides: Sequence[int], dilation: Sequence[int], *, relu: bool = False, bsum: bool = False,
    ) -> None:  # fmt: skip
        lengths = _named("DHW", DHW, 1)
        self._filters(N, C, K, TRS, padding, strides, dilation, relu, bsum)
        counts = _along("DHW", _convolved_count, lengths, self.TRS, self.padding, self.strides, self.dilation)
        images, channels, filters = self.NCK
        Layer.__init__(self, dtype, images, channels, filters, lengths, counts, self.padding, self.strides)
        self.dimS = (self.K, 1)

    def _filters(
        self, N: int, C: int, K: int, TRS: Sequence[int], padding: Sequence[int], strides: Sequence[int],
        dilation: Sequence[int], relu: bool, bsum: bool,
    ) -> None:  # fmt: skip
        """What convolution and deconvolution have in common."""
        _, channels, filters = self.NCK = _named("NCK", (N, C, K), 1)
        self.TRS = _named("TRS", TRS, 1)
        self.padding = _named(("pad_d", "pad_h", "pad_w"), padding, 0)
        self.strides = _named(("str_d", "str_h", "str_w"), strides, 1)
        self.dilation = _named(("dil_d", "dil_h", "dil_w"), dilation, 1)
        self.dimF = (channels, *self.TRS, filters)
        self.dimF2 = (math.prod(self.dimF[:-1]), filters)
        self.sizeF = math.prod(self.dimF)
        self.relu, self.bsum = bool(relu), bool(bsum)

    @property
    def windows(self) -> dict[str, Any]:
        """Where the windows are, as the functions of `nbm_xp.functions.feature_convolution` take it."""
        return {
            "lengths": self.DHW,
            "sizes": self.TRS,
            "strides": self.strides,
            "padding": self.padding,
            "dilation_rate": self.dilation,
        }


def _convolved_count(length: int, size: int, padding: int, stride: int, dilation: int) -> int:
    return window_count(length, size, padding, stride, dilation=dilation)


def _along(axes: str, count: Callable[..., int], *geometry: Sequence[int], **how: Any) -> tuple[int, ...]:
    """The number of windows along each axis, or an error that names the axis."""
    found = []
    for axis, *numbers in zip(axes, *geometry, strict=True):
        try:
            found.append(count(*numbers, **how))
        except ValueError as error:
            raise ValueError(f"windows must fit along {axis}: {error}") from None
    return tuple(found)


class DeconvLayer(ConvLayer):
    """A deconvolution: the convolution that leads from its outputs, dimI, to its inputs, dimO.

    The attributes are those of that convolution; `nOut` is the number of elements of dimI for one image.
    """

    def __init__(
        self, dtype: Any, N: int, C: int, K: int, MPQ: Sequence[int], TRS: Sequence[int], padding: Sequence[int],
        strides: Sequence[int], dilation: Sequence[int], *, relu: bool = False, bsum: bool = False,
    ) -> None:  # fmt: skip
        counts = _named("MPQ", MPQ, 1)
        self._filters(N, C, K, TRS, padding, strides, dilation, relu, bsum)
        lengths = _along("MPQ", spread_length, counts, self.TRS, self.padding, self.strides, self.dilation)
        images, channels, filters = self.NCK
        Layer.__init__(self, dtype, images, channels, filters, lengths, counts, self.padding, self.strides)
        self.nOut = self.dimI2[0]


class PoolLayer(Layer):
    """Pooling in windows of J feature maps, depth T, height R and width S.

    Attributes
    ----------
    op : {"max", "avg", "l2"}
        What becomes of a window.
    JTRS : tuple of int
        Its sizes; `padding` and `strides` have four entries too.
    """

    made_by = "pool_layer"

    def __init__(
        self, dtype: Any, op: str, N: int, C: int, DHW: Sequence[int], JTRS: Sequence[int], padding: Sequence[int],
        strides: Sequence[int | None], *, cover: bool = False,
    ) -> None:  # fmt: skip
        if op not in _POOLINGS:
            raise ValueError(f"op must be one of {', '.join(map(repr, _POOLINGS))}, got {op!r}")
        self.op = op
        self.JTRS = _named("JTRS", JTRS, 1)
        images, maps = _named("NC", (N, C), 1)
        lengths = _named("DHW", DHW, 1)
        pads = _named(("pad_j", "pad_d", "pad_h", "pad_w"), padding, 0)
        given = [size if stride is None else stride for size, stride in zip(self.JTRS, strides, strict=True)]
        steps = _named(("str_j", "str_d", "str_h", "str_w"), given, 1)
        self.cover = cover
        count, *counts = _along("CDHW", pool_count, (maps, *lengths), self.JTRS, pads, steps, cover=cover)
        super().__init__(dtype, images, maps, count, lengths, tuple(counts), pads, steps)

    @property
    def window_size(self) -> int:
        """How many elements a window has."""
        return math.prod(self.JTRS)

    @property
    def windows(self) -> dict[str, Any]:
        """Where the windows are, as the functions of `nbm_xp.functions.feature_pooling` take it."""
        return {
            "lengths": (self.C, *self.DHW),
            "sizes": self.JTRS,
            "strides": self.strides,
            "padding": self.padding,
            "cover": self.cover,
        }
