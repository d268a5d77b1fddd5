"""What neon's own layers ask of a backend beyond its document: batch normalization, transposed copies, normal draws."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from nbm_xp.functions import arithmetic, compound, feature_normalization
from nbm_xp.rng import Generator

from .buffers import Buffer
from .randomness import Randomness
from .reductions import Reductions
from .views import Permuted

__all__ = ["Beyond"]


def _in_either_order(method: Callable[..., None]) -> Callable[..., None]:
    """Let a truth value stand before `accumbeta`: neon 2 hands `compute_batch_sum` over there, neon 1.8 does not."""
    before = list(inspect.signature(method).parameters).index("accumbeta")

    @functools.wraps(method)
    def wrapper(*given: Any, **keywords: Any) -> None:
        if len(given) > before and isinstance(given[before], bool):
            keywords["compute_batch_sum"] = given[before]
            given = (*given[:before], *given[before + 1 :])
        method(*given, **keywords)

    return wrapper


class Beyond(Reductions, Randomness):
    """A Backend's methods for the layers of neon's own release."""

    @_in_either_order
    def compound_fprop_bn(
        self,
        x: Buffer,
        xsum: Buffer,
        xvar: Buffer,
        gmean: Buffer,
        gvar: Buffer,
        gamma: Buffer,
        beta: Buffer,
        y: Buffer,
        eps: float,
        rho: float,
        accumbeta: float = 0.0,
        relu: bool = False,
        binary: bool = False,
        *,
        compute_batch_sum: bool = True,
        inference: bool = False,
        outputs: Buffer | None = None,
        layer: Any = None,
    ) -> None:
        """Normalise a batch by its own mean and variance, and keep their moving averages.

        Parameters
        ----------
        x, y : Buffer
            What comes in and where it goes, features by examples.
        xsum, xvar : Buffer
            Columns: the sums over the batch, which become means, and where the variances go.
        gmean, gvar : Buffer
            Columns: the moving averages, which are updated; in inference they are normalised by.
        gamma, beta : Buffer
            Columns: the scale and offset of each feature.
        eps : float
            What is added to the variance, under the root.
        rho : float
            How much of the moving averages stays.
        accumbeta : float
            How much of what `y` held is added.
        relu : bool
            Whether what is negative becomes 0.
        binary : bool
            Whether products are rounded to powers of two.
        compute_batch_sum : bool
            Whether the sums are computed here; else `xsum` holds them.
        inference : bool
            Whether the moving averages are used, and stay.
        outputs, layer
            Taken and not used.

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
            self.record(feature_normalization.moving_average, gmean, gmean, mean, rho=rho)
            self.record(feature_normalization.moving_average, gvar, gvar, var, rho=rho)
        out = y.reshape(x.shape)
        tree = self.record(
            feature_normalization.normalized_features, None, x, mean, var, gamma, beta, epsilon=eps, shifted=binary
        )
        if relu:
            tree = self.maximum(tree, 0)  # type: ignore[attr-defined]
        out[:] = self.record(compound.scaled, None, tree, out, beta=accumbeta) if accumbeta else tree

    def compound_bprop_bn(
        self,
        delta_out: Buffer,
        grad_gamma: Buffer,
        grad_beta: Buffer,
        delta_in: Buffer,
        x: Buffer,
        xsum: Buffer,
        xvar: Buffer,
        gamma: Buffer,
        eps: float,
        binary: bool = False,
        layer: Any = None,
    ) -> None:
        """Propagate the errors of a batch that `compound_fprop_bn` normalised.

        Parameters
        ----------
        delta_out, grad_gamma, grad_beta : Buffer
            Where the gradients in `x`, `gamma` and `beta` go; `delta_out` in any shape of as many elements, such as
            that of a convolution's outputs.
        delta_in : Buffer
            The errors, features by examples; it may be `delta_out`.
        x, xsum, xvar, gamma, eps, binary
            As `compound_fprop_bn` left them: `xsum` holds the means.
        layer
            Taken and not used.

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
        trees = feature_normalization.normalized_features_gradient(delta_in, x, xsum, xvar, gamma, eps, shifted=binary)
        self.record(lambda _: trees[1], grad_gamma, delta_in)
        self.record(lambda _: trees[2], grad_beta, delta_in)
        self.record(lambda _: trees[0], delta_out.reshape(delta_in.shape), delta_in)

    def copy_transpose(self, a: Buffer, out: Buffer, axes: Any = None, repeat: int = 1) -> None:
        """Copy with the axes in another order.

        Parameters
        ----------
        a, out : Buffer
            From where, and where to.
        axes : sequence of int, optional
            The order; by default the reverse.
        repeat : int
            Taken and not used.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> out = be.zeros((2, 1))
        >>> be.copy_transpose(be.array([[1.0, 2.0]]), out)
        >>> out.get()
        array([[1.],
               [2.]], dtype=float32)
        """
        order = tuple(axes) if axes is not None else tuple(reversed(range(a.ndim)))
        out.write(Permuted(order).read(self.xp, a.array))

    def fill_normal(self, ary: Buffer, mean: float = 0.0, stdv: float = 1.0) -> None:
        """Fill a buffer with normally distributed random numbers.

        Parameters
        ----------
        ary : Buffer
            What is filled.
        mean, stdv : float
            Mean and standard deviation.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> x = be.zeros((2, 2))
        >>> be.fill_normal(x, mean=3.0, stdv=0.0)
        >>> x.get()
        array([[3., 3.],
               [3., 3.]], dtype=float32)
        """
        own = Generator(self.rng.state, library=self.library)
        ary.write(own.normal(mean, stdv, size=ary.shape, dtype=str(self.dtype)), fresh=True)
        self.rng.state = own.state
