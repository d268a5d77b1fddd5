"""Batch normalization, as neon's own layers call it, and local response normalization of buffers.

The computations are those of `nbm_xp.functions.normalization` and `nbm_xp.functions.feature_regions`.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.functions import arithmetic, compound, normalization
from nbm_xp.functions.feature_regions import local_response, local_response_gradient, response_scale

from .buffers import Buffer
from .elementwise import Elementwise
from .layers import Layer, Target, also_by_place, factors, number, operand, whole


class ResponseLayer(Layer):
    """Local response normalization over J feature maps.

    Attributes
    ----------
    op : str
        ``"lrn"``.
    J : int
        Number of feature maps in each mean, centred on the map itself.
    JTRS : tuple of int
        Sizes of a window; `padding` and `strides` also have four entries.
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


class Normalization(Elementwise):
    """A Backend's batch normalization and local response normalization."""

    @also_by_place(  # neon 2 passes compute_batch_sum before accumbeta, neon 1.8 does not pass it
        "x, xsum, xvar, gmean, gvar, gamma, beta, y, eps, rho, compute_batch_sum, accumbeta, relu, binary",
        lambda given: isinstance(given.get("compute_batch_sum"), bool),
    )
    def compound_fprop_bn(
        self, x: Buffer, xsum: Buffer, xvar: Buffer, gmean: Buffer, gvar: Buffer, gamma: Buffer, beta: Buffer,
        y: Buffer, eps: float, rho: float, accumbeta: float = 0.0, relu: bool = False, binary: bool = False, *,
        compute_batch_sum: bool = True, inference: bool = False, outputs: Buffer | None = None, layer: Any = None,
    ) -> None:  # fmt: skip
        """Normalise a batch by its mean and variance, and update the moving averages.

        Parameters
        ----------
        x, y : Buffer
            Input and destination of the output, features by examples.
        xsum, xvar : Buffer
            Columns: the sums over the batch, which are replaced by the means, and the destination of the variances.
        gmean, gvar : Buffer
            Columns: the moving averages. They are updated, or in inference used for normalization.
        gamma, beta : Buffer
            Columns: scale and offset of each feature.
        eps : float
            Added to the variance before the square root.
        rho : float
            Decay of the moving averages: the factor of their old values.
        accumbeta : float
            Factor of the previous values of `y`, which are added to the result.
        relu : bool
            Whether to replace negative results by 0.
        binary : bool
            Whether to round a factor of each product to a power of two.
        compute_batch_sum : bool
            Whether to compute the sums; otherwise `xsum` contains them.
        inference : bool
            Whether to normalise by the moving averages, without updating them.
        outputs, layer
            Ignored.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> x, y = be.array([[1.0, 3.0]]), be.zeros((1, 2))
        >>> xsum, xvar, gmean, gvar, beta = (be.zeros((1, 1)) for _ in range(5))
        >>> be.compound_fprop_bn(x, xsum, xvar, gmean, gvar, be.ones((1, 1)), beta, y, 0.0, 0.5)
        >>> y.get(), gmean.get()
        (array([[-1.,  1.]], dtype=float32), array([[1.]], dtype=float32))
        """
        mean, var = gmean, gvar
        if not inference:
            if compute_batch_sum:
                self.mean(x, axis=1, out=xsum)
            else:
                self.record(arithmetic.divide, xsum, xsum, x.shape[1])
            self.var(x, axis=1, binary=binary, out=xvar)
            mean, var = xsum, xvar
            self.record(normalization.moving_average, gmean, gmean, mean, rho=rho)
            self.record(normalization.moving_average, gvar, gvar, var, rho=rho)
        out = y.reshape(x.shape)
        tree = self.record(
            normalization.normalized_features, None, x, mean, var, gamma, beta, epsilon=eps, shifted=binary
        )
        if relu:
            tree = self.maximum(tree, 0)
        out[:] = self.record(compound.scaled, None, tree, out, beta=accumbeta) if accumbeta else tree

    def compound_bprop_bn(
        self, delta_out: Buffer, grad_gamma: Buffer, grad_beta: Buffer, delta_in: Buffer, x: Buffer, xsum: Buffer,
        xvar: Buffer, gamma: Buffer, eps: float, binary: bool = False, layer: Any = None,
    ) -> None:  # fmt: skip
        """Backpropagate through `compound_fprop_bn`.

        Parameters
        ----------
        delta_out, grad_gamma, grad_beta : Buffer
            Destinations of the gradients with respect to `x`, `gamma` and `beta`; `delta_out` may have any shape with
            as many elements, such as the shape of a convolution's outputs.
        delta_in : Buffer
            The errors of the output, features by examples; may be `delta_out`.
        x, xsum, xvar, gamma, eps, binary
            As after `compound_fprop_bn`: `xsum` contains the means.
        layer
            Ignored.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> x, error = be.array([[1.0, 3.0]]), be.array([[1.0, 0.0]])
        >>> mean, var, gamma = be.array(2.0), be.array(1.0), be.array(1.0)
        >>> grad_gamma, grad_beta = be.zeros((1, 1)), be.zeros((1, 1))
        >>> be.compound_bprop_bn(error, grad_gamma, grad_beta, error, x, mean, var, gamma, 0.0)
        >>> error.get(), grad_gamma.get(), grad_beta.get()
        (array([[0., 0.]], dtype=float32), array([[-1.]], dtype=float32), array([[1.]], dtype=float32))
        """
        trees = normalization.normalized_features_gradient(delta_in, x, xsum, xvar, gamma, eps, shifted=binary)
        self.record(lambda _: trees[1], grad_gamma, delta_in)
        self.record(lambda _: trees[2], grad_beta, delta_in)
        self.record(lambda _: trees[0], delta_out.reshape(delta_in.shape), delta_in)

    def lrn_layer(self, dtype: Any, N: int, C: int, D: int = 1, H: int = 1, W: int = 1, J: int = 1) -> ResponseLayer:
        """Describe a local response normalization.

        Parameters
        ----------
        dtype
            Dtype of the elements.
        N, C : int
            Number of images and of feature maps.
        D, H, W : int
            Depth, height and width.
        J : int
            Number of feature maps in each mean, centred on the map itself; odd.

        Returns
        -------
        ResponseLayer

        Raises
        ------
        TypeError, ValueError
            If an argument is not an integer or out of range.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").lrn_layer("float32", 32, 16, H=12, W=12, J=5).dimO2
        (2304, 32)
        """
        return ResponseLayer(dtype, N, C, D, H, W, J)

    def fprop_lrn(
        self, layer: ResponseLayer, I: Buffer, O: Buffer, denom: Buffer, alpha: float | None = None,
        beta: float | None = None, ascale: float = 1, bpower: float = 1,
    ) -> None:  # fmt: skip
        """Divide features by a power of 1 plus a multiple of the mean square over neighbouring maps.

        Parameters
        ----------
        layer : ResponseLayer
            The layer's description.
        I : buffer or op-tree
            Inputs, of shape ``layer.dimI2``.
        O, denom : buffer
            Destinations of the outputs, and of the base of the denominators, which `bprop_lrn` needs.
        alpha, beta : float, optional
            O is set to `alpha` times the outputs plus `beta` times its previous values; 1 and 0 by default.
        ascale, bpower : float
            The multiple, and the exponent.

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
        >>> layer = be.lrn_layer("float32", N=1, C=3, J=3)
        >>> O, denom = be.empty(layer.dimO2), be.empty(layer.dimO2)
        >>> be.fprop_lrn(layer, be.array([1, 2, 3]), O, denom, ascale=3.0)
        >>> denom.get().reshape(-1)
        array([ 6., 15., 14.], dtype=float32)
        """
        maps = ResponseLayer.checked(layer).C
        inputs = operand(self, I, "I", layer.dimI2)
        target, denominator = Target(self, O, "O", layer.dimO2), Target(self, denom, "denom", layer.dimO2)
        alpha, beta = factors(1.0 if alpha is None else alpha, 0.0 if beta is None else beta)
        scale = response_scale(inputs, maps, layer.J, number(ascale, "ascale"))
        value = local_response(inputs, scale, number(bpower, "bpower"))
        target.write_scaled(value, alpha, beta, fresh=True)
        denominator.write(scale)

    def bprop_lrn(
        self, layer: ResponseLayer, I: Buffer, O: Buffer, E: Buffer, delta: Buffer, denom: Buffer,
        alpha: float | None = None, beta: float | None = None, ascale: float = 1, bpower: float = 1,
    ) -> None:  # fmt: skip
        """Compute the gradient of `fprop_lrn` with respect to its inputs.

        Parameters
        ----------
        layer, ascale, bpower
            The arguments of `fprop_lrn`.
        I, O, denom : buffer
            Inputs, outputs and denominators of `fprop_lrn`.
        E : buffer or op-tree
            Errors of the outputs, of shape ``layer.dimO2``.
        delta : buffer
            Destination of the gradient, of shape ``layer.dimI2``; may be `E`.
        alpha, beta : float, optional
            Factors of the gradient and of the previous values of `delta`; 1 and 0 by default.

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
