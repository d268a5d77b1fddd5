"""Batch normalization as neon's own layers ask for it; the arithmetic is that of `feature_normalization`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from nbm_xp.functions import arithmetic, compound, feature_normalization
from nbm_xp.namespace.errors import arranged

from . import reductions
from .buffers import Buffer
from .elementwise import maximum
from .engine import Engine

__all__ = ["compound_bprop_bn", "compound_fprop_bn"]


def _in_either_order(method: Callable[..., None]) -> Callable[..., None]:
    """Let a truth value stand before `accumbeta`: neon 2 hands `compute_batch_sum` over there, neon 1.8 does not."""
    before = list(inspect.signature(method).parameters).index("accumbeta")

    def arrange(given: Sequence[Any], keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        if len(given) > before and isinstance(given[before], bool):
            return (*given[:before], *given[before + 1 :]), {**keywords, "compute_batch_sum": given[before]}
        return given, keywords

    return arranged(arrange, method)


@_in_either_order
def compound_fprop_bn(
    self: Engine, x: Buffer, xsum: Buffer, xvar: Buffer, gmean: Buffer, gvar: Buffer, gamma: Buffer, beta: Buffer,
    y: Buffer, eps: float, rho: float, accumbeta: float = 0.0, relu: bool = False, binary: bool = False, *,
    compute_batch_sum: bool = True, inference: bool = False, outputs: Buffer | None = None, layer: Any = None,
) -> None:  # fmt: skip
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
            reductions.mean(self, x, axis=1, out=xsum)
        else:
            self.record(arithmetic.divide, xsum, xsum, x.shape[1])
        reductions.var(self, x, axis=1, binary=binary, out=xvar)
        mean, var = xsum, xvar
        self.record(feature_normalization.moving_average, gmean, gmean, mean, rho=rho)
        self.record(feature_normalization.moving_average, gvar, gvar, var, rho=rho)
    out = y.reshape(x.shape)
    tree = self.record(
        feature_normalization.normalized_features, None, x, mean, var, gamma, beta, epsilon=eps, shifted=binary
    )
    if relu:
        tree = maximum(self, tree, 0)
    out[:] = self.record(compound.scaled, None, tree, out, beta=accumbeta) if accumbeta else tree


def compound_bprop_bn(
    self: Engine, delta_out: Buffer, grad_gamma: Buffer, grad_beta: Buffer, delta_in: Buffer, x: Buffer, xsum: Buffer,
    xvar: Buffer, gamma: Buffer, eps: float, binary: bool = False, layer: Any = None,
) -> None:  # fmt: skip
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
