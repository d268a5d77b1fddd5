"""Ones and zeros: uniforms compared with probabilities, or with the sigmoids of log-odds.

Contract: the answers are those of the uniforms, to the last bit, whether these reach memory or
not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    convert,
    dtype_name,
    dtype_of,
    get_namespace,
    is_array,
    is_lazy,
    library_name,
    promote,
)
from nbm_xp.namespace.exponentials import sigmoid_for
from nbm_xp.namespace.mrg31k3p import kernel

from .blocks import Uniforms, lazily, library_of_blocks
from .draws import after, draw
from .uniforms import HOST

__all__ = ["Trials", "bernoulli", "bernoulli_of_affine", "bernoulli_of_sigmoid", "binomial", "less", "trials"]


def bernoulli(
    xp: Any, states: Any, p: Any, size: Sequence[int], dtype: str, precision: str, chunks: Any = None
) -> tuple[Any, Any]:
    """Draw ones with probability `p`, else zeros.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    p : array or number
        Probabilities that broadcast to `size`.
    size : sequence of ints
        The shape of the numbers.
    dtype : str
        Their dtype.
    precision : {"float16", "float32", "float64"}
        The dtype of the uniforms that are compared with `p`.
    chunks : optional
        How Dask splits them; by default as it splits a `p` of the same shape.

    Returns
    -------
    sample : array
        1 where the uniform is less than `p`, else 0.
    new : array
        The states after the draw, of the library of `states`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> bernoulli(get_namespace("numpy"), substreams((31,) * 6, 2), 0.5, (8,), "int8", "float32")[0].tolist()
    [1, 0, 1, 1, 0, 0, 0, 0]
    """
    return trials(xp, states, p, tuple(size), dtype, precision, chunks)[:2]


def trials(
    xp: Any,
    states: Any,
    p: Any,
    shape: tuple[int, ...],
    dtype: str,
    precision: str,
    chunks: Any = None,
    threads: int = 1,
) -> tuple[Any, Any, int | None]:
    """Draw ones and zeros as `bernoulli` does, and look at `p` on the way where that costs nothing.

    Returns
    -------
    sample, new : array
        See `bernoulli`.
    wrong : int or None
        How many of `p` are not from 0 to 1; None where nobody looked.
    """
    whole = is_array(p) and tuple(p.shape) == shape
    compiled = kernel("rng.bernoulli", xp)
    if compiled is not None and 0 not in shape and (whole or not is_array(p)):
        bounds = p if whole else asarray([p], xp, precision)
        if type(states) is not type(bounds) and library_name(states) == HOST:
            states = convert(states, xp)
        same = type(states) is type(bounds)
        found: tuple[Any, Any, int | None] | None = (
            compiled(states, bounds, shape, dtype, precision, threads) if same else None
        )
        if found is not None:
            return found
    if chunks is None and whole:
        chunks = getattr(p, "chunks", None)
    if is_lazy(xp) and is_array(p) and is_lazy(array_namespace(p)) and not math.isnan(p.size):
        uniforms = Uniforms(None, states.shape[0], shape, precision, library_of_blocks(xp, p, states))
        return lazily(xp, Trials(uniforms, dtype), chunks, states, (p,)), after(states, math.prod(shape)), None
    u, new = draw(xp, states, shape, precision, chunks, like=p)
    return less(xp, u, p, dtype), new, None


def binomial(
    xp: Any,
    states: Any,
    n: int,
    p: Any,
    size: Sequence[int],
    dtype: str,
    precision: str,
) -> tuple[Any, Any]:
    """Add up the ones of `n` draws from the same streams, one after the other.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    n : int
        How many draws, 1 or more.
    p, size, dtype, precision
        See `bernoulli`.

    Returns
    -------
    counts : array
        Of shape `size`.
    new : array
        The states after the draws, of the library of `states`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> binomial(get_namespace("numpy"), substreams((31,) * 6, 2), 9, 0.5, (4,), "int8", "float32")[0].tolist()
    [4, 3, 6, 6]
    """
    if n == 1:
        return trials(xp, states, p, tuple(size), dtype, precision)[:2]
    kind = "int64" if dtype == "bool" else dtype
    total, states = bernoulli(xp, states, p, size, kind, precision)
    for _ in range(n - 1):
        sample, states = bernoulli(xp, states, p, size, kind, precision)
        total = total + sample
    return (total if kind == dtype else xp.astype(total, dtype_of(xp, dtype))), states


def bernoulli_of_sigmoid(xp: Any, states: Any, x: Any, size: Sequence[int], precision: str) -> tuple[Any, Any]:
    """Draw ones and zeros by log-odds: what `bernoulli` draws by their sigmoids, in the dtype of `x`.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    x : array
        The logarithms of the odds of 1; its shape broadcasts to `size`.
    size : sequence of ints
        The shape of the numbers.
    precision : {"float16", "float32", "float64"}
        The dtype of the uniforms.

    Returns
    -------
    sample : array
        1 where the uniform is less than the sigmoid of `x`, else 0.
    new : array
        The states after the draw, of the library of `states`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> x = np.asarray([-1.0, 0.0, 1.0, 30.0], dtype="float32")
    >>> bernoulli_of_sigmoid(get_namespace("numpy"), substreams((31,) * 6, 2), x, (4,), "float32")[0].tolist()
    [1.0, 0.0, 1.0, 1.0]
    """
    shape, kind = tuple(size), dtype_name(x)
    sigmoid, compiled = sigmoid_for(xp, kind), kernel("rng.bernoulli_of_sigmoid", xp)
    if compiled is not None and type(states) is type(x) and x.shape == shape and 0 not in shape:
        found: tuple[Any, Any] | None = compiled(states, x, kind, precision, sigmoid)
        if found is not None:
            return found
    return bernoulli(xp, states, sigmoid(x), shape, kind, precision)


def bernoulli_of_affine(
    xp: Any, states: Any, a: Any, b: Any, bias: Any, size: Sequence[int], precision: str
) -> tuple[Any, Any]:
    """Draw ones and zeros by log-odds ``a @ b + bias``, which need not be kept: the step of a Gibbs sampler.

    Parameters
    ----------
    xp : namespace
        The library of the numbers.
    states : array
        int32, of shape (count, 6), of that library or NumPy's.
    a, b : array
        The factors of a matrix product, of one dtype.
    bias : array
        Of the same dtype; the shape of its sum with the product broadcasts to `size`.
    size : sequence of ints
        The shape of the numbers.
    precision : {"float16", "float32", "float64"}
        The dtype of the uniforms.

    Returns
    -------
    sample : array
        1 where the uniform is less than the sigmoid, else 0.
    new : array
        The states after the draw, of the library of `states`.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.namespace import get_namespace
    >>> from nbm_xp.rng import substreams
    >>> a, bias = np.eye(2, dtype="float32"), np.asarray([30.0, -30.0], dtype="float32")
    >>> bernoulli_of_affine(get_namespace("numpy"), substreams((31,) * 6, 2), a, a, bias, (2, 2), "float32")[0].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    shape, product = tuple(size), xp.matmul(a, b)
    compiled = kernel("rng.bernoulli_of_sum", xp)
    if compiled is not None and type(states) is type(product) and product.shape == shape and 0 not in shape:
        sigmoid = sigmoid_for(xp, dtype_name(product))
        found: tuple[Any, Any] | None = compiled(
            states, product, bias, precision, sigmoid, lambda: xp.matmul(a, b) + bias
        )
        if found is not None:
            return found
    return bernoulli_of_sigmoid(xp, states, product + bias, shape, precision)


@dataclass(frozen=True, slots=True)
class Trials:
    """The ones and zeros of one block, as a task that also makes its uniforms: there is no task to make them early.

    Parameters
    ----------
    uniforms : Uniforms
        What makes the uniforms.
    dtype : str
        The dtype of the ones and zeros.
    """

    uniforms: Uniforms
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole draw."""
        return self.uniforms.shape

    @property
    def library(self) -> str:
        """The library of the blocks."""
        return self.uniforms.library

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], p: Any, states: Any) -> Any:
        """Make the block of some shape that begins at some place, by its probabilities."""
        return less(get_namespace(self.library), self.uniforms(offset, shape, states), p, self.dtype)


def less(xp: Any, u: Any, p: Any, dtype: str) -> Any:
    """Give 1 where a uniform is less than a probability, else 0."""
    if is_array(p):
        u, p = promote(u, p)
    return xp.astype(u < p, dtype_of(xp, dtype))
