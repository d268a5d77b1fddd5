"""From uniform numbers to other distributions, on arrays of any library.

Contract: the numbers that Theano's `rng_mrg` makes of the same uniforms; no randomness here.

References
----------
.. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of Mathematical
   Statistics 29 (1958), 610-611.
.. [2] Theano documentation, ``theano.sandbox.rng_mrg`` and ``theano.sandbox.multinomial``.
"""

from __future__ import annotations

import math
from typing import Any, Final

from nbm_xp.namespace import dtype_name, dtype_of, wide_dtypes
from nbm_xp.namespace.mrg31k3p import kernel

from . import elementary

__all__ = [
    "multinomial_counts", "normal_of_pairs", "paired", "polar", "stepwise_normals", "two_draws", "with_replacement",
     "without_replacement",
]  # fmt: skip

_AT_ONCE: Final = 2**15
"""So many probabilities are compared with uniforms in one go."""


def two_draws(high: Any, low: Any) -> Any:
    """Make float64 uniforms of full resolution from two of 31 bits each.

    Parameters
    ----------
    high, low : array
        float64 uniforms ``z * 2**-31``, the first for the leading bits.

    Returns
    -------
    array
        ``((z1 - 1) + z2 * 2**-31) * 2**-31``, rounded once: between 0 and 1, both excluded.

    Examples
    --------
    >>> import numpy as np
    >>> two_draws(np.asarray([2.0**-31]), np.asarray([0.5])) == 2.0**-32
    array([ True])
    """
    return (high - 2.0**-31) + low * 2.0**-31


def polar(xp: Any, u1: Any, u2: Any) -> Any:
    """Make two standard normal numbers of each pair of uniforms, by the method of Box and Muller [1]_.

    Parameters
    ----------
    xp : namespace
        The array library.
    u1, u2 : array
        Uniforms, of the same shape.

    Returns
    -------
    array
        ``sqrt(-2 log u1) cos(2 pi u2)``, then the sines, along a first axis of two; of the uniforms' dtype. Logarithms,
        cosines and sines are computed in float64 and rounded to it; float16 is computed in float32 and rounded once.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> polar(xp, xp.asarray([0.5]), xp.asarray([0.25])).round(4).tolist()
    [[0.0], [1.1774]]
    """
    dtype = u1.dtype
    is_half = dtype_name(u1) == "float16"
    own = None if is_half else kernel("rng.box_muller", xp)
    if own is not None:
        return own(u1, u2)
    with wide_dtypes(xp):
        if is_half:
            u1, u2 = (xp.astype(u, dtype_of(xp, "float32")) for u in (u1, u2))
        double = dtype_of(xp, "float64")
        logs = xp.astype(elementary.log(xp.astype(u1, double)), u1.dtype)
        radius = xp.astype(elementary.sqrt(xp.astype(-2.0 * logs, double)), u1.dtype)
        angle = xp.astype(u2 * (2.0 * math.pi), double)
        waves = xp.stack([elementary.cos(angle), elementary.sin(angle)])
        return xp.astype(radius * xp.astype(waves, radius.dtype), dtype, copy=False)


def normal_of_pairs(xp: Any, u1: Any, u2: Any, is_sine: Any) -> Any:
    """Make a standard normal number of each pair of uniforms, the sine where `is_sine`, else the cosine."""
    both = polar(xp, u1, u2)
    return xp.where(is_sine, both[1, ...], both[0, ...])


def paired(xp: Any, u: Any, n: int) -> Any:
    """Make `n` standard normal numbers of an even number of uniforms, `n` or one more: the layout of `RandomStreams`.

    The uniforms of the first half are paired with those of the second; all cosines come first, then the sines.
    """
    half = u.shape[0] // 2
    return xp.reshape(polar(xp, u[:half], u[half:]), (-1,))[:n]


def stepwise_normals(xp: Any, u: Any, streams: int, n: int) -> Any:
    """Make `n` standard normal numbers of pairs of steps of streams: the layout of `Generator`.

    `u` has the uniforms of an even number of steps of all streams, one after the other. Of each pair of steps, the
    first becomes the cosines, the second the sines.
    """
    pairs = xp.reshape(u, (-1, 2, streams))
    both = polar(xp, pairs[:, 0, :], pairs[:, 1, :])
    return xp.reshape(xp.moveaxis(both, 0, 1), (-1,))[:n]


def _crossed(xp: Any, p: Any, u: Any) -> Any:
    """Mark the first outcome at which the running sum of probabilities, in double precision, exceeds a uniform."""
    sums = xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    past = xp.astype(sums > xp.astype(u, sums.dtype)[..., None], dtype_of(xp, "int32"))
    return xp.cumulative_sum(past, axis=-1) * past == 1


def multinomial_counts(xp: Any, p: Any, u: Any, n: int, dtype: str) -> Any:
    """Count the outcomes of `n` draws from each row of probabilities.

    Parameters
    ----------
    xp : namespace
        The array library.
    p : array
        Probabilities, of shape (..., outcomes). They are not checked: where they add up to less than a uniform, that
        draw counts nothing.
    u : array
        Uniforms, of shape (n * rows,), rows being the product of the leading axes: number ``c * rows + r`` is for
        draw ``c`` from row ``r``.
    n : int
        How many draws.
    dtype : str
        The dtype of the counts.

    Returns
    -------
    array
        Of the shape of `p`.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.98, 0.01, 0.01], [0.01, 0.49, 0.5]]), xp.asarray([0.3, 0.8, 0.2, 0.4])
    >>> multinomial_counts(xp, p, u, 2, "int64").tolist()
    [[2, 0, 0], [0, 1, 1]]
    """
    draws, index = xp.reshape(u, (n, *p.shape[:-1])), dtype_of(xp, "int64")
    counts, together = xp.zeros_like(p, dtype=index), max(1, _AT_ONCE // max(1, math.prod(p.shape)))
    for first in range(0, n, together):
        crossed = _crossed(xp, p, draws[first : min(n, first + together), ...])
        counts = counts + xp.sum(xp.astype(crossed, index), axis=0)
    return xp.astype(counts, dtype_of(xp, dtype))


def with_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` outcomes from each row of probabilities, any of them as often as it comes.

    Parameters
    ----------
    xp : namespace
        The array library.
    p : array
        Probabilities, of shape (..., outcomes). They are not checked; where no running sum exceeds a uniform, as
        rounding may have it, the last outcome with a probability is chosen.
    u : array
        Uniforms, of shape (size * rows,), as in `multinomial_counts`.
    size : int
        How many to choose.
    dtype : str
        The dtype of the answer.

    Returns
    -------
    array
        Which outcomes, in the order of choosing; of shape (..., size).

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> with_replacement(xp, xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.6, 0.7]), 2, "int64").tolist()
    [[1, 1]]
    """
    outcomes, sums = p.shape[-1], xp.cumulative_sum(xp.astype(p, dtype_of(xp, "float64")), axis=-1)
    last = xp.max(xp.where(p > 0, xp.arange(outcomes, dtype=dtype_of(xp, "int64")), 0), axis=-1)
    draws = xp.reshape(xp.astype(u, sums.dtype), (size, *p.shape[:-1]))
    if p.ndim == 1:
        passed = xp.searchsorted(sums, draws, side="right")
    else:
        passed = outcomes - xp.sum(xp.astype(sums > draws[..., None], dtype_of(xp, "int64")), axis=-1)
    chosen = xp.where(passed < outcomes, passed, last)
    return xp.astype(xp.moveaxis(chosen, 0, -1), dtype_of(xp, dtype))


def without_replacement(xp: Any, p: Any, u: Any, size: int, dtype: str) -> Any:
    """Choose `size` different outcomes from each row of probabilities.

    Parameters
    ----------
    xp : namespace
        The array library.
    p : array
        Probabilities, of shape (..., outcomes). They are not checked; where no running sum exceeds a uniform, as
        rounding may have it, the last outcome with a probability is chosen, or just the last that is left.
    u : array
        Uniforms, of shape (size * rows,), as in `multinomial_counts`.
    size : int
        How many to choose.
    dtype : str
        The dtype of the answer.

    Returns
    -------
    array
        Which outcomes, in the order of choosing; of shape (..., size).

    Notes
    -----
    The probability of a chosen outcome becomes 0, and the row is divided by its sum in its own dtype.

    Examples
    --------
    >>> from nbm_xp.namespace import get_namespace
    >>> xp = get_namespace("numpy")
    >>> p, u = xp.asarray([[0.5, 0.25, 0.25]]), xp.asarray([0.1, 0.6])
    >>> without_replacement(xp, p, u, 2, "int64").tolist()
    [[0, 2]]
    """
    outcomes = p.shape[-1]
    if size > outcomes:
        raise ValueError(f"size must be at most {outcomes}, the number of outcomes, got {size}")
    index = dtype_of(xp, "int64")
    places = xp.arange(outcomes, dtype=index)
    draws = xp.reshape(u, (size, *p.shape[:-1]))
    free = xp.ones_like(p, dtype=dtype_of(xp, "bool"))
    chosen = []
    for draw in range(size):
        crossed = xp.max(xp.where(_crossed(xp, p, draws[draw, ...]), places, -1), axis=-1)
        last = xp.max(xp.where(free, xp.where(p > 0, places + outcomes, places), -1), axis=-1) % outcomes
        choice = xp.where(crossed < 0, last, crossed)
        chosen.append(xp.astype(choice, dtype_of(xp, dtype)))
        free = free & (places != choice[..., None])
        p = xp.where(free, p, xp.zeros_like(p))
        total = xp.sum(p, axis=-1, keepdims=True)
        p = p / xp.where(total == 0, xp.ones_like(total), total)
    return xp.stack(chosen, axis=-1)
