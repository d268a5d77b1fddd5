"""Convolution and deconvolution of buffers, computed by `nbm_xp.functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.functions.compound import sums_by_map
from nbm_xp.functions.feature_maps import conv_maps, conv_maps_filters, conv_maps_inputs

from .buffers import Buffer
from .creation import Creation
from .layers import ConvLayer, DeconvLayer, Target, factors, operand, whole


class Convolutions(Creation):
    """A Backend's convolutions and deconvolutions."""

    def conv_layer(
        self, dtype: Any, N: int, C: int, K: int, D: int = 1, H: int = 1, W: int = 1, T: int = 1, R: int = 1,
        S: int = 1, pad_d: int = 0, pad_h: int = 0, pad_w: int = 0, str_d: int = 1, str_h: int = 1, str_w: int = 1,
        relu: bool = False, bsum: bool = False, *, dil_d: int = 1, dil_h: int = 1, dil_w: int = 1,
    ) -> ConvLayer:  # fmt: skip
        """Describe a convolution.

        Parameters
        ----------
        dtype
            Dtype of the elements.
        N, C, K : int
            Number of images, of input feature maps, and of output feature maps.
        D, H, W : int
            Depth, height and width of the inputs.
        T, R, S : int
            Depth, height and width of the filters.
        pad_d, pad_h, pad_w : int
            Zero padding on each side along these axes.
        str_d, str_h, str_w : int
            Strides along these axes.
        relu : bool
            Whether `fprop_conv` and `bprop_conv` replace negative results by 0.
        bsum : bool
            Whether they return the sum of each feature map of the result.
        dil_d, dil_h, dil_w : int
            Dilations along these axes.

        Returns
        -------
        ConvLayer

        Raises
        ------
        TypeError, ValueError
            If an argument is not an integer or out of range, or the filter is larger than the padded input.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> layer = Backend(library="cpu").conv_layer("float32", 32, 3, 16, H=28, W=28, R=5, S=5)
        >>> layer.dimI2, layer.dimF2, layer.dimO2
        ((2352, 32), (75, 16), (9216, 32))
        """
        return ConvLayer(
            dtype, N, C, K, (D, H, W), (T, R, S), (pad_d, pad_h, pad_w), (str_d, str_h, str_w), (dil_d, dil_h, dil_w),
            relu=relu, bsum=bsum,
        )  # fmt: skip

    def deconv_layer(
        self, dtype: Any, N: int, C: int, K: int, P: int, Q: int, R: int = 1, S: int = 1, pad_d: int = 0,
        pad_h: int = 0, pad_w: int = 0, str_d: int = 1, str_h: int = 1, str_w: int = 1, *, M: int = 1, T: int = 1,
        dil_d: int = 1, dil_h: int = 1, dil_w: int = 1, relu: bool = False, bsum: bool = False,
    ) -> DeconvLayer:  # fmt: skip
        """Describe a deconvolution, as the convolution from its outputs to its inputs.

        Its forward pass is `bprop_conv`, from inputs of shape ``dimO2`` to outputs of shape ``dimI2``; its backward
        pass is `fprop_conv`.

        Parameters
        ----------
        dtype, N
            See `conv_layer`.
        C, K : int
            Number of feature maps of the deconvolution's outputs and of its inputs.
        P, Q : int
            Height and width of the deconvolution's inputs.
        R, S, pad_d, pad_h, pad_w, str_d, str_h, str_w, T, dil_d, dil_h, dil_w, relu, bsum
            See `conv_layer`.
        M : int
            Depth of the deconvolution's inputs.

        Returns
        -------
        DeconvLayer

        Raises
        ------
        TypeError, ValueError
            If an argument is not an integer or out of range, or the padding leaves no output.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> layer = Backend(library="cpu").deconv_layer("float32", 32, 3, 16, P=4, Q=4, R=3, S=3, str_h=2, str_w=2)
        >>> layer.dimO, layer.dimI
        ((16, 1, 4, 4, 32), (3, 1, 9, 9, 32))
        """
        return DeconvLayer(
            dtype, N, C, K, (M, P, Q), (T, R, S), (pad_d, pad_h, pad_w), (str_d, str_h, str_w), (dil_d, dil_h, dil_w),
            relu=relu, bsum=bsum,
        )  # fmt: skip

    def fprop_conv(
        self, layer: ConvLayer, I: Buffer, F: Buffer, O: Buffer, alpha: float = 1.0, relu: bool = False,
        repeat: int = 1, *, beta: float = 0.0, bsum: Buffer | None = None, layer_op: Any = None,
    ) -> Buffer | None:  # fmt: skip
        """Convolve without flipping the filters: set O to ``alpha · I * F``, rectified if `relu`, plus ``beta · O``.

        Parameters
        ----------
        layer : ConvLayer or DeconvLayer
            The layer's description.
        I : buffer or op-tree
            Inputs, of shape ``layer.dimI2``.
        F : buffer or op-tree
            Filters, of shape ``layer.dimF2``.
        O : buffer
            Outputs, of shape ``layer.dimO2``.
        alpha : float
            Factor of the new result.
        relu : bool
            Whether to replace negative results by 0; implied by ``layer.relu``.
        repeat : int
            Number of repetitions.
        beta : float
            Factor of the previous values of O.
        bsum : buffer, optional
            Destination of the sum of each feature map of O, of shape (K, 1).
        layer_op : optional
            The calling layer, passed by neon's own layers. Ignored.

        Returns
        -------
        buffer or None
            `bsum`; a new float32 buffer if ``layer.bsum`` is true and `bsum` is None.

        Raises
        ------
        TypeError
            If `layer` is not a layer, or an operand is not a buffer of numbers.
        ValueError
            If a shape does not match the layer. Nothing is written in that case.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> layer = be.conv_layer("float32", N=1, C=1, K=1, W=4, S=2)
        >>> O = be.empty(layer.dimO2)
        >>> be.fprop_conv(layer, be.array([1, 2, 3, 4]), be.array([1, 10]), O)
        >>> O.get().reshape(-1)
        array([21., 32., 43.], dtype=float32)
        """
        where = ConvLayer.checked(layer).windows
        inputs, filters = operand(self, I, "I", layer.dimI2), operand(self, F, "F", layer.dimF2)
        return self._convolved(
            lambda: conv_maps(inputs, filters, **where),
            Target(self, O, "O", layer.dimO2), layer, layer.K, alpha, beta, relu, repeat, bsum,
        )  # fmt: skip

    def bprop_conv(
        self, layer: ConvLayer, F: Buffer, E: Buffer, grad_I: Buffer, alpha: float = 1.0, repeat: int = 1, *,
        beta: float = 0.0, relu: bool = False, bsum: Buffer | None = None, layer_op: Any = None,
    ) -> Buffer | None:  # fmt: skip
        """Compute the gradient of `fprop_conv` with respect to its inputs: the forward pass of a deconvolution.

        Parameters
        ----------
        layer : ConvLayer or DeconvLayer
            The layer's description.
        F : buffer or op-tree
            Filters, of shape ``layer.dimF2``.
        E : buffer or op-tree
            Errors of the outputs, of shape ``layer.dimO2``.
        grad_I : buffer
            Destination of the gradient, of shape ``layer.dimI2``.
        alpha, repeat, beta, relu
            See `fprop_conv`.
        bsum : buffer, optional
            Destination of the sum of each feature map of `grad_I`, of shape (C, 1).
        layer_op : optional
            See `fprop_conv`.

        Returns
        -------
        buffer or None
            See `fprop_conv`.

        Raises
        ------
        TypeError, ValueError
            See `fprop_conv`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> layer = be.conv_layer("float32", N=1, C=1, K=1, W=4, S=2)
        >>> grad_I = be.empty(layer.dimI2)
        >>> be.bprop_conv(layer, be.array([1, 10]), be.array([1, 2, 3]), grad_I)
        >>> grad_I.get().reshape(-1)
        array([ 1., 12., 23., 30.], dtype=float32)
        """
        where = ConvLayer.checked(layer).windows
        filters, errors = operand(self, F, "F", layer.dimF2), operand(self, E, "E", layer.dimO2)
        return self._convolved(
            lambda: conv_maps_inputs(errors, filters, **where),
            Target(self, grad_I, "grad_I", layer.dimI2), layer, layer.C, alpha, beta, relu, repeat, bsum,
        )  # fmt: skip

    def update_conv(
        self, layer: ConvLayer, I: Buffer, E: Buffer, grad_F: Buffer, alpha: float = 1.0, repeat: int = 1, *,
        beta: float = 0.0, layer_op: Any = None,
    ) -> None:  # fmt: skip
        """Compute the gradient of `fprop_conv` with respect to its filters.

        Parameters
        ----------
        layer : ConvLayer or DeconvLayer
            The layer's description.
        I : buffer or op-tree
            Inputs, of shape ``layer.dimI2``.
        E : buffer or op-tree
            Errors of the outputs, of shape ``layer.dimO2``.
        grad_F : buffer
            Destination of the gradient, of shape ``layer.dimF2``.
        alpha, repeat, beta, layer_op
            See `fprop_conv`.

        Raises
        ------
        TypeError, ValueError
            See `fprop_conv`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> layer = be.conv_layer("float32", N=1, C=1, K=1, W=4, S=2)
        >>> grad_F = be.empty(layer.dimF2)
        >>> be.update_conv(layer, be.array([1, 2, 3, 4]), be.array([1, 10, 100]), grad_F)
        >>> grad_F.get().reshape(-1)
        array([321., 432.], dtype=float32)
        """
        where = ConvLayer.checked(layer).windows
        inputs, errors = operand(self, I, "I", layer.dimI2), operand(self, E, "E", layer.dimO2)
        target = Target(self, grad_F, "grad_F", layer.dimF2)
        alpha, beta = factors(alpha, beta)
        for _ in range(whole(repeat, "repeat")):
            target.write_scaled(conv_maps_filters(inputs, errors, **where), alpha, beta, fresh=True)

    def _convolved(
        self, compute: Callable[[], Any], target: Target, layer: ConvLayer, maps: int, alpha: float, beta: float,
        relu: bool, repeat: int, bsum: Buffer | None,
    ) -> Buffer | None:  # fmt: skip
        """Write the result of `compute`, `repeat` times, and the sums of its feature maps."""
        alpha, beta = factors(alpha, beta)
        repeat = whole(repeat, "repeat")
        if bsum is None and layer.bsum:
            bsum = self.zeros((maps, 1), dtype="float32")
        sums = None if bsum is None else Target(self, bsum, "bsum", (maps, 1))
        for _ in range(repeat):
            value = target.write_scaled(compute(), alpha, beta, relu=relu or layer.relu, fresh=True)
            if sums is not None:
                sums.write(sums_by_map(value, maps))
        return bsum
