"""Local response normalization of buffers; the arithmetic is that of `nbm_xp.functions.feature_response`."""

from __future__ import annotations

from typing import Any

from nbm_xp.functions.feature_response import local_response, local_response_gradient, response_scale

from .buffers import Buffer
from .engine import Engine
from .layers import Layer
from .operands import Target, factors, number, operand, whole

__all__ = ["ResponseLayer", "bprop_lrn", "fprop_lrn", "lrn_layer"]


class ResponseLayer(Layer):
    """Local response normalization over J feature maps.

    Attributes
    ----------
    op : str
        ``"lrn"``.
    J : int
        How many maps count for one, itself in the middle.
    JTRS : tuple of int
        The sizes of a window; `padding` and `strides` have four entries too.
    """

    op = "lrn"
    made_by = "lrn_layer"

    def __init__(self, dtype: Any, N: int, C: int, D: int, H: int, W: int, J: int) -> None:
        self.J = whole(J, "J")
        if self.J % 2 == 0:
            raise ValueError(f"J must be odd, so that a map has as many neighbours on each side, got {J}")
        images, maps = whole(N, "N"), whole(C, "C")
        lengths = (whole(D, "D"), whole(H, "H"), whole(W, "W"))
        self.JTRS = (self.J, 1, 1, 1)
        padding = (self.J // 2, 0, 0, 0)
        super().__init__(dtype, images, maps, maps, lengths, lengths, padding, (1, 1, 1, 1))


def lrn_layer(
    self: Engine, dtype: Any, N: int, C: int, D: int = 1, H: int = 1, W: int = 1, J: int = 1
) -> ResponseLayer:
    """Describe a local response normalization.

    Parameters
    ----------
    dtype
        Of the elements.
    N, C : int
        Images and feature maps.
    D, H, W : int
        Depth, height and width.
    J : int
        How many maps count for one, itself in the middle: odd.

    Returns
    -------
    ResponseLayer

    Raises
    ------
    TypeError, ValueError
        If an argument is no integer or out of range.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> Backend(library="cpu").lrn_layer("float32", 32, 16, H=12, W=12, J=5).dimO2
    (2304, 32)
    """
    return ResponseLayer(dtype, N, C, D, H, W, J)


def fprop_lrn(
    self: Engine, layer: ResponseLayer, I: Buffer, O: Buffer, denom: Buffer, alpha: float | None = None,
    beta: float | None = None, ascale: float = 1, bpower: float = 1,
) -> None:  # fmt: skip
    """Divide features by a power of 1 plus a multiple of the mean square of neighbouring maps.

    Parameters
    ----------
    layer : ResponseLayer
        Says which maps there are.
    I : buffer or op-tree
        Inputs, of the layer's ``dimI2``.
    O, denom : buffer
        Where the outputs go, and what was divided by a power of, for `bprop_lrn`.
    alpha, beta : float, optional
        O becomes `alpha` times the outputs, plus `beta` times what it held; by default 1 and 0.
    ascale, bpower : float
        The multiple, and the power.

    Raises
    ------
    TypeError
        If `layer` is none, or an argument no buffer of numbers.
    ValueError
        If a shape is not the layer's. Nothing is written then.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> layer = be.lrn_layer("float32", N=1, C=3, J=3)
    >>> O, denom = be.empty(layer.dimO2), be.empty(layer.dimO2)
    >>> be.fprop_lrn(layer, be.array([1, 2, 3]), O, denom, ascale=3.0)
    >>> denom.get().reshape(-1)
    array([ 6., 15., 14.], dtype=float32)
    """
    maps = ResponseLayer.checked(layer).C
    inputs = operand(self, I, "I", layer.dimI2)
    target, kept = Target(self, O, "O", layer.dimO2), Target(self, denom, "denom", layer.dimO2)
    alpha, beta = factors(1.0 if alpha is None else alpha, 0.0 if beta is None else beta)
    scale = response_scale(inputs, maps, layer.J, number(ascale, "ascale"))
    value = local_response(inputs, scale, number(bpower, "bpower"))
    target.write_scaled(value, alpha, beta, fresh=True)
    kept.write(scale)


def bprop_lrn(
    self: Engine, layer: ResponseLayer, I: Buffer, O: Buffer, E: Buffer, delta: Buffer, denom: Buffer,
    alpha: float | None = None, beta: float | None = None, ascale: float = 1, bpower: float = 1,
) -> None:  # fmt: skip
    """The gradient of `fprop_lrn` in its inputs.

    Parameters
    ----------
    layer, ascale, bpower
        As `fprop_lrn` took them.
    I, O, denom : buffer
        What it was given, gave and kept.
    E : buffer or op-tree
        Errors of the outputs, of the layer's ``dimO2``.
    delta : buffer
        Where the gradient goes, of its ``dimI2``; it may be `E`.
    alpha, beta : float, optional
        As in `fprop_lrn`, of what is written.

    Raises
    ------
    TypeError, ValueError
        See `fprop_lrn`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> layer, I, E = be.lrn_layer("float32", N=1, C=1), be.array([[1.0]]), be.array([[8.0]])
    >>> O, denom = be.empty((1, 1)), be.empty((1, 1))
    >>> be.fprop_lrn(layer, I, O, denom, ascale=3.0)
    >>> be.bprop_lrn(layer, I, O, E, E, denom, ascale=3.0)
    >>> E.get()
    array([[-1.]], dtype=float32)
    """
    maps = ResponseLayer.checked(layer).C
    inputs, outputs = operand(self, I, "I", layer.dimI2), operand(self, O, "O", layer.dimO2)
    errors, scale = operand(self, E, "E", layer.dimO2), operand(self, denom, "denom", layer.dimO2)
    target = Target(self, delta, "delta", layer.dimI2)
    alpha, beta = factors(1.0 if alpha is None else alpha, 0.0 if beta is None else beta)
    value = local_response_gradient(
        errors, inputs, outputs, scale, maps, layer.J, number(ascale, "ascale"), number(bpower, "bpower")
    )
    target.write_scaled(value, alpha, beta, fresh=True)
